"""Runs of `eval` held in memory, for tests of what is said about them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tests.planless import Planless

from ragstone.types import Case, Query, Record, Response, Sample, Score

__all__ = ["MemoryRun", "record", "scored", "step"]


class MemoryRun(Planless):
    """A `types.Run` of these records."""

    def __init__(self, records: Sequence[Record], **meta: Any) -> None:
        self._records = records
        self.meta: Mapping[str, Any] = meta
        self.systems: Mapping[str, Mapping[str, Any]] = {one.system_id: {} for one in records}

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        found = (one for one in self._records if system in (None, one.system_id))
        return (one for one in found if cases is None or one.case.id in cases)


def record(
    sample: str,
    scores: Mapping[str, Score | float],
    *,
    repeat: int = 0,
    system: str = "s",
    answer: str = "So.",
    meta: Mapping[str, Any] | None = None,
    **columns: Any,
) -> Record:
    """A record of the sample; a number is a score of this value."""
    meta = {**(meta or {}), **({"columns": columns} if columns else {})}
    case = Case(
        f"{sample}/r{repeat}" if repeat else sample,
        Sample(sample, f"Why {sample}?", meta=dict(meta)),
        {"judge_repeat": repeat} if repeat else {},
        Query(f"Why {sample}?"),
    )
    made = {name: one if isinstance(one, Score) else Score.of(one) for name, one in scores.items()}
    return Record(system, case, Response(answer), None, made)


def step(name: str = "verify", *, tokens: int = 100, model: str = "m-1", **more: Any) -> dict[str, Any]:
    """A request to a judge, as evidence keeps it."""
    usage = {"requests": 1, "prompt_tokens": tokens, "completion_tokens": tokens // 10}
    return {"step": name, "model": model, "reply": "{}", "usage": usage, "cached": False, **more}


def scored(value: float, *steps: dict[str, Any]) -> Score:
    """A score that rests on these requests."""
    return Score.of(value, evidence={"verdicts": list(steps)})
