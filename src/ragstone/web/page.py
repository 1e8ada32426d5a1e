"""The frame of the viewer's pages: the report's own document, with a bar above it, and addresses that keep the
language."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ragstone.capabilities import brought
from ragstone.errors import UsageError
from ragstone.messages import LANGUAGES, checked_language, messages
from ragstone.report.html import HTML_LANG
from ragstone.report.page import Frame, Part, document
from ragstone.report.section import Canvas
from ragstone.types import Record
from ragstone.web.assets import STATIC_VERSION
from ragstone.web.library import Library

_KEYS = (("j", "down"), ("k", "up"), ("Enter", "open"), ("/", "search"), ("n", "next"), ("p", "previous"),
         ("u", "back"), ("c", "cases"), ("?", "help"))  # fmt: skip


def library_of(request: Request) -> Library:
    """The runs that are served."""
    return cast("Library", request.app.state.library)


def language_of(request: Request, own: str = "en") -> str:
    """The language of a page: that of the address (`lang`), of the command, of the browser, else the run's `own`."""
    if wanted := request.query_params.get("lang"):
        return checked_language(wanted)
    if fixed := request.app.state.language:
        return str(fixed)
    for choice in request.headers.get("accept-language", "")[:200].split(","):
        language = choice.partition(";")[0].strip().lower().partition("-")[0]
        if language in LANGUAGES:
            return language
    return own


def canvas_of(request: Request, module: str, own: str = "en") -> tuple[Canvas, Mapping[str, str]]:
    """What renders a page in its language (`language_of`), and the texts of its module."""
    language = language_of(request, own)
    return Canvas(language), messages(module, language)


def parameter(request: Request, name: str) -> str:
    """A parameter that the address must have. Raises UsageError."""
    value = request.query_params.get(name)
    if value is None:
        raise UsageError(f"The address lacks {name}=…: open the page from a link.")
    return value


def number_in(request: Request, name: str) -> int | None:
    """The number in a parameter; None if it is missing or no number of a page."""
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else None


def address(request: Request, path: str, pairs: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> str:
    """A path of the viewer with parameters, and the language of this page if its address has one."""
    items = list(pairs.items() if isinstance(pairs, Mapping) else pairs)
    if (language := request.query_params.get("lang")) in LANGUAGES:
        items = [*(item for item in items if item[0] != "lang"), ("lang", str(language))]
    return f"{path}?{urlencode(items, errors='replace')}" if items else path


def link(request: Request, path: str, **pairs: str) -> str:
    """The same without the parameters that are empty."""
    return address(request, path, {name: value for name, value in pairs.items() if value})


def offered_for_case(request: Request, canvas: Canvas, run: str, record: Record) -> Markup:
    """What the capabilities offer on the page of a case, such as labelling its answer: the `case_buttons` of their
    pages. `run`: the name of the run."""
    offered = (getattr(module, "case_buttons", None) for module in brought("pages"))
    return Markup().join(buttons(request, canvas, run, record) for buttons in offered if buttons is not None)


def page(
    request: Request, canvas: Canvas, sections: Sequence[Part], folded: Sequence[Part] = (), *, heading: str,
    systems: Sequence[str] = (), run: str = "", status: int = 200, more_head: Markup | str = "",
) -> HTMLResponse:  # fmt: skip
    """A page of the viewer. `run`: the name of the run that it is about, which the bar then links. `more_head`: further
    elements of the head (scripts of `static`)."""
    words = messages(__name__, canvas.language)
    frame = Frame(
        Markup(), canvas.html("web/head.html", v=STATIC_VERSION, more=more_head),
        canvas.html("<p>{{ text }}</p>", text=words["foot"]), _bar(request, canvas, words, run),
    )  # fmt: skip
    html = document(canvas, sections, folded, heading=heading, systems=systems, frame=frame)
    return HTMLResponse(html, status_code=status, headers={"Cache-Control": "no-store"})


def _bar(request: Request, canvas: Canvas, words: Mapping[str, str], run: str) -> Markup:
    links = [("/", words["runs"], address(request, "/"))]
    if library_of(request).labels is not None:
        links.append(("/annotate", words["labels"], address(request, "/annotate")))
    if run:
        links += [(path, text, address(request, path, {"run": run})) for path, text in
                  (("/run", run), ("/cases", words["cases"]))]  # fmt: skip
    other = next(language for language in LANGUAGES if language != canvas.language)
    pairs = [(name, value) for name, value in request.query_params.multi_items() if name != "lang"]
    values: dict[str, Any] = {
        "links": [(href, name, path == request.url.path) for path, name, href in links],
        "other": f"{request.url.path}?{urlencode([*pairs, ('lang', other)])}", "other_lang": HTML_LANG[other],
        "keys": [(key, words[f"key_{what}"]) for key, what in _KEYS],
    }  # fmt: skip
    return canvas.html("web/bar.html", w=words, **values)
