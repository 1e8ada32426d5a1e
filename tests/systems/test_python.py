"""Python code as a system: how it is called, and what its failures are called."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

import pytest

from ragstone.errors import SystemFailed, UsageError
from ragstone.responses.stages import passages_at
from ragstone.systems import accepts_of, open_system
from ragstone.systems.python import PythonSystem, system_from
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.systems.with_retriever import SystemTarget
from ragstone.types import NO_ANSWER, Passage, Query, Response, System, Turn
from ragstone.user_code.calls import located

PASSAGES = (Passage("p", "given"),)


async def answer(target: Any, query: Query | None = None, *, timeout: float = 5.0) -> Response:
    return await system_from(target, "app.py:it", timeout=timeout).answer(query or Query("why"))


def plain(question: str) -> str:
    return "plain " + question


async def coroutine(question: str) -> str:
    return "coroutine " + question


def pieces(question: str) -> Iterator[Any]:
    yield "piece "
    yield question
    yield {"contexts": ["c"]}


async def async_pieces(question: str) -> AsyncIterator[str]:
    yield "async "
    yield question


class Callable:
    def __call__(self, question: str) -> str:
        return "object " + question


class Asynchronous:
    async def __call__(self, question: str) -> str:
        return "async object " + question

    async def method(self, question: str) -> str:
        return "method " + question


class Ready:
    id = "ready"
    spec: ClassVar[dict[str, str]] = {"kind": "mine"}

    async def answer(self, query: Query, /) -> Response:
        return Response("ready " + query.question)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (plain, "plain why"),
        (coroutine, "coroutine why"),
        (pieces, "piece why"),
        (async_pieces, "async why"),
        (Callable(), "object why"),
        (Callable, "object why"),
        (Asynchronous(), "async object why"),
        (Asynchronous().method, "method why"),
        (lambda q: "lambda " + q, "lambda why"),
        (Ready(), "ready why"),
        (Ready, "ready why"),
    ],
)
async def test_whatever_can_be_asked_is_asked(target: Any, expected: str) -> None:
    assert (await answer(target)).answer == expected


async def test_a_function_without_parameters_makes_the_system() -> None:
    def make() -> Any:
        return plain

    assert (await answer(make)).answer == "plain why"


async def test_parameters_get_what_they_are_named_after() -> None:
    def rag(query: str, *, contexts: list[str], chat_history: list[dict[str, str]], lang: str = "") -> str:
        return f"{query} {contexts} {[turn['content'] for turn in chat_history]} {lang}"

    query = Query("why", PASSAGES, (Turn("user", "before"),), language="zh")
    system = system_from(rag, "it")
    assert isinstance(system, PythonSystem)
    assert system.accepts == {"passages", "history", "language"}
    assert (await system.answer(query)).answer == "why ['given'] ['before'] zh"


async def test_a_keyword_question_after_the_passages_is_still_the_question() -> None:
    def rag(passages: list[str], *, question: str) -> str:
        return f"{question} {passages}"

    assert (await answer(rag, Query("why", PASSAGES))).answer == "why ['given']"


async def test_passages_go_only_to_a_system_that_takes_them() -> None:
    with pytest.raises(SystemFailed, match="retrieves for itself, but it was asked with given passages") as caught:
        await answer(plain, Query("why", PASSAGES))
    assert caught.value.kind == "takes_no_passages"


async def test_a_system_that_may_retrieve_is_given_no_passages_where_there_are_none() -> None:
    def rag(question: str, passages: list[str] | None = None) -> str:
        return "own" if passages is None else str(passages)

    assert (await answer(rag)).answer == "own"
    assert (await answer(rag, Query("why", ()))).answer == "[]"


async def test_a_number_of_passages_is_given_where_it_is_asked_for() -> None:
    def own(question: str, top_k: int = 3) -> str:
        return f"{top_k}"

    def must(question: str, k: int) -> str:
        return f"{k}"

    asked = [(function, query) for function in (own, must) for query in (Query("why"), Query("why", k=7))]
    assert [(await answer(function, query)).answer for function, query in asked] == ["3", "7", "5", "7"]
    with pytest.raises(SystemFailed, match=r"for a number of them\. Ask it through a function") as caught:
        await answer(plain, Query("why", k=7))
    assert caught.value.kind == "takes_no_k"


class Searching:
    """Answers, and searches by a method of its own."""

    def __call__(self, question: str) -> str:
        return "answer"

    def search(self, question: str, k: int = 2) -> list[dict[str, str]]:
        return [{"id": f"{number}.md", "text": f"{question} {number}"} for number in range(k)]


class SearchingSlowly:
    async def ask(self, question: str) -> str:
        return "answer"

    async def retrieve(self, question: str) -> AsyncIterator[str]:
        return both(question)


async def both(question: str) -> AsyncIterator[str]:
    yield question + " 1"
    yield question + " 2"


def switching(question: str, retrieve_only: bool = False) -> Any:
    return {"documents": [question]} if retrieve_only else "answer"


@pytest.mark.parametrize(
    ("target", "texts"),
    [(Searching(), ["why 0", "why 1"]), (Searching, ["why 0", "why 1"]), (SearchingSlowly().ask, ["why 1", "why 2"]),
     (switching, ["why"])],
)  # fmt: skip
async def test_a_search_without_an_answer_gives_passages_and_the_step(target: Any, texts: list[str]) -> None:
    system = system_from(target, "it")
    assert "retrieve" in accepts_of(system)
    found = await system.answer(Query("why", retrieve_only=True))
    assert (found.answer, found.finish_reason) == ("", NO_ANSWER)
    assert [passage.text for passage in found.passages] == texts
    assert passages_at(found, "fetch") == found.passages
    assert (await system.answer(Query("why"))).answer == "answer"


async def test_a_search_takes_k_and_is_cut_to_it() -> None:
    for target, count in ((Searching(), 4), (SearchingSlowly().ask, 2)):
        assert len((await answer(target, Query("why", k=4, retrieve_only=True))).passages) == count
        assert len((await answer(target, Query("why", k=1, retrieve_only=True))).passages) == 1


@pytest.mark.parametrize(
    ("value", "words"), [(None, "returned NoneType"), ("text", "returned str"), ([3], "returned list")]
)
async def test_a_search_without_passages_is_an_error_and_one_that_finds_nothing_is_not(value: Any, words: str) -> None:
    def search(question: str, retrieve_only: bool) -> Any:
        return value if question == "why" else []

    with pytest.raises(SystemFailed, match=words) as caught:
        await answer(search, Query("why", retrieve_only=True))
    assert caught.value.kind == "no_passages"
    assert (await answer(search, Query("else", retrieve_only=True))).empty_retrieval


async def test_what_cannot_only_search_says_so() -> None:
    with pytest.raises(SystemFailed, match="cannot search without answering") as caught:
        await answer(plain, Query("why", retrieve_only=True))
    assert caught.value.kind == "retrieves_no_passages"


@pytest.mark.parametrize("retriever", [Searching().search, lambda question, k: Searching().search(question, k)])
async def test_a_retriever_beside_a_system_gets_the_searches(retriever: Any) -> None:
    async with open_system(SystemTarget(plain, retriever), template=RAG_TEMPLATE) as system:
        assert (await system.answer(Query("why"))).answer == "plain why"
        found = await system.answer(Query("why", k=2, retrieve_only=True))
    assert [passage.text for passage in found.passages] == ["why 0", "why 1"]


async def test_a_retriever_of_ours_needs_documents() -> None:
    with pytest.raises(UsageError, match="bm25 is no retriever of your own"):
        async with open_system(SystemTarget(plain, "bm25"), template=RAG_TEMPLATE):
            pass


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (3, "it.py:x is an int, which cannot be asked"),
        ("text", "is a str, which cannot be asked"),
        (lambda question, tenant: "", "needs the parameter 'tenant'"),
        (lambda passages: "", "takes no question"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(target: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        system_from(target, "it.py:x")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_an_exception_tells_the_line_of_the_users_own_code() -> None:
    def deep() -> None:
        raise ValueError("no such tenant")

    def ask(question: str) -> str:
        deep()
        return question

    with pytest.raises(SystemFailed) as caught:
        await answer(ask)
    assert caught.value.kind == "raised"
    line = deep.__code__.co_firstlineno + 1
    assert str(caught.value) == f"ValueError: no such tenant (test_python.py, line {line}, in deep)"


@pytest.mark.parametrize(
    "error",
    [SystemExit(4), KeyError("x"), StopIteration(), TimeoutError("theirs"), GeneratorExit(), KeyboardInterrupt(),
     asyncio.CancelledError()],
)  # fmt: skip
async def test_any_exception_is_the_failure_of_that_question(error: BaseException) -> None:
    def ask(question: str) -> str:
        raise error

    with pytest.raises(SystemFailed) as caught:
        await answer(ask)
    assert caught.value.kind == "raised"


async def test_a_coroutine_that_cancels_itself_has_failed() -> None:
    async def ask(question: str) -> str:
        raise asyncio.CancelledError

    with pytest.raises(SystemFailed, match="CancelledError"):
        await answer(ask)


async def test_what_takes_too_long_is_given_up() -> None:
    ended = threading.Event()

    def blocking(question: str) -> str:
        ended.wait(20)
        return ""

    async def waiting(question: str) -> str:
        await asyncio.Event().wait()
        return ""

    try:
        for target in (blocking, waiting):
            started = time.perf_counter()
            with pytest.raises(SystemFailed, match=r"No answer within 0\.1 seconds \(the limit `timeout`\)") as caught:
                await answer(target, timeout=0.1)
            assert caught.value.kind == "timed_out"
            assert time.perf_counter() - started < 10
    finally:
        ended.set()


async def test_blocking_calls_run_side_by_side() -> None:
    barrier = threading.Barrier(8, timeout=10)

    def ask(question: str) -> str:
        barrier.wait()  # broken unless all eight are inside
        return question

    system = system_from(ask, "it")
    answers = await asyncio.gather(*(system.answer(Query(str(number))) for number in range(8)))
    assert [response.answer for response in answers] == [str(number) for number in range(8)]


async def test_the_time_to_the_first_piece_is_kept() -> None:
    gate = threading.Event()

    def slow(question: str) -> Iterator[str]:
        yield "first "
        gate.wait(0.2)
        yield "last"

    response = await answer(slow)
    (step,) = response.steps
    assert step.name == "first token"
    assert step.seconds is not None
    assert response.seconds is not None
    assert step.seconds < response.seconds - 0.15
    assert response.answer == "first last"


async def test_what_comes_before_the_text_is_no_first_token() -> None:
    gate = threading.Event()

    def slow(question: str) -> Iterator[Any]:
        yield {"contexts": ["c"]}
        yield ""
        gate.wait(0.2)
        yield "text"

    (step,) = (await answer(slow)).steps
    assert step.seconds is not None
    assert step.seconds > 0.15


async def test_an_endless_stream_ends_at_the_limit() -> None:
    def endless(question: str) -> Iterator[str]:
        while True:
            yield "x" * 100_000

    with pytest.raises(SystemFailed, match="more than 1,000,000 characters") as caught:
        await answer(endless)
    assert caught.value.kind == "too_long"


async def test_a_stream_of_messages_ends_with_its_passages() -> None:
    response = await answer(pieces)
    assert [passage.text for passage in response.passages] == ["c"]


def test_its_settings_say_what_it_is() -> None:
    system: System = system_from(plain, "app.py:plain")
    assert system.id == "app.py:plain"
    assert dict(system.spec) == {"kind": "python"}


async def test_the_line_of_a_wrapped_exception_is_that_of_its_cause() -> None:
    def inner(question: str) -> str:
        raise KeyError("no index")

    def wrapping(question: str) -> str:
        scope: dict[str, Any] = {"inner": inner}
        exec(compile(WRAPPER, "/usr/lib/python3/site-packages/framework.py", "exec"), scope)
        return str(scope["ask"](question))

    error = None
    try:
        wrapping("why")
    except RuntimeError as raised:
        error = raised.with_traceback(None)  # a framework that raises in another thread
    assert error is not None
    assert located(error).startswith("RuntimeError: the component failed (test_python.py, line ")
    assert located(error).endswith(", in inner)")


WRAPPER = """
def ask(question):
    try:
        return inner(question)
    except KeyError as error:
        raise RuntimeError("the component failed") from error
"""
