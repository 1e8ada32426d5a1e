"""Interventions inside applications: how retrievers are found, changed and kept apart. The frameworks themselves are in
`test_interventions.py`."""

import asyncio
import functools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragstone.errors import SystemFailed
from ragstone.responses.stages import StageRecorder, passages_at
from ragstone.systems.frameworks.holdings import objects_in
from ragstone.systems.frameworks.interception import (
    Application,
    Asked,
    accepted,
    asking,
    interleaved,
    with_k,
    wrap_once,
    wrapped_search,
)
from ragstone.types import Passage, Query, Response, Usage


@dataclass
class Search:
    """A retriever of a small framework."""

    k: int = 3
    inner: "Search | None" = None

    def find(self, query: str) -> list[str]:
        found = [f"{query} {number}" for number in range(self.k)]
        return found if self.inner is None else [*found, *self.inner.find(query)]

    async def afind(self, query: str) -> list[str]:
        await asyncio.sleep(0)
        return await asyncio.to_thread(self.find, query)


@dataclass
class Over(Search):
    """A retriever over documents that it holds, in their order by text."""

    documents: list[dict[str, str]] = field(default_factory=list)

    def __init__(self, documents: list[dict[str, str]], k: int = 3) -> None:
        self.documents, self.k = documents, k

    def find(self, query: str) -> list[str]:
        return sorted(document["text"] for document in self.documents)[: self.k]


@dataclass
class Store:
    search_kwargs: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(autouse=True)
def wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name in ((Search, "find"), (Search, "afind"), (Over, "find")):
        monkeypatch.setattr(owner, name, vars(owner)[name])  # put back afterwards
        for _ in range(2):  # the second time it is left alone
            wrap_once(owner, name, wrapped_search(lambda passages: [passage.text for passage in passages], "query"))


def given(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(text, text, relevant=True) for text in texts)


def test_outside_of_a_question_a_retriever_is_as_it_was() -> None:
    assert Search(2).find("why") == ["why 0", "why 1"]


def test_given_passages_come_from_every_retriever_whose_input_is_not_known() -> None:
    first, second, recorder = Search(), Search(), StageRecorder("why")
    with asking(Query("why", given("a", "b")), recorder) as question:
        assert first.find("rewritten") == ["a", "b"]
        assert second.find("why") == ["a", "b"]
        assert first.find(query="again") == ["a", "b"]
    response = question.response(Response("yes", given("elsewhere")))
    fetched = passages_at(response, "fetch")
    assert fetched is not None
    assert [(passage.id, passage.relevant) for passage in fetched] == [("a", None), ("b", None)]
    assert response.passages == fetched
    assert response.steps[0].output == ["rewritten", "again"]


def test_a_retriever_over_what_was_found_passes_on_the_given_passages_that_it_holds() -> None:
    with asking(Query("why", given("a", "b", "c")), StageRecorder("why"), once=True) as question:
        assert Search().find("why") == ["a", "b", "c"]
        assert Over([{"text": "c"}, {"text": "a"}]).find("why") == ["a", "c"]
        assert Over([{"text": "a"}, {"text": "of its own"}]).find("why") == []  # an index beside it
    reranked = passages_at(question.response(Response("yes")), "rerank")
    assert [passage.id for passage in reranked or ()] == ["a", "c"]


def test_a_retriever_over_what_was_found_is_a_reranker_and_gets_the_number_of_passages() -> None:
    with asking(Query("why", k=1), StageRecorder("why"), reranks=True) as question:
        question.recorder.fetch([Passage(text, text) for text in Search(3).find("why")])
        assert Over([{"text": "why 1"}, {"text": "why 0"}], k=3).find("why") == ["why 0"]
    reranked = passages_at(question.response(Response("yes")), "rerank")
    assert [passage.id for passage in reranked or ()] == ["why 0"]


def joined(question: Asked, retrievers: Sequence[Search], *, replaced: bool = False) -> Response:
    """The response of an application that joins what its retrievers find, or takes what the last one finds."""
    lists = [retriever.find("why") for retriever in retrievers]
    found = lists[-1] if replaced else [text for part in lists for text in part]
    question.recorder.prompts.append(" / ".join(["Why?", *found]))
    question.recorder.count({"prompt_tokens": 1})
    return Response(question.recorder.prompts[-1])


async def test_retrievers_side_by_side_put_the_given_passages_into_the_prompt_once() -> None:
    application, asked = Application(), list[Asked]()

    async def ask(question: Asked) -> Response:
        asked.append(question)
        return joined(question, [Search(), Search()])

    query = Query("why", given("first", "second"))
    first = await application.answer(query, ask)
    assert first.answer == "Why? / first / second"
    assert first.usage == Usage(prompt_tokens=2, requests=2)  # both attempts were paid for
    assert (await application.answer(query, ask)).answer == first.answer
    assert len(asked) == 3  # it was learnt from the first question


async def test_a_second_search_in_place_of_the_first_returns_the_given_passages() -> None:
    async def ask(question: Asked) -> Response:
        return joined(question, [Search(), Search()], replaced=True)

    response = await Application().answer(Query("why", given("first", "second")), ask)
    assert (response.answer, response.usage) == ("Why? / first / second", Usage(prompt_tokens=1, requests=1))


async def test_one_application_may_join_for_one_question_and_search_again_for_another() -> None:
    application = Application()

    async def ask(question: Asked) -> Response:
        again = "again" in question.query.question
        return joined(question, [Search(), Over([]) if again else Search()], replaced=again)

    for text in ("why", "again", "why", "again"):
        response = await application.answer(Query(text, given("first", "second")), ask)
        assert response.answer == "Why? / first / second"


async def test_an_application_that_cannot_go_on_without_a_passage_gets_one_without_a_word() -> None:
    async def ask(question: Asked) -> Response:
        found = Search().find("why")
        return Response(f"best: {found[0]}")

    response = await Application().answer(Query("why", ()), ask)
    assert (response.answer, response.passages) == ("best: (empty)", ())
    with pytest.raises(ZeroDivisionError):
        await Application().answer(Query("why", ()), failing)


async def failing(question: Asked) -> Response:
    Search().find("why")
    raise ZeroDivisionError


def test_an_answer_that_did_not_see_the_given_passages_is_an_error_unless_there_were_none() -> None:
    with asking(Query("why", given("a")), StageRecorder("why")) as question:
        pass
    with pytest.raises(SystemFailed, match="did not see the given passages") as caught:
        question.response(Response("yes"))
    assert caught.value.kind == "ignored_passages"
    with asking(Query("why", ()), StageRecorder("why")) as question:
        pass
    assert question.response(Response("yes", given("own"))).passages == ()


def test_k_is_that_of_the_outermost_retriever_and_inner_ones_keep_at_least_theirs() -> None:
    search = Search(3, Search(3))
    with asking(Query("why", k=1), StageRecorder("why")):
        assert search.find("why") == ["why 0"]
    with asking(Query("why", k=4), StageRecorder("why")):
        assert Search(3, Search(9)).find("why") == ["why 0", "why 1", "why 2", "why 3"]
    with asking(Query("why", k=1), StageRecorder("why"), reranks=True):
        assert Search(3).find("why") == ["why 0", "why 1", "why 2"]
    assert (search.k, search.inner) == (3, Search(3))  # as the user made it


def test_k_of_a_vector_store() -> None:
    assert with_k(Store({"filter": "x"}), 2).search_kwargs == {"filter": "x", "k": 2}
    assert with_k(Store({"k": 8, "fetch_k": 10}), 20).search_kwargs == {"k": 20, "fetch_k": 20}
    assert with_k(Store({}), 2, at_least=True).search_kwargs == {"k": 4}


async def test_many_questions_at_once_never_mix() -> None:
    search = Search()
    pool = ThreadPoolExecutor(4)

    async def ask(number: int, *, threads: bool) -> Any:
        with asking(Query("why", given(str(number))), StageRecorder("why")) as question:
            if threads:
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(pool, copy_context().run, search.find, "why")
            else:
                found = await search.afind("why")
        response = question.response(Response(found[0]))
        return found, response.answer, [passage.id for passage in response.passages]

    for threads in (False, True):
        answers = await asyncio.gather(*(ask(number, threads=threads) for number in range(64)))
        assert answers == [([str(number)], str(number), [str(number)]) for number in range(64)]
    pool.shutdown()


def test_a_thread_without_the_context_is_an_error_and_no_wrong_answer() -> None:
    found: list[str] = []
    with asking(Query("why", given("a")), StageRecorder("why")) as question:
        thread = threading.Thread(target=lambda: found.extend(Search(1).find("why")))
        thread.start()
        thread.join()
    assert found == ["why 0"]
    with pytest.raises(SystemFailed, match="did not see the given passages"):
        question.response(Response("yes"))


GLOBAL = Search(7)


def by_name(query: str) -> list[str]:
    def inside() -> list[str]:
        return GLOBAL.find(query)

    return inside()


class Deeper(Search):
    pass


def making(query: str) -> list[str]:
    return Deeper(1).find(query)


class Holder:
    def __init__(self, **parts: Any) -> None:
        self.parts = parts

    def run(self, query: str) -> list[str]:
        return GLOBAL.find(query)


def test_retrievers_are_found_wherever_an_application_keeps_them() -> None:
    search = Search()

    def closes_over(query: str) -> list[str]:
        return search.find(query)

    for root in (
        search, [search], {"a": {"b": (search,)}}, Holder(search=search), closes_over,
        functools.partial(closes_over), Holder(step=[closes_over]), search.find,
    ):  # fmt: skip
        assert any(item is search for item in objects_in(root, Search)), root
    assert objects_in(by_name, Search) == [GLOBAL]
    assert objects_in(Holder().run, Search) == [GLOBAL]
    assert objects_in(making, Search) == [Deeper]
    assert objects_in(Search(1, search), Search) == [Search(1, search)]  # the outermost alone
    assert objects_in(len, Search) == []


def test_what_an_application_takes_follows_from_its_retrievers() -> None:
    assert accepted([], {"history"}) == {"history"}
    assert accepted([Search]) == {"passages"}
    assert accepted([Search()]) == {"passages", "retrieve", "k"}
    assert accepted([Holder(base=Store())]) == {"passages", "retrieve"}


def test_rankings_are_put_together_from_the_top() -> None:
    assert interleaved([["a", "b", "c"], [], ["d", "e"]]) == ["a", "d", "b", "e", "c"]


def test_a_function_that_uses_a_module_without_a_file_is_looked_through() -> None:
    held = Search(1, None)

    def chain(question: str) -> str:
        import time

        time.sleep(0)
        return str(held)

    assert objects_in(chain, Search) == [held]
