"""A benchmark's tables as Markdown (GitHub's dialect) and as LaTeX (booktabs)."""

import re
from collections.abc import Iterable
from typing import IO

from ragstone.display import Cell, Table
from ragstone.messages import messages
from ragstone.report.export import MARK
from ragstone.report.number_format import counts, interval, value
from ragstone.report.sanitize import one_line
from ragstone.report.unfinished import tables_of
from ragstone.types import Benchmark, Run

# Characters with a meaning in Markdown or in HTML inside of it; a backslash makes them literal.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!$&@])")
# A name or a command as code: of letters and marks that nothing inside of it can end.
_CODE = re.compile(r"(?<![`\\])(`[\w][\w ./=,@:-]*`)(?!`)")
_URL = re.compile(r"(https?|ftp)(:)|(www)(\.)", re.IGNORECASE)

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\ttfamily\char34}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "–": "--",
    "[": "{[}", "]": "{]}", "-": "{-}", "*": "{*}", "−": "$-$", "×": r"$\times$", "→": r"$\rightarrow$",
    "≤": r"$\leq$", "≥": r"$\geq$",
}  # fmt: skip

# What pdfLaTeX cannot set with its default fonts: all but ASCII, Western European letters and some punctuation.
_BEYOND_PDFLATEX = re.compile("[^\n -~¡-©¬®-º¼-ÏÑ-ÖØ-Ýß-ïñ-öø-ýÿ–—‘’“”†‡•…]")


def markdown_escaped(text: str) -> str:
    """One line of text that Markdown shows literally: no markup, links, HTML or table bars. A command or a
    name in backticks stays code."""
    parts = _CODE.split(one_line(text))  # what stands between two matches, and the codes
    parts[::2] = [_URL.sub(r"\1\3\\\2\4", _MARKDOWN.sub(r"\\\1", part)) for part in parts[::2]]
    return "".join(parts)


def latex_escaped(text: str) -> str:
    """One line of text that LaTeX typesets literally: no commands, ligatures or optional arguments."""
    return "".join(_LATEX.get(character, character) for character in one_line(text))


def write_markdown(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    """Write every table of the benchmark with its title as a heading and its notes below."""
    words = messages(__name__, language)
    for number, table in enumerate(tables_of(run, benchmark, language=language)):
        stream.write(("\n" if number else "") + f"### {markdown_escaped(table.title)}\n\n")
        stream.write(_row(map(markdown_escaped, table.columns)))
        stream.write(_row(":---" if index < table.keys else "---:" for index in range(len(table.columns))))
        for row in table.rows:
            cells = [_markdown_cell(cell) for cell in row.cells]
            if row.published and cells:
                cells[0] += f" *({words['published']})*"
            stream.write(_row(cells))
        notes = [*table.notes, *_footnotes(table, language)]
        if notes:
            stream.write("\n" + "".join(f"- {markdown_escaped(note)}\n" for note in notes))
    stream.write(f"\n<!-- {MARK} -->\n")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _markdown_cell(cell: Cell) -> str:
    head = " ".join(part for part in (value(cell), markdown_escaped(cell.text)) if part)
    small = ", ".join(part for part in (interval(cell), counts(cell), markdown_escaped(cell.note)) if part)
    return f"{head} ({small})" if head and small else head or small


def write_latex(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    """Write every table as a `table` environment with booktabs rules. The first line names the packages it needs, and
    the engines where some characters need one of them."""
    tables = "".join(_latex_table(table, language) for table in tables_of(run, benchmark, language=language))
    plain = not _BEYOND_PDFLATEX.search(tables)
    needs = "booktabs,textcomp" if plain else "booktabs,ctex"
    engine = "" if plain else " and XeLaTeX or LuaLaTeX"
    stream.write(f"% Needs \\usepackage{{{needs}}}{engine}.\n{tables}")


def _latex_table(table: Table, language: str) -> str:
    words = messages(__name__, language)
    alignment = "".join("l" if index < table.keys else "r" for index in range(len(table.columns)))
    lines = [
        "",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex_escaped(table.title)}}}",
        f"\\label{{tab:{re.sub('[^A-Za-z0-9-]', '-', table.id)}}}",
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        " & ".join(map(latex_escaped, table.columns)) + " \\\\",
        "\\midrule",
    ]
    for row in table.rows:
        cells = [_latex_cell(cell) for cell in row.cells[: len(table.columns)]]
        if row.published and cells:
            cells[0] += f" \\textit{{({latex_escaped(words['published'])})}}"
        lines.append(" & ".join(cells) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"\\par\\small {latex_escaped(note)}" for note in (*table.notes, *_footnotes(table, language))]
    return "\n".join([*lines, "\\end{table}\n"])


def _latex_cell(cell: Cell) -> str:
    head = " ".join(part for part in (latex_escaped(value(cell)), latex_escaped(cell.text)) if part)
    small = ", ".join(latex_escaped(part) for part in (interval(cell), counts(cell), cell.note) if part)
    if not small:
        return head
    return f"{head} {{\\scriptsize {small}}}" if head else f"{{\\scriptsize {small}}}"


def _footnotes(table: Table, language: str) -> list[str]:
    """The unit of the figures."""
    cells = (cell for row in table.rows for cell in row.cells if cell.value is not None)
    return [messages(__name__, language)["in_percent"]] if any(cell.unit == "%" for cell in cells) else []
