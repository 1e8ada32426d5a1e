"""`ragstone view`."""

import webbrowser
from pathlib import Path
from urllib.parse import quote

import click

from ragstone.cli.bench_command import read_price
from ragstone.cli.options import language_option
from ragstone.cli.output import say_text
from ragstone.errors import UsageError
from ragstone.messages import messages, preferred_language
from ragstone.report.optional import load

__all__ = ["command"]

_PORT = 8720


@click.command(name="view")
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN|FOLDER]…")
@click.option("--port", type=click.IntRange(0, 65535),
              help=f"Port; 0 takes a free one.  [default: {_PORT}, or a free one if that is taken]")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Address to listen at. One that others can reach needs a token.")  # fmt: skip
@click.option("--token", default="", metavar="TOKEN",
              help="Show pages only to those who know this token.  [default: a new one if others can reach the host]"
              )  # fmt: skip
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@click.option("--price", metavar="IN/OUT", default="",
              help="The system's price per million prompt and answer tokens.")  # fmt: skip
@click.option("--labels", type=click.Path(path_type=Path), metavar="FILE",
              help="File of labels, for the pages where experts label answers.")  # fmt: skip
@language_option
def command(
    places: tuple[Path, ...], port: int | None, host: str, token: str, price: str, labels: Path | None,
    language: str | None,
    *, open_browser: bool,
) -> int:  # fmt: skip
    """Show runs in a browser: those of a folder (by default this one), every case, comparisons and trends.

    Ctrl-C ends it. Only this machine can reach the pages unless --host says otherwise."""
    server = load("ragstone.web.server", extra="view", purpose="The viewer")
    app_module = load("ragstone.web.app", extra="view", purpose="The viewer")
    security = load("ragstone.web.security", extra="view", purpose="The viewer")
    from ragstone.web.library import Library  # noqa: PLC0415

    texts = messages(__name__, language or preferred_language())
    if not host.strip():
        raise UsageError("--host is empty: name an address, such as 127.0.0.1.")
    if not security.is_loopback(host):
        token = token or security.new_token()
    library = Library(places or (Path(),), labels)
    app = app_module.create_app(
        library, language=language or "", hosts={host.lower()}, token=token, price=read_price(price) if price else None
    )
    with server.listening(host, port, _PORT) as listener:
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listener.getsockname()[1]}/"
        address += f"?token={quote(token)}" if token else ""

        def ready() -> None:
            say_text(texts["serving"].format(address=address))  # with its token, which `say` would hide
            if open_browser:
                webbrowser.open(address)

        server.serve(app, listener, ready=ready)
    return 0
