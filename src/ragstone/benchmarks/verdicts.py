"""The figures of a verdict: a value with its interval and no more digits than the interval earns."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragstone.messages import messages

if TYPE_CHECKING:  # numpy: only where a run is read
    from ragstone.stats import Estimate


def percent(estimate: "Estimate") -> str:
    """A share: "91% [88, 94]"; "–" where nothing was scored."""
    return _figure(estimate, lambda value: f"{100 * value:.0f}", "%")


def score(estimate: "Estimate") -> str:
    """A mean: "0.82 [0.76, 0.87]"; "–" where nothing was scored."""
    return _figure(estimate, "{:.2f}".format)


def _figure(estimate: "Estimate", shown: Callable[[float], str], unit: str = "") -> str:
    """The value and, where it is known, the interval."""
    if estimate.value is None:
        return "–"
    value = f"{shown(estimate.value)}{unit}"
    if estimate.known is None:
        return value
    _, low, high = estimate.known
    return f"{value} [{shown(low)}, {shown(high)}]"


def asked(n: int, planned: int, language: str) -> str:
    """How many answers a figure is of: "300 answers", or "120 of 300 answers" where fewer were scored than planned."""
    words = messages(__name__, language)
    return words["all"].format(n=n) if n >= planned else words["some"].format(n=n, planned=planned)
