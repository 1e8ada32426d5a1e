"""One pass over a run: the scores of each cell, by system and by what was asked (language, template, needle, mode).

A cell's repeats are averaged first, and cells afterwards, so that a cell that was asked more often counts no more.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragstone.stats import Estimate
from ragstone.types import PlanCell, Record, Run, Scalar

__all__ = [
    "GIVEN",
    "NOLIMA_SHARE",
    "PUBLISHED",
    "RULER_BAR",
    "Cells",
    "Group",
    "Key",
    "count",
    "effective_length",
]

GIVEN = "needle.given"
"""The score that somebody's results came with, (score - 1) / 9 of a scale from 1 to 10; by whom, they do not say."""
PUBLISHED = "published"
"""The kind of a system whose answers were read from somebody's results."""
RULER_BAR = 0.856
"""Hsieh et al. 2024 (RULER): the score of Llama 2 7B at 4k, by which a length counts as effective."""
NOLIMA_SHARE = 0.85
"""Modarressi et al. 2025 (NoLiMa): of the score at the shortest length."""


@dataclass(frozen=True, order=True)
class Key:
    """What a map is about."""

    system: str
    language: str
    needle: str
    template: str
    mode: str
    retriever: str = ""


@dataclass
class Cells:
    """Values by cell: (length, depth) → repeats. `planned`: the cells there were to be, where that is known, each with
    how many of its cases nobody has asked."""

    values: dict[tuple[int, float], list[float]] = field(default_factory=lambda: defaultdict(list))
    planned: dict[tuple[int, float], int] = field(default_factory=dict)

    def means(self) -> dict[tuple[int, float], float]:
        """The mean of each cell."""
        return {cell: math.fsum(values) / len(values) for cell, values in self.values.items()}

    def mean(self) -> Estimate:
        """The mean of all cells."""
        return Estimate.of_mean(list(self.means().values()))

    def at_length(self, length: int) -> list[float]:
        """The means of the cells of one length."""
        return [mean for (one, _), mean in sorted(self.means().items()) if one == length]

    def at_depth(self, depth: float) -> list[float]:
        """The means of the cells of one depth."""
        return [mean for (_, one), mean in sorted(self.means().items()) if one == depth]

    @property
    def lengths(self) -> list[int]:
        return sorted({length for length, _ in self.grid})

    @property
    def depths(self) -> list[float]:
        return sorted({depth for _, depth in self.grid})

    @property
    def grid(self) -> set[tuple[int, float]]:
        """Every cell, measured or still to be."""
        return self.values.keys() | self.planned.keys()

    def is_open(self, length: int) -> bool:
        """Whether cases of this length are still to be asked."""
        return any(left for (one, _), left in self.planned.items() if one == length)


@dataclass
class Group:
    """All that was measured under one key. `found`: the share of needles stated; `alarms`: a refusal although the model
    was given a needle; `refused`: the refusal where there was none, by length; `judged`: the judge's, from 0 to 1;
    `retrieved`: the share of needles that the retriever found; `both`: retrieved and stated; `given`: the score that
    somebody's results came with. `published`: nothing of this was asked here."""

    found: Cells = field(default_factory=Cells)
    alarms: Cells = field(default_factory=Cells)
    refused: Cells = field(default_factory=Cells)
    judged: Cells = field(default_factory=Cells)
    retrieved: Cells = field(default_factory=Cells)
    both: Cells = field(default_factory=Cells)
    given: Cells = field(default_factory=Cells)
    disagreements: list[tuple[str, float, float]] = field(default_factory=list)  # case, by rule, by the judge
    answers: dict[str, float] = field(default_factory=dict)  # sample of a cell and repeat → found, for paired tests
    errors: int = 0
    prompt_tokens: list[tuple[int, int]] = field(
        default_factory=list
    )  # (reached by our tokenizer, as the endpoint says)
    tokenizers: set[str] = field(default_factory=set)
    published: bool = False

    @property
    def main(self) -> Cells:
        """What its maps and lengths are about: what was found by rule, else the judge's score, else the one that was
        given, from 0 to 1; where nobody answered, what was retrieved."""
        several = (self.found, self.judged, self.given, self.retrieved)
        return next((one for one in several if one.values), self.found)


def count(run: Run) -> dict[Key, Group]:
    """Every key of the run, in order."""
    found: dict[Key, Group] = {}
    for record in run.records():
        key = _key(record.system_id, record.case.condition)
        published = run.systems.get(record.system_id, {}).get("kind") == PUBLISHED
        _add(found.setdefault(key, Group(published=published)), record)
    for system, plan in run.plans().items():
        for cell in plan.cells:
            if cell.condition.get("ability") == "needle":
                _plan(found.setdefault(_key(system, cell.condition), Group()), cell)
    return dict(sorted(found.items()))


def _key(system: str, condition: Mapping[str, Scalar]) -> Key:
    return Key(
        system, str(condition.get("language", "")), str(condition.get("needle", "")),
        str(condition.get("template", "")), str(condition.get("mode", "full")), _retriever(condition),
    )  # fmt: skip


def _plan(group: Group, cell: PlanCell) -> None:
    place = _place(cell.condition)
    for cells in (group.found, group.judged, group.retrieved, group.both):
        cells.planned[place] = cell.total - cell.asked


def _place(condition: Mapping[str, Scalar]) -> tuple[int, float]:
    return int(condition.get("length", 0)), float(condition.get("depth", 0.0))


def _retriever(condition: Mapping[str, Scalar]) -> str:
    """How a context was searched: "bm25, 330 × 5" is by BM25, in chunks of 330 tokens, of which 5 were given."""
    name = str(condition.get("retriever", ""))
    return f"{name}, {condition['chunk']} × {condition['k']}" if "chunk" in condition else name


def _add(group: Group, record: Record) -> None:
    condition = record.case.condition
    cell = _place(condition)
    group.tokenizers.add(str(condition.get("tokenizer", "")))
    if record.response is None:
        group.errors += 1
        return
    rag = condition.get("mode") == "rag"
    if not rag and record.response.usage is not None and record.response.usage.prompt_tokens:
        group.prompt_tokens.append((int(condition.get("length_reached", 0)), record.response.usage.prompt_tokens))
    scores = {name: score.value for name, score in record.scores.items() if score.value is not None}
    refused, found = scores.get("needle.refused"), scores.get("needle.found")
    if condition.get("ability") == "control":
        if refused is not None:
            group.refused.values[cell].append(refused)
        return
    if found is not None:
        group.found.values[cell].append(found)
        group.answers[f"{cell[0]}/{cell[1]}/{condition.get('repeat', 0)}"] = found
        if refused is not None and scores.get("needle.retrieved") != 0.0:
            group.alarms.values[cell].append(float(refused and not found))
    for name, cells in (("needle.judge", group.judged), (GIVEN, group.given)):
        if (judged := scores.get(name)) is not None:
            cells.values[cell].append(judged)
            if found is not None and (judged >= 0.75) != (found >= 0.75):
                group.disagreements.append((record.case.id, found, judged))
    if (hit := scores.get("needle.retrieved")) is not None:
        group.retrieved.values[cell].append(hit)
        if found is not None:
            group.both.values[cell].append(min(hit, found))


def effective_length(cells: Cells, bar: float) -> int | None:
    """The longest length up to which every length has at least `bar` in the mean; None where the shortest has not. A
    length of which cases are still to be asked has no mean yet, and so ends it."""
    reached = None
    for length in cells.lengths:
        means = cells.at_length(length)
        if cells.is_open(length) or not means or math.fsum(means) / len(means) < bar:
            break
        reached = length
    return reached


def nolima_bar(cells: Cells) -> float | None:
    """85% of the mean at the shortest length; None where nothing is measured there, or cases are still to be asked."""
    means = cells.at_length(cells.lengths[0]) if cells.lengths else []
    if not means or cells.is_open(cells.lengths[0]):
        return None
    return NOLIMA_SHARE * math.fsum(means) / len(means)


def by_pair(one: Group, other: Group) -> list[tuple[float, float]]:
    """The values of cells and repeats that both groups have."""
    return [(one.answers[name], other.answers[name]) for name in sorted(one.answers) if name in other.answers]


Groups = Mapping[Key, Group]
