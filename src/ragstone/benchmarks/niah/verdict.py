"""The verdict of a needle run: for each system the share found, the effective length and the controls answered."""

from collections.abc import Iterator, Mapping

from ragstone.benchmarks.niah.aggregate import NeedleKey, NeedleTally, setting_name, tally_needles
from ragstone.benchmarks.niah.effective import effective, ruler_bar
from ragstone.benchmarks.niah.suite_scores import with_suites
from ragstone.benchmarks.niah.tables import effective_text, name_of_length
from ragstone.benchmarks.verdicts import percent
from ragstone.display import Action, Figure, Summary
from ragstone.messages import messages
from ragstone.types import Run

_MAPS = 3  # of a system in its verdict
_LENGTH_CAUSES = ("refused", "missed", "partly")


def summaries(run: Run, *, language: str = "en") -> dict[str, Summary]:
    """The verdict of each system with scored answers; of several maps the first ones."""
    words = messages(__name__, language)
    by_system: dict[str, dict[NeedleKey, NeedleTally]] = {}
    for key, group in with_suites(tally_needles(run)).items():
        if group.main.values:
            by_system.setdefault(key.system, {})[key] = group
    actions = tuple(_actions(by_system, words))[:_MAPS]
    return ({"": Summary("", "", actions=actions)} if actions else {}) | {
        system: Summary(words["title"], _verdict(system, groups, words), figures=tuple(_at_longest(groups, words)))
        for system, groups in by_system.items()
    }


def _actions(by_system: Mapping[str, Mapping[NeedleKey, NeedleTally]], words: Mapping[str, str]) -> Iterator[Action]:
    """What to do about a map that ends before its longest contexts, or one without any error: its causes say nothing
    of length."""
    for system, groups in by_system.items():
        for key, group in groups.items():
            lengths, found = group.main.lengths, effective(group.main, ruler_bar())
            names = [system] if len(by_system) > 1 else []
            names += [_name(key, list(groups), words)] if len(groups) > 1 else []
            place = words["in_map"].format(map=words["comma"].join(names)) if names else ""
            if found.reached and found.high is not None:
                text = words["shorten"].format(length=name_of_length(found.reached), above=name_of_length(found.high))
                yield Action(place + text, cause=(system, *_LENGTH_CAUSES))
            elif found.ends and group.main.mean().value == 1.0 and all(map(all, group.refused.values.values())):
                yield Action(place + words["go_on"].format(length=name_of_length(lengths[-1])))


def _at_longest(groups: Mapping[NeedleKey, NeedleTally], words: Mapping[str, str]) -> Iterator[Figure]:
    """What each of the first maps shows at its longest context."""
    for key, group in list(groups.items())[:_MAPS]:
        longest = max(length for length, _ in group.main.values)
        mean = group.main.mean([longest])
        n = sum(len(values) for (length, _), values in group.main.values.items() if length == longest)
        name = f"{_name(key, list(groups), words)}{words['comma']}" if len(groups) > 1 else ""
        label = words["figure"].format(map=name, length=name_of_length(longest))
        yield Figure(label, percent(mean), mean.value, n, n)


def _verdict(system: str, groups: Mapping[NeedleKey, NeedleTally], words: Mapping[str, str]) -> str:
    sentences = []
    for key, group in list(groups.items())[:_MAPS]:
        name = words["in_map"].format(map=_name(key, list(groups), words)) if len(groups) > 1 else ""
        sentences.append(name + words["and"].join(_figures(group, words, brief=len(groups) > 1)))
    if len(groups) > _MAPS:
        sentences.append(words["more_maps"].format(n=len(groups) - _MAPS))
    n = sum(map(len, (values for group in groups.values() for values in group.main.values.values())))
    return words["verdict"].format(system=system, figures=words["semicolon"].join(sentences), n=f"{n:,}")


def _name(key: NeedleKey, keys: list[NeedleKey], words: Mapping[str, str]) -> str:
    """What sets a map apart from the others of its system. The settings of a needle are left out where no other needle
    is of its kind."""
    fields = ("language", "needle", "template", "mode", "retriever")
    varying = [field for field in fields if len({getattr(other, field) for other in keys}) > 1]
    values = [(field, getattr(key, field)) for field in varying]
    needles = dict.fromkeys(other.needle for other in keys)
    if len(dict.fromkeys(map(_kind, needles))) == len(needles):
        values = [(field, _kind(value) if field == "needle" else value) for field, value in values]
    return words["comma"].join(setting_name(field, value, words) for field, value in values if value)


def _kind(needle: str) -> str:
    """The needle without its settings: `chain` of `chain hops=3`."""
    return needle.partition(" ")[0]


def _figures(group: NeedleTally, words: Mapping[str, str], *, brief: bool) -> Iterator[str]:
    """What a map shows. `brief`: controls are named only if some were answered."""
    longest = max(length for length, _ in group.main.values)
    yield words["found"].format(figure=percent(group.main.mean()), length=name_of_length(longest))
    yield words["effective_length"].format(length=effective_text(group.main, ruler_bar(), words, told=True))
    controls = [refused for values in group.refused.values.values() for refused in values]
    if controls and not (brief and all(controls)):
        yield words["controls"].format(answered=round(len(controls) - sum(controls)), n=len(controls))
