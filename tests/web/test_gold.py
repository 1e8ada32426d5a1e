"""Editing the gold in the viewer: fields in, a version with who and why, differences by word, and back again."""

import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.cli.tools import process
from tests.report.hostile import PAYLOADS
from tests.web.conftest import Browse
from tests.web.rounds import OURS, SAMPLES, labels_file

from ragstone.datasets.tabular.items import Item
from ragstone.labels import LabelStore
from ragstone.types import Passage, Sample

ODD = Sample(
    "q\u202e3", "Odd\r\nquestion\x00?", (("a\r\nb", "c\u202ed"),), (Passage("p", "x\r\ny\x07", "t\x07"),), "en"
)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = labels_file(tmp_path / "labels.sqlite")
    with LabelStore.open(path) as store:
        store.add_samples([Item(ODD, row=3)])
    return path


@pytest.fixture
def client(browse: Browse, tmp_path: Path, labels: Path) -> TestClient:
    return browse(tmp_path, labels=labels)


def plain(page: Any) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.text)).split())


def fields_of(page: Any, form: int = 0) -> list[tuple[str, str]]:
    """What a browser would send of a form of the page, unchanged."""
    html = re.findall(r'<form [^>]*method="post".*?</form>', page.text, re.DOTALL)[form]
    found = []
    for tag, attributes, text in re.findall(r"<(input|textarea)([^>]*)>(?:\n([^<]*)</textarea>)?", html):
        values = dict(re.findall(r'([\w-]+)="([^"]*)"', attributes))
        if tag == "textarea":
            found.append((values["name"], unescape(text).replace("\n", "\r\n")))
        elif values["type"] in ("text", "hidden") or " checked" in attributes:
            found.append((values["name"], unescape(values.get("value", ""))))
    return found


def change(client: TestClient, sample_id: str, *changes: tuple[str, int, str]) -> Any:
    """Sends the form of a question with these fields changed: (name, which of that name, value)."""
    fields = fields_of(client.get("/gold/question", params={"id": sample_id}))
    for name, which, value in (("by", 0, "Ida"), ("why", 0, "as in § 2"), *changes):
        places = [place for place, (known, _) in enumerate(fields) if known == name]
        if which < len(places):
            fields[places[which]] = (name, value)
        else:
            fields.append((name, value))
    return send(client, "/gold/edit", fields)


def send(client: TestClient, path: str, fields: list[tuple[str, str]]) -> Any:
    data: dict[str, list[str]] = {}
    for name, value in fields:
        data.setdefault(name, []).append(value)
    return client.post(path, data=data, headers=OURS)


def sample_of(labels: Path, sample_id: str) -> Sample:
    with LabelStore.open(labels, write=False) as store:
        return store.sample(sample_id).sample


def test_an_edit_of_every_field_is_one_version_with_who_and_why(client: TestClient, labels: Path) -> None:
    page = change(
        client, "q1", ("question", 0, "How many days of paid leave?"), ("reference-0", 2, "25"),
        ("reference-1", 0, ""), ("reference-2", 0, "in a year"), ("answerable", 0, "yes"), ("gold-1", 0, "1"),
        ("gold-2", 0, "1"), ("passage-2", 0, "See § 2."), ("title-2", 0, "Rules"),
    )  # fmt: skip
    assert "Saved as version 1." in plain(page)
    for told in ("Version 1 · Ida", "as in § 2", "Question", "References", "Right passages", "Answerable"):
        assert told in plain(page)
    assert '<mark class="only" title="words that are new">paid</mark>' in page.text
    sample = sample_of(labels, "q1")
    assert sample.question == "How many days of paid leave?"
    assert sample.references == (("25 days", "twenty-five", "25"), ("in a year",))
    assert [(one.id, one.text, one.relevant) for one in sample.passages] == [
        ("p1", "Everybody has 25 days.", True), ("p2", "Lunch is at noon.", True), ("gold-1", "See § 2.", True),
    ]  # fmt: skip
    assert sample.meta["answerable"] is True
    with LabelStore.open(labels, write=False) as store:
        (edit,) = store.edits()
    assert (edit.by, edit.why) == ("Ida", "as in § 2")


def test_a_passage_that_is_gold_no_longer_stays_as_one_that_is_not_relevant(client: TestClient, labels: Path) -> None:
    fields = [field for field in fields_of(client.get("/gold/question?id=q1")) if field[0] != "gold-0"]
    fields = [(name, {"by": "Ida", "why": "off topic"}.get(name, value)) for name, value in fields]
    assert send(client, "/gold/edit", fields).status_code == 200
    assert {one.id: one.relevant for one in sample_of(labels, "q1").passages} == {"p1": False, "p2": False}


@pytest.mark.parametrize("sample_id", ["q1", "q2", ODD.id])
def test_a_form_that_changes_nothing_is_no_version(client: TestClient, labels: Path, sample_id: str) -> None:
    page = change(client, sample_id)
    assert (page.status_code, "changes nothing" in plain(page)) == (400, True)
    with LabelStore.open(labels, write=False) as store:
        assert store.edits() == ()


def test_what_was_not_touched_stays_as_it_was_written(client: TestClient, labels: Path) -> None:
    assert change(client, ODD.id, ("reference-0", 1, "d")).status_code == 200
    sample = sample_of(labels, ODD.id)
    assert (sample.question, sample.references, sample.passages) == (ODD.question, (("a\r\nb", "d"),), ODD.passages)


def test_going_back_is_a_version_too(client: TestClient, labels: Path) -> None:
    change(client, "q1", ("question", 0, "Second?"))
    page = change(client, "q1", ("question", 0, "Third?"), ("reference-0", 0, "26 days"), ("answerable", 0, "no"))
    assert sample_of(labels, "q1").question == "Third?"
    newest = [(name, "Bo" if name == "by" else value) for name, value in fields_of(page, 1)]
    page = send(client, "/gold/revert", newest)
    assert "Version 3 · Bo" in plain(page)
    sample = sample_of(labels, "q1")
    assert (sample.question, sample.references) == ("Second?", SAMPLES[0].references)
    first = [(name, "Bo" if name == "by" else value) for name, value in fields_of(page, 3)]
    send(client, "/gold/revert", first)
    assert sample_of(labels, "q1").question == SAMPLES[0].question
    with LabelStore.open(labels, write=False) as store:
        assert [edit.why for edit in store.edits("q1")][2:] == ["back to version 1", "back to version 0"]


def test_who_edits_an_old_version_is_told_whose_is_newer(client: TestClient, labels: Path) -> None:
    old = fields_of(client.get("/gold/question", params={"id": "q2"}))
    change(client, "q2", ("question", 0, "When do we eat?"))
    late = [(name, {"by": "Bo", "why": "x", "question": "Lunch?"}.get(name, value)) for name, value in old]
    for path in ("/gold/edit", "/gold/revert"):
        answer = send(client, path, [*late, ("to", "0")])
        assert (answer.status_code, "Ida has edited this question meanwhile" in plain(answer)) == (400, True)
    assert sample_of(labels, "q2").question == "When do we eat?"


@pytest.mark.parametrize(("changes", "message"), [
    ([("why", 0, " ")], "The edit has no reason"),
    ([("by", 0, "")], "cannot be the name of an expert"),
    ([("question", 0, " ")], "The new question is empty"),
    ([("id", 0, "none")], "no question with the id"),
])  # fmt: skip
def test_an_edit_without_reason_name_or_question_is_refused(
    client: TestClient, labels: Path, changes: list[tuple[str, int, str]], message: str
) -> None:
    answer = change(client, "q1", *changes)
    assert (answer.status_code, message in plain(answer)) == (400, True)
    assert sample_of(labels, "q1") == SAMPLES[0]


def test_no_page_of_others_can_edit_or_revert(client: TestClient, labels: Path) -> None:
    fields = [(name, value or "x") for name, value in fields_of(client.get("/gold/question?id=q1"))]
    for path in ("/gold/edit", "/gold/revert"):
        for headers in ({}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert client.post(path, data=dict(fields), headers=headers).status_code == 403
        assert client.get(path).status_code in (404, 405)
    assert sample_of(labels, "q1") == SAMPLES[0]


def test_the_list_names_the_command_that_writes_the_edited_data(
    client: TestClient, labels: Path, tmp_path: Path
) -> None:
    change(client, "q2", ("question", 0, "When do we eat?"))
    page = plain(client.get("/gold"))
    words = shlex.split(page[page.index("ragstone data export") :])[:5]
    assert words == ["ragstone", "data", "export", str(labels), "-o"]
    done = process(*words[1:], "data.jsonl", folder=tmp_path)
    assert done.code == 0, done.err
    assert "When do we eat?" in (tmp_path / "data.jsonl").read_text(encoding="utf-8")


def test_questions_are_found_by_any_text_and_by_being_edited(client: TestClient) -> None:
    assert "3 questions" in plain(client.get("/gold"))
    change(client, "q2", ("question", 0, "When do we EAT?"))
    for query, count in (("eat", 1), ("lunch", 0), ("TWENTY", 1), ("q2", 1), ("zzz", 0)):
        assert f"{count} questions" in plain(client.get("/gold", params={"q": query})), query
    assert "1 questions" in plain(client.get("/gold", params={"edited": "1"}))
    assert client.get("/gold", params={"page": "x"}).status_code == 400


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_gold_is_text_in_every_field_and_version(browse: Browse, tmp_path: Path, language: str) -> None:
    path = labels_file(tmp_path / "l.sqlite")
    no = dict.fromkeys((0, 0xD800, 0xDFFF))  # SQLite and addresses have no such characters
    samples = [
        Sample(
            f"s{at} {evil}".translate(no), evil, ((evil, f"b {evil}"),), (Passage(f"p {evil}", evil, evil, True),), "en"
        )
        for at, evil in enumerate(PAYLOADS)
    ]  # fmt: skip
    with LabelStore.open(path) as store:
        store.add_samples(Item(sample, row=row) for row, sample in enumerate(samples, 10))
    client = browse(tmp_path, labels=path)
    assert client.get("/gold", params={"lang": language}).status_code == 200
    for sample in samples:
        page = change(client, sample.id, ("question", 0, "Another?"))
        assert page.status_code == 200, sample.id
        page = client.get("/gold/question", params={"id": sample.id, "lang": language})
        assert not re.search(r"<(script(?! src=\"/static/)|img|svg|iframe|style|object|base|video|math)", page.text)
        assert not re.search(r"<[^>]*\son\w+=[^>]*>", re.sub(r'="[^"]*"', '=""', page.text))
