"""`ragstone annotate`: rounds from runs and data, labelling in a terminal, resuming."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, command, environment, one_line
from tests.golden import golden

from ragstone import evaluate
from ragstone.experts.commands.labelling import Session
from ragstone.experts.label_round import label_round
from ragstone.labels import LabelStore
from ragstone.labels.consensus import consensus


def rows(count: int = 6) -> list[dict[str, Any]]:
    """Answers with two passages; every second is Chinese."""
    return [
        {
            "id": f"q{n}", "question": f"第{n}个数是多少？" if n % 2 else f"What is number {n}?",
            "answer": f"It is {n}.",
            "reference": f"{n}", "topic": "xy"[n % 2],
            "contexts": [{"id": f"gold-{n}", "text": f"Number {n} is {n}.", "title": "Numbers"}, "2 people came."],
        }
        for n in range(count)
    ]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows()), encoding="utf-8")
    return path


@pytest.fixture
def typed(ragstone: Callable[..., Told], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Runs the command with these lines typed."""

    def call(lines: str, *arguments: object) -> Told:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        return ragstone("annotate", *arguments)

    return call


def test_a_data_file_that_does_not_exist_leaves_no_file_of_labels(typed: Callable[..., Told], tmp_path: Path) -> None:
    labels = tmp_path / "l.sqlite"
    assert typed("", tmp_path / "missing.run", "--labels", labels, "--as", "ann").code == 2
    assert not labels.exists()


def test_labels_are_typed_and_the_next_session_goes_on(typed: Callable[..., Told], data: Path) -> None:
    told = typed("y\nn the date is wrong\nq\n", data, "--as", "ann", "--seed", "3")
    assert told.code == 0
    assert "1 of 6 · correct" in told.out
    assert "2 labels in 0 s (0 s each); 4 left. Everything is in labels.sqlite." in told.out
    told = typed("y\ny\ny\ny\n")
    assert "3 of 6" in told.out
    assert "Say yes if the answer gives" in told.out
    assert "0 left" in told.out
    with LabelStore.open("labels.sqlite") as store:
        assert sorted((label.value, label.comment) for label in store.labels()) == [
            ("no", "the date is wrong"), *[("yes", "")] * 5,
        ]  # fmt: skip
        assert {label.source for label in store.labels()} == {"terminal"}


def test_texts_and_ids_that_are_no_unicode_are_labelled_too(
    typed: Callable[..., Told], ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    evil = [row | {"id": f"{row['id']}\ud800", "answer": f"{row['answer']}\udfff"} for row in rows(2)]
    data, run = tmp_path / "evil.json", tmp_path / "evil.run"
    data.write_text(json.dumps(evil))
    evaluate(data, "answer_match", run=run)
    for source in (data, run):
        labels = tmp_path / f"{source.suffix}.sqlite"
        told = typed("y\nn\n", source, "--labels", labels, "--as", "ann")
        assert (told.code, told.err) == (0, "")
        assert "2 labels" in told.out
        assert typed("", "--labels", labels, "--export", tmp_path / f"{source.suffix}.csv").code == 0
        with LabelStore.open(labels) as store:
            (first, _) = store.samples()
            assert first.sample.id == "q0\ud800"
            assert store.sample("q0\ud800") == first
    assert ragstone("agreement", "experts", tmp_path / ".run.sqlite", "--run", run).code == 0


def test_marks_comments_undo_and_unknown_keys(typed: Callable[..., Told], data: Path) -> None:
    told = typed("m It is\nm Mars\nc see page 2\nmaybe\n?\nu\n是\nq\n", data, "--as", "ann", "--task", "faithful")
    for line in ("Marked: It is", "does not contain: Mars", "Comment noted.", "'maybe' is no key here.",
                 "Kept: cannot tell", "Undone: cannot tell, of: ", "Kept: yes"):  # fmt: skip
        assert line in told.out, line
    with LabelStore.open("labels.sqlite") as store:
        (label,) = store.labels()
        first = store.history(label.item)[0][0]
    assert (first.value, first.comment, first.spans[0].text) == ("cannot_tell", "see page 2", "It is")
    assert (label.value, label.spans) == ("yes", ())


def test_neither_scores_nor_systems_nor_gold_labels_are_shown(typed: Callable[..., Told], tmp_path: Path) -> None:
    run = evaluate(rows(), ["answer_match"], run=tmp_path / "e.run", name="secret-system").run
    told = typed("y\n" * 40, run, "--as", "ann", "--task", "correct,relevant")
    assert "0 left" in told.out
    for hidden in ("secret-system", "answer_match", "gold-"):
        assert hidden not in told.out, hidden


def test_a_team_gets_its_work_in_equal_parts_and_commands_to_go_on(typed: Callable[..., Told], data: Path) -> None:
    told = typed("", data, "--experts", "ann,bo,cy", "--per-item", "2", "--labels", "l.sqlite")
    assert told.out.splitlines() == [
        f"{name}: 4 to label. Command: ragstone annotate --labels l.sqlite --as {name}" for name in ("ann", "bo", "cy")
    ]
    assert "1 of 4" in typed("y\n", "--labels", "l.sqlite", "--as", "bo").out
    one_line(typed("y\n", "--labels", "l.sqlite", "--as", "eve"), "no expert 'eve'", "ann, bo, cy")


def test_progress_as_json(typed: Callable[..., Told], data: Path) -> None:
    typed("y\n", data, "--as", "ann")
    document = typed("", "--json").document
    assert document["progress"] == [{"task": "correct", "expert": "ann", "done": 1, "total": 6, "seconds": 0.0}]


def test_strata_of_a_run_are_causes_and_columns(tmp_path: Path) -> None:
    run = evaluate(rows(40), ["answer_match"], run=tmp_path / "e.run").run
    with label_round(tmp_path / "l.sqlite", run, sample=8, by="stratified", strata="topic") as store:
        assert sorted(origin.stratum for origin in store.origins().values()) == ["x"] * 4 + ["y"] * 4
        assert {origin.drawn for origin in store.origins().values()} == {"stratified"}
    with label_round(tmp_path / "m.sqlite", run, sample=8, by="uncertainty") as store:
        assert len(list(store.items())) == 8
    with label_round(tmp_path / "n.sqlite", run, sample=8, by="stratified", strata="cause") as store:
        assert len(list(store.items())) == 8


def test_rubrics_are_tasks_with_their_own_scale(typed: Callable[..., Told], data: Path) -> None:
    told = typed("9\n2\nq\n", data, "--rubric", "empathy", "--task", "rubric.empathy", "--as", "ann")
    assert told.code == 0, told.err
    assert "'9' is no key here." in told.out
    with LabelStore.open("labels.sqlite") as store:
        assert [label.value for label in store.labels()] == ["2"]
        assert store.task("rubric.empathy").scale[0] < store.task("rubric.empathy").scale[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--labels", "new.sqlite"], ["has no items yet: name a run or a data file"]),
        (["data.jsonl", "--task", "corect"], ["No task named 'corect'", "'correct'"]),
        (["data.jsonl", "--task", "rubric.tone"], ["No task named 'rubric.tone'", "--rubric"]),
        (["unanswered.csv", "--task", "correct", "--as", "ann"], ["ragstone: unanswered.csv has nothing for"]),
        (["data.jsonl", "--task", "better"], ["it needs the answers of two systems"]),
        (["data.jsonl", "--by", "uncertainty", "--sample", "2"], ["needs scores of these tasks"]),
        (["data.jsonl", "--by", "stratified", "--strata", "none"], ["no such column"]),
        (["data.jsonl", "--strata", "cause"], ["needs a run"]),
        (["none.jsonl"], ["none.jsonl", "no such file"]),
        (["data.jsonl", "--labels", "data.jsonl"], ["not an SQLite database"]),
        (["data.jsonl", "--experts", "ann", "--per-item", "2"], ["--per-item 2 needs as many experts"]),
        (["data.jsonl"], ["Nobody to label: add --as NAME"]),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(typed: Callable[..., Told], data: Path, arguments: list[str], words: list[str]) -> None:
    data.with_name("unanswered.csv").write_text("question,reference\nWhen?,nine\n", "utf-8")
    told = typed("", *arguments)
    assert told.code == 2
    assert len(told.err.splitlines()) == 1
    for word in words:
        assert word in told.err


def test_disputes_are_shown_with_what_was_said_and_the_adjudicators_label_wins(
    typed: Callable[..., Told], data: Path
) -> None:
    typed("m It is\ny\nn wrong year\ny\n?\ny\ny\n", data, "--as", "ann", "--per-item", "2")
    typed("n no source\nn\ny\ny\ny\ny\n", "--as", "bo")
    told = typed("s\nn settled\nq\n", "--adjudicate", "--as", "cy")
    assert told.code == 0
    assert "1 of 2 · correct" in told.out
    assert 'ann: yes [marked: "It is"]' in told.out
    assert "bo: no (no source)" in told.out
    assert "ann: cannot tell" in told.out
    assert "1 labels in" in told.out
    found = typed("", "--adjudicate", "--json").document["disputes"]
    assert [bool(one["ruling"]) for one in found] == [False, True]
    with LabelStore.open("labels.sqlite") as store:
        (ruling,) = [one for one in store.labels() if one.adjudicated]
        assert (ruling.expert, ruling.value, ruling.comment) == ("cy", "no", "settled")
        assert consensus(store, "correct")[ruling.item] == "no"
        assert len([one for one in store.labels() if not one.adjudicated]) == 12
    told = typed("u\nq\n", "--adjudicate", "--as", "cy", "--language", "zh")
    assert "专家的标注" in told.out
    assert "已撤销：否" in told.out
    assert [bool(one["ruling"]) for one in typed("", "--adjudicate", "--json").document["disputes"]] == [False, False]
    assert "Nobody to settle disputes" in typed("", "--adjudicate").err


def test_labels_go_out_and_come_back_and_conflicts_are_told(typed: Callable[..., Told], data: Path) -> None:
    typed("y\nn wrong\nq\n", data, "--as", "ann", "--task", "correct")
    told = typed("", "--export", "round.json")
    assert told.out == "Wrote round.json, round.xml.\n"
    assert typed("", "--import", "round.json").out == "0 labels added, 0 changed, 2 known already.\n"
    rows = [{"item": "q0", "task": "correct", "expert": "bo", "label": "no"},
            {"item": "q9", "task": "correct", "expert": "bo", "label": "no"}]  # fmt: skip
    Path("bo.jsonl").write_text("\n".join(map(json.dumps, rows)))
    told = typed("", "--import", "bo.jsonl")
    assert (told.code, told.out.splitlines()[0]) == (0, "1 labels added, 0 changed, 0 known already.")
    assert "1 labels of items or tasks that this round does not have: line 2: q9 correct" in told.out
    Path("bo.jsonl").write_text(json.dumps(rows[0] | {"label": "yes"}))
    told = typed("", "--import", "bo.jsonl", "--language", "zh")
    assert told.code == 1
    assert "bo 对" in told.out
    assert "共 1 处冲突" in told.out
    document = typed("", "--import", "bo.jsonl", "--replace", "--json").document
    assert document["imported"]["changed"] == 1
    one_line(typed("", "--import", "none.csv"), "no such file")
    one_line(typed("", "--export", "round.json"), "already exists", "--force")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_session_reads_as_it_should(language: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(["g", "y", "n 日期不对 \x1b[31m", "m It", "?", "u", "s", "y", "q"])
    ticks = iter(range(0, 1000, 7))
    with label_round("l.sqlite", data, tasks=["correct", "relevant"], seed=1) as store:
        session = Session(
            store, "ann", language, (), lambda prompt: next(lines, None), lambda: float(next(ticks))
        )  # fmt: skip
        assert session.run() == 3
    golden(f"cli/annotate-{language}", capsys.readouterr().out)


def test_a_session_in_a_process_of_its_own_reads_a_pipe(data: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        command("annotate", data, "--language", "zh"), input="王芳\n是 很好\n否\n".encode(), capture_output=True,
        cwd=tmp_path, env=environment(tmp_path, PYTHONIOENCODING="utf-8"), timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    with LabelStore.open(tmp_path / "labels.sqlite") as store:
        assert {(label.expert, label.value, label.comment) for label in store.labels()} == {
            ("王芳", "yes", "很好"), ("王芳", "no", ""),
        }  # fmt: skip
