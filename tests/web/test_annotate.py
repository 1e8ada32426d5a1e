"""Labelling in the viewer, without a script: what a browser is sent and what is kept."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.report.labelled import SECRET, Work, secret_work
from tests.web.conftest import Browse
from tests.web.rounds import OURS, labels_file, standing

from ragstone.labels import LabelStore


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return labels_file(tmp_path / "labels.sqlite")


@pytest.fixture
def client(browse: Browse, tmp_path: Path, labels: Path) -> TestClient:
    return browse(tmp_path, labels=labels)


def post(client: TestClient, path: str, **fields: str) -> Any:
    return client.post(path, data=fields, headers=OURS)


def plain(page: Any) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.text)).split())


def test_an_expert_starts_a_task_and_every_answer_leads_to_the_next_item(client: TestClient, labels: Path) -> None:
    first = post(client, "/annotate/next", expert="Ida", task="correct")
    assert "How many days of leave?" in plain(first)
    assert "item=i-1" in str(first.url)
    fields = {"expert": "Ida", "task": "correct", "item": "i-1", "value": "no", "comment": " why \r\n so "}
    spans = '[{"start": 0, "end": 6, "answer": 0}]'
    done = post(client, "/annotate/label", **fields, spans=spans, seconds="12.34")
    assert "Nothing else is left for you in this task." in plain(done)
    with LabelStore.open(labels, write=False) as store:
        (label,) = store.labels()
    assert (label.expert, label.value, label.comment, label.seconds, label.source) == (
        "Ida", "no", "why \n so", 12.3, "web"
    )  # fmt: skip
    assert [span.text for span in label.spans] == ["Twenty"]
    again = client.get("/annotate/item", params={"expert": "Ida", "task": "correct", "item": "i-1"}).text
    assert re.search(r'value="no"[^>]* checked', again)
    assert "why \n so</textarea>" in again


def test_what_is_left_open_comes_again_and_going_back_loses_nothing(browse: Browse, tmp_path: Path) -> None:
    items: Work = [(item, task) for item, task in secret_work(["a", "b", "c"]) if task.name == "faithful"]
    labels = labels_file(tmp_path / "l.sqlite", items)
    client = browse(tmp_path, labels=labels)

    def item_of(page: Any) -> str:
        return str(page.url.params.get("item", ""))

    page = post(client, "/annotate/next", expert="Ida", task="faithful")
    skipped = item_of(page)
    seen = [skipped]
    page = post(client, "/annotate/label", expert="Ida", task="faithful", item=skipped)
    while (item := item_of(page)) not in seen:
        seen.append(item)
        page = post(client, "/annotate/label", expert="Ida", task="faithful", item=item, value="yes")
    assert (len(seen), item) == (6, skipped)
    last = client.get("/annotate/item", params={"expert": "Ida", "task": "faithful", "item": seen[2]})
    back = unescape(re.findall('data-key="k" href="([^"]+)"', last.text)[0])
    assert f"item={seen[1]}" in back
    page = post(client, "/annotate/label", expert="Ida", task="faithful", item=seen[1], value="yes")
    assert item_of(page) == seen[2]
    assert "5 of 6 judged" in plain(page)
    with LabelStore.open(labels, write=False) as store:
        assert len(store.history(seen[1])) == 1  # the same again is no version


def test_undo_takes_back_the_last_label_and_shows_its_item(client: TestClient, labels: Path) -> None:
    for task, value in (("correct", "yes"), ("faithful", "no")):
        post(client, "/annotate/label", expert="Ida", task=task, item="i-1", value=value, stay="1")
    post(client, "/annotate/label", expert="Bo", task="correct", item="i-1", value="yes", stay="1")
    page = post(client, "/annotate/undo", expert="Ida", task="correct", item="i-1")
    assert dict(page.url.params) == {"expert": "Ida", "task": "faithful", "item": "i-1", "undone": "1"}
    assert standing(labels) == {("Ida", "correct", "i-1"): "yes", ("Bo", "correct", "i-1"): "yes"}
    post(client, "/annotate/undo", expert="Ida")
    assert standing(labels) == {("Bo", "correct", "i-1"): "yes"}


def test_two_experts_label_the_same_items_and_see_nothing_of_each_other(client: TestClient, labels: Path) -> None:
    for expert in ("Ida", "Bo"):
        page = post(client, "/annotate/next", expert=expert, task="better")
        assert page.url.params["item"] == "i-2"
        other = {"Ida": "Bo", "Bo": "Ida"}[expert]
        assert f">{other}<" not in page.text
        assert " checked" not in page.text
        post(client, "/annotate/label", expert=expert, task="better", item="i-2", value="tie", comment=f"by {expert}")
    third = post(client, "/annotate/next", expert="Cy", task="better")
    assert third.url.path == "/annotate"  # the round asks for two labels an item
    assert standing(labels) == {(name, "better", "i-2"): "tie" for name in ("Ida", "Bo")}


def test_only_the_team_labels_where_a_team_is_named(browse: Browse, tmp_path: Path) -> None:
    client = browse(tmp_path, labels=labels_file(tmp_path / "l.sqlite", experts=["Ida", "Bo"]))
    start = client.get("/annotate")
    assert "Ida" in plain(start)
    assert 'name="expert"' not in start.text
    for answer in (client.get("/annotate", params={"expert": "Eve"}),
                   post(client, "/annotate/label", expert="Eve", task="correct", item="i-1", value="yes")):  # fmt: skip
        assert answer.status_code == 400
        assert "'Eve' is not one of the experts of this round: Bo, Ida." in plain(answer)
    assert "0 / 1" in plain(client.get("/annotate", params={"expert": "Ida"}))


def test_an_expert_who_settles_a_dispute_sees_what_was_said_and_the_queue_shrinks(client: TestClient) -> None:
    post(client, "/annotate/label", expert="Ida", task="correct", item="i-1", value="yes", comment="as in § 2")
    assert "Open disputes: 0" in plain(client.get("/disputes", params={"expert": "Cy"}))
    post(client, "/annotate/label", expert="Bo", task="correct", item="i-1", value="no")
    queue = client.get("/disputes", params={"expert": "Cy"})
    assert "Open disputes: 1" in plain(queue)
    assert "Ida : yes · Bo : no" in plain(queue)
    href = unescape(re.findall('href="(/annotate/item[^"]+settles=1[^"]*)"', queue.text)[0])
    dispute = client.get(href)
    assert "Bo : no" in plain(dispute)
    assert "as in § 2" in plain(dispute)
    queue = post(client, "/annotate/label", expert="Cy", task="correct", item="i-1", value="yes", settles="1")
    assert "Open disputes: 0" in plain(queue)
    assert "yes (Cy)" in plain(queue)
    assert " checked" not in client.get(href.replace("settles=1", "settles=")).text  # Cy's own label is another one


@pytest.mark.parametrize(("fields", "message"), [
    ({"value": "maybe"}, "'maybe' is no label of the task correct"),
    ({"task": "none"}, "No task in this file named 'none'"),
    ({"item": "none"}, "has no item 'none'"),
    ({"item": "i-3"}, "another kind of item"),
    ({"expert": ""}, "cannot be the name of an expert"),
    ({"expert": "a\nb"}, "cannot be the name of an expert"),
    ({"spans": "[{"}, "The marks of the form are not readable"),
    ({"spans": '[{"start": 0, "end": 9999}]'}, "outside of the answer"),
    ({"seconds": "nan"}, "is not a time in seconds"),
    ({"seconds": "x"}, "is no number"),
])  # fmt: skip
def test_a_form_that_is_not_ours_in_all_its_fields_changes_nothing(
    client: TestClient, labels: Path, fields: dict[str, str], message: str
) -> None:
    whole = {"expert": "Ida", "task": "correct", "item": "i-1", "value": "yes"} | fields
    answer = post(client, "/annotate/label", **whole)
    assert answer.status_code == 400
    assert message in plain(answer)
    assert standing(labels) == {}


def test_no_page_of_others_can_label_undo_or_take_an_item(client: TestClient, labels: Path) -> None:
    fields = {"expert": "Ida", "task": "correct", "item": "i-1", "value": "yes"}
    strangers: list[dict[str, str]] = [
        {}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "http://127.0.0.1:1"},
    ]  # fmt: skip
    for path in ("/annotate/label", "/annotate/undo", "/annotate/next"):
        for headers in strangers:
            assert client.post(path, data=fields, headers=headers).status_code == 403
        assert client.get(path, params=fields).status_code in (404, 405)
    with LabelStore.open(labels, write=False) as store:
        assert (store.labels(), store.experts(), store.work("Ida")) == ((), (), ())


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_a_page_tells_nothing_of_system_judge_or_label_of_a_passage(
    tmp_path_factory: pytest.TempPathFactory, evil: str
) -> None:
    from ragstone.web.app import create_app
    from ragstone.web.library import Library

    folder = tmp_path_factory.mktemp("blind")
    items = secret_work([evil])
    labels = labels_file(folder / "l.sqlite", items)
    with TestClient(create_app(Library([folder], labels)), base_url="http://127.0.0.1:8720") as client:
        pages = [client.get("/annotate"), client.get("/disputes", params={"expert": "Ida"})]
        for item, task in items:
            fields = {"expert": "Ida", "task": task.name, "item": item.id}
            value = task.choices[0].value
            pages += [
                client.get("/annotate/item", params=fields),
                post(client, "/annotate/label", **fields, value=value),
            ]
    assert {page.status_code for page in pages} == {200}
    assert not [page.url for page in pages if SECRET in page.text or "31337" in page.text or SECRET in str(page.url)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_keep_the_language_they_were_opened_in(client: TestClient, language: str) -> None:
    found = {"en": "Is the answer correct?", "zh": "答案正确吗？"}
    page = client.post(
        "/annotate/next", params={"lang": language}, data={"expert": "Ida", "task": "correct"}, headers=OURS
    )
    assert page.url.params["lang"] == language
    assert (found["en"] in page.text, found["zh"] in page.text) == (language == "en", language == "zh")
    assert 'action="/annotate/label?lang=' + language in page.text


def test_a_viewer_without_a_file_of_labels_says_how_to_name_one(browse: Browse, tmp_path: Path) -> None:
    answer = browse(tmp_path).get("/annotate")
    assert (answer.status_code, "start it with --labels FILE" in plain(answer)) == (400, True)
    chinese = browse(tmp_path).get("/annotate?lang=zh")
    assert (chinese.status_code, "请用 --labels FILE 启动" in plain(chinese)) == (400, True)
    missing = browse(tmp_path, labels=tmp_path / "none.sqlite").get("/annotate")
    assert (missing.status_code, "ragstone annotate makes it" in plain(missing)) == (400, True)
    assert not (tmp_path / "none.sqlite").exists()


def test_the_bar_of_the_viewer_leads_to_labelling_where_there_are_labels(
    client: TestClient, browse: Browse, tmp_path: Path
) -> None:
    assert 'href="/annotate"' in client.get("/").text
    assert 'href="/annotate"' not in browse(tmp_path).get("/").text
