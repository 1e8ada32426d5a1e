"""The figures of a verdict: a value with its interval and no more digits than the interval earns."""

from typing import TYPE_CHECKING

from ragstone.messages import messages

if TYPE_CHECKING:  # numpy: only where a run is read
    from ragstone.stats import Estimate

__all__ = ["asked", "percent", "score"]


def percent(estimate: "Estimate") -> str:
    """A share: "91% [88, 94]"; "–" where nothing was scored."""
    if estimate.value is None:
        return "–"
    value = f"{100 * estimate.value:.0f}%"
    if estimate.known is None:
        return value
    _, low, high = estimate.known
    return f"{value} [{100 * low:.0f}, {100 * high:.0f}]"


def score(estimate: "Estimate") -> str:
    """A mean: "0.82 [0.76, 0.87]"; "–" where nothing was scored."""
    if estimate.value is None:
        return "–"
    value = f"{estimate.value:.2f}"
    if estimate.known is None:
        return value
    _, low, high = estimate.known
    return f"{value} [{low:.2f}, {high:.2f}]"


def asked(n: int, planned: int, language: str) -> str:
    """How many answers a figure is of: "300 answers", or "120 of 300 answers" where fewer were scored than planned."""
    words = messages(__name__, language)
    return words["all"].format(n=n) if n >= planned else words["some"].format(n=n, planned=planned)
