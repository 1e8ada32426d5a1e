"""`/run`: a run, by the sections of the report."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.report.digest import digest
from ragstone.report.page import CASE_BYTES, heading_of, parts_of
from ragstone.report.section import View
from ragstone.web.page import language_of, library_of, page, parameter

__all__ = ["ROUTES"]

_CASES_SHOWN = 50


def _run(request: Request) -> Response:
    name = parameter(request, "run")
    with library_of(request).opened(name) as run:
        language = language_of(request, run.language)
        counts = digest(run.run, run.benchmark, language=language, cases_shown=_CASES_SHOWN)
        view = View(language, run.run, run.benchmark, counts, cases_shown=_CASES_SHOWN, case_bytes=CASE_BYTES)
        sections, folded = parts_of(view)
        return page(
            request, view, sections, folded, heading=heading_of(view), systems=list(counts.systems), run=name
        )  # fmt: skip


ROUTES = (Route("/run", _run),)
