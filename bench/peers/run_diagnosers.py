"""What another tool names as the cause of each answer, run by its environment's Python. Prints one line of JSON.

    PYTHON run_diagnosers.py ragmortem|rag-doctor|ragxray TRIALS.json

TRIALS.json is a list of trials, each {"documents": {id: text}, "cases": [{"question", "answer", "reference",
"contexts": [id], "candidates": [id]}]}. The result has the tool's own word for each case, trial by trial. Each tool
gets all that it takes: ragmortem the documents, the candidates and the reference, rag-doctor the contexts and the
reference, ragxray the contexts.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["RAGMORTEM_DISABLE_NLI"] = "1"  # its model would have to be downloaded

__all__ = ["main"]


class Searched:
    """The documents of a trial, found as the system found them."""

    def __init__(self, documents: dict[str, str], candidates: dict[str, list[str]]) -> None:
        from ragmortem import Chunk  # noqa: PLC0415

        self._found = candidates
        self._chunks = {name: Chunk(id=name, text=text, source=name) for name, text in documents.items()}
        self.chunks = list(self._chunks.values())

    def retrieve(self, query: str, k: int | None = None) -> tuple[list[Any], list[float]]:
        found = [self._chunks[name] for name in self._found.get(query, []) if name in self._chunks][:k]
        return found, _scores(len(found))


def _scores(size: int) -> list[float]:
    """Scores that fall with the rank, as no tool should need those of one retriever."""
    return [0.9 - 0.5 * place / max(size, 1) for place in range(size)]


def ragmortem(trial: dict[str, Any]) -> Callable[[dict[str, Any]], str]:
    from ragmortem import diagnose  # noqa: PLC0415

    corpus = Searched(trial["documents"], {case["question"]: case["candidates"] for case in trial["cases"]})

    def label(case: dict[str, Any]) -> str:
        texts = trial["documents"]
        chunks = [{"id": name, "text": texts[name], "score": score}
                  for name, score in zip(case["contexts"], _scores(len(case["contexts"])), strict=True)]  # fmt: skip
        result = diagnose(
            query=case["question"], retrieved_chunks=chunks, answer=case["answer"], corpus=corpus, mode="corpus_aware",
            candidate_chunks=case["candidates"], candidate_scores=_scores(len(case["candidates"])),
            top_k=len(chunks), context="\n".join(chunk["text"] for chunk in chunks),
            reference_answer=case["reference"] or None,
        )  # fmt: skip
        return str(result.canonical_failure_type.value)

    return label


def rag_doctor(trial: dict[str, Any]) -> Callable[[dict[str, Any]], str]:
    from rag_doctor import Doctor  # noqa: PLC0415
    from rag_doctor.connectors.base import Document  # noqa: PLC0415

    doctor = Doctor.default()

    def label(case: dict[str, Any]) -> str:
        scores = _scores(len(case["contexts"]))
        docs = [
            Document(content=trial["documents"][name], score=scores[place], position=place, doc_id=name)
            for place, name in enumerate(case["contexts"])
        ]
        report = doctor.diagnose(
            query=case["question"], answer=case["answer"], docs=docs, expected=case["reference"] or None
        )
        return str(report.root_cause)

    return label


def ragxray(trial: dict[str, Any]) -> Callable[[dict[str, Any]], str]:
    from ragxray import diagnose  # noqa: PLC0415

    def label(case: dict[str, Any]) -> str:
        contexts = [trial["documents"][name] for name in case["contexts"]]
        report = diagnose(query=case["question"], answer=case["answer"], contexts=contexts)
        return str(report.primary_root_cause.value)

    return label


TOOLS = {"ragmortem": ragmortem, "rag-doctor": rag_doctor, "ragxray": ragxray}


def main() -> None:
    name, path = sys.argv[1:]
    trials = json.loads(Path(path).read_text("utf-8"))
    print(json.dumps([[label(case) for case in trial["cases"]]
                      for trial in trials for label in [TOOLS[name](trial)]]))  # fmt: skip


if __name__ == "__main__":
    main()
