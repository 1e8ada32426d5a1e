"""Run files of strangers in the viewer: nothing of them runs, fetches or breaks a page; a damaged one is one line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.report.hostile import PAYLOADS
from tests.web.conftest import Browse
from tests.web.live import live

from ragstone.evaluation.evaluate import evaluate
from ragstone.web.app import create_app
from ragstone.web.library import Library

NAME = "<img src=x onerror=window.owned=1>&@run@'\".run"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run whose name, ids, questions, answers and columns are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "id": f"{number} {payload}", "question": payload, "answer": payload + " " + "x" * 50 * number,
            "reference": "something else", "passages": [payload], "<b onclick=owned=1>": payload[:80],
        }
        for number, payload in enumerate(payload.encode("utf-8", "replace").decode() for payload in PAYLOADS)
    ]  # fmt: skip
    evaluate(rows, ["token_f1", "exact_match"], run=folder / NAME)
    return folder


def paths() -> Iterator[tuple[str, dict[str, str]]]:
    yield "/", {"q": "<img src=x onerror=window.owned=1>"}
    for path in ("/", "/run", "/cases", "/row"):
        yield path, {"run": NAME}
    yield "/cases", {"run": NAME, "q": "<script>", "system": "<script>window.owned=1</script>"}
    yield "/run", {"run": "<script>window.owned=1</script>"}


@pytest.mark.browser
def test_nothing_of_a_hostile_run_runs_or_is_fetched(
    hostile: Path, chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said, asked = list[str](), list[str]()
    with live(create_app(Library([hostile]))) as address:
        context = chromium.new_context(locale="en")
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        for path, values in paths():
            page.goto(f"{address}{path}?{urlencode(values)}")
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            page.keyboard.press("j")
            assert page.evaluate("window.owned") is None, path
            assert page.title() != "owned"
        context.close()
        assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert [line for line in said if "status of 40" not in line] == []


def test_names_texts_and_columns_are_shown_as_they_are(hostile: Path, browse: Browse) -> None:
    client = browse(hostile)
    for path, values in paths():
        page = client.get(path, params=values)
        assert page.status_code in (200, 404)
        assert "<script>" not in page.text.replace('<script src="/static/', "")
        assert "onerror=window.owned=1>" not in page.text.replace("&gt;", "")
    assert "&lt;img src=x onerror=" in client.get("/").text


@pytest.mark.parametrize("kind", ["cut", "garbage", "empty tables"])
def test_a_damaged_run_is_one_line_on_every_page(folder: Path, tmp_path: Path, browse: Browse, kind: str) -> None:
    content = (folder / "sub" / "a.run").read_bytes()
    damaged = {
        "cut": content[: len(content) // 2 // 512 * 512],
        "garbage": content[:4096] + b"\xff" * (len(content) - 4096),
        "empty tables": content[:100] + bytes(len(content) - 100),
    }[kind]
    (tmp_path / "d.run").write_bytes(damaged)
    client = browse(tmp_path)
    listed = client.get("/")
    assert listed.status_code == 200
    assert "d.run" in listed.text
    for path in ("/run", "/cases"):
        page = client.get(path, params={"run": "d.run"})
        assert page.status_code == 400, (path, page.text[-500:])
        assert 'role="alert"' in page.text
        assert "Traceback" not in page.text
    assert "event: finished" in client.get("/events", params={"run": "d.run"}).text
