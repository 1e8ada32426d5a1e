"""One pass over a run: the scores of each cell, by system, language, template, needle and mode.

Repeats of a cell are averaged first and cells afterwards, so that a cell with more repeats does not count more.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ragstone.plans import PlanCell
from ragstone.stats import Estimate
from ragstone.structs import Scalar
from ragstone.types import Record, Run

ANYWHERE = -1.0
"""The depth of cells whose needles stand at random depths."""
GIVEN = "needle.given"
"""The score of imported results, (score - 1) / 9 on a scale from 1 to 10; its judge is unknown."""
MATCHED = "ruler.match"
"""The score of a suite's own rule."""
PUBLISHED = "published"
"""The kind of a system whose answers were imported."""


@dataclass(frozen=True, order=True)
class NeedleKey:
    """The key of a heat map."""

    system: str
    language: str
    needle: str
    template: str
    mode: str
    retriever: str = ""
    suite: str = ""


@dataclass
class CellScores:
    """Values by cell: (length, depth) → repeats. `planned`: the cells of the plan, if known, each with the number of
    its pending cases."""

    values: dict[tuple[int, float], list[float]] = field(default_factory=lambda: defaultdict(list))
    planned: dict[tuple[int, float], int] = field(default_factory=dict)

    def means(self) -> dict[tuple[int, float], float]:
        """The mean of each cell."""
        return {cell: math.fsum(values) / len(values) for cell, values in self.values.items()}

    def mean(self, lengths: Collection[int] = (), depths: Collection[float] = ()) -> Estimate:
        """The mean of all cells, or of those at these lengths and depths; `n` is their number. In the interval a cell
        with its repeats is one unit; that of a single cell is over its repeats. Where a task has no depth, each
        repeat has a context of its own and is a unit."""
        chosen = [
            unit
            for (length, depth), values in sorted(self.values.items())
            if (not lengths or length in lengths) and (not depths or depth in depths)
            for unit in ([[value] for value in values] if depth == ANYWHERE else [values])
        ]
        if len(chosen) == 1 or len({len(values) for values in chosen}) > 1:
            means = [math.fsum(values) / len(values) for values in chosen]
            estimate = Estimate.of_mean(chosen[0] if len(chosen) == 1 else means)
        else:
            units = [unit for unit, values in enumerate(chosen) for _ in values]
            estimate = Estimate.of_mean([value for values in chosen for value in values], groups=units)
        return replace(estimate, n=len(chosen))

    @property
    def repeated(self) -> bool:
        """Whether a cell has an interval of its own."""
        return any(len(values) > 1 for values in self.values.values())

    def at_length(self, length: int) -> list[float]:
        """The means of the cells at one length."""
        return [mean for (cell_length, _), mean in sorted(self.means().items()) if cell_length == length]

    @property
    def lengths(self) -> list[int]:
        return sorted({length for length, _ in self.grid})

    @property
    def depths(self) -> list[float]:
        return sorted({depth for _, depth in self.grid})

    @property
    def grid(self) -> set[tuple[int, float]]:
        """Every cell, measured or pending."""
        return self.values.keys() | self.planned.keys()

    def is_open(self, length: int) -> bool:
        """Whether cases of this length are pending."""
        return any(left for (cell_length, _), left in self.planned.items() if cell_length == length)


@dataclass
class NeedleTally:
    """The measurements under one key. `found`: the share of needles stated; `alarms`: refusals although a needle was in
    the prompt; `refused`: refusals of controls, by length; `judged`: the judge's score, from 0 to 1; `retrieved`: the
    share of needles that the retriever found; `both`: retrieved and stated; `given`: the score of imported results;
    `matched`: that of a suite's own rule.
    `published`: all of it was imported."""

    found: CellScores = field(default_factory=CellScores)
    alarms: CellScores = field(default_factory=CellScores)
    refused: CellScores = field(default_factory=CellScores)
    judged: CellScores = field(default_factory=CellScores)
    retrieved: CellScores = field(default_factory=CellScores)
    both: CellScores = field(default_factory=CellScores)
    given: CellScores = field(default_factory=CellScores)
    matched: CellScores = field(default_factory=CellScores)
    disagreements: list[tuple[str, float, float]] = field(default_factory=list)  # case, by rule, by the judge
    answers: dict[tuple[int, float, int], float] = field(default_factory=dict)  # (length, depth, repeat) → found
    errors: int = 0
    repeating: int = 0  # contexts longer than their haystack
    prompt_tokens: list[tuple[int, int]] = field(default_factory=list)  # (by our tokenizer, by the endpoint)
    tokenizers: set[str] = field(default_factory=set)
    published: bool = False

    @property
    def main(self) -> CellScores:
        """The scores of its maps and lengths: found by rule, or else the judge's score, or else the imported one, or
        without answers what was retrieved."""
        candidates = (self.found, self.judged, self.given, self.retrieved)
        return next((scores for scores in candidates if scores.values), self.found)


def tally_needles(run: Run) -> dict[NeedleKey, NeedleTally]:
    """The tally of each key of the run, in order."""
    tallies: dict[NeedleKey, NeedleTally] = {}
    for record in run.records(texts=False):
        key = _key(record.system_id, record.case.condition)
        published = run.systems.get(record.system_id, {}).get("kind") == PUBLISHED
        _add(tallies.setdefault(key, NeedleTally(published=published)), record)
    for system, plan in run.plans().items():
        for cell in plan.cells:
            if cell.condition.get("ability") == "needle":
                _plan(tallies.setdefault(_key(system, cell.condition), NeedleTally()), cell)
    return dict(sorted(tallies.items()))


def _key(system: str, condition: Mapping[str, Scalar]) -> NeedleKey:
    needle = f"{condition.get('needle', '')} {condition.get('variant', '')}".strip()
    return NeedleKey(
        system, str(condition.get("language", "")), needle,
        str(condition.get("template", "")), str(condition.get("mode", "full")), _retriever(condition),
        str(condition.get("suite", "")),
    )  # fmt: skip


def needle_name(needle: str, texts: Mapping[str, str]) -> str:
    """A kind of needle in words, with its settings in brackets."""
    kind, _, variant = needle.partition(" ")
    name = texts.get(kind, kind)
    return texts["variant"].format(name=name, variant=variant) if variant else name


def setting_name(field: str, value: str, texts: Mapping[str, str]) -> str:
    """A setting (a field of `NeedleKey`) beside others, "" for none."""
    if field == "needle":
        return needle_name(value, texts)
    return texts["prompt_named"].format(name=value) if value and field == "template" else texts.get(value, value)


def _plan(group: NeedleTally, cell: PlanCell) -> None:
    place = _place(cell.condition)
    for cells in (group.found, group.judged, group.retrieved, group.both, group.matched):
        cells.planned[place] = cell.total - cell.asked


def _place(condition: Mapping[str, Scalar]) -> tuple[int, float]:
    return int(condition.get("length", 0)), float(condition.get("depth", ANYWHERE))


def _retriever(condition: Mapping[str, Scalar]) -> str:
    """How a context was searched: "bm25, 330 × 5" means BM25, 5 chunks of 330 tokens."""
    name = str(condition.get("retriever", ""))
    return f"{name}, {condition['chunk']} × {condition['k']}" if "chunk" in condition else name


def _add(group: NeedleTally, record: Record) -> None:
    condition = record.case.condition
    cell = _place(condition)
    group.tokenizers.add(str(condition.get("tokenizer", "")))
    group.repeating += "passes" in condition
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
        group.answers[*cell, int(condition.get("repeat", 0))] = found
        if refused is not None and scores.get("needle.retrieved") != 0.0:
            group.alarms.values[cell].append(float(refused and not found))
    if (matched := scores.get(MATCHED)) is not None:
        group.matched.values[cell].append(matched)
    for name, cells in (("needle.judge", group.judged), (GIVEN, group.given)):
        if (judged := scores.get(name)) is not None:
            cells.values[cell].append(judged)
            if found is not None and (judged >= 0.75) != (found >= 0.75):
                group.disagreements.append((record.case.id, found, judged))
    if (hit := scores.get("needle.retrieved")) is not None:
        group.retrieved.values[cell].append(hit)
        if found is not None:
            group.both.values[cell].append(min(hit, found))


def by_pair(first: NeedleTally, second: NeedleTally) -> list[tuple[str, float, float]]:
    """The values of the cells and repeats that both groups have, with their units: cells, or where a task has no depth
    its repeats, each in a context of its own."""
    found = []
    for place in sorted(first.answers.keys() & second.answers.keys()):
        length, depth, repeat = place
        unit = f"{length}/{repeat if depth == ANYWHERE else depth}"
        found.append((unit, first.answers[place], second.answers[place]))
    return found
