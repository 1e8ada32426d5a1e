"""Selects cases by `where`: by values of their condition, of a column of the user's data, or by language."""

from collections.abc import Iterable, Mapping
from typing import Any

from ragstone.errors import UsageError
from ragstone.types import Case

# Parts of a condition that do not identify a pair: the number of documents that it led to, the repeat of the judge,
# and the length reached in tokens, which depends on the tokenizer of each model.
NOT_IDENTIFYING = ("documents", "judge_repeat", "length_reached", "depth_reached", "tokenizer")
# Parts of the condition of a case with a retriever that describe its results.
FOUND = ("contexts", "found", "gold", "labels")
_MOST_LISTED = 20


def attributes(case: Case) -> dict[str, str]:
    """The values by which a case can be selected and grouped: scalar values of the sample's `meta`, columns of the
    data, and the condition. The later take precedence over the earlier of the same name."""
    meta = case.sample.meta
    columns = meta.get("columns")
    values = {name: value for name, value in meta.items() if isinstance(value, str | int | float)}
    values |= {**(columns if isinstance(columns, Mapping) else {}), **case.condition}
    if case.sample.language:
        values.setdefault("language", case.sample.language)
    return {name: str(value) for name, value in values.items() if name not in NOT_IDENTIFYING}


def spelled(where: Mapping[str, str]) -> str:
    """A selection as `--where` is written: "topic=refund+card, language=zh"."""
    return ", ".join(f"{name}={value}" for name, value in where.items())


def matches(values: Mapping[str, Any], where: Mapping[str, str]) -> bool:
    """Whether the values match `where`; 0.40 equals 0.4, true equals True, and 12..20, ..20 and 12.. are the numbers in
    this range, ends included."""
    return all(name in values and _same(str(values[name]), value) for name, value in where.items())


def _same(first: str, second: str) -> bool:
    if first.casefold() == second.casefold():
        return True
    low, dots, high = second.partition("..")
    try:
        if not dots:
            return float(first) == float(second)
        return bool(low or high) and float(low or "-inf") <= float(first) <= float(high or "inf")
    except ValueError:
        return False


def check_selection(
    name: str, where: Mapping[str, str], group_by: Iterable[str], available: Mapping[str, Iterable[str]], *, empty: bool
) -> None:
    """Raises UsageError if no case of the system `name` has a name in `where` or `group_by`, or if nothing was selected
    (`empty`). `available`: the values of all cases by name."""
    if unknown := [key for key in (*where, *group_by) if key not in available]:
        names = ", ".join(sorted(available)[:_MOST_LISTED])
        raise UsageError(f"No case of {name} has {unknown[0]!r}; available: {names}.")
    if empty and where:
        values = "; ".join(f"{key} is {', '.join(list(available[key])[:_MOST_LISTED])}" for key in where)
        raise UsageError(f"No case of {name} matches {spelled(where)}; available values: {values}.")
