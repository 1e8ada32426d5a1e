"""What a retriever's models will be asked, told from its name before anything is spent.

It is an estimate for `--dry-run`: an upper bound for requests, since what is kept from earlier runs is not asked again,
and about the tokens of prompts. Retrievers that ask no model, and those of other packages, have nothing to tell.
"""

import math
from collections.abc import Iterator

from ragstone.models.rerank import is_reranker
from ragstone.retrieval.names import Spec, parse
from ragstone.types import Frozen, RetrievalCost

__all__ = ["Texts", "estimate_cost"]

_EMBEDDED = ("dense", "multivector", "late", "lancedb", "elasticsearch")
# Tokens of an instruction with its examples.
_FORM = 400


class Texts(Frozen, frozen=True):
    """How many passages or questions there are, and the tokens of all of them."""

    number: int
    tokens: int

    @property
    def each(self) -> float:
        """Tokens of one, on average."""
        return self.tokens / self.number if self.number else 0.0


def estimate_cost(name: str, passages: Texts, questions: Texts) -> list[RetrievalCost]:
    """What the models within a retriever of this name are asked for so many questions; nothing where it has none.
    Raises UsageError for a name that cannot be, not for what only opening it would tell."""
    return list(_of(parse(name), passages, questions))


def _of(spec: Spec, passages: Texts, questions: Texts) -> Iterator[RetrievalCost]:
    if spec.function in _EMBEDDED:
        if spec.arguments:
            yield _embedded(spec, passages, questions)
    elif spec.function == "hybrid":
        for inner in spec.arguments:
            yield from _of(parse(inner), passages, questions)
    elif spec.function in ("rerank", "rewrite", "multiquery") and len(spec.arguments) == 2:
        inner, model = spec.arguments
        searched = questions
        if spec.function == "multiquery":
            several = 1 + spec.count("n", 3)
            searched = Texts(questions.number * several, questions.tokens * several)
        yield from _of(parse(inner), passages, searched)
        requests, shown = _reranked(spec, model, passages) if spec.function == "rerank" else (1, 0.0)
        each = questions.each * requests + shown + (0 if is_reranker(model) else _FORM * requests)
        yield RetrievalCost(model, round(each * questions.number), requests * questions.number, spec.name)


def _embedded(spec: Spec, passages: Texts, questions: Texts) -> RetrievalCost:
    """A table or an index of the user's has its vectors already."""
    external = "table" in spec.options or ("index" in spec.options and spec.function == "elasticsearch")
    tokens = questions.tokens + (0 if external else passages.tokens)
    parts = spec.function if spec.function in ("multivector", "late") else ""
    return RetrievalCost(spec.arguments[0], tokens, key=f"{spec.arguments[0]} {parts} {external} {questions.number}")


def _reranked(spec: Spec, model: str, passages: Texts) -> tuple[int, float]:
    """(Requests, tokens of passages) for one question."""
    depth = min(spec.count("depth", 20), passages.number)
    if is_reranker(model):
        return 1, depth * passages.each
    if spec.options.get("method") == "pointwise":
        return depth, depth * passages.each
    window = spec.count("window", 20, least=2)
    requests = 1 + math.ceil(max(0, depth - window) / (window // 2))
    return requests, requests * min(window, depth) * passages.each
