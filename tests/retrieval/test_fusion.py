"""Lists of several retrievers are fused by rank or by score, and ties go by the pool's order."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import Unreachable, UsageError
from ragstone.models.nested_names import Spec
from ragstone.retrieval.fusion import Hybrid, fuse
from ragstone.retrieval.open import facts_of, open_retriever
from ragstone.retrieval.registry import RETRIEVERS, Building
from ragstone.types import Passage, Retriever

POOL = [Passage(name, f"text {name}", relevant=name == "b") for name in "abcdef"]
ORDER = {passage.id: place for place, passage in enumerate(POOL)}


def listed(**scores: float) -> list[Passage]:
    by_id = {passage.id: passage for passage in POOL}
    return [
        Passage(name, by_id[name].text, relevant=by_id[name].relevant, score=score) for name, score in scores.items()
    ]


def fused(*lists: Sequence[Passage], **options: Any) -> dict[str, float | None]:
    return {passage.id: passage.score for passage in fuse(lists, **{"k": 9, "order": ORDER, **options})}


def test_reciprocal_rank_fusion_adds_one_over_sixty_and_the_rank() -> None:
    found = fused(listed(a=9, b=8, c=7), listed(c=0.9, b=0.8))
    assert list(found) == ["c", "b", "a"]
    assert found == {"c": 1 / 63 + 1 / 61, "b": 1 / 62 + 1 / 62, "a": 1 / 61}
    assert fused(listed(a=9, b=8), listed(c=1), constant=0) == {"a": 1.0, "c": 1.0, "b": 0.5}


def test_weighted_fusion_brings_each_list_to_the_unit_interval() -> None:
    one, other = listed(a=30, b=20, c=10), listed(c=0.9, b=0.85, d=0.8)
    assert fused(one, other, method="weighted") == pytest.approx({"b": 0.5, "a": 0.5, "c": 0.5, "d": 0.0})
    weighted = fused(one, other, method="weighted", weights=[3, 1])
    assert weighted == pytest.approx({"a": 0.75, "b": 0.5, "c": 0.25, "d": 0.0})
    assert list(weighted) == ["a", "b", "c", "d"]
    # Equal scores are all the best there is; so is the only one.
    assert fused(listed(a=2, b=2), listed(c=-1), method="weighted") == {"a": 0.5, "b": 0.5, "c": 0.5}
    assert fused([Passage("a", ""), Passage("b", "")], method="weighted") == {"a": 1.0, "b": 1.0}


def test_ties_go_by_the_pool_then_by_the_lists() -> None:
    assert list(fused(listed(d=1), listed(a=1), listed(c=1))) == ["a", "c", "d"]
    assert list(fused(listed(d=1), listed(a=1), order=None)) == ["d", "a"]
    outside = [Passage("z", "not of the pool", score=1.0)]
    assert list(fused(outside, listed(f=1))) == ["f", "z"]


def test_a_passage_that_a_list_has_twice_counts_once_and_labels_stay() -> None:
    (first, *_) = fuse([[*listed(b=3), *listed(b=2, a=1)]], k=2, order=ORDER)
    assert (first.id, first.relevant, first.score) == ("b", True, 1 / 61)
    assert fuse([[], []], k=3) == []
    assert fuse([], k=3) == []
    assert fuse([listed(a=1)], k=0) == []


@given(st.lists(st.permutations("abcdef"), min_size=1, max_size=4), st.sampled_from(["rrf", "weighted"]))
def test_what_every_list_puts_first_is_first_and_the_lists_order_does_not_matter(
    names: list[list[str]], method: str
) -> None:
    lists = [listed(**{name: 6 - rank for rank, name in enumerate(one)}) for one in names]
    found = fused(*lists, method=method)
    assert set(found) == set("abcdef")
    if len({one[0] for one in names}) == 1:
        assert next(iter(found)) == names[0][0]
    assert found == pytest.approx(fused(*reversed(lists), method=method))
    if method == "rrf":
        assert list(found.items()) == list(fused(*reversed(lists)).items())


class Listing:
    """Finds, for each query, the passages whose ids it consists of, in that order; backwards where told."""

    def __init__(self, name: str, pool: Sequence[Passage], *, backwards: bool) -> None:
        self.id, self.facts, self.depths = name, {"index_bytes": 100}, list[int]()
        self._pool, self._backwards = {passage.id: passage for passage in pool}, backwards

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        self.depths.append(k)
        if "boom" in queries:
            raise Unreachable("the search went away")
        found = [[self._pool[letter] for letter in query if letter in self._pool][:k] for query in queries]
        return [one[::-1] if self._backwards else one for one in found]


@pytest.fixture(autouse=True)
def _two_retrievers(monkeypatch: pytest.MonkeyPatch) -> None:
    from ragstone.retrieval.fusion import open_hybrid

    @contextlib.asynccontextmanager
    async def listing(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
        yield Listing(spec.name, building.pool, backwards=spec.function == "backwards")

    plugins: Mapping[str, Any] = {"forwards": listing, "backwards": listing, "hybrid": open_hybrid}
    monkeypatch.setitem(RETRIEVERS.__dict__, "_plugins", plugins)


async def test_a_hybrid_is_opened_by_its_name_and_nests() -> None:
    name = "hybrid(forwards,hybrid(forwards,backwards,k=1),weights=0:1,depth=7)"
    async with open_retriever(name, POOL) as retriever:
        assert retriever.id == name
        first, nothing = await retriever.retrieve(["cab", ""], k=2)
        facts = facts_of(retriever)
    assert [passage.id for passage in first] == ["b", "c"]  # 1/2 + 1/4 each, before 1/3 + 1/3
    assert first[0].relevant is True
    assert nothing == []
    assert facts["weights"] == [0.0, 1.0]
    assert facts["index_bytes"] == 300
    assert facts["parts"]["hybrid(forwards,backwards,k=1)"]["k"] == 1


async def test_each_retriever_is_asked_for_the_depth_and_at_least_for_k() -> None:
    parts = [Listing("x", POOL, backwards=False), Listing("y", POOL, backwards=True)]
    hybrid = Hybrid("h", parts, order=ORDER, depth=4)
    assert len((await hybrid.retrieve(["abcdef"], k=2))[0]) == 2
    await hybrid.retrieve(["abcdef"], k=9)
    assert [part.depths for part in parts] == [[4, 9], [4, 9]]


async def test_the_error_of_a_retriever_is_told_as_it_is() -> None:
    async with open_retriever("hybrid(forwards,backwards)", POOL) as retriever:
        with pytest.raises(Unreachable, match="the search went away"):
            await retriever.retrieve(["boom"], k=3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hybrid(forwards)", "takes two or more retrievers"),
        ("hybrid", "takes two or more retrievers"),
        ("hybrid(forwards,backwards,method=sum)", "method=sum should be rrf or weighted"),
        ("hybrid(forwards,backwards,method=weighted,k=3)", "k is an option of method=rrf"),
        ("hybrid(forwards,backwards,weights=1)", "weights=1 should be 2 numbers of 0 or more, for example 0.3:0.7"),
        ("hybrid(forwards,backwards,weights=0:0)", "weights=0:0 should be"),
        ("hybrid(forwards,backwards,weights=1:nan)", "weights=1:nan should be"),
        ("hybrid(forwards,backwards,weights=1:-1)", "weights=1:-1 should be"),
        ("hybrid(forwards,backwards,weights=a:b)", "weights=a:b should be"),
        ("hybrid(forwards,backwards,depth=0)", "depth=0 should be"),
        ("hybrid(forwards,backwards,k=-1)", "k=-1 should be"),
        ("hybrid(forwards,backwards,top=3)", "no option 'top'"),
    ],
)
async def test_a_name_that_cannot_be_is_said_in_one_line(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        async with open_retriever(name, POOL):
            pass
    assert "\n" not in str(error.value)
