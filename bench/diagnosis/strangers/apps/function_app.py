"""A plain function: retrieval, reranking, prompt, answer. It hands out what it retrieved, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.reader import Reader
from bench.diagnosis.strangers.search import Index
from bench.diagnosis.strangers.settings import instruction

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.diagnosis.strangers.settings import Settings

PROMPTS = {
    "en": "Answer from these passages.\n{rule}\n{history}\n{context}\n\nQuestion: {question}\nAnswer:",
    "zh": "请根据以下资料回答员工的问题。\n{rule}\n{history}\n{context}\n\n问题：{question}\n回答：",
}


def _text(passage: Any) -> str:
    return passage["text"] if isinstance(passage, dict) else str(getattr(passage, "text", passage))


def build(settings: Settings) -> Callable[..., Any]:
    """The function `ask`."""
    index, reader, desk = Index(rows(settings), settings), Reader(settings), policy.Desk(settings)

    def search(question: str, k: int | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        found = index.search(question, policy.WIDE if k is None else max(policy.WIDE, k))
        wide = [{"id": row.id, "text": row.text, "score": score, "title": row.title} for row, score in found]
        if settings.has("reranker_inverted"):
            best = policy.reranked(question, [(_text(hit), hit) for hit in wide], settings)
        else:
            best = wide
        return wide, best[: k or policy.top(settings)]

    def ask(
        question: str, passages: list[Any] | None = None, k: int | None = None, retrieve_only: bool = False
    ) -> dict[str, Any] | list[Any]:
        wide: list[Any] = []
        best: list[Any] = []
        if passages is None:
            wide, best = search(question, k)
        else:
            best = list(passages)
        if retrieve_only:
            return best
        shown = policy.arranged(best, settings)
        answer = desk.before(question)
        if answer is None:
            context = "\n".join(f"[{at}] {policy.snippet(_text(hit), settings)}" for at, hit in enumerate(shown, 1))
            prompt = PROMPTS[settings.language].format(
                rule=instruction(settings),
                history=desk.conversation(),
                context=policy.clipped(context, settings),
                question=question,
            )
            answer = desk.after(question, reader.complete(prompt))
        return {"answer": answer, "contexts": best, "stages": {"retrieved": wide, "reranked": best}}

    return ask
