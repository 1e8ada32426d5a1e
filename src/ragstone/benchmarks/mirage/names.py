"""Names of contexts in tables."""

from collections.abc import Mapping

from ragstone.benchmarks.mirage.aggregate import Condition, MirageTally
from ragstone.display import Cell
from ragstone.stats import Estimate

_NEGATIVES = "negatives("


class Names:
    """Names of contexts in one language. There is a column for the chunk size if it varies."""

    def __init__(self, tally: MirageTally, words: Mapping[str, str]) -> None:
        self.tally, self.words = tally, words
        self.chunked = tally.chunked()

    @property
    def width(self) -> int:
        """The number of columns of `cells`."""
        return 2 + self.chunked

    def columns(self) -> tuple[str, ...]:
        """The headers of `cells`."""
        return tuple(self.words[name] for name in ("retriever", "k", *(("chunk",) if self.chunked else ())))

    def cells(self, condition: Condition) -> tuple[Cell, ...]:
        """The retriever (or the setting), k, and the chunk size."""
        k = Cell(str(condition.k) if condition.k else self.words["none"])
        size = self.words["tokens_size"].format(n=condition.chunk) if condition.chunk else self.words["as_is"]
        return (Cell(self.context(condition)), k, *((Cell(size),) if self.chunked else ()))

    def context(self, condition: Condition) -> str:
        """The retriever, or the setting if there is none."""
        if condition.setting != "retrieved":
            return self.words[condition.setting]
        if condition.retriever.startswith(_NEGATIVES):
            return self.words["negatives"].format(retriever=condition.retriever[len(_NEGATIVES) : -1])
        return condition.retriever

    def short(self, condition: Condition) -> str:
        """The context as one text: "bm25 @ 3", "bm25 @ 3 (110 tokens)"."""
        name = self.context(condition)
        if condition.setting != "retrieved" or condition.retriever.startswith(_NEGATIVES):
            return name
        size = f" ({self.words['tokens_size'].format(n=condition.chunk)})" if condition.chunk else ""
        return f"{name} @ {condition.k}{size}"

    def without_k(self, condition: Condition) -> str:
        """A retriever as one text: "bm25", "bm25 (110 tokens)"."""
        name = self.context(condition)
        return f"{name} ({self.words['tokens_size'].format(n=condition.chunk)})" if condition.chunk else name

    def source(self, place: int) -> str:
        """The name of a source of questions."""
        return self.tally.sources[place] or self.words["no_source"]


def percent(share: Estimate) -> Cell:
    """A share or a mean in [0, 1] with its interval and counts; empty without a value."""
    return share.cell("%", empty="")


def number_cell(number: int) -> Cell:
    """A count."""
    return Cell(value=float(number))


def printed(figure: float | None) -> Cell:
    """A figure of the paper, given in per cent; empty if illegible."""
    return Cell() if figure is None else Cell(value=figure / 100, unit="%")
