"""`ragstone annotate`: rounds from runs and data, files of labels, disputes and progress as JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, one_line
from tests.labels.rounds import label

from ragstone import evaluate
from ragstone.errors import UsageError
from ragstone.experts.label_round import label_round
from ragstone.labels import Label, LabelStore
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
def annotate(ragstone: Callable[..., Told]) -> Callable[..., Told]:
    return lambda *arguments: ragstone("annotate", *arguments)


def labelled(path: Path | str, expert: str, *values: str) -> None:
    """Labels what comes next for this expert."""
    with LabelStore.open(path) as store:
        for value in values:
            label(store, expert, value)


def test_a_data_file_that_does_not_exist_leaves_no_file_of_labels(
    annotate: Callable[..., Told], tmp_path: Path
) -> None:
    labels = tmp_path / "l.sqlite"
    assert annotate(tmp_path / "missing.run", "--labels", labels, "--as", "ann").code == 2
    assert not labels.exists()


def test_texts_and_ids_that_are_no_unicode_are_labelled_too(
    annotate: Callable[..., Told], ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    evil = [row | {"id": f"{row['id']}\ud800", "answer": f"{row['answer']}\udfff"} for row in rows(2)]
    data, run = tmp_path / "evil.json", tmp_path / "evil.run"
    data.write_text(json.dumps(evil))
    evaluate(data, "answer_match", run=run)
    for source in (data, run):
        labels = tmp_path / f"{source.suffix}.sqlite"
        told = annotate(source, "--labels", labels, "--json")
        assert (told.code, told.err) == (0, "")
        labelled(labels, "ann", "yes", "no")
        assert annotate("--labels", labels, "--export", tmp_path / f"{source.suffix}.csv").code == 0
        with LabelStore.open(labels) as store:
            (first, _) = store.samples()
            assert first.sample.id == "q0\ud800"
            assert store.sample("q0\ud800") == first
    assert ragstone("agreement", "experts", tmp_path / ".run.sqlite", "--run", run).code == 0


def test_a_team_gets_its_work_in_equal_parts(annotate: Callable[..., Told], data: Path) -> None:
    progress = annotate(data, "--experts", "ann,bo,cy", "--per-item", "2", "--json").document["progress"]
    assert [(row["expert"], row["total"]) for row in progress] == [("ann", 4), ("bo", 4), ("cy", 4)]
    one_line(annotate("--as", "eve"), "no expert 'eve'", "ann, bo, cy")


@pytest.mark.parametrize(
    ("options", "path", "expert"),
    [((), "annotate", None), (("--as", "ann"), "annotate", "ann"), (("--adjudicate", "--as", "cy"), "disputes", "cy")],
)
def test_the_browser_opens_at_the_work_or_at_the_disputes(
    annotate: Callable[..., Told], data: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], path: str,
    expert: str | None,
) -> None:  # fmt: skip
    served: list[Any] = []

    def serve(places: Any, labels: Path, **options: Any) -> int:
        served.append((places, labels.name, options["path"], options["query"].get("expert"), options["experts"]))
        return 0

    monkeypatch.setattr("ragstone.experts.commands.annotate.serve", serve)
    told = annotate(data, "--experts", "ann,bo", *options)
    assert (told.code, told.err) == (0, "")
    assert served == [((), "labels.sqlite", path, expert, ("ann", "bo"))]


def test_progress_as_json(annotate: Callable[..., Told], data: Path) -> None:
    annotate(data, "--json")
    labelled("labels.sqlite", "ann", "yes")
    document = annotate("--json").document
    assert document["labels"] == "labels.sqlite"
    assert document["progress"] == [{"task": "correct", "expert": "ann", "done": 1, "total": 6, "seconds": 1.5}]


def test_strata_of_a_run_are_causes_and_columns(tmp_path: Path) -> None:
    run = evaluate(rows(40), ["answer_match"], run=tmp_path / "e.run").run
    with label_round(tmp_path / "l.sqlite", run, sample=8, by="stratified", strata="topic") as store:
        assert sorted(origin.stratum for origin in store.origins().values()) == ["x"] * 4 + ["y"] * 4
        assert {origin.drawn for origin in store.origins().values()} == {"stratified"}
    with label_round(tmp_path / "m.sqlite", run, sample=8, by="uncertainty") as store:
        assert len(list(store.items())) == 8
    with label_round(tmp_path / "n.sqlite", run, sample=8, by="stratified", strata="cause") as store:
        assert len(list(store.items())) == 8


def test_rubrics_are_tasks_with_their_own_scale(annotate: Callable[..., Told], data: Path) -> None:
    told = annotate(data, "--rubric", "empathy", "--task", "rubric.empathy", "--json")
    assert told.code == 0, told.err
    with LabelStore.open("labels.sqlite") as store:
        task = store.task("rubric.empathy")
        assert label(store, "ann", "2", task.name).value == "2"
        assert task.scale[0] < task.scale[1]
        with pytest.raises(UsageError, match="'9' is no label of the task"):
            label(store, "ann", "9", task.name)


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
        (["data.jsonl", "--adjudicate"], ["Nobody to settle disputes: add --as NAME"]),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(
    annotate: Callable[..., Told], data: Path, arguments: list[str], words: list[str]
) -> None:
    data.with_name("unanswered.csv").write_text("question,reference\nWhen?,nine\n", "utf-8")
    told = annotate(*arguments)
    assert told.code == 2
    assert len(told.err.splitlines()) == 1
    for word in words:
        assert word in told.err


def test_disputes_as_json_and_the_adjudicators_label_wins(annotate: Callable[..., Told], data: Path) -> None:
    annotate(data, "--per-item", "2", "--json")
    labelled("labels.sqlite", "ann", "yes", "no", "yes", "cannot_tell", "yes", "yes")
    labelled("labels.sqlite", "bo", "no", "no", "yes", "yes", "yes", "yes")
    found = annotate("--adjudicate", "--json").document["disputes"]
    assert [[one["value"] for one in dispute["labels"]] for dispute in found] == [["yes", "no"], ["cannot_tell", "yes"]]
    with LabelStore.open("labels.sqlite") as store:
        store.put(Label(found[1]["item"], "correct", "cy", "no", adjudicated=True))
        assert consensus(store, "correct")[found[1]["item"]] == "no"
    found = annotate("--adjudicate", "--json").document["disputes"]
    assert [bool(one["ruling"]) for one in found] == [False, True]


def test_labels_go_out_and_come_back_and_conflicts_are_told(annotate: Callable[..., Told], data: Path) -> None:
    annotate(data, "--task", "correct", "--json")
    labelled("labels.sqlite", "ann", "yes", "no")
    told = annotate("--export", "round.json")
    assert told.out == "Wrote round.json, round.xml.\n"
    assert annotate("--import", "round.json").out == "0 labels added, 0 changed, 2 known already.\n"
    rows = [{"item": "q0", "task": "correct", "expert": "bo", "label": "no"},
            {"item": "q9", "task": "correct", "expert": "bo", "label": "no"}]  # fmt: skip
    Path("bo.jsonl").write_text("\n".join(map(json.dumps, rows)))
    told = annotate("--import", "bo.jsonl")
    assert (told.code, told.out.splitlines()[0]) == (0, "1 labels added, 0 changed, 0 known already.")
    assert "1 labels of items or tasks that this round does not have: line 2: q9 correct" in told.out
    Path("bo.jsonl").write_text(json.dumps(rows[0] | {"label": "yes"}))
    told = annotate("--import", "bo.jsonl", "--language", "zh")
    assert told.code == 1
    assert "bo 对" in told.out
    assert "共 1 处冲突" in told.out
    document = annotate("--import", "bo.jsonl", "--replace", "--json").document
    assert document["imported"]["changed"] == 1
    one_line(annotate("--import", "none.csv"), "no such file")
    one_line(annotate("--export", "round.json"), "already exists", "--force")


@pytest.mark.parametrize("how", ["itself", "a link", "a run"])
def test_an_export_never_overwrites_labels_or_a_run_even_by_force(
    annotate: Callable[..., Told], data: Path, how: str
) -> None:
    annotate(data, "--task", "correct", "--json")
    labelled("labels.sqlite", "ann", "yes")
    target = Path("labels.sqlite")
    if how == "a link":
        target = Path("link.csv")
        target.symlink_to("labels.sqlite")
    elif how == "a run":
        target = Path("kept.run")
        target.write_bytes(Path("labels.sqlite").read_bytes())
    before = target.read_bytes()
    told = annotate("--export", target, "--format", "csv", "--force")
    one_line(told, f"{target} is a run file or another database", "name another file")
    assert target.read_bytes() == before


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "form"])
def test_a_file_without_any_label_is_told(annotate: Callable[..., Told], data: Path, kind: str) -> None:
    annotate(data, "--task", "correct", "--json")
    file = "form.json" if kind == "form" else f"round.{kind}"
    if kind == "form":
        Path(file).write_text(json.dumps({"format": "ragstone labels", "expert": "bo", "labels": [{"label": ""}]}))
    else:
        assert annotate("--export", file).code == 0
    rows = 1 if kind == "form" else 6
    told = one_line(annotate("--import", file), f"{file}: no label is filled in ({rows} row", "Fill in the column")
    assert "read). " in told
    one_line(annotate("--import", file, "--language", "zh"), f"没有填写任何标注（读取了 {rows} 行）")
    if kind != "form":
        labelled("labels.sqlite", "ann", "yes")
        assert annotate("--export", file, "--force").code == 0
        assert annotate("--import", file).out == "0 labels added, 0 changed, 1 known already.\n"
