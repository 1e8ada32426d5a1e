"""Progress of a run on standard error: a bar on a terminal, an occasional line elsewhere, nothing when quiet."""

import contextlib
import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from ragstone.commands.output import StderrHandler, obeys
from ragstone.messages import messages, preferred_language
from ragstone.models.work import Pace, duration
from ragstone.runs.outcome import NullProgress, Outcome, Progress
from ragstone.types import Record

if TYPE_CHECKING:
    from rich.progress import TaskID

# Seconds between two drawings of the bar, and between two lines; a line is also written at every tenth.
REDRAW_SECONDS = 0.2
LINE_SECONDS = 30.0


def make_progress(*, quiet: bool = False, stream: TextIO | None = None, language: str | None = None) -> Progress:
    """The progress that suits the stream (standard error by default). A terminal that cannot move its cursor
    (`TERM=dumb`) gets lines."""
    stream = sys.stderr if stream is None else stream
    if quiet:
        return NullProgress()
    language = language or preferred_language()
    return BarProgress(stream, language) if obeys(stream) else LineProgress(stream, language=language)


def log_retrieval(language: str | None = None) -> None:
    """Shows the log of retrieval on standard error: it precedes the first case, and embedding a pool takes minutes."""
    language = language or preferred_language()
    for name in ("ragstone.retrieval", "ragstone.benchmarks"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.handlers = [StderrHandler(messages(__name__, language), language)]


class _Count:
    """The counts that both forms show."""

    def __init__(self, language: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.texts = messages(__name__, language)
        self.total: int | None = None
        self.done = self.failed = self.tokens = 0
        self.clock, self.pace = clock, Pace(clock)

    def start(self, total: int | None, done: int = 0) -> None:
        self.total, self.done, self.pace = total, done, Pace(self.clock)

    def already(self, count: int) -> None:
        self.done += count
        self.pace.add(count, free=True)

    def add(self, record: Record, *, free: bool) -> None:
        self.done += 1
        self.pace.add(free=free)
        if record.error is not None:
            self.failed += 1
        usage = None if record.response is None else record.response.usage
        if usage is not None and (usage.requests or not usage.cached):
            self.tokens += usage.prompt_tokens + usage.completion_tokens

    def cases(self) -> str:
        """ "12/40 cases"."""
        return self.texts["cases" if self.total is None else "of"].format(done=self.done, total=self.total)

    def parts(self) -> list[str]:
        """ "12.3/s", "4 min left", "2 failed", "1.2M tokens": what there is to say besides the count."""
        parts = []
        if (rate := self.pace.rate) is not None:
            parts.append(f"{rate:.1f}/s")
            left = None if self.total is None else self.pace.seconds_left(self.total - self.done)
            if left:
                parts.append(self.texts["left"].format(time=self._time(left)))
        if self.failed:
            parts.append(self.texts["failures"].format(n=self.failed))
        if self.tokens:
            parts.append(self.texts["tokens"].format(n=_short(self.tokens)))
        return parts

    def _time(self, seconds: float) -> str:
        return " ".join(self.texts.get(f"unit.{word}", word) for word in duration(seconds).split())


class LineProgress:
    """A line at each tenth of the work, and at least every half minute while cases finish."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic, *, language: str = "en") -> None:
        self._stream, self._count, self._clock = stream, _Count(language, clock), clock
        self._shown_at, self._shown_tenth = clock(), 0

    def start(self, total: int | None, done: int = 0) -> None:
        self._count.start(total, done)
        self._shown_at, self._shown_tenth = self._clock(), self._tenth()

    def already(self, count: int) -> None:
        self._count.already(count)
        self._shown_tenth = max(self._shown_tenth, self._tenth())

    def case_done(self, record: Record, *, free: bool = False) -> None:
        self._count.add(record, free=free)
        if self._tenth() > self._shown_tenth or self._clock() - self._shown_at >= LINE_SECONDS:
            self._shown_at, self._shown_tenth = self._clock(), self._tenth()
            self._show()

    def finish(self, outcome: Outcome | None) -> None:
        """The last tenth has its line already; the command prints the rest."""

    def _tenth(self) -> int:
        return 10 * self._count.done // self._count.total if self._count.total else 0

    def _show(self) -> None:
        with contextlib.suppress(OSError):  # a terminal that was closed, a full disk: the work goes on
            parts = [self._count.cases(), *self._count.parts()]
            self._stream.write(self._count.texts["join"].join(parts) + "\n")
            self._stream.flush()


class BarProgress:
    """A bar with rate, time left, failures and tokens; it disappears when the run ends."""

    def __init__(self, stream: TextIO, language: str = "en") -> None:
        self._stream, self._count = stream, _Count(language)
        self._bar: Any = None
        self._task: TaskID | None = None
        self._drawn_at = 0.0

    def start(self, total: int | None, done: int = 0) -> None:
        from rich.console import Console  # noqa: PLC0415  (a command that shows no bar does not pay for it)
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

        self._count.start(total, done)
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=Console(file=self._stream),
            transient=True,
            redirect_stdout=False,
        )
        self._task = self._bar.add_task("", total=total, completed=done)
        with contextlib.suppress(OSError):
            self._bar.start()

    def already(self, count: int) -> None:
        self._count.already(count)
        self._draw()

    def case_done(self, record: Record, *, free: bool = False) -> None:
        self._count.add(record, free=free)
        self._draw()

    def finish(self, outcome: Outcome | None) -> None:
        if self._bar is not None:
            self._drawn_at = 0.0
            self._draw()
            with contextlib.suppress(OSError):
                self._bar.stop()

    def _draw(self) -> None:
        now = time.monotonic()
        if self._bar is None or now - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = now
        with contextlib.suppress(OSError):
            self._bar.update(self._task, completed=self._count.done, description=" · ".join(self._count.parts()))


def _short(number: int) -> str:
    """ "950", "12.3k", "4.5M"."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
