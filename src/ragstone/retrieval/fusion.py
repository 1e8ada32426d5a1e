"""Hybrid retrieval: fuses the ranked lists of several retrievers into one.

    hybrid(bm25,local/e5-small)
    hybrid(bm25,local/e5-small,method=weighted,weights=0.3:0.7)

`method=rrf`, the default, is reciprocal rank fusion (Cormack, Clarke and Büttcher 2009,
https://doi.org/10.1145/1571941.1572114): each list adds 1 / (k + rank) to a passage's score, with `k` 60. It uses only
ranks, so the retrievers' scores need not be comparable.

`method=weighted` adds up scores. Each list's scores are scaled to [0, 1] per query, from its lowest to its highest (all
1 if they are equal); a passage that is missing from a list gets 0 from it. `weights`, one per retriever, are equal by
default. They are normalized to a sum of 1 here; with rrf they multiply its terms unchanged.

Each retriever returns `depth` passages (100, or k if that is more).
"""

import contextlib
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from ragstone.errors import UsageError
from ragstone.models.concurrency import gather_all
from ragstone.models.nested_names import Spec
from ragstone.retrieval.open import facts_of
from ragstone.retrieval.registry import Building
from ragstone.types import Passage, Retriever

Method: TypeAlias = Literal["rrf", "weighted"]

_CONSTANT = 60.0
_DEPTH = 100


def fuse(
    lists: Sequence[Sequence[Passage]],
    *,
    k: int,
    method: Method = "rrf",
    constant: float = _CONSTANT,
    weights: Sequence[float] | None = None,
    order: Mapping[str, int] | None = None,
) -> list[Passage]:
    """The k best passages of `lists` (each best first), with the fused score as `score`.

    If a list has a passage twice, its first rank counts. Ties are broken by `order` (id → position in the pool), then
    by the first list with the passage. "weighted" needs scores; a missing one counts as 0."""
    weights = [1.0] * len(lists) if weights is None else list(weights)
    if method == "weighted":
        weights = [weight / math.fsum(weights) for weight in weights]
    passages: dict[str, Passage] = {}
    terms: dict[str, list[float]] = {}
    for ranking, weight in zip(lists, weights, strict=True):
        unique = list({passage.id: passage for passage in reversed(ranking)}.values())[::-1]
        shares = _ranked(len(unique), constant) if method == "rrf" else _scaled(unique)
        for passage, share in zip(unique, shares, strict=True):
            passages.setdefault(passage.id, passage)
            terms.setdefault(passage.id, []).append(weight * share)
    # fsum: the sum does not depend on the order of the lists.
    scores = {name: math.fsum(values) for name, values in terms.items()}
    place = order or {}
    best = sorted(passages, key=lambda name: (-scores[name], place.get(name, len(place))))[: max(k, 0)]
    return [msgspec.structs.replace(passages[name], score=scores[name]) for name in best]


def _ranked(n: int, constant: float) -> list[float]:
    return [1 / (constant + rank) for rank in range(1, n + 1)]


def _scaled(passages: Sequence[Passage]) -> list[float]:
    scores = [passage.score or 0.0 for passage in passages]
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


class Hybrid:
    """Queries `retrievers` concurrently and fuses their lists. `order`: id → position in the pool, for ties."""

    def __init__(
        self,
        name: str,
        retrievers: Sequence[Retriever],
        *,
        order: Mapping[str, int],
        method: Method = "rrf",
        constant: float = _CONSTANT,
        weights: Sequence[float] | None = None,
        depth: int = _DEPTH,
    ) -> None:
        self.id, self._retrievers, self._order = name, retrievers, order
        self._method, self._constant, self._weights, self._depth = method, constant, weights, depth

    @property
    def facts(self) -> Mapping[str, Any]:
        """The settings, the facts of each retriever by name, and the total size of their indexes in bytes."""
        parts = {retriever.id: facts_of(retriever) for retriever in self._retrievers}
        how: dict[str, Any] = {"method": self._method, "depth": self._depth, "parts": parts}
        if self._method == "rrf":
            how["k"] = self._constant
        if self._weights is not None:
            how["weights"] = list(self._weights)
        if sizes := [facts["index_bytes"] for facts in parts.values() if "index_bytes" in facts]:
            how["index_bytes"] = sum(sizes)
        return how

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query. Raises any retriever's error: a list fused without it would look like this
        retriever's but be another's."""
        depth = max(self._depth, k)
        lists = await gather_all(*(retriever.retrieve(queries, k=depth) for retriever in self._retrievers))
        return [
            fuse(
                lists, k=k, method=self._method, constant=self._constant, weights=self._weights, order=self._order
            )
            for lists in zip(*lists, strict=True)
        ]  # fmt: skip


def _weights(spec: Spec) -> list[float] | None:
    """The option `weights`: colon-separated numbers of 0 or more, one per retriever, not all 0."""
    text = spec.options.get("weights")
    if text is None:
        return None
    try:
        weights = [float(part) for part in text.split(":")]
    except ValueError:
        weights = []
    n = len(spec.arguments)
    if len(weights) != n or not all(0 <= weight < math.inf for weight in weights) or not sum(weights) > 0:
        example = ":".join(["0.3", "0.7", *["0.5"] * n][:n])
        raise UsageError(f"{spec.name}: weights={text} should be {n} numbers of 0 or more, for example {example}.")
    return weights


@contextlib.asynccontextmanager
async def open_hybrid(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever and those that it fuses. Raises UsageError and the errors of opening any of them."""
    spec.only("method", "k", "weights", "depth")
    if len(spec.arguments) < 2:
        raise UsageError(
            f"{spec.name}: hybrid takes two or more retrievers, for example hybrid(bm25,local/e5-small)."
        )  # fmt: skip
    method = spec.options.get("method", "rrf")
    if method not in ("rrf", "weighted"):
        raise UsageError(f"{spec.name}: method={method} should be rrf or weighted.")
    if method == "weighted" and "k" in spec.options:
        raise UsageError(f"{spec.name}: k is an option of method=rrf.")
    constant, depth = spec.number("k", _CONSTANT, least=0), spec.count("depth", _DEPTH)
    weights = _weights(spec)
    async with contextlib.AsyncExitStack() as stack:
        retrievers = [await stack.enter_async_context(building.open(name)) for name in spec.arguments]
        order = {passage.id: place for place, passage in enumerate(building.pool)}
        yield Hybrid(
            spec.name, retrievers, order=order, method="weighted" if method == "weighted" else "rrf",
            constant=constant, weights=weights, depth=depth,
        )  # fmt: skip


PLUGINS = {"hybrid": open_hybrid}
