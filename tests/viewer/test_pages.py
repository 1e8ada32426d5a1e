"""The pages as a reader meets them: runs, a run, what is not there."""

import html
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import Browse

from ragstone import diagnose, evaluate
from ragstone.experts.experts import agreement_of_experts


def test_the_first_page_links_every_run(folder: Path, browse: Browse) -> None:
    page = browse(folder).get("/")
    assert page.status_code == 200
    assert 'href="/run?run=sub%2Fa.run"' in page.text


def test_a_run_shows_the_sections_of_its_report(folder: Path, browse: Browse) -> None:
    page = browse(folder).get("/run", params={"run": "sub/a.run"}).text
    for text in ("local/extractive", 'class="verdict', "Most frequent causes", "How it was made"):
        assert text in page


@pytest.mark.parametrize(("language", "kinds"), [("en", ("Diagnosis", "Scored answers")), ("zh", ("诊断", "答案评分"))])
def test_a_run_in_the_list_is_called_by_what_it_is(
    tmp_path: Path, browse: Browse, language: str, kinds: tuple[str, str]
) -> None:
    rows = [{"id": "1", "question": "Who?", "reference": "Ada", "answer": "Ada"}]
    diagnose(rows, run=tmp_path / "a.run")
    evaluate(rows, ["answer_match"], run=tmp_path / "b.run")
    pages = browse(tmp_path)
    for name, kind in zip(("a.run", "b.run"), kinds, strict=True):
        row = pages.get("/row", params={"run": name, "lang": language}).text
        assert f"<small><bdi>{kind}</bdi></small>" in row
        assert "interventions" not in row


def test_an_empty_folder_says_how_a_run_is_made(tmp_path: Path, browse: Browse) -> None:
    assert "ragstone bench" in browse(tmp_path).get("/").text


@pytest.mark.parametrize(("path", "status"), [
    ("/none", 404), ("/static/../page.py", 404), ("/static/NOTICE", 404), ("/run", 400), ("/run?run=none", 404),
    ("/?lang=xx", 400),
])  # fmt: skip
def test_what_is_not_there_is_one_readable_line(folder: Path, browse: Browse, path: str, status: int) -> None:
    page = browse(folder).get(path)
    assert page.status_code == status
    assert 'role="alert"' in page.text
    assert "Traceback" not in page.text


def test_an_error_that_nobody_expected_is_a_page_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragstone.web.app import create_app
    from ragstone.web.library import Library

    library = Library([folder])
    client = TestClient(create_app(library), base_url="http://127.0.0.1")
    monkeypatch.setattr(Library, "runs", lambda self: 1 / 0)
    page = client.get("/")
    assert page.status_code == 500
    assert "ZeroDivisionError: division by zero. This is a bug in ragstone" in page.text


@pytest.mark.parametrize(("query", "accept", "fixed", "chinese"), [
    ("?lang=zh", "en", "", True), ("?lang=en", "zh", "zh", False), ("", "zh-CN,zh;q=0.9", "", True),
    ("", "fr,en;q=0.5,zh;q=0.1", "", False), ("", "fr", "", False), ("", "en", "zh", True),
])  # fmt: skip
def test_the_language_is_that_of_the_address_the_command_or_the_browser(
    folder: Path, browse: Browse, query: str, accept: str, fixed: str, chinese: bool
) -> None:
    page = browse(folder, language=fixed).get(f"/{query}", headers={"accept-language": accept}).text
    assert ('<html lang="zh-CN">' in page) is chinese
    assert ("lang=" in page.split('<a href="/run?')[1].split('"')[0]) is bool(query)


def test_a_run_shows_what_labels_say_of_it_and_links_where_they_differ(tmp_path: Path, browse: Browse) -> None:
    data = [{"id": f"q{n}", "question": f"What is {n}?", "answer": f"{n}", "reference": f"{n}"} for n in range(60)]
    run = evaluate(data, ["answer_match"], run=tmp_path / "e.run").run
    reader = browse(tmp_path)
    assert "Judge and experts" not in reader.get("/run", params={"run": "e.run"}).text
    labels = [{"id": f"q{n}", "expert": "ann", "correct": "no" if n == 7 else "yes"} for n in range(55)]
    agreement_of_experts(labels, run).keep()
    page = reader.get("/run", params={"run": "e.run"}).text
    assert "answer_match: the judge and the experts differ on 1:" in page
    assert "calibrated by 55 labels" in page
    link = html.unescape(page.split("differ on 1:")[1].split('href="')[1].split('"')[0])
    assert link == "/cases?run=e.run&system=data&q=q7"
    assert "What is 7?" in reader.get(link).text  # the user's own id is searched, too
