"""Search engines of the web, and the text of the pages that they find.

    searxng(https://search.example.org)   an instance that allows the format json
    brave   bing   tavily   serper        their interfaces; keys in BRAVE_API_KEY, BING_API_KEY, TAVILY_API_KEY and
                                          SERPER_API_KEY

`url=…` names another address of the same interface. Found pages are kept in the run file with the other replies, so a
construction that resumes works with the same pages."""

import asyncio
import contextlib
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

from ragstone.construction.builders.steps import task_of
from ragstone.errors import ModelError, UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.models.http_call import HttpCall, compiled_path
from ragstone.models.nested_names import parse
from ragstone.models.network import is_loopback, open_session
from ragstone.models.reply_body import read_body
from ragstone.retrieval.corpus import text_of_html
from ragstone.structs import Frozen, to_json
from ragstone.types import Query, Response, Usage

_PAGE_BYTES, _PAGE_SECONDS = 2_000_000, 20.0
_LONGEST = 60_000  # characters of a page that are kept
_REDIRECTS = 3
_PRIVATE = "it is in a private network"


class FoundPage(Frozen, frozen=True):
    """A page that a search found; `text` is that of the page, or the excerpt of the engine where it cannot be read."""

    url: str
    title: str = ""
    text: str = ""


@dataclass(frozen=True)
class _Engine:
    """An interface: how it is asked, and where url, title and excerpt of its results are (JMESPath)."""

    url: str
    results: str
    key: str = ""
    header: str = ""
    method: str = "GET"
    body: str = "{}"


ENGINES: Mapping[str, _Engine] = {
    "searxng": _Engine("{base}/search?format=json&q={query}", "results[].{url: url, title: title, text: content}"),
    "brave": _Engine(
        "https://api.search.brave.com/res/v1/web/search?q={query}&count={count}",
        "web.results[].{url: url, title: title, text: description}", "BRAVE_API_KEY", "X-Subscription-Token={key}",
    ),
    "bing": _Engine(
        "https://api.bing.microsoft.com/v7.0/search?q={query}&count={count}",
        "webPages.value[].{url: url, title: name, text: snippet}", "BING_API_KEY", "Ocp-Apim-Subscription-Key={key}",
    ),
    "tavily": _Engine(
        "https://api.tavily.com/search", "results[].{url: url, title: title, text: content}", "TAVILY_API_KEY",
        "Authorization=Bearer {key}", "POST", '{"query": "{query}", "max_results": "{count}"}',
    ),
    "serper": _Engine(
        "https://google.serper.dev/search", "organic[].{url: link, title: title, text: snippet}", "SERPER_API_KEY",
        "X-API-KEY={key}", "POST", '{"q": "{query}", "num": "{count}"}',
    ),
}  # fmt: skip
"""The interfaces by name, after each engine's documentation of 2026-11."""


class WebSearch:
    """A `types.System` that answers the tasks of a search pass with pages (a JSON list of `FoundPage`)."""

    accepts: ClassVar[frozenset[str]] = frozenset({"passages", "language"})

    def __init__(self, name: str, call: HttpCall, results: str) -> None:
        self.id, self._call = name, call
        self._find = compiled_path(results)
        host = urlsplit(call.where).hostname or ""
        self._local = is_loopback(host)  # an engine on this machine may find pages on it

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "web search", "engine": self.id, "address": self._call.where}

    async def answer(self, query: Query, /) -> Response:
        """The pages for the query of the task. Raises the errors of a model call if the engine fails; a page that
        cannot be read has the engine's excerpt."""
        _, shown = task_of(query)
        count = int(shown["count"])
        document = await self._call.ask({"query": shown["query"], "count": count})
        found = [
            result
            for result in self._find(document) or []
            if isinstance(result, dict) and isinstance(result.get("url"), str)
        ]
        pages = await asyncio.gather(*map(self._page, found[:count]))
        return Response(to_json({"pages": pages}), usage=Usage(requests=1), finish_reason="stop", model=self.id)

    async def _page(self, result: Mapping[str, Any]) -> FoundPage:
        url, excerpt = result["url"], str(result.get("text") or "")
        try:
            text = await asyncio.wait_for(self._read(url), _PAGE_SECONDS)
        except (ModelError, OSError, TimeoutError, ValueError, UsageError):
            text = ""
        return FoundPage(url, str(result.get("title") or ""), (text or excerpt)[:_LONGEST])

    async def _read(self, url: str) -> str:
        """The text of a web page; "" for anything that is not one."""
        import aiohttp  # noqa: PLC0415

        for _ in range(_REDIRECTS):
            await self._check_public(url)
            session, request = open_session(url, "", connections=1, timeout=_PAGE_SECONDS)
            async with session:
                try:
                    async with session.get(url, **request) as reply:
                        if reply.status in (301, 302, 303, 307, 308):
                            url = urljoin(url, reply.headers.get("Location", ""))
                            continue
                        kind = reply.headers.get("Content-Type", "")
                        if reply.status != 200 or not kind.startswith(("text/", "application/xhtml")):
                            return ""
                        body = await read_body(reply, _PAGE_BYTES, url)
                        text = body.decode(reply.charset or "utf-8", "replace")
                except (aiohttp.ClientError, LookupError):
                    return ""
            return text if kind.startswith("text/plain") else text_of_html(text)[1]
        return ""

    async def _check_public(self, url: str) -> None:
        """Raises UsageError for an address in a private network, to which a result could lure a request."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url[:200]} is not an address of the web.")
        if self._local:
            return
        found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM)
        if not all(ipaddress.ip_address(entry[4][0]).is_global for entry in found):
            raise UsageError(f"{url[:200]} is not read: {_PRIVATE}.")


class AssumedPages:
    """Stands in for a search engine in an estimate: a `types.System` that finds the same pages for every question."""

    def __init__(self, name: str, pages: Sequence[FoundPage]) -> None:
        self.id = search_id(name)
        self._pages = pages

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "assumed pages", "engine": self.id}

    async def answer(self, query: Query, /) -> Response:
        """As many pages as are wanted."""
        _, shown = task_of(query)
        return Response(to_json({"pages": self._pages[: int(shown["count"])]}), finish_reason="stop", model=self.id)


def search_id(name: str) -> str:
    """The id of a search engine in run files."""
    return f"search:{parse(name).name}"


def check_search(name: str) -> None:
    """Raises UnknownName, and UsageError for a missing key or address. Asks nothing."""
    _call(name, ModelOptions())


@contextlib.asynccontextmanager
async def open_web_search(name: str, options: ModelOptions) -> AsyncIterator[WebSearch]:
    """Opens the search engine of this name. Raises as `check_search`."""
    engine, call = _call(name, options)
    async with call:
        yield WebSearch(search_id(name), call, engine.results)


def _call(name: str, options: ModelOptions) -> tuple[_Engine, HttpCall]:
    spec = parse(name)
    engine = ENGINES.get(spec.function)
    if engine is None:
        raise UnknownName("search engine", spec.function, ENGINES)
    for option in spec.options:
        if option != "url":
            raise UsageError(f"The search engine {spec.function} has no option {option!r}. It takes url.")
    address = _address(spec.function, engine, spec.options.get("url", ""), spec.arguments)
    headers = {}
    if engine.key and not os.environ.get(engine.key):
        raise UsageError(f"The search engine {spec.function} needs a key: set the environment variable {engine.key}.")
    if engine.header:
        header, _, value = engine.header.partition("=")
        headers[header] = value.replace("{key}", f"${engine.key}")
    header = f"environment variable {engine.key}" if engine.key else "--search"
    call = HttpCall(
        address, options, method=engine.method, headers=headers, body=engine.body, names=("query", "count"),
        header_option=header,
    )  # fmt: skip
    return engine, call


def _address(name: str, engine: _Engine, url: str, arguments: Sequence[str]) -> str:
    """The address to ask; that of the user replaces scheme and host."""
    base = (url or (arguments[0] if arguments else "")).rstrip("/")
    if "{base}" in engine.url:
        if not base:
            raise UsageError(f"{name} needs the address of an instance: {name}(https://search.example.org).")
        return engine.url.replace("{base}", base)
    if not base:
        return engine.url
    parts = urlsplit(engine.url)
    return base + parts.path + (f"?{parts.query}" if parts.query else "")
