"""How a run goes, on standard error: a bar on a terminal, a line now and then elsewhere, nothing when quiet."""

import os
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from ragstone.runs.outcome import Outcome, Progress, Silent
from ragstone.types import Record

if TYPE_CHECKING:
    from rich.progress import TaskID

__all__ = ["BarProgress", "LineProgress", "make_progress"]

# A bar is drawn at most so often, in seconds, and a line written; a line also whenever another tenth is done.
REDRAW_SECONDS = 0.2
LINE_SECONDS = 30.0


def make_progress(*, quiet: bool = False, stream: TextIO | None = None) -> Progress:
    """What suits the stream (standard error). A terminal that cannot move its cursor (`TERM=dumb`) gets lines."""
    stream = sys.stderr if stream is None else stream
    if quiet:
        return Silent()
    moves = stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return BarProgress(stream) if moves else LineProgress(stream)


class _Counting:
    """What both forms count."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.done = self.fresh = self.failed = self.tokens = 0
        self.began = time.monotonic()

    def start(self, total: int | None, done: int = 0) -> None:
        self.total, self.done, self.began = total, done, time.monotonic()

    def add(self, record: Record) -> None:
        self.done += 1
        self.fresh += 1
        if record.error is not None:
            self.failed += 1
        if record.response is not None and (usage := record.response.usage) is not None:
            self.tokens += usage.prompt_tokens + usage.completion_tokens

    @property
    def rate(self) -> float:
        """Cases a second that this process did, without those that were there before."""
        return self.fresh / max(time.monotonic() - self.began, 1e-9)

    def parts(self) -> list[str]:
        """ "12.3/s", "4 min left", "2 failed", "1.2M tokens": what there is to say beside the count."""
        parts = []
        if self.fresh:
            parts.append(f"{self.rate:.1f}/s")
            if self.total is not None and self.total > self.done:
                parts.append(f"{_duration((self.total - self.done) / self.rate)} left")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.tokens:
            parts.append(f"{_short(self.tokens)} tokens")
        return parts


class LineProgress:
    """A plain line at each tenth of the work, and at least every half minute in which something was done."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._count = stream, _Counting()
        self._told_at, self._told_tenth = time.monotonic(), 0

    def start(self, total: int | None, done: int = 0) -> None:
        self._count.start(total, done)
        self._told_at, self._told_tenth = time.monotonic(), self._tenth()

    def already(self, count: int) -> None:
        self._count.done += count
        self._told_tenth = max(self._told_tenth, self._tenth())

    def case_done(self, record: Record) -> None:
        self._count.add(record)
        if self._tenth() > self._told_tenth or time.monotonic() - self._told_at >= LINE_SECONDS:
            self._told_at, self._told_tenth = time.monotonic(), self._tenth()
            self._tell()

    def finish(self, outcome: Outcome | None) -> None:
        """The last line was that of the last tenth; what remains is for the command to say."""

    def _tenth(self) -> int:
        return 10 * self._count.done // self._count.total if self._count.total else 0

    def _tell(self) -> None:
        of = f"/{self._count.total:,}" if self._count.total is not None else ""
        self._stream.write(", ".join([f"{self._count.done:,}{of} cases", *self._count.parts()]) + "\n")
        self._stream.flush()


class BarProgress:
    """A bar with rate, time left, failures and tokens; it goes when the run has ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._count = stream, _Counting()
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
        self._bar.start()

    def already(self, count: int) -> None:
        self._count.done += count
        self._draw()

    def case_done(self, record: Record) -> None:
        self._count.add(record)
        self._draw()

    def finish(self, outcome: Outcome | None) -> None:
        if self._bar is not None:
            self._drawn_at = 0.0
            self._draw()
            self._bar.stop()

    def _draw(self) -> None:
        now = time.monotonic()
        if self._bar is None or now - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = now
        self._bar.update(self._task, completed=self._count.done, description=" · ".join(self._count.parts()))


def _duration(seconds: float) -> str:
    """ "8 s", "3 min", "2 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _short(number: int) -> str:
    """ "950", "12.3k", "4.5M"."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
