"""Other ways to search than a retriever does: with a second one, reranked, with a rewritten question, or without these.

They are proposed where a diagnosis names the search as a cause (`ragstone diagnose --try auto`).
"""

from collections.abc import Collection
from typing import Literal, TypeAlias

from ragstone.models.nested_names import parse

Variant: TypeAlias = Literal["fused", "reranked", "unranked", "rewritten"]

_FUSION, _RERANKER = "hybrid", "rerank"
_REWRITERS = ("rewrite", "multiquery")
_PARTNERS = ("bm25", "local/e5-small")  # one by words, one by meaning


def variants(name: str, kind: Variant, model: str = "") -> list[str]:
    """The names of retrievers that search as `name` does but for one change; empty if it has that already.

    "fused": with a second retriever; "reranked": by the chat model `model`; "unranked": without its reranker;
    "rewritten": with the question rewritten, or split into several queries, by `model`. Without a model nothing is
    reranked or rewritten. Raises UsageError for a name that cannot be parsed."""
    inside = _functions(name)
    if kind == "fused":
        other = next(partner for partner in _PARTNERS if partner != name)
        return [] if _FUSION in inside else [f"{_FUSION}({name},{other})"]
    if kind == "unranked":
        return [_without(name, [_RERANKER])] if _RERANKER in inside else []
    makers = (_RERANKER,) if kind == "reranked" else _REWRITERS
    return [] if not model or inside & {*makers} else [f"{maker}({name},{model})" for maker in makers]


def _functions(name: str) -> set[str]:
    """The functions of a name, from the outermost to that of its first argument's first argument."""
    spec = parse(name)
    wraps = spec.function in (_FUSION, _RERANKER, *_REWRITERS) and spec.arguments
    return {spec.function} | (_functions(spec.arguments[0]) if wraps else set())


def _without(name: str, functions: Collection[str]) -> str:
    """The name without its layers of these functions."""
    spec = parse(name)
    if spec.function in functions:
        return _without(spec.arguments[0], functions)
    if spec.function not in _REWRITERS:
        return name
    inner = _without(spec.arguments[0], functions)
    return type(spec)(spec.function, (inner, *spec.arguments[1:]), spec.options).name
