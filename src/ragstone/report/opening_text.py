"""The opening of a run in a terminal, in the words and the order of the page: the verdicts, a picture in characters,
what to do, and notes."""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ragstone.display import Bar, Chart, Dot, Summary
from ragstone.messages import messages, wrapped
from ragstone.report.chart_text import chart_lines, fitted
from ragstone.report.opening import blocks, heading_of
from ragstone.report.sanitize import one_line
from ragstone.report.text import plain_console

_BARS = {"level": "█", "gain": "▓", "loss": "▒", "rest": "░", "unmeasured": "╱"}
_LONGEST = 2_000  # characters of a sentence
_LEAST = 10  # columns of a bar or an axis


def opening_text(
    summaries: Mapping[str, Summary], charts: Sequence[Chart] = (), *, width: int = 100, color: bool = False,
    language: str = "en",
) -> str:  # fmt: skip
    """What a run opens with, ending in a newline; "" where there is nothing. `charts`: the leading ones, which stand in
    for the pictures of systems that have none of their own."""
    out, width = StringIO(), max(width, 40)
    writer = _Writer(plain_console(out, width, color=color), width, messages(__name__, language), language)
    some = blocks(summaries)
    for number, block in enumerate(some):
        if number:
            writer.console.print()
        writer.block([summary for _, _, summary in block], charts if number == 0 else ())
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


class _Writer:
    def __init__(self, console: Console, width: int, words: Mapping[str, str], language: str) -> None:
        self.console, self.width, self.words, self.language = console, width, words, language

    def lines(self, text: str, style: str = "", indent: str = "") -> None:
        for number, line in enumerate(wrapped(one_line(text, _LONGEST), self.width - len(indent))):
            self.console.print(Text(f"{indent if number else ''}{line}", style=style))

    def block(self, summaries: Sequence[Summary], charts: Sequence[Chart]) -> None:
        """The verdicts of these systems, their pictures, what to do, and the notes."""
        for sentence in (line for summary in summaries for line in summary.verdict.splitlines()):
            self.lines(sentence, "bold")
        for alarm in (alarm for summary in summaries for alarm in summary.alarms):
            self.lines(f"! {alarm}", "bold yellow", indent="  ")
        for picture in self._pictures(summaries, charts):
            self.console.print()
            for line in picture:
                self.console.print(Text(line), soft_wrap=True)
        actions = [action for summary in summaries for action in summary.actions]
        if actions:
            self.console.print()
            self.lines(self.words[heading_of(summaries)], "bold")
        for number, action in enumerate(actions, 1):
            self.lines(f"{number}. {action.text}", indent="   ")
            for example in action.examples:
                shown = Text(f"   · {one_line(example, self.width)}", style="dim")
                shown.truncate(self.width, overflow="ellipsis")
                self.console.print(shown, soft_wrap=True)
        notes = [note for summary in summaries for note in summary.notes]
        if notes:
            self.console.print()
        for note in notes:
            self.lines(note, "dim")

    def _pictures(self, summaries: Sequence[Summary], charts: Sequence[Chart]) -> Iterator[list[str]]:
        own = [summary for summary in summaries if summary.bars or summary.dots]
        for summary in own:
            lines = [*_waterfall_lines(summary.bars, self.width), *_dot_lines(summary.dots, self.width)]
            kinds = [kind for kind in _BARS if any(bar.kind == kind for bar in summary.bars)]
            keys = [f"{_BARS[kind]} {self.words[f'bar_{kind}']}" for kind in kinds]
            if any(dot.gate is not None for dot in summary.dots):
                keys.append(f"| {self.words['gate_line']}")
            key = "  ".join(keys)
            yield [*lines, *([key] if cell_len(key) <= self.width else wrapped(key, self.width))] if keys else lines
        for chart in () if own else charts:
            if lines := chart_lines(chart, width=self.width, language=self.language):
                yield lines


def _waterfall_lines(bars: Sequence[Bar], width: int) -> Iterator[str]:
    """A line for each bar: its label, its figure, and the bar where it begins and ends."""
    figures = [bar.text for bar in bars]
    middle = max(map(cell_len, figures), default=0)
    labels = [fitted(bar.label, width - middle - 4 - _LEAST) for bar in bars]
    left = max(map(cell_len, labels), default=0)
    room = max(_LEAST, width - left - middle - 4)
    for bar, label, figure in zip(bars, labels, figures, strict=True):
        start, end = sorted((round(room * bar.start), round(room * bar.end)))
        drawn = _BARS[bar.kind] * (end - start) or ("▏" if bar.start == bar.end else _BARS[bar.kind])
        pads = " " * (left - cell_len(label)), " " * (middle - cell_len(figure))
        yield f"{label}{pads[0]}  {pads[1]}{figure}  {' ' * min(start, room - 1)}{drawn}"


def _dot_lines(dots: Sequence[Dot], width: int) -> Iterator[str]:
    """A line for each metric: its figure, then its interval with the mean and the gate (of a difference: 0) on an axis
    whose right end is the best."""
    middle = max((cell_len(dot.text) for dot in dots), default=0)
    labels = [fitted(dot.label, width - middle - 6 - _LEAST) + (" ↓" if dot.lower else "") for dot in dots]
    left = max(map(cell_len, labels), default=0)
    last = max(_LEAST, min(61, width - left - middle - 4)) - 1
    for dot, label in zip(dots, labels, strict=True):
        axis = ["·"] * (last + 1)

        def at(value: float, dot: Dot = dot) -> int:
            share = (1 + value) / 2 if dot.signed else value
            return min(last, max(0, round(last * (1 - share if dot.lower else share))))

        if dot.low is not None and dot.high is not None:
            start, end = sorted((at(dot.low), at(dot.high)))
            axis[start : end + 1] = "─" * (end - start + 1)
        if dot.signed or dot.gate is not None:
            axis[at(dot.gate or 0.0)] = "|"
        axis[at(dot.value)] = "●"
        pads = " " * (left - cell_len(label)), " " * (middle - cell_len(dot.text))
        yield f"{label}{pads[0]}  {dot.text}{pads[1]}  {''.join(axis)}"
