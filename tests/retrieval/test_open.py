"""Retrievers are opened by name over a pool that is checked first."""

import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from ragstone.errors import UnknownName, Unreachable, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import RETRIEVERS, Building, Spec, check_retriever, facts_of, open_retriever
from ragstone.types import Passage, Retriever

POOL = [Passage("a", "one"), Passage("b", "two")]


class First:
    """Finds the first passages of the pool, whatever is asked."""

    facts = {"bytes": 3}  # noqa: RUF012

    def __init__(self, name: str, pool: Sequence[Passage]) -> None:
        self.id, self._pool = name, pool

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        return [list(self._pool[:k]) for _ in queries]


@contextlib.asynccontextmanager
async def _first(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    if not spec.arguments:
        yield First("first", building.pool)
        return
    async with building.open(spec.arguments[0]) as inner:
        yield inner


@pytest.fixture(autouse=True)
def _one_retriever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RETRIEVERS.__dict__, "_plugins", {"first": _first})


async def test_a_retriever_is_opened_by_its_name() -> None:
    async with open_retriever("first(first)", POOL) as opened:
        assert await opened.retrieve(["x", "y"], k=1) == [[POOL[0]], [POOL[0]]]
        assert facts_of(opened) == {"bytes": 3}


async def test_a_pool_without_passages_or_with_an_id_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="no passage"):
        async with open_retriever("first", []):
            pass
    with pytest.raises(UsageError, match="Two passages of the pool have the id 'a'"):
        async with open_retriever("first", [*POOL, POOL[0]]):
            pass


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'first'"):
        check_retriever("firts")
    with pytest.raises(UsageError, match="cannot be parsed"):
        check_retriever("first(混)")
    check_retriever("first(first)")


@pytest.mark.parametrize(
    "name", ["compat/e", "multivector(compat/e)", "rewrite(bm25,compat/m)", "hybrid(bm25,compat/e)"]
)
async def test_a_model_without_an_address_is_told_how_a_retriever_gets_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(RETRIEVERS.__dict__, "_plugins")
    with pytest.raises(
        UsageError, match=r"compat/. needs an address: url=http://… in the name of the retriever, or --r"
    ):
        async with open_retriever(name, POOL):
            pass


async def test_an_address_in_the_name_is_the_model_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RETRIEVERS.__dict__, "_plugins")
    options = ModelOptions(base_url="http://127.0.0.1:1/v1", cache=None, attempts=1)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9/v1: no connection"):
        async with open_retriever("dense(compat/e,url=http://127.0.0.1:9/v1)", POOL, options=options):
            pass
