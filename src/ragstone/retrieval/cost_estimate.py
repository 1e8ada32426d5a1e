"""Estimates requests and tokens of a retriever's models from its name, before anything is spent (`--dry-run`).

The number of requests is an upper bound, because cached replies cost nothing; prompt tokens are approximate. Retrievers
without a model, and those of other packages, have no estimate.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

from ragstone.models.nested_names import Spec, is_http, parse
from ragstone.models.rerank import is_reranker
from ragstone.plans import RetrievalCost
from ragstone.retrieval.corpus import Documents
from ragstone.structs import Frozen
from ragstone.text import estimate_tokens

_NESTED = ("hybrid", "rewrite", "multiquery", "rerank")
_EMBEDDED = ("dense", "multivector", "late")
# Approximate tokens of a prompt's instruction and examples.
_PROMPT = 400


class TextCount(Frozen, frozen=True):
    """A number of passages or questions, and their total tokens."""

    number: int
    tokens: int

    @property
    def each(self) -> float:
        """Mean tokens per text."""
        return self.tokens / self.number if self.number else 0.0


def estimate_cost(name: Any, passages: TextCount, questions: TextCount) -> list[RetrievalCost]:
    """The cost of each model in the retriever `name`; empty if it has none, and for an object. Documents of its own
    (`corpus=PATH`) are read to count their tokens. Raises UsageError for an invalid name and for documents that are not
    there, but not for problems that only opening it would reveal."""
    return list(_of(parse(name), passages, questions)) if isinstance(name, str) else []


def query_tokens(name: Any, questions: TextCount) -> int:
    """An estimate of the tokens that the retriever embeds of these questions."""
    parts = _of(parse(name), None, questions) if isinstance(name, str) else ()
    return sum(part.tokens for part in parts if not part.requests)


def is_chat_cost(cost: RetrievalCost) -> bool:
    """True if the cost is that of a chat model, which ranks or rewrites, and is paid by its tokens like a reader."""
    return cost.requests > 0 and not _scores_itself(cost.model)


def _of(spec: Spec, passages: TextCount | None, questions: TextCount) -> Iterator[RetrievalCost]:
    """The cost of each model; of `passages` None nothing is counted."""
    embedder = spec.arguments[0] if spec.function in _EMBEDDED and spec.arguments else spec.options.get("embedder")
    if embedder:
        yield _embedded(spec, embedder, passages, questions)
    elif spec.function == "hybrid":
        for inner in spec.arguments:
            yield from _of(parse(inner), passages, questions)
    elif spec.function in ("rerank", "rewrite", "multiquery") and len(spec.arguments) == 2:
        inner, model = spec.arguments
        searched = questions
        if spec.function == "multiquery":
            several = 1 + spec.count("n", 3)
            searched = TextCount(questions.number * several, questions.tokens * several)
        yield from _of(parse(inner), passages, searched)
        requests, shown = (
            _reranked(spec, model, _pool(parse(inner), passages)) if spec.function == "rerank" else (1, 0.0)
        )
        each = questions.each * requests + shown + (0 if _scores_itself(model) else _PROMPT * requests)
        yield RetrievalCost(model, round(each * questions.number), requests * questions.number, spec.name)


def _pool(spec: Spec, passages: TextCount | None) -> TextCount:
    """The searched texts: about the chunks of the retriever's own documents if it has some, otherwise the passages."""
    if passages is None:
        return TextCount(0, 0)
    if spec.options.get("corpus"):
        return _documents(spec.options["corpus"], spec.count("chunk", 330, least=0))
    nested = [parse(inner) for inner in spec.arguments] if spec.function in _NESTED else []
    return max((_pool(inner, passages) for inner in nested), key=lambda pool: pool.number, default=passages)


@cache
def _documents(path: str, size: int) -> TextCount:
    """About the chunks of `size` tokens (0: whole) of the documents, which are read once in a process."""
    number = tokens = 0
    for _, document, _ in Documents(path):
        count = estimate_tokens(document.text)
        number, tokens = number + (math.ceil(count / size) if size else 1), tokens + count
    return TextCount(number, tokens)


def _embedded(spec: Spec, embedder: str, passages: TextCount | None, questions: TextCount) -> RetrievalCost:
    """The cost of embedding; a collection of the user's own already has its vectors."""
    own = "collection" in spec.options
    tokens = questions.tokens + (0 if own else _pool(spec, passages).tokens)
    parts = spec.function if spec.function in ("multivector", "late") else spec.options.get("corpus", "")
    return RetrievalCost(embedder, tokens, key=f"{embedder} {parts} {own} {questions.number}")


def _scores_itself(model: str) -> bool:
    return is_reranker(model) or is_http(model)


def _reranked(spec: Spec, model: str, passages: TextCount) -> tuple[int, float]:
    """(Requests, passage tokens) per question."""
    depth = min(spec.count("depth", 20), passages.number)
    if _scores_itself(model):
        return 1, depth * passages.each
    if spec.options.get("method") == "pointwise":
        return depth, depth * passages.each
    window = spec.count("window", 20, least=2)
    requests = 1 + math.ceil(max(0, depth - window) / (window // 2))
    return requests, requests * min(window, depth) * passages.each
