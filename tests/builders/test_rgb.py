"""RGB's data sets from news: labels, false answers and joined questions are checked; pages come from a web search."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.builders.test_questions import changed

from ragstone.api.build_rgb import build_rgb, build_rgb_async
from ragstone.builders.steps import Task
from ragstone.builders.web_search import ENGINES, check_search, open_web_search
from ragstone.datasets.rgb import read_rgb
from ragstone.datasets.rgb_check import check_rgb
from ragstone.errors import UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.structs import from_json

ASKED = web.AppKey("asked", list[Any])
TOWNS = ("Arden", "Brill", "Corvin", "Dunmore")


@pytest.fixture
def news(tmp_path: Path) -> Path:
    """Articles about openings: each states a figure, and a later one repeats it."""
    rows = [
        {"id": f"{town}-{n}", "title": f"Bridge at {town}",
         "text": f"{intro} The bridge at {town} has {310 + 7 * place} lamps and was opened by the mayor."}
        for place, town in enumerate(TOWNS)
        for n, intro in enumerate(("It rained on Friday, and many guests stayed at home.", "A year has passed since."))
    ]  # fmt: skip
    path = tmp_path / "news.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


def knowing(shown: Mapping[str, Any], reply: Any) -> Any:
    """A reader who knows all the lamps by heart."""
    if shown["passages"]:
        return reply
    place = next((place for place, town in enumerate(TOWNS) if town in shown["question"]), None)
    return {"answer": "" if place is None else f"{310 + 7 * place} lamps", "found": place is not None}


def test_news_become_the_official_files(news: Path, tmp_path: Path) -> None:
    built = build_rgb(news, tmp_path / "rgb", changed(read=knowing), retriever="bm25")
    assert built.files == {"en_refine": 4, "en_int": 2, "en_fact": 4}
    for name in built.files:
        problems = check_rgb([tmp_path / "rgb" / f"{name}.json"])
        assert not [problem for problem in problems if problem.severity == "error"]
    base = read_rgb(tmp_path / "rgb" / "en_refine.json")
    for row in base.rows:
        (answer,) = row.slots[0]
        assert len(row.positive[0]) == 2
        assert all(answer in text for text in row.positive[0])
        assert row.negative
        assert not any(answer in text for text in row.negative)
    for row in read_rgb(tmp_path / "rgb" / "en_fact.json").rows:
        (answer,), (fake,) = row.slots[0], row.fake
        assert fake != answer
        assert all(fake in text and answer not in text for text in row.positive_wrong)
    for row in read_rgb(tmp_path / "rgb" / "en_int.json").rows:
        assert [slot[0] in group[0] for slot, group in zip(row.slots, row.positive, strict=True)] == [True, True]
        assert not any(slot[0] in text for slot in row.slots for text in row.negative)


def test_the_files_run_in_the_benchmark(news: Path, tmp_path: Path) -> None:
    import ragstone

    build_rgb(news, tmp_path / "rgb", changed(read=knowing), retriever="bm25")
    result = ragstone.bench("rgb", model="local/extractive", data=tmp_path / "rgb", run=tmp_path / "rgb.run")
    assert result.outcome.complete
    assert result.outcome.done > 10


def other(answer: str) -> str:
    return "317 lamps" if "310" in answer else "310 lamps"


def rejections(tmp_path: Path) -> set[str]:
    lines = (tmp_path / "rgb" / "rejected.jsonl").read_text("utf-8").splitlines()
    return {json.loads(line)["reason"] for line in lines}


@pytest.mark.parametrize(
    ("reason", "rules"),
    [
        ("evidence_not_in_text", {"event": lambda _, r: {"events": [{**e, "evidence": "No"} for e in r["events"]]}}),
        ("answer_not_in_evidence", {"event": lambda _, r: {"events": [{**e, "answer": "9"} for e in r["events"]]}}),
        ("answer_in_question", {"event": lambda _, r: {"events": [e | {"question": e["event"]} for e in r["events"]]}}),
        ("near_duplicate", {"event": lambda _, r: {"events": [*r["events"], *r["events"]]}}),
        ("not_answerable_from_gold", {"read": lambda s, r: {"answer": "", "found": False}}),
        ("too_few_positive", {"answering": lambda s, r: {"passages": []}}),
        ("not_known_without_documents", {}),
        ("false_answer_in_passages", {"read": knowing, "fake": lambda s, r: {"fake": other(s["answers"][0])}}),
        ("answer_in_question", {"join": lambda s, r: {"question": "Is it 310, 317 lamps, 324 lamps or 331 lamps?"}}),
    ],
)  # fmt: skip
def test_bad_items_are_rejected_with_their_reason(
    news: Path, tmp_path: Path, reason: str, rules: dict[str, Any]
) -> None:
    build_rgb(news, tmp_path / "rgb", changed(**rules), retriever="bm25")
    assert reason in rejections(tmp_path)


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


async def test_pages_of_the_web_are_kept_for_the_next_start(site: TestServer, news: Path, tmp_path: Path) -> None:
    address = str(site.make_url("")).rstrip("/")
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
