"""Query rewriting: the search is asked what the model wrote; where that is of no use, the question itself."""

import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from tests.retrieval.pools import Fixed, pool_of
from tests.servers.fake_endpoint import FakeEndpoint

from ragstone.errors import ContentBlocked, Rejected, Unreachable, UsageError
from ragstone.models.scripted import Scripted
from ragstone.retrieval import RETRIEVERS, Building, Spec, facts_of, open_retriever
from ragstone.retrieval.query_rewriters import PLUGINS, MultiQuery, Rewritten
from ragstone.types import Passage, Request, Retriever

POOL = pool_of("one", "two", "three", "four")
ORDER = {passage.id: place for place, passage in enumerate(POOL)}


class ByQuery:
    """Finds what it is told for each query, by ids; nothing for others."""

    id = "by-query"

    def __init__(self, found: Mapping[str, str]) -> None:
        self._found = {query: its.split() for query, its in found.items()}
        self.asked: list[str] = []

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        self.asked += queries
        return [[POOL[ORDER[name]] for name in self._found.get(query, ())][:k] for query in queries]


def shown(request: Request) -> dict[str, Any]:
    return json.loads(request.messages[-1].content)  # type: ignore[no-any-return]


def says(*replies: object) -> Scripted:
    """A model that replies so, one after the other."""
    left = iter(replies)

    def script(_: Request) -> Any:
        reply = next(left)
        return reply if isinstance(reply, str | Exception) else json.dumps(reply)

    return Scripted(script)


def ids(found: Sequence[Sequence[Passage]]) -> list[list[str]]:
    return [[passage.id for passage in its] for its in found]


async def test_the_search_is_asked_what_the_model_wrote() -> None:
    first, model = Fixed(POOL), says({"query": "  bridge\n cost "})
    rewritten = Rewritten("r", first, model)
    (found,) = await rewritten.retrieve(["What did the bridge cost, please?"], k=2)
    assert first.asked == [(("bridge cost",), 2)]
    assert [(passage.id, passage.score) for passage in found] == [("p1", 9.0), ("p2", 8.0)]
    assert shown(model.requests[0]) == {"question": "What did the bridge cost, please?"}
    facts = facts_of(rewritten)
    assert facts["examples"] == [{"question": "What did the bridge cost, please?", "searched": ["bridge cost"]}]
    assert (facts["answered"], facts["without"], facts["index_bytes"]) == (1, 0, 7)


async def test_each_question_has_its_own_query_in_its_own_language() -> None:
    wrote = {"多少钱？": "造价", "How much?": "cost"}
    model = Scripted(lambda request: json.dumps({"query": wrote[shown(request)["question"]]}))
    first = Fixed(POOL)
    await Rewritten("r", first, model).retrieve(["多少钱？", "How much?"], k=1)
    assert first.asked == [(("造价", "cost"), 1)]
    assert [request.messages[0].content[:2] for request in model.requests] == ["请把", "Yo"]


@pytest.mark.parametrize(
    "nonsense", ['{"query": ""}', '{"query": " \\n"}', "cost of the bridge", '{"query": 7}', "", '{"query": "x%s"}']
)
async def test_nonsense_twice_leaves_the_question_and_is_counted(nonsense: str) -> None:
    nonsense = nonsense.replace("%s", "x" * 400)
    first = Fixed(POOL)
    rewritten = Rewritten("r", first, says(nonsense, nonsense))
    await rewritten.retrieve(["How much?"], k=1)
    assert first.asked == [(("How much?",), 1)]
    facts = facts_of(rewritten)
    assert (facts["answered"], facts["without"], facts["examples"]) == (0, 1, [])


async def test_after_nonsense_the_model_is_asked_once_more() -> None:
    first, model = Fixed(POOL), says("cost", {"query": "cost"})
    await Rewritten("r", first, model).retrieve(["How much?"], k=1)
    assert first.asked == [(("cost",), 1)]
    assert "could not be used" in model.requests[1].messages[-1].content


@pytest.mark.parametrize("error", [ContentBlocked("blocked"), Rejected("too long")])
async def test_a_question_that_is_refused_is_searched_for_as_it_is(error: Exception) -> None:
    first = Fixed(POOL)
    rewritten = Rewritten("r", first, says({"query": "a"}, error))
    await rewritten.retrieve(["A?"], k=1)
    await rewritten.retrieve(["B?"], k=1)
    assert [queries for queries, _ in first.asked] == [("a",), ("B?",)]
    assert facts_of(rewritten)["without"] == 1


@pytest.mark.parametrize("error", [Rejected("no such model"), Unreachable("down")])
async def test_what_is_wrong_for_all_or_may_pass_is_raised(error: Exception) -> None:
    first = Fixed(POOL)
    with pytest.raises(type(error)):
        await Rewritten("r", first, says(error)).retrieve(["A?"], k=1)
    assert first.asked == []


async def test_questions_without_text_are_asked_of_no_model() -> None:
    first, model = Fixed(POOL), says()
    await Rewritten("r", first, model).retrieve(["", " "], k=1)
    await MultiQuery("m", first, model, order=ORDER).retrieve([""], k=1)
    assert await Rewritten("r", first, model).retrieve(["x"], k=0) == [[]]
    assert model.requests == []
    assert first.asked == [(("", " "), 1), (("",), 100)]


async def test_the_lists_of_the_question_and_the_others_are_fused() -> None:
    first = ByQuery({"Q?": "p1 p2", "a": "p3 p2", "b": "p2"})
    model = says({"queries": ["a", "b"]})
    multi = MultiQuery("m", first, model, order=ORDER, others=2)
    (found,) = await multi.retrieve(["Q?"], k=2)
    assert first.asked == ["Q?", "a", "b"]
    assert [passage.id for passage in found] == ["p2", "p1"]  # p3 has as much as p1, and comes later in the pool
    assert [passage.score for passage in found] == pytest.approx([2 / 62 + 1 / 61, 1 / 61])
    assert shown(model.requests[0]) == {"question": "Q?", "wanted": 2}
    facts = facts_of(multi)
    assert (facts["n"], facts["k"], facts["depth"]) == (2, 60.0, 100)
    assert facts["examples"] == [{"question": "Q?", "searched": ["Q?", "a", "b"]}]


async def test_several_questions_keep_their_lists_apart() -> None:
    first = ByQuery({"A?": "p1", "a": "p2", "B?": "p3", "b": "p4"})
    model = Scripted(lambda request: json.dumps({"queries": [shown(request)["question"][0].lower()]}))
    multi = MultiQuery("m", first, model, order=ORDER)
    assert ids(await multi.retrieve(["A?", "B?", "A?"], k=5)) == [["p1", "p2"], ["p3", "p4"], ["p1", "p2"]]


async def test_queries_that_say_the_same_count_once_and_too_many_are_left_out() -> None:
    first = ByQuery({})
    model = says({"queries": ["q?", "", "a", " A ", "b", "c", "d"]})
    await MultiQuery("m", first, model, order=ORDER, others=3).retrieve(["Q?"], k=5)
    assert first.asked == ["Q?", "a", "b", "c"]


@pytest.mark.parametrize("nonsense", ['{"queries": []}', '{"queries": ["Q?", " "]}', "a\nb", '{"queries": ["%s"]}'])
async def test_without_other_queries_the_question_is_searched_for_alone(nonsense: str) -> None:
    nonsense = nonsense.replace("%s", "x" * 400)
    first = ByQuery({"Q?": "p2 p1"})
    multi = MultiQuery("m", first, says(nonsense, nonsense), order=ORDER)
    assert ids(await multi.retrieve(["Q?"], k=5)) == [["p2", "p1"]]
    assert facts_of(multi)["without"] == 1


@contextlib.asynccontextmanager
async def _fixed(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    yield Fixed(building.pool, spec.name)


@pytest.fixture
def _fixed_is_a_retriever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RETRIEVERS.__dict__, "_plugins", {"fixed": _fixed, "dense": _fixed, **PLUGINS})


@pytest.mark.usefixtures("_fixed_is_a_retriever")
@pytest.mark.parametrize(
    "name",
    [
        "rewrite(fixed,compat/m,url=%s)",
        "rewrite(local/e5-small,compat/m,url=%s)",
        "multiquery(fixed,compat/m,n=2,k=10,url=%s)",
    ],
)
async def test_a_name_opens_it_over_the_pool(name: str) -> None:
    def answer(payload: Any) -> Any:
        return {"queries": ["a", "b"]} if "wanted" in payload["messages"][-1]["content"] else {"query": "a"}

    async with FakeEndpoint(answer=answer) as endpoint:
        named = name.replace("%s", endpoint.base_url)
        async with open_retriever(named, POOL) as opened:
            assert opened.id == named
            assert ids(await opened.retrieve(["Q?"], k=3)) == [["p1", "p2", "p3"]]
            assert facts_of(opened)["answered"] == 1


@pytest.mark.usefixtures("_fixed_is_a_retriever")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rewrite(fixed)", "takes a retriever and a model"),
        ("multiquery(compat/m,fixed)", "takes a retriever and a model"),
        ("multiquery(fixed,compat/m,n=0)", "n=0"),
        ("multiquery(fixed,compat/m,n=1.5)", "whole number"),
        ("rewrite(fixed,compat/m,n=3)", "no option 'n'"),
        ("rewrite(run:found.trec,compat/m,url=localhost)", "original questions only"),
        ("multiquery(hybrid(fixed,run:found.trec),compat/m)", "original questions only"),
    ],
)
async def test_names_that_cannot_be_are_told_in_one_line(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as error:
        async with open_retriever(name, POOL):
            pass
    assert "\n" not in str(error.value)


def test_the_names_are_known_to_all() -> None:
    assert {"rewrite", "multiquery"} <= set(RETRIEVERS.names())
