"""Named code in a process of its own: it may print, hang, crash and fork, and costs no more than its own answer."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.waiting import until

from ragstone.errors import SystemFailed, UsageError
from ragstone.responses.stages import passages_at
from ragstone.systems import accepts_of, open_system
from ragstone.systems.isolated import IsolatedSystem, open_isolated
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.systems.with_retriever import SystemTarget
from ragstone.types import NO_ANSWER, Passage, Query, Turn

APPS = Path(__file__).parent / "apps"


@asynccontextmanager
async def opened(name: str, *, timeout: float = 20.0, threads: int = 8) -> AsyncIterator[IsolatedSystem]:
    async with open_isolated(f"{APPS / 'app.py'}:{name}", timeout=timeout, threads=threads) as system:
        yield system


async def outcome(system: IsolatedSystem, question: str) -> str:
    """The answer, or the kind of failure and its message."""
    try:
        return (await system.answer(Query(question))).answer
    except SystemFailed as error:
        return f"{error.kind}: {error}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ask", "WHY"), ("wait", "why 3"), ("stream", "why "), ("astream", "why "), ("make", "WHY"), ("Bot", "bot: why"),
     ("Whole", "whole: why")],
)  # fmt: skip
async def test_every_form_of_code_is_asked(name: str, expected: str) -> None:
    async with opened(name) as system:
        response = await system.answer(Query("why"))
    assert response.answer == expected
    if name in ("ask", "stream"):
        assert [passage.text for passage in response.passages][:1] == ["Paris is the capital of France."]


async def test_it_gets_passages_and_history() -> None:
    async with opened("read") as system:
        query = Query("为什么", (Passage("p", "一段"),), (Turn("user", "之前"),))
        assert (await system.answer(query)).answer == "为什么 | 一段 | 之前"
        assert system.accepts == {"passages", "history"}


async def test_it_gets_k_and_searches_without_an_answer() -> None:
    async with opened("Finder") as system:
        assert system.accepts == {"k", "retrieve"}
        assert (await system.answer(Query("why", k=2))).answer == "why 0 | why 1"
        found = await system.answer(Query("why", k=1, retrieve_only=True))
    assert (found.answer, found.finish_reason) == ("", NO_ANSWER)
    assert [passage.text for passage in found.passages] == ["why 0"]
    assert passages_at(found, "fetch") == found.passages


async def test_code_that_only_searches_stands_beside_a_system() -> None:
    target = SystemTarget(f"{APPS / 'app.py'}:ask", f"{APPS / 'app.py'}:search")
    async with open_system(target, template=RAG_TEMPLATE) as system:
        assert accepts_of(system) == {"retrieve"}
        assert (await system.answer(Query("why"))).answer == "WHY"
        found = await system.answer(Query("why", k=3, retrieve_only=True))
        assert [passage.text for passage in found.passages] == ["why 0", "why 1", "why 2"]
        assert system.spec["retriever"] == f"{APPS / 'app.py'}:search"
        assert len(*system.spec["retriever_code"].values()) == 64


async def test_its_settings_have_the_hash_of_the_code() -> None:
    async with opened("Whole") as system:
        assert system.id == "whole"
        assert system.spec["kind"] == "python"
        assert system.spec["version"] == 2
        assert len(system.spec["sha256"]) == 64


async def test_each_way_to_fail_has_a_name_and_the_others_are_answered() -> None:
    questions = ["raise", "none", "number", "flag", "empty", "big", "exit", "fork", "print", "input", "ok"]
    async with opened("bad") as system:
        outcomes = dict(
            zip(questions, await asyncio.gather(*(outcome(system, question) for question in questions)), strict=True)
        )
    line = next(
        number for number, text in enumerate((APPS / "app.py").read_text("utf-8").splitlines(), 1) if "1 / 0" in text
    )
    assert outcomes["raise"] == f"raised: ZeroDivisionError: division by zero (app.py, line {line}, in bad)"
    assert outcomes["none"] == "no_answer: The system returned None instead of an answer. Return text or a dict."
    assert outcomes["number"].startswith("no_answer: The system returned int 42")
    assert outcomes["flag"].startswith("no_answer: The system returned bool True")
    assert outcomes["empty"].startswith("no_answer: The system returned dict without an answer")
    assert outcomes["big"].startswith("too_long: The answer has 10,000,000 characters")
    assert outcomes["exit"].startswith("raised: SystemExit: 4 (app.py")
    assert outcomes["fork"] == "parent: True"
    assert outcomes["print"] == "printed"
    assert outcomes["input"] == "input: "
    assert outcomes["ok"] == "fine"


async def test_a_crash_costs_one_answer() -> None:
    questions = ["slow a", "crash", "slow b", "slow c"]
    async with opened("bad") as system:
        outcomes = await asyncio.gather(*(outcome(system, question) for question in questions))
        after = await outcome(system, "ok")
    assert outcomes[0] == outcomes[2] == outcomes[3] == "fine"
    assert outcomes[1].startswith(
        "crashed: The system's process ended (exit code 3; it printed: loading the application"
    )
    assert after == "fine"


async def test_what_a_crashed_system_started_in_a_session_of_its_own_is_ended(tmp_path: Path) -> None:
    async with opened("bad") as system:
        assert (await outcome(system, f"detached {tmp_path / 'pid'}")).startswith("crashed: ")
        assert await outcome(system, "ok") == "fine"
    status = Path("/proc") / (tmp_path / "pid").read_text("utf-8") / "status"

    def ended() -> bool:
        try:
            return "State:\tZ" in status.read_text("utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return True

    await asyncio.wait_for(until(ended), 20)  # it would sleep for a minute


async def test_a_segmentation_fault_names_its_signal() -> None:
    async with opened("bad") as system:
        assert (await outcome(system, "segfault")).startswith("crashed: The system's process ended (signal 11")


async def test_a_blocking_call_that_hangs_is_ended_and_the_others_are_answered() -> None:
    async with opened("bad", timeout=1.0, threads=2) as system:
        started = time.perf_counter()
        outcomes = await asyncio.gather(*(outcome(system, question) for question in ("hang", "ok", "slow")))
        again = await outcome(system, "ok")
    assert outcomes[0] == "timed_out: No answer within 1 seconds (the limit `timeout`)."
    assert outcomes[1:] == ["fine", "fine"]
    assert again == "fine"
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize("question", ["wait", "block"])
async def test_a_coroutine_that_hangs_is_ended_even_if_it_blocks_its_loop(question: str) -> None:
    async with opened("hang", timeout=1.0) as system:
        assert (await outcome(system, question)).startswith("timed_out: ")
        assert await outcome(system, "ok") == "fine"


async def test_the_process_ends_with_the_context() -> None:
    async with opened("ask") as system:
        await system.answer(Query("why"))
        process = system.code._worker._process
        assert process.returncode is None
    assert process.returncode is not None


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("app.py:aks", "No system named 'aks'. Did you mean 'ask'?"),
        ("app.py:text", "is a str, which cannot be asked"),
        ("app.py:unknown_parameter", "needs the parameter 'tenant'"),
        ("app.py:nothing_to_ask", "takes no question"),
        ("broken.py:ask", "No module named 'a_module_that_nobody_has'"),
        ("exits.py:ask", "SystemExit: 5"),
        ("missing.py:ask", "missing.py:ask"),
    ],
)
async def test_code_that_cannot_be_loaded_is_one_line(place: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        async with open_isolated(str(APPS / place), timeout=5, threads=2):
            raise AssertionError("it was opened")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_it_may_start_processes_that_import_it() -> None:
    async with opened("processes") as system:
        assert await outcome(system, "why") == "[2, 4]"


async def test_closed_pipes_are_a_failure_of_that_question() -> None:
    async with opened("close") as system:
        message = await outcome(system, "why")
    assert message.startswith("crashed: The system's process ended (")
    assert "None" not in message  # it may be alive, or end because its event loop has lost its files


async def test_questions_for_a_process_that_has_ended_go_to_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    async with opened("bad") as system:
        assert system.code._worker._process.stdin is not None
        system.code._worker._process.stdin.close()
        assert await asyncio.gather(*(outcome(system, "ok") for _ in range(20))) == ["fine"] * 20
        assert system.code._suspects is None
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
