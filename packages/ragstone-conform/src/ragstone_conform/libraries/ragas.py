"""ragas: `ragas.evaluate` with its five metrics of RAG, with a chat model and an embedder of langchain-openai."""

import json
import sys
from typing import Any

DISTRIBUTION, VERSION = "ragas", "0.4.3"
# langchain-community 0.4 no longer has a module that ragas 0.4.3 imports.
PACKAGES = ("ragas", "langchain-community<0.4")
ENVIRONMENT = {"RAGAS_DO_NOT_TRACK": "true", "OPENAI_API_KEY": "none"}
METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")


def score(metrics: list[str], sample: dict[str, Any], url: str) -> dict[str, Any]:
    """As `ragas.evaluate` gives them. Its retries are short here, so that an endpoint which fails for ever costs
    seconds; `bypass_n` asks for three questions where langchain's parameter would be lost."""
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from ragas import EvaluationDataset, SingleTurnSample, evaluate
    from ragas import metrics as kinds
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.run_config import RunConfig

    names = {
        "faithfulness": kinds.Faithfulness, "answer_relevancy": kinds.AnswerRelevancy,
        "context_precision": kinds.LLMContextPrecisionWithReference, "context_recall": kinds.LLMContextRecall,
        "answer_correctness": kinds.AnswerCorrectness,
    }  # fmt: skip
    row = SingleTurnSample(
        user_input=sample["question"], response=sample["answer"], retrieved_contexts=sample["contexts"],
        reference=sample["references"][0] if sample["references"] else None,
    )  # fmt: skip
    result = evaluate(
        EvaluationDataset(samples=[row]),
        [names[metric]() for metric in metrics],
        llm=LangchainLLMWrapper(ChatOpenAI(model="judge", base_url=url), bypass_n=True),
        embeddings=LangchainEmbeddingsWrapper(
            OpenAIEmbeddings(model="embed", base_url=url, check_embedding_ctx_length=False)
        ),
        run_config=RunConfig(timeout=20, max_retries=3, max_wait=1),
        show_progress=False,
    )
    return dict(zip(metrics, result.scores[0].values(), strict=True))


def reply(
    asked: dict[str, Any], sample: dict[str, Any], verdicts: dict[str, Any]
) -> tuple[tuple[str, ...], Any] | None:
    """ragas shows what is to be judged as JSON at the end of its prompt."""
    head, mark, tail = asked["text"].rpartition("Now perform the same with the following input\n")
    if not mark:
        return None
    try:
        given, _ = json.JSONDecoder().raw_decode(tail[tail.index("{") :])
    except ValueError:  # the reply that it wants repaired is the last one; it gets the same again
        return None
    if "output_string" in given:
        return (), {"text": given["output_string"]}
    if "ground_truth" in given:
        return ("correct",), _compared(verdicts)
    if "classifications" in head[:3000]:
        pairs = zip(verdicts["reference_statements"], verdicts["attributed"], strict=False)
        found = [{"statement": text, "reason": "", "attributed": verdict} for text, verdict in pairs]
        return ("attributed",), {"classifications": found}
    if "statements" in given:
        texts = verdicts["statements"] + verdicts["statements"][-1:]  # one more, for a verdict that is given twice
        found = [
            {"statement": text, "reason": "", "verdict": verdict}
            for text, verdict in zip(texts, verdicts["supported"], strict=False)
        ]
        return ("supported",), {"statements": found}
    if "context" in given:
        place = sample["contexts"].index(given["context"])
        verdict = {"verdict": verdicts["useful"][place]} if place < len(verdicts["useful"]) else {}
        return ("useful",), {"reason": "", **verdict}
    if "question" in given:
        side = "statements" if given["answer"] == sample["answer"] else "reference_statements"
        return ("statements",), {"statements": verdicts[side]}
    question = verdicts["questions"][asked["turn"] % len(verdicts["questions"])]
    return ("questions",), {"question": question, "noncommittal": verdicts["noncommittal"]}


def _compared(verdicts: dict[str, Any]) -> dict[str, Any]:
    said = list(zip(verdicts["statements"], verdicts["correct"], strict=False))
    missing = [
        text for text, found in zip(verdicts["reference_statements"], verdicts["covered"], strict=True) if not found
    ]
    sides = {
        "TP": [text for text, found in said if found],
        "FP": [text for text, found in said if not found],
        "FN": missing,
    }
    return {name: [{"statement": text, "reason": ""} for text in texts] for name, texts in sides.items()}


PLUGINS = {"ragas": sys.modules[__name__]}
