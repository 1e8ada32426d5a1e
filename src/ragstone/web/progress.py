"""How far a run is: what is done, how fast, what it cost so far, and how long the rest takes."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from ragstone.analysis.case_index import CaseIndex
from ragstone.engine.open_run import OpenRun
from ragstone.messages import messages
from ragstone.models.work import Pace, duration
from ragstone.prices import Price
from ragstone.report.section import Canvas
from ragstone.types import Usage

_BUDGET_SECONDS = 0.2  # for the index, which counts the tokens


@dataclass(frozen=True)
class RunProgress:
    """`done` of `total` cases have a record, `failed` of them without an answer; `scores_left` answers still lack a
    score. `working`: a process asks. `rate` is cases a second and `seconds_left` the time for the rest, None if
    unknown; `prompt_tokens` and `completion_tokens` are those of the answers so far, `cost` what they cost, None
    without a price."""

    done: int
    total: int
    failed: int
    scores_left: int
    working: bool
    rate: float | None = None
    seconds_left: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, and nobody works."""
        return not self.working and not self.left

    @property
    def left(self) -> int:
        """The number of cases to ask and scores to compute."""
        return max(0, self.total - self.done) + self.scores_left


@dataclass
class ProgressWatch:
    """Looks at a run again and again, to know how fast it goes."""

    price: Price | None = None
    clock: Callable[[], float] = time.monotonic
    _pace: Pace = field(init=False)
    _left: int | None = None

    def __post_init__(self) -> None:
        self._pace = Pace(self.clock)

    def look(self, run: OpenRun, index: CaseIndex) -> RunProgress:
        """The progress now. The index counts the tokens."""
        plans = run.run.plans()
        asked = {name: count.records for name, count in run.run.counts().items()}
        working = bool(run.run.owners())
        progress = RunProgress(
            sum(asked.values()), sum(plans[name].total if name in plans else done for name, done in asked.items()),
            sum(plan.failed for plan in plans.values()),
            sum(max(plan.unscored.values(), default=0) for plan in plans.values()), working,
        )  # fmt: skip
        if self._left is None:
            self._pace = Pace(self.clock)
        else:
            self._pace.add(max(0, self._left - progress.left))
        self._left = progress.left
        index.update(_BUDGET_SECONDS)
        usage = sum(index.usage().values(), Usage())
        return replace(
            progress, rate=self._pace.rate if working else None, prompt_tokens=usage.prompt_tokens,
            seconds_left=self._pace.seconds_left(progress.left) if working else None,
            completion_tokens=usage.completion_tokens, cost=None if self.price is None else self.price.cost(usage),
        )  # fmt: skip


def progress_html(canvas: Canvas, progress: RunProgress) -> Markup:
    """A line with a bar; "" for a finished run."""
    w = messages(__name__, canvas.language)
    done = w["done"].format(done=progress.done, total=progress.total)
    return canvas.html("web/progress.html", w=w, progress=progress, done=done, parts=_parts(w, progress, done))


def _parts(w: Mapping[str, str], progress: RunProgress, done: str) -> list[str]:
    parts = [done]
    if progress.failed:
        parts.append(w["failed"].format(n=progress.failed))
    if progress.scores_left:
        parts.append(w["scores_left"].format(n=progress.scores_left))
    if progress.rate is not None:
        parts.append(w["rate"].format(rate=progress.rate))
    if progress.seconds_left:
        time_left = " ".join(w.get(f"unit_{word}", word) for word in duration(progress.seconds_left).split())
        parts.append(w["left"].format(time=time_left))
    if tokens := progress.prompt_tokens + progress.completion_tokens:
        parts.append(w["tokens"].format(n=tokens))
    if progress.cost is not None:
        parts.append(w["cost"].format(cost=progress.cost))
    return parts
