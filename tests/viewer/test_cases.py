"""The list of cases: the address is the filter, and every link of it is another filter."""

import html
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.web.conftest import Browse

RUN = {"run": "sub/a.run"}


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def links(page: str, path: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(rf'href="({path}\?[^"]*)"', page)]


def count(page: str) -> int:
    found = re.search(r'<p class="count"><b>([\d,]+) cases?</b>', page)
    assert found, text_of(page)[:300]
    return int(found[1].replace(",", ""))


def test_every_case_is_listed_the_worst_first_with_a_link_to_it(folder: Path, browse: Browse) -> None:
    page = browse(folder).get("/cases", params=RUN).text
    rows = re.findall(r'<li data-row class="(\w+)">', page)
    assert len(rows) == count(page)
    assert rows == sorted(rows, key=("wrong", "failed", "unscored", "right").index)
    case = dict(parse_qsl(urlsplit(links(page, "/case")[0]).query))
    assert case["run"] == "sub/a.run"
    assert {"system", "id"} <= case.keys()


def test_each_chip_leads_to_as_many_cases_as_it_says_and_back(folder: Path, browse: Browse) -> None:
    client = browse(folder)
    page = client.get("/cases", params=RUN).text
    chips = re.findall(r'<li><a href="([^"]+)"><bdi>[^<]+</bdi> <small>([\d,]+)</small></a></li>', page)
    assert len(chips) > 6
    for href, number in chips:
        chosen = client.get(html.unescape(href)).text
        assert count(chosen) == int(number.replace(",", ""))
        (again,) = re.findall(r'<li class="on"><a href="([^"]+)"', chosen)
        assert count(client.get(html.unescape(again)).text) == count(page)


def test_the_form_keeps_the_filter_and_the_language(folder: Path, browse: Browse) -> None:
    page = browse(folder).get("/cases", params={**RUN, "status": "wrong", "lang": "zh", "sort": "id", "q": "the"}).text
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page))
    assert hidden == {"run": "sub/a.run", "status": "wrong", "lang": "zh"}
    assert 'name="q" value="the"' in page
    assert '<option value="id" selected>' in page


def test_words_and_ranges_of_metrics_find_cases(folder: Path, browse: Browse) -> None:
    client = browse(folder)
    everything = client.get("/cases", params=RUN).text
    wrong = client.get("/cases", params={**RUN, "m.answer_match": "0..0.5"}).text
    assert 0 < count(wrong) < count(everything)
    assert 'name="m.answer_match" value="0..0.5"' in wrong
    assert count(client.get("/cases", params={**RUN, "q": "report says"}).text) > 0
    assert count(client.get("/cases", params={**RUN, "q": "no such words"}).text) == 0


@pytest.mark.parametrize(("query", "status"), [
    ("m.answer_match=a..b", 400), ("status=none", 400), ("q=" + "x" * 500, 400), ("page=999999", 200), ("page=-1", 200),
    ("page=x", 200), ("sort=none", 400),
])  # fmt: skip
def test_a_filter_that_cannot_be_understood_is_named(folder: Path, browse: Browse, query: str, status: int) -> None:
    page = browse(folder).get(f"/cases?run=sub/a.run&{query}")
    assert page.status_code == status
    assert ('role="alert"' in page.text) is (status == 400)


def test_pages_of_the_list_follow_one_another(folder: Path, browse: Browse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.viewer.pages.cases._SIZE", 5)
    client, seen, page = browse(folder), list[str](), ""
    href = "/cases?run=sub/a.run&sort=id"
    while href:
        page = client.get(href).text
        seen += links(page, "/case")
        following = re.search(r'data-next href="([^"]+)"', page)
        href = html.unescape(following[1]) if following else ""
    assert len(seen) == len(set(seen)) == count(page) > 5


def test_a_case_of_a_filtered_list_knows_the_filter(folder: Path, browse: Browse) -> None:
    page = browse(folder).get("/cases", params={**RUN, "status": "wrong", "system": "local/extractive"}).text
    for link in links(page, "/case"):
        pairs = parse_qsl(urlsplit(link).query)
        assert ("status", "wrong") in pairs
        assert dict(pairs)["system"] == "local/extractive"
