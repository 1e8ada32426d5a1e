"""The figures that the RGB paper printed (Chen et al. 2024, Tables 1, 3, 5 and 7), and when they may stand beside ours.

`published.json` has them as printed, with flags where a figure does not add up. They are data: nothing tests them,
because the answers behind them were not published.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import msgspec

from ragstone.types import Frozen

__all__ = ["Figure", "Flag", "Paper", "PaperTable", "Setting", "apart", "paper"]


class Figure(Frozen, frozen=True):
    """One printed figure. `printed` is in per cent; `metric` is Acc, Rej, Rej*, Acc_doc, ED, ED* or CR."""

    table: int
    model: str
    language: str
    metric: str
    noise_ratio: float
    printed: float

    @property
    def share(self) -> float:
        return self.printed / 100


class Flag(Frozen, frozen=True):
    """What is odd about figures of a table; a field that is None holds for all. `note` has a text for each language."""

    table: int
    note: dict[str, str]
    model: str | None = None
    language: str | None = None
    metric: str | None = None
    noise_ratio: float | None = None

    def covers(self, figure: Figure) -> bool:
        return self.table == figure.table and all(
            wanted is None or wanted == found
            for wanted, found in (
                (self.model, figure.model),
                (self.language, figure.language),
                (self.metric, figure.metric),
                (self.noise_ratio, figure.noise_ratio),
            )
        )


class PaperTable(Frozen, frozen=True):
    """A table of the paper: the questions behind each of its figures, and the file they come from, by language."""

    number: int
    questions: int
    datasets: dict[str, str]


class Paper(Frozen, frozen=True):
    """All printed figures of the paper."""

    about: str
    citation: str
    tables: tuple[PaperTable, ...]
    figures: tuple[Figure, ...]
    flags: tuple[Flag, ...]

    def table(self, number: int) -> PaperTable:
        """The table of this number. KeyError where the figures of that table are not carried."""
        for table in self.tables:
            if table.number == number:
                return table
        raise KeyError(number)

    def rows(self, number: int) -> dict[tuple[str, str], dict[tuple[str, float], Figure]]:
        """A table's rows: (model, language) to its figures by (metric, noise ratio), in the paper's order."""
        rows: dict[tuple[str, str], dict[tuple[str, float], Figure]] = {}
        for figure in self.figures:
            if figure.table == number:
                row = rows.setdefault((figure.model, figure.language), {})
                row[(figure.metric, figure.noise_ratio)] = figure
        return rows

    def note(self, figure: Figure, language: str) -> str:
        """What is odd about this very figure; "" where nothing is. Flags of a whole table or row are `notes`."""
        found = [flag for flag in self.flags if flag.noise_ratio is not None and flag.covers(figure)]
        return "; ".join(flag.note[language] for flag in found)

    def notes(self, number: int, language: str) -> list[str]:
        """What is to be known of a table, or of a model's whole row in it."""
        found = [flag for flag in self.flags if flag.table == number and flag.noise_ratio is None]
        return [f"{flag.model}: {flag.note[language]}" if flag.model else flag.note[language] for flag in found]


@cache
def paper() -> Paper:
    """The figures, read once from the package."""
    text = (files("ragstone.benchmarks.rgb") / "published.json").read_bytes()
    return msgspec.json.decode(text, type=Paper)


@dataclass(frozen=True)
class Setting:
    """How a run was asked, as far as it decides whether the paper's figures are of the same thing.

    `official_sets` names the data sets whose contents are, by hash, those that the authors published.
    """

    selection: str = ""
    scoring: str = ""
    template: str = ""
    passages: int = 5
    correct_rate: float = 0.0
    official_sets: frozenset[str] = field(default_factory=frozenset)


def apart(number: int, language: str, setting: Setting, measured: Sequence[tuple[str, int]]) -> list[str]:
    """Why the paper's rows of this table and language stand apart from the measured ones; empty where they need not.

    `measured` has, for each measured figure, the data set and the questions asked. Each reason is a key of the words of
    this package. The figures were made with the authors' program, so its configuration (`official`) is asked of
    selection, scoring and template alike, although the paper's Figure 3 prints the instructions a little differently.
    """
    table = paper().table(number)
    wanted = table.datasets[language]
    if not measured:
        return ["apart_not_asked"]
    reasons = []
    if any(dataset != wanted for dataset, _ in measured):
        reasons.append("apart_dataset")
    if any(dataset not in setting.official_sets for dataset, _ in measured):
        reasons.append("apart_data")
    elif any(asked != table.questions for _, asked in measured):
        reasons.append("apart_questions")
    chosen = ("selection", "scoring", "template")
    reasons += [f"apart_{name}" for name in chosen if getattr(setting, name) != "official"]
    if setting.passages != 5 or setting.correct_rate:
        reasons.append("apart_documents")
    return reasons
