"""Edits of the gold, and the data sets that are written with them, whose version runs show."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.tools import Told, one_line
from tests.examples import examples

from ragstone import evaluate
from ragstone.datasets.tabular import read_eval_data
from ragstone.errors import UnknownName, UsageError
from ragstone.experts.gold_edits import edit_gold, edits_of
from ragstone.experts.gold_export import export_data
from ragstone.experts.label_round import label_round
from ragstone.labels import Edit, Label, LabelStore
from ragstone.runs import open_run

ROWS = [
    {"id": "q1", "question": "What is the fee?", "answer": "5 euros", "reference": "5 euros", "topic": "fees",
     "contexts": [{"id": "p1", "text": "The fee is 6 euros."}, {"id": "p2", "text": "5 people came."}]},
    {"id": "q2", "question": "谁能申请？", "answer": "学生", "topic": "who",
     "reference": [["学生", "在校生"], ["教师"]], "contexts": [{"id": "p3", "text": "学生和教师可以申请。"}],
     "reference_contexts": [{"id": "p3", "text": "学生和教师可以申请。"}]},
    {"id": "q3", "question": "When?", "answer": "Unknown.", "answerable": False, "topic": "when"},
]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS), encoding="utf-8")
    return path


def a_store(path: Path, source: Path, **more: Any) -> Path:
    label_round(path, source, **more).close()
    return path


def test_an_unedited_data_set_is_written_as_it_was_read(tmp_path: Path, data: Path) -> None:
    done = export_data(data, tmp_path / "new.jsonl")
    assert (done.rows, done.changed) == (3, 0)
    assert done.sha256 == read_eval_data(data).sha256 == read_eval_data(tmp_path / "new.jsonl").sha256


def test_edits_are_in_the_new_data_set_and_nothing_else_changes(tmp_path: Path, data: Path) -> None:
    labels = a_store(tmp_path / "l.sqlite", data)
    edit_gold(labels, "q1", by="ann", why="the fee rose", references=["6 euros|6 EUR"], gold=["p1"])
    edit_gold(labels, "q2", by="bo", why="who may", question="谁可以申请？")
    edit_gold(labels, "q3", by="bo", why="page 4 says it", answerable=True, references=["2019"])
    done = export_data(labels, tmp_path / "new.jsonl")
    assert (done.rows, done.changed) == (3, 3)
    new, old = (read_eval_data(path).items for path in (tmp_path / "new.jsonl", data))
    assert new[0].sample.references == (("6 euros", "6 EUR"),)
    assert [(one.id, one.relevant) for one in new[0].sample.passages] == [("p1", True)]
    assert (new[1].sample.question, new[1].sample.references) == ("谁可以申请？", old[1].sample.references)
    assert new[2].sample.meta == {"answerable": True}
    for before, after in zip(old, new, strict=True):
        assert (after.response, after.extra.get("topic")) == (before.response, before.extra["topic"])
    same = export_data(data, tmp_path / "same.jsonl", labels=labels)
    assert same.sha256 == done.sha256


def test_a_run_shows_the_version_of_its_data(tmp_path: Path, data: Path, ragstone: Callable[..., Told]) -> None:
    labels = a_store(tmp_path / "l.sqlite", data)
    edit_gold(labels, "q1", by="ann", why="the fee rose", references=["6 euros"])
    told = ragstone("data", "export", labels, "-o", "new.jsonl")
    version = export_data(labels, tmp_path / "again.jsonl").version
    assert told.out == f"Wrote new.jsonl: 3 questions, 1 changed by experts. Version {version}.\n"
    run = evaluate(tmp_path / "new.jsonl", ["answer_match"], run=tmp_path / "e.run").run
    with open_run(Path(run)) as opened:
        assert opened.meta["question"]["data"].startswith(version)
    assert ragstone("report", run, "-o", "e.html").code == 0
    assert version in Path("e.html").read_text(encoding="utf-8")
    told = ragstone("data", "edits", labels, "--language", "zh")
    for text in ("the fee rose", "ann", "参考答案: 6 euros", version):
        assert text in told.out, text
    assert edits_of(labels)["exports"][0]["sha256"].startswith(version)


def test_passages_that_experts_judged_become_gold(tmp_path: Path, data: Path) -> None:
    labels = a_store(tmp_path / "l.sqlite", data, tasks=["relevant"])
    with LabelStore.open(labels) as store:
        origins = store.origins()
        said = {"p1": ("yes", "yes"), "p2": ("no", "no"), "p3": ("no", "no")}
        for item in store.items("relevant"):
            for expert, value in zip(("ann", "bo"), said[origins[item.id].passage], strict=True):
                store.put(Label(item.id, "relevant", expert, value))
    export_data(labels, tmp_path / "new.jsonl", relevant=True)
    gold = {
        item.sample.id: [one.id for one in item.sample.passages]
        for item in read_eval_data(tmp_path / "new.jsonl").items
    }
    assert gold == {"q1": ["p1"], "q2": [], "q3": []}


def test_questions_of_a_run_are_exported_too(tmp_path: Path, data: Path) -> None:
    run = evaluate(data, ["answer_match"], run=tmp_path / "e.run").run
    labels = a_store(tmp_path / "l.sqlite", Path(run), sample=1)
    done = export_data(labels, tmp_path / "new.jsonl")
    assert done.rows == 3
    found = {item.sample.id: item for item in read_eval_data(tmp_path / "new.jsonl").items}
    assert found["q2"].sample.references == (("学生", "在校生"), ("教师",))
    assert found["q2"].extra["topic"] == "who"


TEXT = st.text(min_size=1, max_size=20).filter(lambda text: text.strip())
SLOTS = st.lists(st.lists(TEXT, min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=3).map(tuple)


@settings(max_examples=examples(50))
@given(question=TEXT, slots=SLOTS, answerable=st.none() | st.booleans(), column=TEXT, history=st.booleans())
def test_whatever_was_edited_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    question: str,
    slots: Any,
    answerable: bool | None,
    column: str,
    history: bool,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("gold")
    first: Any = "old question"
    if history:
        first = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"},
                 {"role": "user", "content": "old question"}]  # fmt: skip
    rows = [{"id": "q", "question": first, "answer": "x", "reference": "old", "note": column}]
    (folder / "d.jsonl").write_text(json.dumps(rows[0]))
    labels = a_store(folder / "l.sqlite", folder / "d.jsonl")
    with LabelStore.open(labels) as store:
        store.edit(Edit("q", "ann", "why", question, slots, None, answerable))
    export_data(labels, folder / "new.jsonl")
    (item,) = read_eval_data(folder / "new.jsonl").items
    assert (item.sample.question, item.sample.references) == (question, slots)
    assert item.sample.meta.get("answerable") == answerable
    assert [turn.content for turn in item.history] == (["Hi", "Yes?"] if history else [])


def test_wrong_edits_are_one_line_and_change_nothing(tmp_path: Path, data: Path, ragstone: Callable[..., Told]) -> None:
    labels = a_store(tmp_path / "l.sqlite", data)
    wrongs: tuple[tuple[dict[str, Any], str], ...] = (
        ({"gold": ["p9"]}, "No passage of 'q1' named 'p9'"), ({"why": " ", "question": "x"}, "why. is empty"),
        ({"gold": ["p1"], "no_gold": True}, "contradict"), ({}, "changes nothing"),
        ({"references": ["a||b"]}, "reference is empty"), ({"by": "", "question": "x"}, "cannot be the name"),
    )  # fmt: skip
    for wrong, message in wrongs:
        with pytest.raises((UsageError, UnknownName), match=message):
            edit_gold(labels, "q1", **{"by": "ann", "why": "y", **wrong})
    assert edits_of(labels) == {"edits": [], "exports": []}
    change = ("--by", "王芳", "--why", "旧", "--unanswerable")
    one_line(ragstone("data", "edit", labels, "q7", *change), "no question with the id 'q7'")
    one_line(ragstone("data", "export", labels, "-o", data), "already exists", "--force")
    one_line(ragstone("data", "export", labels, "--labels", labels, "-o", "x.jsonl"), "is a file of labels itself")
    assert ragstone("data", "edit", labels, "q1", *change).out == "Edited q1: version 1.\n"
    assert edits_of(labels)["edits"][0]["answerable"] is False
