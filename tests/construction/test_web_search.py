"""Search engines of the web: each is asked in its own way, its pages are read, and private networks are not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.construction.test_questions import changed
from tests.construction.test_rgb import ENGLISH, articles

from ragstone.construction.build_rgb import build_rgb_async
from ragstone.construction.builders.steps import Task
from ragstone.construction.builders.web_search import ENGINES, check_search, open_web_search
from ragstone.errors import UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.structs import from_json

ASKED = web.AppKey("asked", list[Any])


@pytest.fixture
async def site() -> AsyncIterator[TestServer]:
    """A search engine in all five interfaces, and the page that it finds."""
    asked: list[Any] = []

    async def search(request: web.Request) -> web.Response:
        body = await request.json() if request.method == "POST" else dict(request.query)
        asked.append((request.path, dict(request.headers), body))
        address = str(request.url.origin())
        page = {"url": f"{address}/page", "link": f"{address}/page", "title": "Lamps", "name": "Lamps"}
        gone = {"url": f"{address}/gone", "link": f"{address}/gone", "title": "Gone", "snippet": "An excerpt.",
                "content": "An excerpt.", "description": "An excerpt."}  # fmt: skip
        found = [page, gone]
        return web.json_response(
            {"results": found, "web": {"results": found}, "webPages": {"value": found}, "organic": found}
        )

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<title>x</title><nav>menu</nav><p>There are 310 lamps.</p>", content_type="text/html")

    app = web.Application()
    app[ASKED] = asked
    for path in ("/search", "/res/v1/web/search", "/v7.0/search"):
        app.router.add_route("*", path, search)
    app.router.add_get("/page", page)
    server = TestServer(app)
    await server.start_server()
    yield server
    await server.close()


KEYS = {
    "brave": "X-Subscription-Token",
    "bing": "Ocp-Apim-Subscription-Key",
    "tavily": "Authorization",
    "serper": "X-API-KEY",
}


@pytest.mark.parametrize("name", list(ENGINES))
async def test_each_engine_is_asked_in_its_way_and_its_pages_are_read(
    name: str, site: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ENGINES[name].key:
        monkeypatch.setenv(ENGINES[name].key, "s3cret")
    address = str(site.make_url("")).rstrip("/")
    task = Task("1", {"query": "lamps of Arden & more", "count": 5}, "en")
    async with open_web_search(f"{name}(url={address})", ModelOptions()) as engine:
        response = await engine.answer(task.case("search", "search").query)
    pages = from_json(response.answer, dict[str, Any])["pages"]
    assert pages[0] == {"url": f"{address}/page", "title": "Lamps", "text": "There are 310 lamps."}
    assert pages[1]["text"] == "An excerpt."
    ((_, headers, body),) = site.app[ASKED]
    assert "lamps of Arden & more" in body.values()
    if name in KEYS:
        assert "s3cret" in headers[KEYS[name]]
    assert "s3cret" not in str(engine.spec)


async def test_pages_of_the_web_are_kept_for_the_next_start(site: TestServer, tmp_path: Path) -> None:
    address, news = str(site.make_url("")).rstrip("/"), articles(tmp_path, ENGLISH)
    for _ in range(2):
        built = await build_rgb_async(
            news, tmp_path / "rgb", changed(), search=f"searxng({address})", retriever="bm25", size=1
        )
        assert built.files is not None
        assert len(site.app[ASKED]) == 4  # one search for each question


def test_search_engines_are_checked_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    with pytest.raises(UsageError, match="BRAVE_API_KEY"):
        check_search("brave")
    with pytest.raises(UnknownName, match="search engine"):
        check_search("altavista")
    with pytest.raises(UsageError, match="needs the address"):
        check_search("searxng")


async def test_a_result_in_a_private_network_is_not_read(site: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "x")
    urls = (str(site.make_url("/page")), "http://169.254.169.254/latest", "file:///etc/passwd")
    async with open_web_search("brave", ModelOptions()) as engine:
        found = await asyncio.gather(*(engine._page({"url": url, "text": "kept"}) for url in urls))
    assert [page.text for page in found] == ["kept"] * 3
