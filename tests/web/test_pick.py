"""From the page of a case to its label and its gold."""

import re
from html import unescape
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from tests.web.conftest import Browse
from tests.web.rounds import OURS, labels_file, standing

from ragstone.api import read_run
from ragstone.experts.pages.pick import case_buttons
from ragstone.labels import LabelStore
from ragstone.report.section import Canvas
from ragstone.types import Record

RUN = "sub/a.run"


@pytest.fixture
def record(folder: Path) -> Record:
    with read_run(folder / RUN) as run:
        return next(record for record in run.run.records() if record.response is not None)


def buttons(client: TestClient, record: Record) -> dict[str, str]:
    """The fields of the buttons of a case page."""
    request = Request({"type": "http", "app": client.app, "query_string": b"", "headers": [], "method": "GET"})
    html = str(case_buttons(request, Canvas("en"), RUN, record))
    return {name: unescape(value) for name, value in re.findall('name="([^"]+)" value="([^"]*)">', html)[:3]}


def test_a_case_that_was_not_drawn_becomes_an_item_that_is_blind(
    browse: Browse, folder: Path, tmp_path: Path, record: Record
) -> None:
    labels = labels_file(tmp_path / "l.sqlite")
    client = browse(folder, labels=labels)
    fields = buttons(client, record)
    for _ in range(2):  # the second time it is there
        page = client.post("/annotate/case", data={**fields, "then": "label"}, headers=OURS)
        assert page.url.path == "/annotate"
    item = page.url.params["item"]
    tasks = client.get("/annotate", params={"expert": "Ida", "item": item}).text
    assert "Is the answer correct?" in tasks
    assert "Which answer is better?" not in tasks
    shown = client.post("/annotate/next", data={"expert": "Ida", "task": "correct", "item": item}, headers=OURS)
    assert record.case.sample.question in unescape(shown.text)
    assert record.system_id not in unescape(shown.text)
    client.post("/annotate/label", data={"expert": "Ida", "task": "correct", "item": item, "value": "no"}, headers=OURS)
    assert standing(labels) == {("Ida", "correct", item): "no"}
    with LabelStore.open(labels, write=False) as store:
        origin = store.origins()[item]
        assert (origin.systems, origin.case_id, origin.drawn) == ((record.system_id,), record.case.id, "picked")
        assert len(store.origins()) == 4


def test_the_gold_of_a_case_is_edited_from_its_page(
    browse: Browse, folder: Path, tmp_path: Path, record: Record
) -> None:
    client = browse(folder, labels=labels_file(tmp_path / "l.sqlite"))
    page = client.post("/annotate/case", data={**buttons(client, record), "then": "gold"}, headers=OURS)
    assert (page.status_code, page.url.path, page.url.params["id"]) == (200, "/gold/question", record.case.sample.id)
    assert record.case.sample.question in unescape(page.text)


def test_nothing_is_picked_by_pages_of_others_or_without_labels(
    browse: Browse, folder: Path, tmp_path: Path, record: Record
) -> None:
    labels = labels_file(tmp_path / "l.sqlite")
    client = browse(folder, labels=labels)
    fields = {**buttons(client, record), "then": "label"}
    assert client.post("/annotate/case", data=fields, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/annotate/case", data=fields | {"id": "none"}, headers=OURS).status_code == 400
    assert client.post("/annotate/case", data=fields | {"run": "../x"}, headers=OURS).status_code == 404
    with LabelStore.open(labels, write=False) as store:
        assert len(store.origins()) == 3
    assert buttons(browse(folder), record) == {}
