"""The table of all cases, and the summary of two lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.diagnosis.strangers.faults import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.diagnosis.strangers.harness import Found


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}% ({part}/{whole})" if whole else "–"


def _points(value: float) -> str:
    return f"{100 * value:+.0f}"


def summary(found: list[Found]) -> list[str]:
    """Two lines."""
    failures = sum(one.planted for one in found)
    stage, cause = sum(one.stage_right for one in found), sum(one.cause_right for one in found)
    alarms, fine = sum(sum(one.alarms.values()) for one in found), sum(one.right for one in found)
    unknown = sum(one.unknown for one in found)
    told = [one.covered for one in found if one.covered is not None]
    misled = sum(one.misled for one in found)
    cause_mean = sum(one.cause_right / one.planted for one in found if one.planted) / max(1, len(found))
    first = (
        f"stage {_percent(stage, failures)}, cause {_percent(cause, failures)} of the planted failures; "
        f"mean of the {len(found)} cases: cause {100 * cause_mean:.0f}%"
    )
    second = (
        f"false alarms {_percent(alarms, fine)} and {unknown} right answers taken for wrong, cause unknown; "
        f"gains covered {_percent(sum(told), len(told))}, no interval in {len(found) - len(told)}; "
        f"first advice for another stage {_percent(misled, len(found))}"
    )
    return [first, second]


def _by(found: list[Found], key: str) -> list[str]:
    lines = [
        f"| {key} | cases | planted | stage right | cause right | false alarms | gains covered | advice elsewhere |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(str(getattr(one, key)) for one in found):
        ours = [one for one in found if getattr(one, key) == name]
        failures = sum(one.planted for one in ours)
        told = [one.covered for one in ours if one.covered is not None]
        alarms = sum(sum(one.alarms.values()) for one in ours)
        lines.append(
            f"| {name} | {len(ours)} | {failures} | {_percent(sum(one.stage_right for one in ours), failures)} "
            f"| {_percent(sum(one.cause_right for one in ours), failures)} "
            f"| {_percent(alarms, sum(one.right for one in ours))} "
            f"| {_percent(sum(told), len(told))} | {sum(one.misled for one in ours)} |"
        )
    return lines


def _named(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts)


def _case(one: Found) -> str:
    fault = BY_NAME[one.fault]
    gain = "no interval"
    if one.gain is not None:
        value, low, high = one.gain
        gain = f"{_points(value)} [{_points(low)}, {_points(high)}]"
    mark = {None: "–", True: "yes", False: "**no**"}[one.covered]
    how = f"{one.settings['language']} {one.settings['chunking']} {one.settings['ids']}"
    wrong = [(name, count) for name, count in one.named.most_common() if name not in fault.causes]
    return (
        f"| {one.fault} | {one.app} | {how}{' index' if one.index_named else ''} | {'/'.join(fault.causes)} "
        f"| {one.planted} | {one.stage_right} | {one.cause_right} | {_named(wrong)}{one.error} "
        f"| {_named(one.alarms.most_common())} of {one.right}{f', {one.unknown} unknown' if one.unknown else ''} "
        f"| {one.advice or 'none'}{' **(elsewhere)**' if one.misled else ''} "
        f"| {gain} | {_points(one.lifted)} / {_points(one.lifted_fresh)} | {mark} |"
    )


def report(found: list[Found]) -> str:
    """Everything as Markdown."""
    named_instead: Counter[tuple[str, str]] = Counter()
    for one in found:
        for name, count in one.named.items():
            if name not in BY_NAME[one.fault].causes:
                named_instead[BY_NAME[one.fault].causes[0], name] += count
    lines = [*summary(found), "", *_by(found, "app"), "", *_by(found, "fault"), "", "Most frequent confusions:", ""]
    lines += [f"- {count} x {named} instead of {right}" for (right, named), count in named_instead.most_common(25)]
    head = (
        "| fault | app | built with | right cause | planted | stage | cause | named instead | false alarms "
        "| first advice | its gain | lifting: same / fresh questions | covered |"
    )
    lines += [
        "",
        head,
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_case, found)]) + "\n"
