"""TruLens: groundedness and context relevance of its RAG triad, with its OpenAI provider.

Groundedness is `faithfulness` here: a statement that is supported is rated 3 of 3, one that is not 0. The model splits
the answer, as the default (nltk's) would fetch data. Context relevance is the mean over the contexts, as in its guides.
"""

import ast
import sys
from typing import Any

DISTRIBUTION, VERSION = "trulens-core", "2.16.0"
PACKAGES = ("trulens-core", "trulens-feedback==", "trulens-providers-openai==")
ENVIRONMENT = {"OPENAI_API_KEY": "none"}
METRICS = ("faithfulness", "context_relevance")


def score(metrics: list[str], sample: dict[str, Any], url: str) -> dict[str, Any]:
    """The score of each metric by itself; -1 is how it says that a reply could not be read."""
    from trulens.core.feedback.feedback import GroundednessConfigs
    from trulens.providers.openai import OpenAI

    provider = OpenAI(model_engine="gpt-4", base_url=url, api_key="none")
    found = {}
    for metric in metrics:
        if metric == "faithfulness":
            value, _ = provider.groundedness_measure_with_cot_reasons(
                source="\n".join(sample["contexts"]), statement=sample["answer"],
                groundedness_configs=GroundednessConfigs(use_sent_tokenize=False, filter_trivial_statements=True),
            )  # fmt: skip
        else:
            values = [provider.context_relevance(sample["question"], context) for context in sample["contexts"]]
            value = None if -1 in values else sum(values) / len(values)
        found[metric] = "a reply could not be read" if value in (-1, None) else value
    return found


def reply(
    asked: dict[str, Any], sample: dict[str, Any], verdicts: dict[str, Any]
) -> tuple[tuple[str, ...], Any] | None:
    """TruLens asks about one statement, or one context, at a time, after splitting and sifting."""
    text = asked["texts"][-1]
    if "Split the following statement" in asked["text"]:
        return ("statements",), "\n".join(verdicts["statements"])
    if text.startswith("ALL STATEMENTS: "):
        try:
            kept = [part for part in ast.literal_eval(text.partition(": ")[2].rpartition("]")[0] + "]") if part]
        except (SyntaxError, ValueError):
            kept = verdicts["statements"]
        return ("statements",), repr(kept)
    if text.startswith("SOURCE: "):
        statement = text.partition("STATEMENT: ")[2].partition("\n")[0].strip()
        if statement not in verdicts["statements"]:
            return None
        return ("supported",), _rated(verdicts, "supported", verdicts["statements"].index(statement))
    if text.startswith("USER QUERY: "):
        context = text.partition("SEARCH RESULT: ")[2].rpartition("RELEVANCE:")[0].strip()
        rated = _rated(verdicts, "relevant_contexts", sample["contexts"].index(context))
        return ("relevant_contexts",), {name: value for name, value in rated.items() if name == "score"}
    return None


def _rated(verdicts: dict[str, Any], step: str, place: int) -> Any:
    if place >= len(verdicts[step]):
        return {"criteria": "", "supporting_evidence": ""}
    verdict = verdicts[step][place]
    rating = 3 if isinstance(verdict, int) and verdict == 1 else verdict
    return {"criteria": "", "supporting_evidence": "", "score": rating}


PLUGINS = {"trulens": sys.modules[__name__]}
