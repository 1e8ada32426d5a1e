"""deepeval: its metrics of RAG, one `a_measure` each, with its OpenAI model.

Its answer relevancy is a share of statements, so it is `answer_relevance` here. Its faithfulness counts what the
contexts do not contradict; the judge here says "no" to what they do not support, so the formula is the same.
"""

import sys
from typing import Any

DISTRIBUTION, VERSION = "deepeval", "4.3.1"
PACKAGES = ("deepeval",)
ENVIRONMENT = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_NO_INSPECT_PROMPT": "1", "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_DISABLE_DOTENV": "1", "ERROR_REPORTING": "0", "OPENAI_API_KEY": "none",
    "DEEPEVAL_RETRY_MAX_ATTEMPTS": "3", "DEEPEVAL_RETRY_CAP_SECONDS": "1",
}  # fmt: skip
METRICS = ("faithfulness", "answer_relevance", "context_precision", "context_recall")


async def score(metrics: list[str], sample: dict[str, Any], url: str) -> dict[str, Any]:
    """The score of each metric by itself; an error is raised."""
    from deepeval import metrics as kinds
    from deepeval.models import OpenAIModel
    from deepeval.test_case import LLMTestCase

    names = {
        "faithfulness": kinds.FaithfulnessMetric, "answer_relevance": kinds.AnswerRelevancyMetric,
        "context_precision": kinds.ContextualPrecisionMetric, "context_recall": kinds.ContextualRecallMetric,
    }  # fmt: skip
    case = LLMTestCase(
        input=sample["question"], actual_output=sample["answer"], retrieval_context=sample["contexts"],
        expected_output=sample["references"][0] if sample["references"] else None,
    )  # fmt: skip
    model = OpenAIModel(model="gpt-4o-mini", base_url=url, api_key="none")
    found = {}
    for metric in metrics:
        kind = names[metric](model=model, include_reason=False)
        found[metric] = await kind.a_measure(case, _show_indicator=False)
    return found


def reply(
    asked: dict[str, Any], sample: dict[str, Any], verdicts: dict[str, Any]
) -> tuple[tuple[str, ...], Any] | None:
    """deepeval names the form of the reply that it wants: Truths, Claims, Statements, Verdicts."""
    form = asked["payload"].get("response_format", {}).get("json_schema", {}).get("name", "")
    if form == "Truths":
        return ("truths",), {"truths": [context for context in sample["contexts"] if context]}
    if form in ("Claims", "Statements"):
        return ("statements",), {form.lower(): verdicts["statements"]}
    if form != "Verdicts":
        return None
    step = {
        "faithfulness": "supported", "answer_relevance": "relevant", "context_precision": "useful",
        "context_recall": "attributed",
    }[asked["metrics"][0]]  # fmt: skip
    words = {0: "no", 1: "yes"}
    said = [words[one] if isinstance(one, int) and one in words else one for one in verdicts[step]]
    return (step,), {"verdicts": [{"verdict": word, "reason": ""} for word in said]}


PLUGINS = {"deepeval": sys.modules[__name__]}
