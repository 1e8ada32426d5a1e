"""How a run shows itself: a bar on a terminal, lines elsewhere, nothing when quiet."""

import io
import subprocess
import sys

import pytest
from tests.models.clock import Clock
from tests.runs.doubles import case

from ragstone.commands.progress import BarProgress, LineProgress, make_progress
from ragstone.runs import NullProgress, Outcome
from ragstone.types import Record, Response, Usage


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def record(number: int, *, failed: bool = False) -> Record:
    if failed:
        return Record("s", case(number), None, "timed_out: no reply")
    return Record("s", case(number), Response("It is.", usage=Usage(1000, 234)))


def test_the_stream_decides() -> None:
    assert isinstance(make_progress(stream=Terminal()), BarProgress)
    assert isinstance(make_progress(stream=io.StringIO()), LineProgress)
    assert isinstance(make_progress(quiet=True, stream=Terminal()), NullProgress)


@pytest.mark.parametrize("name", ["dumb", "unknown"])
def test_a_terminal_that_cannot_move_its_cursor_gets_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", name)
    stream = Terminal()
    progress = make_progress(stream=stream)
    progress.start(1)
    progress.case_done(record(0))
    progress.finish(None)
    assert stream.getvalue().startswith("1/1 cases")


def test_without_a_terminal_there_is_a_line_for_each_tenth() -> None:
    stream = io.StringIO()
    progress = make_progress(stream=stream)
    progress.start(200)
    progress.already(100)
    for number in range(100):
        progress.case_done(record(number, failed=number < 2))
    progress.finish(Outcome(asked=100, done=198, failed=2, already=100))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("120/200 cases, ")
    assert "/s, " in lines[0]
    assert " left, 2 failed, 22.2k tokens" in lines[0]
    assert lines[-1].startswith("200/200 cases")
    assert "left" not in lines[-1]


def test_the_time_left_ignores_what_came_from_caches_and_what_was_there() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = LineProgress(stream, clock)
    progress.start(1000)
    progress.already(300)
    for number in range(300):
        clock.now += 0.01
        progress.case_done(record(number), free=True)
    assert "left" not in stream.getvalue()
    assert "/s" not in stream.getvalue()
    for number in range(100):
        clock.now += 0.5
        progress.case_done(record(number))
    assert stream.getvalue().splitlines()[-1].startswith("700/1,000 cases, 2.0/s, 2 min left")


class Closed(io.StringIO):
    def write(self, text: str, /) -> int:
        raise OSError(5, "Input/output error")


class ClosedTerminal(Closed, Terminal): ...


@pytest.mark.parametrize("stream", [Closed(), ClosedTerminal()])
def test_a_terminal_that_is_gone_stops_no_run(stream: io.StringIO) -> None:
    progress = make_progress(stream=stream)
    progress.start(2)
    for number in range(2):
        progress.case_done(record(number))
    progress.finish(None)
    assert isinstance(progress, BarProgress if stream.isatty() else LineProgress)


def test_a_bar_shows_rate_time_left_failures_and_tokens() -> None:
    stream = Terminal()
    progress = make_progress(stream=stream)
    progress.start(10)
    for number in range(4):
        progress.case_done(record(number, failed=number == 1))
    progress.finish(None)
    shown = stream.getvalue()
    assert "4/10" in shown
    assert "/s · " in shown
    assert " left · 1 failed · 3.7k tokens" in shown


def test_a_total_that_is_not_known_is_not_shown() -> None:
    for stream in (io.StringIO(), Terminal()):
        progress = make_progress(stream=stream)
        progress.start(None)
        progress.case_done(record(1))
        progress.finish(None)
        assert " left" not in stream.getvalue()


def test_the_library_of_the_bar_waits_until_a_bar_is_shown() -> None:
    code = "import sys, ragstone.commands.progress; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
