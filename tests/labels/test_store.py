"""The file of labels: versions, undo, who gets what, several processes, kills, files that are none."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.labels.rounds import a_round, label, record, records

from ragstone.datasets.tabular.items import Item
from ragstone.errors import UnknownName, UsageError
from ragstone.labels import CANNOT_TELL, Edit, Label, LabelStore, Marked, Task, items_of, task_named
from ragstone.labels.items import candidates
from ragstone.labels.records import Kind
from ragstone.structs import to_json

WORKER = Path(__file__).parent / "worker.py"


def test_a_label_is_read_as_it_was_written_and_after_the_file_is_opened_again(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite") as store:
        item = next(store.items())
        given = Label(item.id, "correct", "ann", "no", (Marked(0, 5),), "因为 \ud800\x00", 2.5, 1_700_000_000.25)
        version = store.put(given)
    with LabelStore.open(tmp_path / "l.sqlite", write=False) as store:
        (kept,) = store.labels()
    assert kept == replace(
        given, comment="因为 \ufffd\ufffd", spans=(Marked(0, 5, item.answers[0][:5]),), version=version
    )


def test_a_changed_label_is_a_new_version_and_undo_brings_the_older_one_back(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite") as store:
        first = label(store, "ann", "yes")
        store.put(replace(first, value="no"))
        assert [one.value for one in store.labels()] == ["no"]
        undone = store.undo("ann")
        assert undone is not None
        assert undone.value == "no"
        assert [one.value for one in store.labels()] == ["yes"]
        assert store.undo("ann") is not None
        assert store.labels() == ()
        assert store.undo("ann") is None
        again = store.next_item("ann", "correct")
        assert again is not None
        assert again.item.id == first.item
        assert [undoes for _, undoes in store.history(first.item)] == [None, None, 2, 1]


def test_undo_leaves_the_labels_of_others_alone(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite") as store:
        store.set("per_item", 2)
        label(store, "ann", "yes")
        label(store, "bo", "no")
        store.undo("ann")
        assert [(one.expert, one.value) for one in store.labels()] == [("bo", "no")]


def test_without_a_team_each_item_gets_as_many_experts_as_it_should(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 3) as store:
        store.set("per_item", 2)
        for expert in ("ann", "bo", "cy"):
            while store.next_item(expert):
                label(store, expert, "yes")
        counts = Counter(one.item for one in store.labels())
        assert sorted(counts.values()) == [2, 2, 2]
        assert {(one.expert, one.done, one.total) for one in store.progress()} == {("ann", 3, 3), ("bo", 3, 3)}


def test_what_was_skipped_comes_back_in_the_next_session(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 2) as store:
        first = store.next_item("ann")
        assert first is not None
        second = store.next_item("ann", skip={(first.item.id, first.task)})
        assert second is not None
        assert second.item.id != first.item.id
        assert store.next_item("ann", skip={(one.item.id, one.task) for one in (first, second)}) is None
        assert store.next_item("ann") == first


def test_a_team_gets_assigned_work_only(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 2) as store:
        one, other = store.items()
        store.assign([("correct", one.id, "ann"), ("correct", other.id, "bo")])
        for expert, item in (("ann", one), ("bo", other)):
            assigned = store.next_item(expert)
            assert assigned is not None
            assert assigned.item == item
        assert store.next_item("cy") is None


PASSAGES: tuple[Kind, ...] = ("passage",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item": "i-none"}, "has no item 'i-none'"), ({"task": "corect"}, "Did you mean 'correct'"),
        ({"value": "maybe"}, "'maybe' is no label of the task correct: it takes yes, no, cannot_tell"),
        ({"task": "relevant"}, "about another kind of item"), ({"expert": ""}, "cannot be the name of an expert"),
        ({"expert": "a\nb"}, "cannot be the name"), ({"spans": (Marked(3, 3),)}, "outside of the answer"),
        ({"spans": (Marked(0, 900),)}, "outside of the answer"), ({"seconds": float("nan")}, "seconds=nan"),
        ({"comment": "x" * 30_000}, "30,000 characters"), ({"spans": (Marked(0, 1, answer=1),)}, "outside"),
    ],
)  # fmt: skip
def test_a_label_that_cannot_be_is_not_written(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with a_round(tmp_path / "l.sqlite", 1, "correct", "relevant") as store:
        item = next(store.items("correct"))
        good = Label(item.id, "correct", "ann", CANNOT_TELL)
        with pytest.raises((UsageError, UnknownName), match=message):
            store.put(replace(good, **change))
        assert store.labels() == ()
        store.put(good)
        assert len(store.labels()) == 1


def test_no_label_is_lost_when_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    a_round(path, 200).close()
    told: list[str] = []
    for _ in range(3):
        worker = subprocess.Popen([sys.executable, WORKER, path, "ann"], stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        for _, line in zip(range(20), worker.stdout, strict=False):
            told.append(line.split()[0])
        os.kill(worker.pid, signal.SIGKILL)
        told += [line.split()[0] for line in worker.stdout if line.endswith("\n")]
        worker.wait()
        worker.stdout.close()
    with LabelStore.open(path) as store:
        written = [one.item for one in store.labels()]
    assert len(told) >= 60
    assert set(told) <= set(written)
    assert len(written) == len(set(written))


def test_two_experts_in_two_processes_at_once_never_get_in_each_others_way(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    a_round(path, 30).close()
    workers = [subprocess.Popen([sys.executable, WORKER, path, name], stdout=subprocess.PIPE) for name in ("ann", "bo")]
    told = [worker.communicate()[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    with LabelStore.open(path) as store:
        labels = store.labels()
    assert len(labels) == 30 == sum(len(words) // 2 for words in told)
    assert max(Counter(one.item for one in labels).values()) == 1


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 20) as store:

        def work(expert: str) -> None:
            while store.next_item(expert):
                label(store, expert, "no")

        threads = [threading.Thread(target=work, args=(name,)) for name in ("ann", "bo", "cy")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Counter(one.value for one in store.labels()) == {"no": 20}


def test_items_are_blind() -> None:
    found = records(3, ("secret-model", "another-secret"))
    chosen = {one.key: one for one in candidates(found, ("answer", "passage", "pair"))}
    shown = to_json([item for item, _, _ in items_of(found, chosen, source="run-1", seed=1)])
    for hidden in ("secret", "gold", "noise-2", "judge_metric", "relevant", "0.9", "condition"):
        assert hidden not in shown, hidden


def test_answers_of_several_systems_and_sides_of_pairs_are_shuffled_by_the_seed() -> None:
    found = records(40, ("a", "b"))
    chosen = {one.key: one for one in candidates(found, ("answer", "pair"))}

    def order(seed: int) -> list[tuple[str, ...]]:
        made = sorted(items_of(found, chosen, source="r", seed=seed), key=lambda one: one[2])
        return [origin.systems for _, origin, _ in made]

    assert order(1) == order(1) != order(2)
    singles = [systems for systems in order(1) if len(systems) == 1]
    assert singles != sorted(singles)
    pairs = Counter(systems for systems in order(1) if len(systems) == 2)
    assert set(pairs) == {("a", "b"), ("b", "a")}
    assert min(pairs.values()) >= 8


def test_passages_of_a_question_are_labelled_once_for_all_systems_and_follow_each_other() -> None:
    found = records(5, ("a", "b"))
    chosen = {one.key: one for one in candidates(found, PASSAGES)}
    made = sorted(items_of(found, chosen, source="r", seed=3), key=lambda one: one[2])
    assert len(made) == 10
    questions = [item.sample_id for item, _, _ in made]
    assert questions[::2] == questions[1::2]
    assert {origin.passage for _, origin, _ in made} == {"gold-1", "noise-2"}


def test_a_round_that_is_extended_keeps_its_items(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 3) as store:
        before = list(store.items())
        label(store, "ann", "yes")
    with a_round(tmp_path / "l.sqlite", 5) as store:
        assert {item.id for item in before} < {item.id for item in store.items()}
        assert len(store.labels()) == 1


def test_a_task_of_another_scale_is_refused(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite") as store:
        other = task_named("better")
        with pytest.raises(UsageError, match="the task correct had other choices"):
            store.add_tasks([replace(task_named("correct"), choices=other.choices)])
        assert [task.name for task in store.tasks()] == ["correct"]


@pytest.mark.parametrize("name", ["correct", "faithful", "relevant", "better"])
def test_every_task_has_a_guideline_and_titles_in_both_languages(name: str) -> None:
    task: Task = task_named(name)
    for text in (task.question, task.guideline, *(choice.title for choice in task.choices)):
        assert text.en
        assert text.zh
        assert text.en != text.zh
    keys = [choice.key for choice in task.choices]
    assert len(set(keys)) == len(keys)
    assert not {*keys} & set("usqcmeg")


def test_edits_are_versions_and_change_what_experts_see(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 2) as store:
        store.add_samples(Item(record(n).case.sample, row=n + 1) for n in range(2))
        store.edit(Edit("q1", "ann", "typing error", question="What is number one?"))
        store.edit(Edit("q1", "bo", "an alias", references=(("1", "one"),), answerable=False))
        sample = store.sample("q1").sample
        assert (sample.question, sample.references) == ("What is number one?", (("1", "one"),))
        assert sample.meta["answerable"] is False
        assert store.sample("q1", original=True).sample == record(1).case.sample
        assert [(edit.by, edit.why) for edit in store.edits("q1")] == [("ann", "typing error"), ("bo", "an alias")]
        shown = next(item for item in store.items() if item.sample_id == "q1")
        assert (shown.question, shown.references) == ("What is number one?", (("1", "one"),))
        for wrong, message in (
            (Edit("q1", "ann"), "changes nothing"), (Edit("q1", "ann", question=" "), "is empty"),
            (Edit("q9", "ann", question="x"), "no question with the id 'q9'"),
            (Edit("q1", "ann", references=(("",),)), "reference is empty"),
        ):  # fmt: skip
            with pytest.raises(UsageError, match=message):
                store.edit(wrong)
        assert len(store.edits()) == 2


def test_other_files_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("These are notes. " * 20)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    for path, message in ((text, "not an SQLite database"), (other, "another program's"), (tmp_path, "is a folder")):
        with pytest.raises(UsageError, match=message) as raised:
            LabelStore.open(path)
        assert len(raised.value.lines) == 1
    assert text.read_text() == "These are notes. " * 20


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE items SET payload = '{\"id\": 5}'", "UPDATE items SET payload = x'00ff'",
        "UPDATE labels SET payload = '[]'", f"UPDATE labels SET payload = '{'[' * 5000}'",
        "UPDATE tasks SET payload = 'null'", "UPDATE items SET origin = '1'",
    ],
)  # fmt: skip
def test_a_damaged_row_is_one_line(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "l.sqlite"
    with a_round(path) as store:
        label(store, "ann", "yes")
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()

    def read(store: LabelStore) -> None:
        assert list(store.items())
        assert store.tasks()
        assert store.origins()
        assert store.labels()

    with LabelStore.open(path) as store, pytest.raises(UsageError, match="the file is damaged") as raised:
        read(store)
    assert len(raised.value.lines) == 1


def test_a_trigger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    a_round(path).close()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TRIGGER t AFTER INSERT ON labels BEGIN DELETE FROM labels; END")
    connection.commit()
    connection.close()
    with pytest.raises(UsageError, match="a trigger"):
        LabelStore.open(path)
