"""What a reader is told about conditions that did not take effect, and about answers that contradict themselves."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.effect import Alarm
from ragstone.diagnosis.interventions.verification import Withdrawal, withdrawals
from ragstone.display import Summary
from ragstone.messages import messages

_KINDS = ("python", "langchain", "llamaindex", "haystack", "dspy", "http")


def alarms_of(items: Sequence[Diagnosed]) -> tuple[Alarm, ...]:
    """What the answers of a system say against its conditions."""
    verified = items[0].evidence.shared.verified if items else None
    return () if verified is None else verified.alarms


def alarmed(summary: Summary, items: Sequence[Diagnosed], spec: Mapping[str, Any], *, language: str) -> Summary:
    """The summary with its alarms. There is no advice about a system that does not stay the same during a run."""
    changing = any(alarm.condition == "again" for alarm in alarms_of(items))
    lines = tuple(alarm_lines(items, spec, language=language))
    return replace(summary, alarms=lines, actions=() if changing else summary.actions)


def alarm_lines(items: Sequence[Diagnosed], spec: Mapping[str, Any], *, language: str) -> Iterator[str]:
    """A sentence for each contradiction, and one for each reason for which conditions were withdrawn of the whole
    system, with what to do. `spec`: of the system."""
    words, names = messages(__name__, language), messages(f"{__package__}.tables", language)
    for alarm in alarms_of(items):
        condition = names[f"condition_{alarm.condition}"]
        yield words[f"alarm_{alarm.name}"].format(condition=condition, n=alarm.n, total=alarm.total)
    alike: dict[tuple[str, str], list[Withdrawal]] = {}
    for one in withdrawals([item.evidence for item in items]):
        if one.whole and one.why != "alarm":
            alike.setdefault((one.why, remedy_of(one, spec, language=language)), []).append(one)
    for (why, remedy), some in alike.items():
        conditions = words["and"].join(names[f"condition_{one.condition}"] for one in some)
        count = len({case for one in some for case in one.cases})
        yield words["withdrawn"].format(conditions=conditions, n=count, why=words[f"why_{why}"], remedy=remedy)


def reason_of(withdrawal: Withdrawal, *, language: str) -> str:
    """Why a condition was withdrawn."""
    return messages(__name__, language)[f"why_{withdrawal.why}"]


def remedy_of(withdrawal: Withdrawal, spec: Mapping[str, Any], *, language: str) -> str:
    """What it takes for a condition to take effect on a system of this kind: the lines to add."""
    words = messages(__name__, language)
    need = CONDITIONS[withdrawal.condition].takes
    if withdrawal.why == "alarm":
        return words["remedy_alarm"]
    if withdrawal.why == "part_in_prompt":
        return words["remedy_cut"]
    kind = str(spec.get("kind", ""))
    return words[f"remedy_{need}_{kind}" if need == "passages" and kind in _KINDS else f"remedy_{need}"]
