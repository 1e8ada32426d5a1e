"""The figures of the RGB paper (Chen et al. 2024, Tables 1, 3, 5 and 7), and when they are comparable with measured
ones.

`published.json` has them as printed, with flags on figures that are inconsistent. They cannot be verified, because the
answers behind them were not published.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import msgspec

from ragstone.structs import Frozen


class RgbFigure(Frozen, frozen=True):
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


class RgbFlag(Frozen, frozen=True):
    """A remark on inconsistent figures of a table; a field that is None matches all. `note`: language → text."""

    table: int
    note: dict[str, str]
    model: str | None = None
    language: str | None = None
    metric: str | None = None
    noise_ratio: float | None = None

    def covers(self, figure: RgbFigure) -> bool:
        return self.table == figure.table and all(
            expected is None or expected == actual
            for expected, actual in (
                (self.model, figure.model),
                (self.language, figure.language),
                (self.metric, figure.metric),
                (self.noise_ratio, figure.noise_ratio),
            )
        )


class PaperTable(Frozen, frozen=True):
    """A table of the paper: the number of questions behind each figure, and their file by language."""

    number: int
    questions: int
    datasets: dict[str, str]


class RgbPaper(Frozen, frozen=True):
    """All printed figures of the paper."""

    about: str
    citation: str
    tables: tuple[PaperTable, ...]
    figures: tuple[RgbFigure, ...]
    flags: tuple[RgbFlag, ...]

    def table(self, number: int) -> PaperTable:
        """The table with this number. KeyError if the package does not have its figures."""
        for table in self.tables:
            if table.number == number:
                return table
        raise KeyError(number)

    def rows(self, number: int) -> dict[tuple[str, str], dict[tuple[str, float], RgbFigure]]:
        """A table's rows: (model, language) → figures by (metric, noise ratio), in the paper's order."""
        rows: dict[tuple[str, str], dict[tuple[str, float], RgbFigure]] = {}
        for figure in self.figures:
            if figure.table == number:
                row = rows.setdefault((figure.model, figure.language), {})
                row[(figure.metric, figure.noise_ratio)] = figure
        return rows

    def note(self, figure: RgbFigure, language: str) -> str:
        """The remarks on this figure; "" if there are none. Remarks on a whole table or row are in `notes`."""
        flags = [flag for flag in self.flags if flag.noise_ratio is not None and flag.covers(figure)]
        return "; ".join(flag.note[language] for flag in flags)

    def notes(self, number: int, language: str) -> list[str]:
        """The remarks on a table, or on a model's whole row in it."""
        flags = [flag for flag in self.flags if flag.table == number and flag.noise_ratio is None]
        return [f"{flag.model}: {flag.note[language]}" if flag.model else flag.note[language] for flag in flags]


@cache
def paper() -> RgbPaper:
    """The figures, read once from the package."""
    text = (files("ragstone.benchmarks.rgb") / "published.json").read_bytes()
    return msgspec.json.decode(text, type=RgbPaper)


@dataclass(frozen=True)
class RgbSetting:
    """The part of a run's configuration that decides whether the paper's figures are comparable.

    `official_sets` names the data sets whose contents are, by hash, those that the authors published.
    """

    selection: str = ""
    scoring: str = ""
    template: str = ""
    passages: int = 5
    correct_rate: float = 0.0
    official_sets: frozenset[str] = field(default_factory=frozenset)


def reasons_apart(number: int, language: str, setting: RgbSetting, measured: Sequence[tuple[str, int]]) -> list[str]:
    """Why the paper's rows of this table and language are not comparable with the measured ones; empty if they are.

    `measured` has the data set and the number of questions of each measured figure. Each reason is a message key. The
    paper's figures were made with the authors' program, so selection, scoring and template must all be `official`,
    although the paper's Figure 3 prints slightly different instructions.
    """
    table = paper().table(number)
    expected = table.datasets[language]
    if not measured:
        return ["apart_not_asked"]
    reasons = []
    if any(dataset != expected for dataset, _ in measured):
        reasons.append("apart_dataset")
    if any(dataset not in setting.official_sets for dataset, _ in measured):
        reasons.append("apart_data")
    elif any(count != table.questions for _, count in measured):
        reasons.append("apart_questions")
    options = ("selection", "scoring", "template")
    reasons += [f"apart_{name}" for name in options if getattr(setting, name) != "official"]
    if setting.passages != 5 or setting.correct_rate:
        reasons.append("apart_documents")
    return reasons
