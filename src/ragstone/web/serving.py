"""Serves the pages until Ctrl-C, for the commands that open them."""

import socket
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

import click

from ragstone.commands.options import both
from ragstone.commands.output import say_text
from ragstone.errors import UsageError
from ragstone.optional import load
from ragstone.prices import read_price

_PORT = 8720


server_options = both(
    click.option("--port", type=click.IntRange(0, 65535),
                 help=f"Port; 0 takes a free one.  [default: {_PORT}, or a free one if that is taken]"),
    click.option("--host", default="127.0.0.1", show_default=True,
                 help="Address to listen at. One that others can reach needs a token."),
    click.option("--allowed-host", "allowed_hosts", multiple=True, metavar="NAME",
                 help="Another name by which browsers may call the pages, such as box.example (repeatable)."),
    click.option("--token", default="", metavar="TOKEN",
                 help="Show pages only to those who know this token.  "
                 "[default: a new one if others can reach the host]"),
    click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser."),
)  # fmt: skip


def serve(
    places: Sequence[Path], labels: Path | None, *, language: str, serving: str, port: int | None, host: str,
    token: str, open_browser: bool, allowed_hosts: Sequence[str] = (), price: str = "", path: str = "",
    query: Mapping[str, str] | None = None, experts: Sequence[str] = (),
) -> int:  # fmt: skip
    """Serves the viewer until Ctrl-C. `path` and `query`: of the page whose address is printed, in `serving`.
    `experts`: those who get a link each, where a token is asked for."""
    server = load("ragstone.web.server", extra="view", purpose="The viewer")
    app_module = load("ragstone.web.app", extra="view", purpose="The viewer")
    security = load("ragstone.web.security", extra="view", purpose="The viewer")
    from ragstone.labels import LabelStore  # noqa: PLC0415
    from ragstone.web.library import Library  # noqa: PLC0415

    if not host.strip():
        raise UsageError("--host is empty: name an address, such as 127.0.0.1.")
    for name in allowed_hosts:
        security.check_host(name, "--allowed-host")
    if not security.is_loopback(host):
        token = token or security.new_token()
    if labels is not None and labels.exists():
        LabelStore.open(labels, write=False).close()  # any other file is refused before anything is served
    library = Library(places, labels)
    hosts = {name.lower() for name in (host, *allowed_hosts)}
    called = host
    if security.is_everywhere(host):
        own = socket.gethostname()
        called = allowed_hosts[0] if allowed_hosts else own
        hosts.add(own.lower())
    app = app_module.create_app(library, language=language, hosts=hosts, token=token, price=read_price(price))
    pairs = {**(query or {}), **({"token": token} if token else {})}
    with server.listening(host, port, _PORT) as listener:
        shown = f"[{called}]" if ":" in called else called
        page = f"http://{shown}:{listener.getsockname()[1]}/{path}"
        address = f"{page}?{urlencode(pairs)}" if pairs else page

        def ready() -> None:
            say_text(serving.format(address=address))  # with its token, which `say` would hide
            for name in experts if token else ():
                own = urlencode({"expert": name, "token": security.expert_token(token, name)})
                say_text(f"  {name}: {page}?{own}")
            if open_browser:
                webbrowser.open(address)

        server.serve(app, listener, ready=ready)
    return 0
