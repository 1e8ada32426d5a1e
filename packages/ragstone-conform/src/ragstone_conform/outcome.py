"""The outcome of a library on a case, right or wrong."""

from dataclasses import dataclass
from typing import Any, Literal

from ragstone_conform.cases import Case

Kind = Literal["right", "wrong", "no_score", "nan", "timed_out", "crashed"]
KINDS: tuple[Kind, ...] = ("right", "wrong", "no_score", "nan", "timed_out", "crashed")
_NEAR = 1e-4


@dataclass(frozen=True)
class Outcome:
    """A case's result on one metric. `kind`: "right"; "wrong": a number that is none of the right ones; "no_score":
    none where there is one; "nan": no score, as a number that is not finite, so without a reason; "timed_out" and
    "crashed": the process. `reason`: what the library said."""

    case: str
    metric: str
    kind: Kind
    expected: list[float | Literal["none"]]
    value: float | None = None
    reason: str = ""


def judged(case: Case, metric: str, result: dict[str, Any]) -> Outcome:
    """The outcome of a worker's result."""
    expected, value = case.expect[metric], result.get("value")
    reason = str(result.get("error") or result.get("reason") or result.get("not_finite") or "")
    if value is not None:
        near = any(right != "none" and abs(value - right) <= _NEAR for right in expected)
        return Outcome(case.id, metric, "right" if near else "wrong", expected, value, reason)
    if "not_finite" in result:
        return Outcome(case.id, metric, "nan", expected, None, reason)
    return Outcome(case.id, metric, "right" if "none" in expected else "no_score", expected, None, reason)
