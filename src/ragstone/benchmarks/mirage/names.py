"""How what a system was given is named in a table."""

from collections.abc import Mapping

from ragstone.benchmarks.mirage.aggregate import Condition, Tally
from ragstone.stats import Estimate
from ragstone.types import Cell

__all__ = ["Names", "number_cell", "percent", "printed"]

_NEGATIVES = "negatives("


class Names:
    """Names of what was given, in the words of a language. There is a column for the chunk size where it differs."""

    def __init__(self, tally: Tally, words: Mapping[str, str]) -> None:
        self.tally, self.words = tally, words
        self.chunked = tally.chunked()

    @property
    def width(self) -> int:
        """How many columns `cells` fills."""
        return 2 + self.chunked

    def columns(self) -> tuple[str, ...]:
        """The heads of `cells`."""
        return tuple(self.words[name] for name in ("retriever", "k", *(("chunk",) if self.chunked else ())))

    def cells(self, spot: Condition) -> tuple[Cell, ...]:
        """The retriever (or what stands in its place), k, and the chunk size."""
        k = Cell(str(spot.k) if spot.k else self.words["none"])
        size = self.words["tokens_size"].format(n=spot.chunk) if spot.chunk else self.words["as_is"]
        return (Cell(self.context(spot)), k, *((Cell(size),) if self.chunked else ()))

    def context(self, spot: Condition) -> str:
        """The retriever, or the setting where there is none."""
        if spot.setting != "retrieved":
            return self.words[spot.setting]
        if spot.retriever.startswith(_NEGATIVES):
            return self.words["negatives"].format(retriever=spot.retriever[len(_NEGATIVES) : -1])
        return spot.retriever

    def short(self, spot: Condition) -> str:
        """All of it in one text: "bm25 @ 3", "bm25 @ 3 (110 tokens)"."""
        name = self.context(spot)
        if spot.setting != "retrieved" or spot.retriever.startswith(_NEGATIVES):
            return name
        size = f" ({self.words['tokens_size'].format(n=spot.chunk)})" if spot.chunk else ""
        return f"{name} @ {spot.k}{size}"

    def source(self, place: int) -> str:
        """The name of a source of questions."""
        return self.tally.sources[place] or self.words["no_source"]


def percent(share: Estimate) -> Cell:
    """A share or a mean in [0, 1] with its interval and counts; empty of nothing."""
    return share.cell("%", empty="")


def number_cell(number: int) -> Cell:
    """A count."""
    return Cell(value=float(number))


def printed(figure: float | None) -> Cell:
    """A figure of the paper, which is in per cent; empty where it is lost."""
    return Cell() if figure is None else Cell(value=figure / 100, unit="%")
