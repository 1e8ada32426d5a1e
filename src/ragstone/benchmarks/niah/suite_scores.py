"""The mean over the tasks of a suite, in which each task counts the same."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ragstone.benchmarks.niah.aggregate import CellScores, NeedleKey, NeedleTally
from ragstone.benchmarks.niah.suites import SUITES
from ragstone.stats import Estimate


@dataclass
class SuiteScores(CellScores):
    """The mean of the scores of several tasks. Its cells are (length, number of the task)."""

    tasks: list[CellScores] = field(default_factory=list)

    def __post_init__(self) -> None:
        for number, task in enumerate(self.tasks):
            for (length, _), values in sorted(task.values.items()):
                self.values[length, float(number)] += values
            for (length, _), pending in task.planned.items():
                place = (length, float(number))
                self.planned[place] = self.planned.get(place, 0) + pending

    def mean(self, lengths: Collection[int] = (), depths: Collection[float] = ()) -> Estimate:
        """The mean of the tasks' means at these lengths; without a value if a task has none."""
        del depths
        parts = [task.mean(lengths=lengths) for task in self.tasks]
        return Estimate() if any(part.value is None for part in parts) else Estimate.mean_of(parts)

    def at_length(self, length: int) -> list[float]:
        """The means of the tasks at one length; [] if a task has none."""
        means = [task.mean(lengths=[length]).value for task in self.tasks]
        return [] if None in means else [mean for mean in means if mean is not None]


def by_suite(groups: Mapping[NeedleKey, NeedleTally]) -> dict[NeedleKey, dict[NeedleKey, NeedleTally]]:
    """The tasks of each suite, in its order, by a key whose needle is the suite; needles of no suite are left out."""
    suites: dict[NeedleKey, dict[NeedleKey, NeedleTally]] = {}
    for key in sorted(groups, key=_order):
        if key.suite:
            suites.setdefault(replace(key, needle=key.suite, template=""), {})[key] = groups[key]
    return suites


def suite_of(tasks: Mapping[NeedleKey, NeedleTally]) -> NeedleTally:
    """The tasks of a suite as one: the means of their scores."""
    mains, matched = [task.main for task in tasks.values()], [task.matched for task in tasks.values()]
    return NeedleTally(found=SuiteScores(tasks=mains), matched=SuiteScores(tasks=matched))


def with_suites(groups: Mapping[NeedleKey, NeedleTally]) -> dict[NeedleKey, NeedleTally]:
    """The groups, with one for each suite instead of those of its tasks."""
    suites = {key: suite_of(tasks) for key, tasks in by_suite(groups).items()}
    return suites | {key: group for key, group in groups.items() if not key.suite}


def _order(key: NeedleKey) -> tuple[NeedleKey, int]:
    """Where a task stands: by everything but its name, then as its suite lists it."""
    names = [kind.name for kind in SUITES[key.suite].kinds] if key.suite in SUITES else []
    name = key.needle.partition(" ")[0]
    place = names.index(name) if name in names else len(names)
    return replace(key, needle="", template=""), place
