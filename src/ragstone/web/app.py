"""The application: every page that a capability brings, behind the checks of `ragstone.web.security`."""

from collections.abc import Collection, Iterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.capabilities import brought
from ragstone.error_text import told
from ragstone.errors import RagstoneError, UnknownName
from ragstone.messages import messages
from ragstone.prices import Price
from ragstone.report.section import Canvas
from ragstone.web.assets import static_file
from ragstone.web.library import Library, NoSuchRun
from ragstone.web.page import language_of, page
from ragstone.web.pending import Pending
from ragstone.web.run_cache import RunCache
from ragstone.web.security import Guard

_PROBLEM = """<p class="notice" role="alert"><bdi>{{ problem }}</bdi></p><p><a href="/">{{ w.back }}</a></p>"""


def create_app(
    library: Library, *, language: str = "", hosts: Collection[str] = (), token: str = "", price: Price | None = None
) -> Starlette:
    """The viewer of these runs. `language` is that of all pages ("" for the reader's); `hosts`: names by which it may
    be called besides this machine's own; `token`: what whoever asks must know ("" for none); `price`: of the systems'
    tokens, to say what a run cost so far."""
    app = Starlette(
        routes=[Route("/static/{name}", static_file), *_routes()],
        middleware=[Middleware(Guard, hosts=hosts, token=token), Middleware(_Readable)],
        exception_handlers={RagstoneError: _problem, HTTPException: _problem},
    )
    app.state.library, app.state.language, app.state.price = library, language, price
    app.state.cache, app.state.pending, app.state.stopping = RunCache(), Pending(), None
    return app


def _routes() -> Iterator[Route]:
    for module in brought("pages"):
        yield from module.ROUTES


class _Readable:
    """A page instead of a stack trace for what nobody expected."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception as error:  # whatever a damaged file or a plug-in makes of a page
            if started:
                raise
            await (await _problem(Request(scope, receive), error))(scope, receive, send)


async def _problem(request: Request, error: Exception) -> Response:
    """A page with what went wrong in one line."""
    try:
        language = language_of(request)
    except UnknownName:
        language = "en"
    words = messages(__name__, language)
    if isinstance(error, HTTPException):
        status, problem = error.status_code, words["not_found"] if error.status_code == 404 else error.detail
    elif isinstance(error, RagstoneError):
        status = 404 if isinstance(error, NoSuchRun) else 400
        problem = " ".join(told(line, language) for line in error.lines)
    else:
        status, problem = 500, words["bug"].format(error=f"{type(error).__name__}: {error}")
    canvas = Canvas(language)
    body = canvas.html(_PROBLEM, problem=problem, w=words)
    return page(request, canvas, [("problem", words["problem"], body)], heading=words["problem"], status=status)
