"""The command line as real processes: interrupted, killed, piped into others, on odd terminals, with a key."""

import asyncio
import importlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import SMALL, Told, command, environment, one_line, process
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.cli import run as command_line
from ragstone.runs import open_run

SECRET = "sk-secret-0123456789abcdefghijkl"


def start(folder: Path, *arguments: object) -> "subprocess.Popen[str]":
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(*arguments), cwd=folder, env=environment(folder), text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def test_a_pipe_that_is_closed_is_no_error(tmp_path: Path, run_file: Path) -> None:
    for arguments in (
        ("cases", "rgb", "--fictional-size", "50"),
        ("export", run_file, "--format", "jsonl"),
        ("export", run_file, "--format", "csv"),
        ("export", run_file, "--format", "xlsx"),
        ("metrics",),
    ):
        with start(tmp_path, *arguments) as one:
            assert one.stdout is not None
            assert one.stderr is not None
            if arguments[0] == "cases":
                assert json.loads(one.stdout.readline())["case_id"] == "noise/en_refine/0/0000"
            one.stdout.close()
            assert one.stderr.read() == ""
            assert one.wait() == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk"])
def test_any_terminal_can_show_the_tables(tmp_path: Path, script: Path, encoding: str) -> None:
    (tmp_path / "m.jsonl").write_bytes(script.read_bytes())
    done = subprocess.run(
        command("bench", "rgb", "--model", "scripted/m.jsonl", *SMALL, "--run", "a.run", "--language", "zh", "--quiet"),
        cwd=tmp_path, env=environment(tmp_path, PYTHONIOENCODING=encoding), capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    written = "utf-8" if encoding == "ascii" else encoding  # what Python takes ASCII to mean
    assert done.stdout.startswith("m：".encode(written, "backslashreplace"))
    checked = process("data", "check", "no-\udcff.json", folder=tmp_path, PYTHONIOENCODING=encoding)
    assert checked.code == 2
    assert "Traceback" not in checked.err


def test_without_a_key_one_line_names_the_variable(tmp_path: Path) -> None:
    told = process("bench", "rgb", "--model", "deepseek/deepseek-chat", *SMALL, folder=tmp_path)
    one_line(told, "set the environment variable DEEPSEEK_API_KEY")
    assert not list(tmp_path.glob("*.run"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_the_work_is_done_though_nobody_hears_of_it_and_a_failure_has_its_code(tmp_path: Path) -> None:
    small = "bench mirage --retriever bm25 --fictional-size 2"
    shell = f'"$0" -m ragstone {small} --run closed.run 2>&-; echo $?; "$0" -m ragstone {small} --top-k 0 2>/dev/full'
    ended = subprocess.run(
        ["sh", "-c", shell, sys.executable], cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE,
        timeout=120, check=False,
    )  # fmt: skip
    assert (ended.stdout.decode().splitlines()[-1], ended.returncode) == ("0", 2)
    with open_run(tmp_path / "closed.run") as run:
        assert sum(counts.records for counts in run.counts().values()) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_full_standard_output_is_one_line_and_an_exit_code(
    tmp_path: Path, run_file: Path, buffering: dict[str, str]
) -> None:
    for arguments, code in (
        (("metrics",), 2),
        (("cases", "rgb", "--fictional-size", "1"), 2),
        (("export", run_file, "--format", "csv"), 2),
        (("export", run_file, "--format", "xlsx"), 2),
        (("export", run_file, "--format", "latex"), 2),
        (("gate", run_file, "--fail-under", "answer_match=1.1"), 2),
    ):
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(
                command(*arguments), cwd=tmp_path, env=environment(tmp_path, **buffering), stdout=full,
                stderr=subprocess.PIPE, timeout=120, check=False,
            )  # fmt: skip
        assert ended.returncode == code, (arguments, ended)
        assert len(ended.stderr.splitlines()) == 1, ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_finishes_what_is_in_flight_and_the_same_command_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    five = asyncio.Event()

    def plan(number: int, _: object) -> Act:
        if number == 4:
            five.set()
        return Act()

    async with FakeEndpoint(plan, delay=0.05) as endpoint:
        arguments = (
            "bench", "rgb", "--model", "compat/m", "--base-url", endpoint.base_url, "--data-language", "en",
            "--limit", "12", "--fictional-size", "12", "--concurrency", "4", "--run", "a.run",
        )  # fmt: skip
        one = await asyncio.create_subprocess_exec(
            *command(*arguments), cwd=tmp_path, env=environment(tmp_path),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await five.wait()
        one.send_signal(number)
        out, err = await one.communicate()
        assert one.returncode == 3, err
        assert b"the same command" in err
        assert b"Run file: a.run" in out
        asked = len(endpoint.seen)
        with open_run(tmp_path / "a.run") as run:
            assert sum(counts.records for counts in run.counts().values()) == asked
        two = await asyncio.create_subprocess_exec(
            *command(*arguments, "--quiet", "--json"), cwd=tmp_path, env=environment(tmp_path),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await two.communicate()
        assert (two.returncode, err) == (0, b"")
        document = json.loads(out)
        assert document["asked"] + asked == document["done"] == len(endpoint.seen)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_while_a_pool_is_embedded_ends_it_there(tmp_path: Path, number: signal.Signals) -> None:
    begun = asyncio.Event()

    def plan(_: int, __: object) -> Act:
        begun.set()
        return Act("stall")

    async with FakeEndpoint(plan) as endpoint:
        arguments = (
            "bench", "mirage", "--retriever", "compat/e", "--retriever-base-url", endpoint.base_url,
            "--fictional-size", "2", "--run", "a.run",
        )  # fmt: skip
        for more, kept in (((), True), (("--no-cache",), False)):
            begun.clear()
            one = await asyncio.create_subprocess_exec(
                *command(*arguments, *more), cwd=tmp_path, env=environment(tmp_path),
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            await begun.wait()
            one.send_signal(number)
            _, err = await one.communicate()
            last = err.decode().splitlines()[-1]
            assert (one.returncode, "Stopped before the first case" in last) == (3, True), err
            assert ("are cached" in last) == kept


async def test_a_terminal_that_is_closed_loses_nothing_that_was_asked(tmp_path: Path) -> None:
    """Its bar cannot be drawn any more, and nothing can be printed."""
    five = asyncio.Event()

    def plan(number: int, _: object) -> Act:
        if number == 4:
            five.set()
        return Act()

    async with FakeEndpoint(plan, delay=0.05) as endpoint:
        primary, terminal = pty.openpty()
        arguments = (
            "bench", "rgb", "--model", "compat/m", "--base-url", endpoint.base_url, "--data-language", "en",
            "--limit", "12", "--fictional-size", "12", "--concurrency", "4", "--run", "a.run",
        )  # fmt: skip
        one = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _IN_TERMINAL, *command(*arguments), cwd=tmp_path,
            env=environment(tmp_path, TERM="xterm"), stdin=terminal, stdout=terminal, stderr=terminal,
            start_new_session=True,
        )  # fmt: skip
        os.close(terminal)
        await five.wait()
        os.close(primary)  # the kernel tells the processes of the terminal
        assert await one.wait() == 3
        with open_run(tmp_path / "a.run") as run:
            assert 4 < sum(counts.records for counts in run.counts().values()) == len(endpoint.seen) < 12 * 24


# Makes the terminal that of its session, as a shell does.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_other_commands_end_by_a_signal_with_one_line(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with start(tmp_path, "cases", "rgb", "--fictional-size", "50") as one:
        assert one.stdout is not None
        assert one.stderr is not None
        one.stdout.readline()  # the pipe fills, and it waits
        one.send_signal(number)
        one.stdout.read()
        assert one.stderr.read().strip() == "ragstone: stopped."
        assert one.wait() == code


@pytest.mark.parametrize(
    ("place", "words", "kept"),
    [
        ("evaluation.bench.run_bench", ("bench", "rgb", "--model", "local/extractive", "--fictional-size", "2"), True),
        ("cluster.merge.merge", ("merge", "a.run", "b.run", "-o", "c.run"), False),
    ],
)
def test_a_command_that_is_stopped_says_that_work_is_kept_only_where_it_is(
    ragstone: Callable[..., Told], monkeypatch: pytest.MonkeyPatch, place: str, words: tuple[str, ...], kept: bool
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    module, _, name = f"ragstone.{place}".rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), name, stop)
    told = ragstone(*words, *(["--quiet"] if kept else []))
    line = told.err.strip()  # click ends the line of ^C
    assert (told.code, line.startswith("ragstone: stopped."), len(line.splitlines())) == (130, True, 1)
    assert ("Finished work is kept; run the same command again to resume." in line) == kept
    assert ("已完成的工作都已保存" in ragstone(*words, "--language", "zh").err) == kept


_SIGNALLED_TWICE = """
import os, signal
from ragstone.cli import main
def hang_up(*_): os.kill(os.getpid(), signal.SIGHUP)
main.translated, main._say_error = hang_up, hang_up  # the second comes while the first is told
main.run(["metrics"])
"""


def test_a_second_signal_while_the_first_is_told_leaves_no_traceback(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _SIGNALLED_TWICE], cwd=tmp_path, env=environment(tmp_path), capture_output=True,
        check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGHUP, b"", b"")


async def test_keys_are_in_nothing_that_ragstone_writes(tmp_path: Path) -> None:
    """Not where the endpoint repeats the key in its errors, either."""
    plan = [
        Act("status", status=401, body={"error": {"message": f"Incorrect API key provided: {SECRET}"}}),
        Act("status", status=400, body={"error": {"message": f"no such thing, {SECRET}"}}),
        Act("body", status=403, body=f"<p>Bearer {SECRET}</p>"),
    ]
    async with FakeEndpoint(lambda number, _: plan[number] if number < len(plan) else Act()) as endpoint:
        told = []
        arguments = ("bench", "rgb", "--model", "openai/m", "--base-url", endpoint.base_url, *SMALL, "--run", "a.run")
        judge = ("--judge", "openai/j", "--judge-base-url", endpoint.base_url)
        for more in ((), judge, ("--debug", "--passages", "3"), ("--report", "b.html", "--json")):
            one = await asyncio.create_subprocess_exec(
                *command(*arguments, *more), cwd=tmp_path, env=environment(tmp_path, OPENAI_API_KEY=SECRET),
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            told.append((await one.communicate(), one.returncode))
        # Three refusals; a judge that says neither yes nor no; a traceback, as asked for; and a run that ends well.
        assert [code for _, code in told] == [3, 3, 2, 0]
        assert all(seen.headers["Authorization"] == f"Bearer {SECRET}" for seen in endpoint.seen)
    assert command_line(["report", "a.run", "-o", "a.html"]) == 0
    assert command_line(["export", "a.run", "--format", "csv", "-o", "a.csv"]) == 0
    hidden = SECRET.encode()[3:]
    files = _files(tmp_path)
    assert {"a.run", "a.html", "a.csv", "b.html"} <= files.keys()
    assert [name for name, held in files.items() if hidden in held] == []
    assert not any(hidden in stream for (streams, _) in told for stream in streams)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [4])
async def test_the_report_of_a_killed_and_resumed_run_is_that_of_an_unbroken_one(tmp_path: Path, kills: int) -> None:
    (tmp_path / "m.jsonl").write_text('{"contains": "文档", "text": "信息不足"}\n{"default": "It is 7."}\n')
    arguments = (
        "bench",
        "rgb",
        "--model",
        "scripted/m.jsonl",
        "--limit",
        "48",
        "--fictional-size",
        "48",
        "--quiet",
        "--run",
        "a.run",
    )
    (tmp_path / "broken").mkdir()
    (tmp_path / "whole").mkdir()
    for name in ("broken", "whole"):
        (tmp_path / name / "m.jsonl").write_bytes((tmp_path / "m.jsonl").read_bytes())
    path = tmp_path / "broken" / "a.run"
    killed = 0
    while killed < kills:
        with start(tmp_path / "broken", *arguments) as one:
            before, goal = _records(path), 40 * (killed + 1)
            while one.poll() is None and _records(path) < max(goal, before + 1):
                os.sched_yield()
            assert one.poll() is None, "it ended before it could be killed"
            one.kill()
            killed += 1
    pages = {}
    for name in ("broken", "whole"):
        assert process(*arguments, folder=tmp_path / name).code == 0
        for language in ("en", "zh"):
            target = f"{language}.html"
            assert process("report", "a.run", "-o", target, "--language", language, folder=tmp_path / name).code == 0
            pages[name, language] = (tmp_path / name / target).read_bytes()
    for language in ("en", "zh"):
        assert pages["broken", language] == pages["whole", language]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _records(path: Path) -> int:
    if not path.exists() or not path.stat().st_size:
        return 0
    try:
        with open_run(path) as run:
            return sum(counts.records for counts in run.counts().values())
    except Exception:  # it is being made
        return 0
