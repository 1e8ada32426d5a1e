"""What the pytest plug-in does: scores of single samples, by models that stay open, from sync and async tests alike.

The models live in a thread with an event loop of its own, so a test may block on a score while its own loop runs, and
nothing is patched. Replies and vectors are kept in the folder that the user names: what was asked once, with the same
judge, prompts and sample, is not asked again, wherever the folder is moved to.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ragstone.api.bench import cache_folder
from ragstone.api.judging import Judging, Opened, open_tools
from ragstone.datasets.own import read_eval_data
from ragstone.errors import UsageError
from ragstone.metrics import better
from ragstone.models import ModelOptions
from ragstone.runs.scoring import score
from ragstone.types import Case, Query, Response, Score

__all__ = ["Baseline", "Evaluator", "PassRate", "Scored", "misses"]

T = TypeVar("T")
_AT_ONCE = 16
_SHOWN = 5  # claims, and failing samples, that a message names


@dataclass(frozen=True)
class Scored:
    """One sample's scores. `values` are means over `repeat` judgements; None where there is no score."""

    id: str
    question: str
    scores: Mapping[str, tuple[Score, ...]]

    def value(self, metric: str) -> float | None:
        """The mean over the repeats; None where any of them has no value."""
        held = [one.value for one in self.scores[metric]]
        if not held or any(value is None for value in held):
            return None
        return sum(value for value in held if value is not None) / len(held)


@dataclass(frozen=True)
class PassRate:
    """How many of the samples reach every threshold, and why the others do not."""

    passed: int
    total: int
    failures: tuple[str, ...]
    samples: tuple[Scored, ...]

    @property
    def rate(self) -> float:
        return self.passed / self.total


class Evaluator:
    """Scores samples with one judge. A context manager; what is opened is closed at its end."""

    def __init__(self, judging: Judging, *, cache: Path | None = None) -> None:
        self.judging = judging
        self._options = ModelOptions(cache=cache or cache_folder())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._opened: dict[tuple[str, ...], tuple[contextlib.AsyncExitStack, Opened]] = {}
        self._locks: dict[tuple[str, ...], asyncio.Lock] = {}

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes models and thread."""
        if self._loop is None or self._thread is None:
            return
        self._wait(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def score(self, sample: Mapping[str, Any], metrics: Sequence[str], *, repeat: int = 1) -> Scored:
        """The scores of one sample, a dict with the columns that `eval` knows. Raises UsageError."""
        return self.score_all([sample], metrics, repeat=repeat)[0]

    def score_all(
        self, samples: Sequence[Mapping[str, Any]], metrics: Sequence[str], *, repeat: int = 1
    ) -> list[Scored]:
        """The scores of several samples, in order. `repeat`: how often the judge is asked."""
        if not samples:
            raise UsageError("There are no samples to score.")
        if not metrics:
            raise UsageError('There is no metric to score: name one, such as {"faithfulness": 0.8}.')
        if repeat < 1:
            raise UsageError(f"repeat={repeat}: a sample is judged at least once.")
        self.judging.check(metrics)
        data = read_eval_data([dict(sample) for sample in samples])
        for item in data.items:
            if item.response is None:
                raise UsageError(f"{item.where}: the sample has no answer to score.")
        return self._wait(self._score_all(data.items, tuple(metrics), repeat))

    def pass_rate(
        self, samples: Sequence[Mapping[str, Any]], thresholds: Mapping[str, float], *, repeat: int = 1
    ) -> PassRate:
        """How many samples reach every threshold, each by its mean over `repeat` judgements."""
        scored = self.score_all(samples, list(thresholds), repeat=repeat)
        failures = [(one, lines) for one in scored if (lines := misses(one, thresholds))]
        told = tuple(f"{one.id} ({one.question[:60]!r}): {'; '.join(lines)}" for one, lines in failures)
        return PassRate(len(scored) - len(failures), len(scored), told, tuple(scored))

    # --- in the thread -----------------------------------------------------------------------------------------

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="ragstone", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _close(self) -> None:
        for stack, _ in self._opened.values():
            await stack.aclose()
        self._opened.clear()

    async def _tools(self, metrics: tuple[str, ...]) -> Opened:
        async with self._locks.setdefault(metrics, asyncio.Lock()):
            if metrics not in self._opened:
                stack = contextlib.AsyncExitStack()
                opened = await stack.enter_async_context(open_tools(self.judging, metrics, self._options))
                self._opened[metrics] = (stack, opened)
        return self._opened[metrics][1]

    async def _score_all(self, items: Sequence[Any], metrics: tuple[str, ...], repeat: int) -> list[Scored]:
        opened = await self._tools(metrics)
        limit = asyncio.Semaphore(_AT_ONCE)

        async def one(item: Any) -> Scored:
            held: dict[str, list[Score]] = {name: [] for name in metrics}
            names = dict(zip((metric.name for metric in opened.metrics), metrics, strict=False))
            for number in range(repeat):
                query = Query(item.sample.question, None, item.history, language=item.sample.language)
                case = Case(item.sample.id, item.sample, {"judge_repeat": number} if number else {}, query)
                response: Response = item.response
                async with limit:
                    found = await asyncio.gather(*(score(metric, case, response) for metric in opened.metrics))
                for metric, result in zip(opened.metrics, found, strict=True):
                    held.setdefault(names.get(metric.name, metric.name), []).append(result)
            return Scored(
                item.sample.id, item.sample.question, {name: tuple(all_) for name, all_ in held.items() if all_}
            )

        return list(await asyncio.gather(*(one(item) for item in items)))


def misses(scored: Scored, thresholds: Mapping[str, float]) -> list[str]:
    """What keeps a sample from reaching the thresholds, a line each; [] where nothing does. A threshold of a metric of
    which lower values are better is a maximum."""
    lines = []
    for metric, threshold in thresholds.items():
        held = scored.scores.get(metric, ())
        value = scored.value(metric) if held else None
        maximum = better(metric) == "lower"
        if value is None:
            lacking = next((one for one in held if one.value is None), None)
            why = "it was not scored" if lacking is None else f"{lacking.status}: {lacking.reason}"
            lines.append(f"{metric}: no score ({why})")
        elif value > threshold if maximum else value < threshold:
            sign = ">" if maximum else "<"
            lines.append(f"{metric}: {value:.3f} {sign} {threshold:g}{_because(held[0])}")
    return lines


def _because(one: Score) -> str:
    """The claims that have no support, where the score rests on claims."""
    evidence = one.evidence if isinstance(one.evidence, Mapping) else {}
    texts: dict[int, str] = {}
    unsupported: list[int] = []
    for step in evidence.get("verdicts", ()) if isinstance(evidence.get("verdicts"), list) else ():
        for claim in step.get("answer_claims", ()) if isinstance(step, Mapping) else ():
            if "text" in claim:
                texts[claim["id"]] = claim["text"]
            elif not claim.get("supported_by", [0]):
                unsupported.append(claim["id"])
    told = [repr(texts[number]) for number in dict.fromkeys(unsupported) if number in texts]
    if not told:
        return f" ({one.reason})" if one.reason else ""
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return f" (no passage supports {', '.join(told[:_SHOWN])}{more})"


@dataclass
class Baseline:
    """Scores of an earlier session, by test and metric, in a JSON file. `tolerance`: how much is none."""

    path: Path
    tolerance: float = 0.05
    known: dict[str, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, *, tolerance: float, missing: bool) -> "Baseline":
        """The file's scores. UsageError where it is no baseline, and where it is missing and must not be."""
        if not path.exists():
            if missing:
                return cls(path, tolerance)
            raise UsageError(f"{path}: there is no such baseline. --ragstone-update-baseline writes it.")
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            known = {str(test): {str(name): float(value) for name, value in scores.items()}
                     for test, scores in held["scores"].items()}  # fmt: skip
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(f"{path}: this is no baseline of ragstone ({type(error).__name__}).") from None
        return cls(path, tolerance, known)

    def regressions(self, test: str, scores: Mapping[str, float]) -> list[str]:
        """What is worse than in the baseline by more than the tolerance, a line each."""
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
        """Writes these scores over those of the same tests; the rest stays."""
        merged = {**self.known, **{test: dict(held) for test, held in scores.items()}}
        text = json.dumps({"version": 1, "scores": dict(sorted(merged.items()))}, indent=2, ensure_ascii=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(text + "\n", encoding="utf-8")
