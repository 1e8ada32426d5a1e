"""A run that is too large to be read while a page waits: pages come at once, and what is missing follows."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.engine.test_damaged_cases import set_field
from tests.waiting import until_elsewhere
from tests.web.conftest import Browse

import ragstone
from ragstone.runs.record_pages import RecordPages
from ragstone.web import run_cache
from ragstone.web.run_cache import RunCache

PAGE = {"run": "sub/a.run"}


@pytest.fixture
def large(folder: Path, browse: Browse, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The pages of a folder whose run counts as large."""
    monkeypatch.setattr(run_cache, "AT_ONCE_BYTES", 0)
    client = browse(folder)
    yield client
    client.app.state.cache.close()  # type: ignore[attr-defined]


def test_the_opening_comes_from_the_index_until_the_sections_are_there(large: TestClient, monkeypatch: Any) -> None:
    monkeypatch.setattr(RunCache, "make", lambda self, path, language: None)
    page = large.get("/run", params=PAGE).text
    assert "0 of 28 answers are read so far" in page
    assert 'hx-trigger="every 3s"' in page
    library = large.app.state.library  # type: ignore[attr-defined]
    with library.index("sub/a.run") as index:
        index.update(30)
    page = html.unescape(large.get("/run", params=PAGE).text)
    assert re.search(r"<bdi>extractive: \d+% \[\d+, \d+\] right of \d+ answers", page)
    assert "The charts and tables of 28 answers are being computed" in page
    assert 'href="/cases?run=sub%2Fa.run&system=' in page


def test_another_process_makes_the_index_and_the_sections(large: TestClient) -> None:
    assert "hx-trigger" in large.get("/run", params=PAGE).text
    until_elsewhere(lambda: "hx-trigger" not in large.get("/run", params=PAGE).text)
    page = large.get("/run", params=PAGE).text
    assert "How it was made" in page
    assert "@run@" not in page
    assert "28 cases" in large.get("/cases", params=PAGE).text
    assert "being computed" not in large.get("/").text


def test_a_changed_run_shows_what_was_known_and_says_so(large: TestClient, folder: Path, monkeypatch: Any) -> None:
    large.get("/run", params=PAGE)
    until_elsewhere(lambda: "hx-trigger" not in large.get("/run", params=PAGE).text)
    monkeypatch.setattr(run_cache, "state_of", lambda path: "later")
    page = large.get("/run", params=PAGE).text
    assert "what is shown is a little older" in page
    assert "How it was made" in page


def test_what_is_kept_is_bounded(tmp_path: Path, folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(run_cache, "_IN_MEMORY", 1)
    cache = RunCache(tmp_path)
    for language in ("en", "zh"):
        assert cache.of("figures", folder / "sub" / "a.run", language).fresh
    assert cache.known("figures", folder / "sub" / "a.run", "en") is None
    assert cache.known("figures", folder / "sub" / "a.run", "zh") is not None


def test_a_row_of_the_list_waits_for_its_figures_and_then_has_them(large: TestClient) -> None:
    row = large.get("/row", params=PAGE).text
    assert "The figures of this large run are being computed" in row
    assert 'hx-trigger="load delay:3s"' in row
    assert 'class="bad"' not in row
    until_elsewhere(lambda: "being computed" not in large.get("/row", params=PAGE).text)
    assert "hx-get" not in large.get("/row", params=PAGE).text


def test_no_page_reads_more_of_a_large_run_than_it_shows(browse: Browse, tmp_path: Path, monkeypatch: Any) -> None:
    count, read = 250, list[int]()
    for name in ("a.run", "b.run"):
        rows = [
            {"question": f"{number}?", "answer": f"in {number if number % 3 else name}", "reference": f"in {number}"}
            for number in range(count)
        ]
        ragstone.evaluate(rows, "answer_match", run=tmp_path / "runs" / name, name="recorded")
    monkeypatch.setattr(run_cache, "AT_ONCE_BYTES", 0)
    monkeypatch.setattr(RunCache, "make", lambda self, path, language: None)
    client = browse(tmp_path / "runs")
    for name in ("a.run", "b.run"):
        with client.app.state.library.index(name) as index:  # type: ignore[attr-defined]
            assert index.update(60).done == count
    page_of = RecordPages._page

    def counted(self: RecordPages, *values: Any, **more: Any) -> Any:
        rows = page_of(self, *values, **more)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(RecordPages, "_page", counted)
    shown = {
        "/": "a.run", "/run?run=a.run": "right of 250 answers", "/cases?run=a.run": "250 cases",
        "/compare?run=a.run&run=b.run": ">84<",
    }  # fmt: skip
    for address, text in shown.items():
        page = html.unescape(client.get(address).text)
        assert text in page, address
        assert sum(read) <= 10, address


def test_what_is_wrong_with_a_large_run_is_told_once_and_in_chinese(
    folder: Path, browse: Browse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs" / "bad.run"
    path.parent.mkdir()
    path.write_bytes((folder / "sub" / "a.run").read_bytes())
    set_field(path, "condition", "noise_ratio", "text")
    monkeypatch.setattr(run_cache, "AT_ONCE_BYTES", 0)
    client = browse(path.parent)
    for address in ("/run", "/row"):
        page = ""

        def done(address: str = address) -> bool:
            nonlocal page
            page = html.unescape(client.get(address, params={"run": "bad.run", "lang": "zh"}).text)
            return "文件已损坏" in page or "damaged" in page

        until_elsewhere(done)
        assert page.count("文件已损坏") == 1
        assert "英文说明" not in page
    client.app.state.cache.close()  # type: ignore[attr-defined]
