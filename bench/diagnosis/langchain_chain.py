"""The scripted system as a chain of LangChain, as in examples/langchain_app: a retriever, a prompt and a chat model.

    PYTHON -m bench.diagnosis.langchain_chain QUESTIONS

Run by the Python of an environment that has LangChain. Diagnoses the handbook with each fault that such a chain can
have, and prints one line of JSON: by fault, how often each cause is named for the questions that it made fail, and the
number of false alarms."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.diagnosis.chance import happens
from bench.diagnosis.diagnosing import diagnosed
from bench.diagnosis.faults import FAULTS
from bench.diagnosis.measures import confusion, false_alarms
from bench.diagnosis.pipeline import Pipeline
from bench.diagnosis.trials import Trial
from bench.diagnosis.worlds import handbook
from langchain_core.documents import Document
from langchain_core.language_models import SimpleChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from ragstone.types import Passage

__all__ = ["PLANTED", "chain_of", "main"]

PLANTED = (
    "loses 20% of gold", "broken embedder", "documents missing", "documents stale", "rewriter drops the subject",
    "k = 1", "trusts the last passage", "mixes entities", "never refuses", "always refuses", "answers from memory",
    "answers half", "misreads",
)  # fmt: skip
"""The faults of a chain without a reranker whose answers do not change by themselves."""
_BETWEEN = "\n---\n"


class Search(BaseRetriever):
    """Finds what the pipeline finds."""

    pipeline: Any
    k: int

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return asyncio.run(self._aget_relevant_documents(query, run_manager=run_manager))

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found: tuple[Passage, ...] = await self.pipeline.fetched(query, self.k)
        return [Document(passage.text, metadata={"source": passage.id}) for passage in found]


class Scripted(SimpleChatModel):
    """Answers as the pipeline's reader does, from what the prompt says."""

    pipeline: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        documents, _, question = messages[-1].content.rpartition("\n\nQuestion: ")
        texts = documents.partition("\n\n")[2].split(_BETWEEN)
        passages = [Passage(str(place), text) for place, text in enumerate(texts) if text]
        return str(self.pipeline.reader.reply(question, passages))


def chain_of(pipeline: Pipeline) -> Runnable[Any, str]:
    """The pipeline as a chain; its reranker, its order of passages and its crashes are left out."""

    def rewritten(question: str) -> str:
        known = pipeline.world.by_text.get(question)
        bare = known is not None and happens(pipeline.bare, pipeline.seed, "bare", known.id)
        return pipeline.world.without_entity(question) if bare else question

    def joined(documents: list[Document]) -> str:
        return _BETWEEN.join(document.page_content for document in documents)

    search = Search(pipeline=pipeline, k=pipeline.k)
    return (
        {"context": RunnableLambda(rewritten) | search | joined, "question": RunnablePassthrough()}
        | ChatPromptTemplate.from_template("Answer from these documents:\n\n{context}\n\nQuestion: {question}")
        | Scripted(pipeline=pipeline)
        | StrOutputParser()
    )


def main() -> None:
    world = handbook(20).sample(int(sys.argv[1]))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for place, name in enumerate(PLANTED):
            paraphrased = place % 2 == 1
            trial = Trial(world, (FAULTS[name],), paraphrased, refuses=not paraphrased)
            diagnosis = diagnosed(trial, Path(folder), system=chain_of(trial.faulty))
            alarms = false_alarms(diagnosis.verdicts)
            found[name] = {
                "causes": dict(confusion(diagnosis.verdicts).get(name, {})),
                "alarms": alarms.count,
                "right": alarms.total,
                "answers": diagnosis.requests["answer"],
                "questions": len(diagnosis.verdicts),
            }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
