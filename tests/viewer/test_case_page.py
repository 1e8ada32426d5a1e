"""The pages of a case, of a comparison and of a trend, as a reader meets them."""

import re
import shutil
from html import unescape
from io import StringIO
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from starlette.testclient import TestClient
from tests.analysis.case_runs import record, write
from tests.report.hostile import PAYLOADS
from tests.web.conftest import Browse
from tests.web.rounds import labels_file

from ragstone import diagnose, evaluate
from ragstone.api import read_run
from ragstone.report.junit import write_junit

RUN = {"run": "sub/a.run"}


def links(html: str, start: str) -> list[str]:
    return [unescape(href) for href in re.findall(rf'href="({re.escape(start)}[^"]*)"', html)]


@pytest.fixture
def client(folder: Path, browse: Browse) -> TestClient:
    return browse(folder)


@pytest.fixture
def case(client: TestClient) -> str:
    """The address of the first wrong case of a list."""
    return links(client.get("/cases", params={**RUN, "status": "wrong"}).text, "/case?")[0]


def test_a_case_of_the_list_opens_with_its_neighbours_in_the_same_list(client: TestClient, case: str) -> None:
    first = client.get(case)
    assert first.status_code == 200
    assert "<h2" in first.text
    (following,) = re.findall(r'data-next href="([^"]*)"', first.text)
    assert "status=wrong" in following
    second = client.get(unescape(following)).text
    (previous,) = re.findall(r'data-previous href="([^"]*)"', second)
    assert client.get(unescape(previous)).text == first.text
    (up,) = re.findall(r'data-up href="([^"]*)"', first.text)
    assert up.startswith("/cases?")
    assert "status=wrong" in up


def test_the_other_systems_answer_to_the_question_stands_beside_it(client: TestClient, case: str) -> None:
    page = client.get(case).text
    assert 'id="elsewhere"' in page
    beside = client.get(links(page.partition('id="elsewhere"')[2], "/beside?")[0]).text
    assert beside.count('<section class="side"') == 2
    assert "extractive" in beside


@pytest.mark.parametrize(("language", "words"), [("en", "Time and cost"), ("zh", "用时与成本")])
def test_a_case_is_shown_in_the_language_of_the_reader(
    client: TestClient, case: str, language: str, words: str
) -> None:
    assert words in client.get(f"{case}&lang={language}").text


@pytest.mark.parametrize("path", [
    "/case?run=sub/a.run", "/case?run=sub/a.run&id=1", "/case?run=sub/a.run&system=none&id=1", "/compare",
    "/compare?run=sub/a.run&system=none&run=sub/a.run&system=other", "/compare?run=sub/a.run&cell=odd",
    "/beside?run=sub/a.run", "/trend", "/case?run=sub/a.run&system=a&id=1&sort=none",
])  # fmt: skip
def test_an_address_that_lacks_something_is_one_readable_line(client: TestClient, path: str) -> None:
    page = client.get(path)
    assert page.status_code in (400, 404)
    assert page.text.count('role="alert"') == 1
    assert "Traceback" not in page.text


def test_a_cell_of_the_comparison_leads_to_cases_and_these_to_both_answers(client: TestClient) -> None:
    page = client.get("/compare", params=RUN).text
    assert '<p class="verdict">' in page
    counts = dict(re.findall(r"cell=(\w+)\"><b>([\d,]+)</b>", page))
    assert counts
    cell, count = max(counts.items(), key=lambda item: int(item[1]))
    cases = client.get(next(href for href in links(page, "/compare?") if href.endswith(f"cell={cell}"))).text
    assert min(25, int(count)) == cases.count("<li data-row>")
    beside = links(cases, "/beside?")
    shown = client.get(beside[0]).text
    assert shown.count('<section class="side"') == 2
    assert unescape(re.findall(r'data-next href="([^"]*)"', shown)[0]) == beside[1]


def test_two_runs_are_compared_by_question_and_three_as_a_matrix_of_pairs(browse: Browse, tmp_path: Path) -> None:
    for place, name in enumerate(("a", "b", "c")):
        items = [record(f"{n}", answer="yes", scores={"answer_match": float(n % (place + 2) == 0)}) for n in range(30)]
        write(tmp_path / "runs" / f"{name}.run", items, question={"benchmark": "eval", "version": 1})
    client = browse(tmp_path / "runs")
    page = client.get("/compare?run=a.run&run=b.run").text
    assert "gives more right answers" in page
    assert "What to do" in page
    matrix = client.get("/compare?run=a.run&run=b.run&run=c.run").text
    assert len(links(matrix.partition("<main")[2], "/compare?")) == 6


def test_runs_of_unrelated_questions_with_the_same_ids_are_not_compared(browse: Browse, tmp_path: Path) -> None:
    for name, word, right in (("a", "Who", 0.0), ("b", "When", 1.0)):
        items = [
            record(f"{n}", question=f"{word} {n}?", answer="yes", scores={"answer_match": right}) for n in range(40)
        ]
        write(tmp_path / "runs" / f"{name}.run", items, question={"benchmark": "eval", "version": 1})
    client = browse(tmp_path / "runs")
    page = client.get("/compare?run=a.run&run=b.run").text
    assert "have 0 questions in common: the 40 of the one and the 40 of the other ask something else" in page
    assert "gives more right answers" not in page
    assert "共有 0 个问题" in client.get("/compare?run=a.run&run=b.run&lang=zh").text
    assert client.get("/compare?run=a.run&run=b.run&cell=won").status_code == 200


def test_a_difference_that_the_correction_takes_away_is_said_nowhere_on_the_page(
    browse: Browse, tmp_path: Path
) -> None:
    """Six of forty more are right (p = .03), which of two quantities shows nothing."""
    for name, most in (("a", 0), ("b", 6)):
        items = [
            record(f"{n}", answer="yes", scores={"answer_match": float(n < most), "token_f1": float(n % 2)})
            for n in range(40)
        ]
        write(tmp_path / "runs" / f"{name}.run", items, question={"benchmark": "eval", "version": 1})
    page = browse(tmp_path / "runs").get("/compare?run=a.run&run=b.run").text
    assert "gives more right answers" in page
    assert "cannot tell" in page or "Too few questions" in page


def test_a_trend_is_over_all_runs_of_the_folder_or_those_chosen(folder: Path, browse: Browse, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / "runs").mkdir(exist_ok=True)
        shutil.copy(folder / "sub" / "a.run", tmp_path / "runs" / f"{name}.run")
    client = browse(tmp_path / "runs")
    page = client.get("/trend").text
    assert 'id="verdict"' in page
    assert links(page, "/trend?system=") != []
    assert client.get("/trend?run=a.run&run=b.run&lang=zh").status_code == 200
    assert client.get("/trend?run=a.run").status_code == 400


def test_chosen_runs_of_one_system_each_are_followed_whatever_it_is_called(browse: Browse, tmp_path: Path) -> None:
    for name in ("before", "after"):
        data = tmp_path / f"{name}.jsonl"
        data.write_text('{"question": "How deep?", "answer": "12 m", "reference": "12 m"}\n')
        evaluate(data, metrics=["token_f1"], run=tmp_path / f"{name}.run")
    client = browse(tmp_path)
    assert 'id="verdict"' in client.get("/trend?run=before.run&run=after.run").text
    refused = client.get("/trend?run=before.run&lang=zh")
    assert refused.status_code == 400
    assert "趋势至少需要" in refused.text
    assert "英文" not in refused.text


def test_what_a_run_file_holds_is_text_on_every_page(browse: Browse, tmp_path: Path) -> None:
    evil = [text for text in PAYLOADS if "<" in text][:12]
    items = [
        record(f"case {text}", f"system {number % 2} {evil[0]}", question=text, answer=text, columns={text[:40]: text})
        for number, text in enumerate(evil)
    ]
    write(tmp_path / "runs" / "a.run", items, question={"benchmark": "eval", "version": 1})
    client = browse(tmp_path / "runs")
    cases = links(client.get("/cases?run=a.run").text, "/case?")
    assert len(cases) == len(evil)
    for href in (*cases, "/compare?run=a.run"):
        page = client.get(href)
        assert page.status_code == 200, page.text[:2000]
        assert not re.search(r"<(script|img|iframe|svg on)[^>]*(owned|evil\.example)", page.text)


def test_the_same_question_is_found_in_other_runs_later(folder: Path, browse: Browse, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("a", "b"):
        shutil.copy(folder / "sub" / "a.run", tmp_path / "runs" / f"{name}.run")
    client = browse(tmp_path / "runs")
    href = links(client.get("/cases?run=a.run").text, "/case?")[0]
    later = links(client.get(href).text, "/case/elsewhere?")[0]
    part = client.get(later, headers={"hx-request": "true"}).text
    assert part.lstrip().startswith("<div")
    assert links(part, "/case?run=b.run")
    assert "<html" in client.get(later).text


def test_a_comparison_of_very_many_answers_is_counted_while_the_page_says_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.comparison.pages.compare._LARGE", -1)
    monkeypatch.setattr("ragstone.comparison.pages.compare._WAIT_LARGE", 0.0)
    started = client.get("/compare", params=RUN).text
    assert "The answers are being compared" in started or "verdict" in started
    while '<p class="verdict">' not in started:
        started = client.get("/compare", params=RUN).text


def test_a_comparison_that_fails_is_tried_again(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("ragstone.comparison.pages.compare.flips_of", lambda a, b: 1 / 0)
        assert client.get("/compare", params=RUN).status_code == 500
    assert client.get("/compare", params=RUN).status_code == 200


def test_a_case_leads_to_its_label_where_labels_are_kept(
    folder: Path, browse: Browse, tmp_path: Path, case: str
) -> None:
    assert 'action="/annotate/case' not in browse(folder).get(case).text
    assert 'action="/annotate/case' in browse(folder, labels=labels_file(tmp_path / "labels.sqlite")).get(case).text


def test_of_a_diagnosis_the_answers_as_is_are_compared(browse: Browse, tmp_path: Path) -> None:
    items = [
        record(f"{number}/{name}", system, condition={"intervention": name}, scores={"answer_match": float(right)})
        for system, right in (("s", 0), ("t", 1)) for number in range(4) for name in ("as_is", "gold_only")
    ]  # fmt: skip
    write(tmp_path / "runs" / "a.run", items, question={"benchmark": "eval", "version": 1})
    page = browse(tmp_path / "runs").get("/compare?run=a.run").text
    assert dict(re.findall(r"cell=(\w+)\"><b>([\d,]+)</b>", page)) == {"won": "4"}


NAMES = ["hr-7", "000001", "a/b", "q 4?&é", "hr-7/r1"]


@pytest.mark.parametrize("own", [True, False])
def test_addresses_pages_and_junit_name_cases_by_the_ids_of_their_user(
    browse: Browse, tmp_path: Path, own: bool
) -> None:
    rows = [
        {"question": f"What is {place}?", "answer": f"It is {place}.", "reference": "six"}
        | ({"id": name} if own else {}) for place, name in enumerate(NAMES)
    ]  # fmt: skip
    path = tmp_path / "runs" / "a.run"
    evaluate(rows, ["answer_match"], run=path)
    with read_run(path) as run, StringIO() as stream:
        assert [record.case.id for record in run.run.records()][:2] == ["000001", "000002"]
        (system,) = run.run.systems
        write_junit(run.run, run.benchmark, stream, "en")
        names = [case.get("name") for case in ElementTree.fromstring(stream.getvalue()).iter("testcase")]
    assert names == (NAMES if own else [row["question"] for row in rows])
    client = browse(path.parent)
    addresses = links(client.get("/cases", params={"run": "a.run"}).text, "/case?")
    assert len(addresses) == len(NAMES)
    for address in addresses:
        (shown,) = parse_qs(urlsplit(address).query)["id"]
        page = client.get(address).text
        assert not own or f"What is {NAMES.index(shown)}?" in page
        assert not re.search("00000[2-5]", page)  # the numbers of the rows
    assert client.get("/case", params={"run": "a.run", "system": system, "id": "000002"}).status_code == 200


def test_a_trend_of_diagnoses_is_that_of_the_answers_as_is(browse: Browse, tmp_path: Path) -> None:
    rows = [{"question": f"How deep is pit {at}?", "reference": f"{at} m"} for at in range(10)]
    for name, answer in (("before", "999 m"), ("after", "")):
        diagnose(
            rows, lambda question, passages=None, answer=answer: answer or f"{question[16:-1]} m",
            metrics=["answer_match"], run=tmp_path / f"{name}.run",
        )  # fmt: skip
    page = browse(tmp_path).get("/trend").text
    assert "10 answers each" in page
    assert "The questions changed" not in page
