"""What a person reads of a run: one HTML file, tables in the terminal, and exports for other programs.

`render` makes the HTML (extra `report`), `export` writes records or tables in a format of `FORMATS`; a table as text
for the terminal is `ragstone.report.text.table_text`. Nothing heavy is imported before it is needed.
"""

from typing import TYPE_CHECKING, cast

from ragstone.report.export import FORMATS, export
from ragstone.report.optional import load

if TYPE_CHECKING:
    from ragstone.types import Benchmark, Run

__all__ = ["FORMATS", "export", "render"]


def render(run: "Run", benchmark: "Benchmark", *, language: str = "en", cases_shown: int = 200) -> str:
    """The whole report as one self-contained HTML document, safe to encode as UTF-8.

    `language` is that of the report's own words ("en" or "zh"); what people and models wrote is left as it is.
    At most `cases_shown` wrong answers are shown, the worst first, spread over groups and systems. The same run
    gives the same bytes. Raises `MissingExtra` where Jinja2 or Matplotlib is not installed and `UnknownName` for
    another language.
    """
    page = load("ragstone.report.page", extra="report", purpose="The HTML report")
    return cast("str", page.render(run, benchmark, language=language, cases_shown=cases_shown))
