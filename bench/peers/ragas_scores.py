"""What ragas 0.4.3 makes of given verdicts, run by its environment's Python: the oracle of tests/metrics.

Reads JSON lines from standard input, one case each:

    {"question", "answer", "reference", "contexts": [...], "vectors": {text: [...]},
     "statements": [...], "verdicts": [1, 0…]             of the answer, by the contexts
     "questions": [three], "noncommittal": [0, 0, 1]      made of the answer
     "useful": [1, 0…]                                    the contexts
     "attributed": [1, 0…]                                the statements of the reference, by the contexts
     "reference_statements": [...], "tp", "fp", "fn": how many}

and writes a line for each: {"old": {metric: score}, "new": {metric: score}}, by the metrics that `ragas.evaluate` takes
and by those of `ragas.metrics.collections`. No score is null. With `--cache FOLDER` it tells instead what its reply
cache gives a second model: one line, {"first", "second"}.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import warnings
from collections import Counter
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
warnings.simplefilter("ignore")

from langchain_core.outputs import Generation, LLMResult
from ragas import SingleTurnSample
from ragas import metrics as old
from ragas.cache import DiskCacheBackend
from ragas.embeddings.base import BaseRagasEmbedding, BaseRagasEmbeddings
from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM
from ragas.metrics import collections as new
from ragas.run_config import RunConfig

__all__ = ["main"]

FIVE = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")


class Replies:
    """The prepared reply to each prompt of a metric, in the order in which it is asked."""

    def __init__(self, case: dict[str, Any], metric: str) -> None:
        self.case, self.metric, self.asked = case, metric, Counter[str]()

    def _next(self, kind: str) -> int:
        self.asked[kind] += 1
        return self.asked[kind] - 1

    def reply(self, keys: frozenset[str]) -> dict[str, Any]:
        """`keys`: of the reply that is asked for."""
        case = self.case
        if keys == {"question", "noncommittal"}:
            place = self._next("question")
            return {"question": case["questions"][place], "noncommittal": case["noncommittal"][place]}
        if keys == {"reason", "verdict"}:
            return {"reason": "", "verdict": case["useful"][self._next("useful")]}
        if keys == {"classifications"}:
            verdicts = case["attributed"]
            return {"classifications": [{"statement": "s", "reason": "", "attributed": one} for one in verdicts]}
        if keys == {"TP", "FP", "FN"}:
            return {name: [{"statement": "s", "reason": ""}] * case[name.lower()] for name in ("TP", "FP", "FN")}
        if self._next("statements") == 0:
            return {"statements": case["statements"]}
        if self.metric == "answer_correctness":
            return {"statements": case["reference_statements"]}
        pairs = zip(case["statements"], case["verdicts"], strict=False)
        return {"statements": [{"statement": text, "reason": "", "verdict": verdict} for text, verdict in pairs]}


_MODELS = {
    "Given a question and an answer, analyze the complexity": frozenset({"statements"}),
    "judge the faithfulness of a series of statements": frozenset({"statements"}),
    "Generate a question for the given answer": frozenset({"question", "noncommittal"}),
    "verify if the context was useful": frozenset({"reason", "verdict"}),
    "classify if the sentence can be attributed": frozenset({"classifications"}),
    "Given a ground truth and an answer statements": frozenset({"TP", "FP", "FN"}),
}


class OldModel(BaseRagasLLM):
    """Answers the prompts of the older metrics, which say what they want in words alone."""

    def __init__(self, replies: Replies) -> None:
        super().__init__()
        self._replies = replies

    async def generate(self, prompt: Any, n: int = 1, *_: Any, **__: Any) -> LLMResult:
        text = prompt.to_string()
        keys = next(keys for words, keys in _MODELS.items() if words in text)
        return LLMResult(generations=[[Generation(text=json.dumps(self._replies.reply(keys))) for _ in range(n)]])

    def generate_text(self, *_: Any, **__: Any) -> LLMResult:
        raise NotImplementedError

    async def agenerate_text(self, *_: Any, **__: Any) -> LLMResult:
        raise NotImplementedError

    def is_finished(self, response: LLMResult) -> bool:
        return True


class NewModel(InstructorBaseRagasLLM):
    """Answers the prompts of the newer metrics, which say what they want by a class."""

    def __init__(self, replies: Replies) -> None:
        self._replies = replies

    def generate(self, prompt: str, response_model: Any) -> Any:
        return response_model(**self._replies.reply(frozenset(response_model.model_fields)))

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        return self.generate(prompt, response_model)


class OldVectors(BaseRagasEmbeddings):
    def __init__(self, vectors: dict[str, list[float]]) -> None:
        super().__init__()
        self.set_run_config(RunConfig())
        self._vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self._vectors[text]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class NewVectors(BaseRagasEmbedding):
    def __init__(self, vectors: dict[str, list[float]]) -> None:
        super().__init__()
        self._vectors = vectors

    def embed_text(self, text: str, **_: Any) -> list[float]:
        return self._vectors[text]

    async def aembed_text(self, text: str, **_: Any) -> list[float]:
        return self._vectors[text]


async def by_old(case: dict[str, Any], metric: str) -> float:
    llm, vectors = OldModel(Replies(case, metric)), OldVectors(case["vectors"])
    made: Any = {
        "faithfulness": lambda: old.Faithfulness(llm=llm),
        "answer_relevancy": lambda: old.AnswerRelevancy(llm=llm, embeddings=vectors),
        "context_precision": lambda: old.LLMContextPrecisionWithReference(llm=llm),
        "context_recall": lambda: old.ContextRecall(llm=llm),
        "answer_correctness": lambda: old.AnswerCorrectness(llm=llm, embeddings=vectors),
    }[metric]()
    made.init(RunConfig())
    sample = SingleTurnSample(
        user_input=case["question"],
        response=case["answer"],
        reference=case["reference"],
        retrieved_contexts=case["contexts"],
    )
    return float(await made.single_turn_ascore(sample))


async def by_new(case: dict[str, Any], metric: str) -> float:
    llm, vectors = NewModel(Replies(case, metric)), NewVectors(case["vectors"])
    question, answer, reference, contexts = (case[name] for name in ("question", "answer", "reference", "contexts"))
    made: Any
    if metric == "faithfulness":
        made = await new.Faithfulness(llm=llm).ascore(user_input=question, response=answer, retrieved_contexts=contexts)
    elif metric == "answer_relevancy":
        made = await new.AnswerRelevancy(llm=llm, embeddings=vectors).ascore(user_input=question, response=answer)
    elif metric == "context_precision":
        made = await new.ContextPrecisionWithReference(llm=llm).ascore(
            user_input=question, reference=reference, retrieved_contexts=contexts
        )
    elif metric == "context_recall":
        made = await new.ContextRecall(llm=llm).ascore(
            user_input=question, retrieved_contexts=contexts, reference=reference
        )
    else:
        made = await new.AnswerCorrectness(llm=llm, embeddings=vectors).ascore(
            user_input=question, response=answer, reference=reference
        )
    return float(made.value)


async def scores(case: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for name, generation in (("old", by_old), ("new", by_new)):
        values = {metric: await generation(case, metric) for metric in case.get("metrics", FIVE)}
        found[name] = {metric: None if math.isnan(value) else value for metric, value in values.items()}
    return found


async def cached_replies(folder: str) -> dict[str, str]:
    """What two models say to one prompt where both have ragas' cache in one folder."""
    from langchain_core.language_models import FakeListChatModel  # noqa: PLC0415
    from langchain_core.prompt_values import StringPromptValue  # noqa: PLC0415
    from ragas.llms import LangchainLLMWrapper  # noqa: PLC0415

    cache, found = DiskCacheBackend(folder), {}
    for name in ("first", "second"):
        model = LangchainLLMWrapper(FakeListChatModel(responses=[f"the reply of the {name} model"]), cache=cache)
        reply = await model.agenerate_text(StringPromptValue(text="Who?"))
        found[name] = reply.generations[0][0].text
    return found


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", default="")
    folder = parser.parse_args().cache
    if folder:
        print(json.dumps(await cached_replies(folder)))
        return
    for line in sys.stdin:
        print(json.dumps(await scores(json.loads(line))))


if __name__ == "__main__":
    asyncio.run(main())
