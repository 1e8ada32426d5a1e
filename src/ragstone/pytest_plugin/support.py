"""Scoring for the pytest plug-in: single samples, by models that stay open, from sync and async tests alike.

The models live in a thread with its own event loop, so a test may block on a score while its own loop runs, and nothing
is patched. Replies and vectors are cached in the folder that the user names: the same judge, prompts and sample are not
sent again, wherever the folder is moved to.
"""

import asyncio
import contextlib
import json
import math
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ragstone.datasets.tabular import Item, read_eval_data
from ragstone.engine.execute import cache_folder
from ragstone.engine.judge_tools import Judging, open_tools
from ragstone.errors import UsageError
from ragstone.metrics import better, make_metrics
from ragstone.models import ModelOptions
from ragstone.models.concurrency import gather_all
from ragstone.runs.scoring import score
from ragstone.storage import write_file
from ragstone.types import Case, Metric, Query, Response, Score

T = TypeVar("T")
_AT_ONCE = 16


@dataclass(frozen=True)
class Scored:
    """The scores of one sample: one per repeat for each metric, under the names that the test used."""

    case: Case
    response: Response
    scores: Mapping[str, tuple[Score, ...]]

    @property
    def id(self) -> str:
        return self.case.sample.id

    @property
    def question(self) -> str:
        return self.case.sample.question

    def value(self, metric: str) -> float | None:
        """The mean over the repeats; None if any of them has no value. KeyError for a metric that was not requested."""
        values = [score.value for score in self.scores[metric] if score.value is not None]
        if not values or len(values) < len(self.scores[metric]):
            return None
        return sum(values) / len(values)


class Evaluator:
    """Scores samples with one judge. A context manager; models are opened once and closed at its end."""

    def __init__(self, judging: Judging, *, cache: Path | None = None) -> None:
        self.judging = judging
        self.options = ModelOptions(cache=cache or cache_folder())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ragstone", daemon=True)
        self._stack = contextlib.AsyncExitStack()
        self._opening = asyncio.Lock()
        self._metrics: dict[tuple[str, ...], Mapping[str, Metric]] = {}

    def __enter__(self) -> "Evaluator":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.wait(self._stack.aclose())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def score(self, sample: Mapping[str, Any], metrics: Sequence[str], *, repeat: int = 1) -> Scored:
        """The scores of one sample, a dict with the columns that `eval` recognises. Raises UsageError."""
        return self.score_all([sample], metrics, repeat=repeat)[0]

    def score_all(
        self, samples: Sequence[Mapping[str, Any]], metrics: Sequence[str], *, repeat: int = 1
    ) -> list[Scored]:
        """The scores of several samples, in order. `repeat`: how often the judge scores each."""
        if not samples:
            raise UsageError("There are no samples to score.")
        if repeat < 1:
            raise UsageError(f"repeat={repeat}: a sample is judged at least once.")
        self.check(metrics)
        data = read_eval_data([dict(sample) for sample in samples])
        for item in data.items:
            if item.response is None:
                raise UsageError(f"{item.where}: the sample has no answer to score.")
        return self.wait(self._score_all(data.items, tuple(metrics), repeat))

    def check(self, metrics: Sequence[str]) -> None:
        """Raises UsageError if these cannot be scored one by one with the judge of the session."""
        if not metrics:
            raise UsageError('There is no metric to score: name one, such as {"faithfulness": 0.8}.')
        if groups := [name for name in metrics if len(self.judging.names([name])) != 1]:
            members = ", ".join(map(str, self.judging.names([groups[0]])))
            raise UsageError(f"{groups[0]!r} is a group of metrics. Name them one by one: {members}.")
        self.judging.check(metrics)

    # --- in the thread -----------------------------------------------------------------------------------------

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, done in the thread, also while the caller's own loop runs."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the test was interrupted: send nothing more for it
            raise

    async def _open_metrics(self, names: tuple[str, ...]) -> Mapping[str, Metric]:
        """The metrics with these names. Judge and embedder are opened when first needed, and shared."""
        async with self._opening:
            if names not in self._metrics:
                opened = await self._stack.enter_async_context(open_tools(self.judging, names, self.options))
                tools = opened.tools
                self.judging = replace(
                    self.judging,
                    model=tools.model or self.judging.model,
                    embedder=tools.embedder or self.judging.embedder,
                )
                metrics = [make_metrics(self.judging.names([name]), tools) for name in names]
                self._metrics[names] = {name: metric for name, (metric,) in zip(names, metrics, strict=True)}
        return self._metrics[names]

    async def _score_all(self, items: Sequence[Item], names: tuple[str, ...], repeat: int) -> list[Scored]:
        metrics = await self._open_metrics(names)
        limit = asyncio.Semaphore(_AT_ONCE)

        async def score_item(item: Item) -> Scored:
            assert item.response is not None
            query = Query(item.sample.question, None, item.history, language=item.sample.language)
            case = Case(item.sample.id, item.sample, {}, query)
            repeats: list[list[Score]] = []
            for number in range(repeat):
                judged = Case(case.id, case.sample, {"judge_repeat": number} if number else {}, query)
                async with limit:
                    work = (score(metric, judged, item.response) for metric in metrics.values())
                    repeats.append(await gather_all(*work))
            return Scored(case, item.response, dict(zip(metrics, zip(*repeats, strict=True), strict=True)))

        return await gather_all(*(score_item(item) for item in items))


@dataclass
class Baseline:
    """Scores of an earlier session by test and metric, in a JSON file. `tolerance`: ignore smaller differences."""

    path: Path
    tolerance: float = 0.05
    known: dict[str, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, *, tolerance: float = 0.05, missing: bool = False) -> "Baseline":
        """Reads the file. Raises UsageError if it is not a baseline, or if it does not exist and `missing` is False."""
        if not path.exists():
            if missing:
                return cls(path, tolerance)
            raise UsageError(f"{path}: the baseline does not exist. Create it with --ragstone-update-baseline.")
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            known = {str(test): {str(name): float(value) for name, value in scores.items()}
                     for test, scores in document["scores"].items()}  # fmt: skip
            if not all(math.isfinite(value) for scores in known.values() for value in scores.values()):
                raise ValueError  # nothing is worse than NaN
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(f"{path}: this is not a ragstone baseline ({type(error).__name__}).") from None
        return cls(path, tolerance, known)

    def regressions(self, test: str, scores: Mapping[str, float]) -> list[str]:
        """A line for each score that is worse than in the baseline by more than the tolerance."""
        lines = []
        for metric, value in scores.items():
            before = self.known.get(test, {}).get(metric)
            if before is None:
                continue
            worse = value - before if better(metric) == "lower" else before - value
            if worse > self.tolerance:
                lines.append(f"{metric}: {value:.3f}, {before:.3f} in the baseline")
        return lines

    def write(self, scores: Mapping[str, Mapping[str, float]]) -> None:
        """Replaces the scores of these tests and keeps the rest. The file is written atomically. Raises UsageError."""
        merged = {**self.known, **{test: dict(values) for test, values in scores.items()}}
        text = json.dumps({"version": 1, "scores": dict(sorted(merged.items()))}, indent=2, ensure_ascii=False)
        write_file(self.path, text + "\n", parents=True)
