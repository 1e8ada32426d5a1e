"""Output of a run: one HTML file, tables in the terminal, and exports for other programs.

`render` returns the HTML (extra `report`), `export` writes records or tables in a format of `FORMATS`, and
`ragstone.report.text.table_text` formats a table for the terminal. Heavy packages are imported only when needed.
"""

from typing import TYPE_CHECKING, cast

from ragstone.optional import load
from ragstone.report.export import FORMATS, export, is_export

if TYPE_CHECKING:
    from ragstone.analysis.expert_agreement import ExpertFindings
    from ragstone.types import Benchmark, Run

__all__ = ["FORMATS", "export", "is_export", "render"]


def render(
    run: "Run", benchmark: "Benchmark", *, language: str = "en", cases_shown: int = 200,
    experts: "ExpertFindings | None" = None,
) -> str:  # fmt: skip
    """The whole report as one self-contained HTML document, safe to encode as UTF-8.

    `language` ("en" or "zh") is the language of the report itself; texts of people and models are not translated. At
    most `cases_shown` wrong answers are shown, the worst first, spread over groups and systems. `experts`: what labels
    say of the run. The same run gives the same bytes. Raises `MissingExtra` where Jinja2 or Matplotlib is not installed
    and `UnknownName` for another language.
    """
    page = load("ragstone.report.page", extra="report", purpose="The HTML report")
    return cast("str", page.render(run, benchmark, language=language, cases_shown=cases_shown, experts=experts))
