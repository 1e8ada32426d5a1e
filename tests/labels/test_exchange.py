"""Files of labels: written and read back without loss, by several formats, twice without effect, conflicts told."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import examples
from tests.labels.rounds import a_round, label

from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.experts.label_files import export_labels, import_labels_of
from ragstone.labels import CANNOT_TELL, Label, LabelStore, Marked
from ragstone.labels.exchange import import_labels, iso, seconds_of

# Each example writes two files to the disk, so to shrink one takes minutes.
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
NAMES = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=12) | st.sampled_from(
    ["=cmd|' /C calc'!A0", "'=x", "+1", "王芳", "-", "'", "a,b", '"q"']
)
TEXTS = st.text(max_size=40) | st.sampled_from(
    ["=1+1", "'=1", "''=1", "line\nline", "a\r\nb", "，逗号", "null", "NA", "[1]"]
)


def labels_for(store: LabelStore, drawn: list[tuple[int, str, str, str, float, int]]) -> dict[Any, Label]:
    """Writes drawn labels; returns those that stand, without what only this store knows."""
    items = list(store.items())
    for n, name, value, comment, when, end in drawn:
        item = items[n % len(items)]
        task = {"answer": "correct", "passage": "relevant", "pair": "better"}[item.kind]
        known = [choice.value for choice in store.task(task).choices]
        spans = (Marked(0, end),) if item.answers and 0 < end <= len(item.answers[0]) else ()
        store.put(Label(item.id, task, name, known[len(value) % len(known)], spans, comment, 1.5, when))
    return standing(store)


def standing(store: LabelStore) -> dict[Any, Label]:
    return {
        (one.item, one.task, one.expert, one.adjudicated): replace(one, version=0, source="") for one in store.labels()
    }


DRAWN = st.lists(
    st.tuples(
        st.integers(0, 50), NAMES, st.text(max_size=3), TEXTS,
        st.integers(1, 4_000_000_000_000).map(lambda ms: ms / 1000), st.integers(0, 8),
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=examples(40), phases=NO_SHRINKING)
@given(DRAWN, st.sampled_from(["labels.csv", "labels.jsonl"]))
def test_tables_are_read_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, drawn: Any, name: str) -> None:
    folder = tmp_path_factory.mktemp("exchange")
    tasks = ("correct", "relevant", "better")
    with a_round(folder / "a.sqlite", 3, *tasks, systems=("x", "yy")) as store:
        before = labels_for(store, drawn)
        export_labels(store, folder / name)
    with a_round(folder / "b.sqlite", 3, *tasks, systems=("x", "yy")) as other:
        done = import_labels_of(other, folder / name)
        assert (done.added, done.unknown, done.conflicts) == (len(before), [], [])
        assert standing(other) == before
        again = import_labels_of(other, folder / name)
        assert (again.added, again.changed, again.unchanged) == (0, 0, len(before))
        assert len(other.labels()) == len(before)


@settings(max_examples=examples(30), phases=NO_SHRINKING)
@given(DRAWN, st.sampled_from(["correct", "relevant", "better"]))
def test_files_of_label_studio_are_read_back(tmp_path_factory: pytest.TempPathFactory, drawn: Any, task: str) -> None:
    folder = tmp_path_factory.mktemp("exchange")
    with a_round(folder / "a.sqlite", 3, task, systems=("x", "yy")) as store:
        before = labels_for(store, drawn)
        export_labels(store, folder / "l.json")
    with a_round(folder / "b.sqlite", 3, task, systems=("x", "yy")) as other:
        other.add_experts({name for _, _, name, _ in before})
        done = import_labels_of(other, folder / "l.json")
        assert (done.added, done.unknown, done.conflicts) == (len(before), [], [])
        assert standing(other) == before
        again = import_labels_of(other, folder / "l.json")
        assert (again.added, again.changed, again.unchanged) == (0, 0, len(before))


def documented_task(item: str, completed_by: Any = 10, **more: Any) -> dict[str, Any]:
    """A task as the guide of Label Studio shows it, of the tags Choices, TextArea and Labels."""
    about = {"to_name": "answer", "origin": "manual"}
    return {
        "id": 1, "created_at": "2021-03-09T21:52:49.513742Z", "updated_at": "2021-03-09T22:16:08.746926Z",
        "project": 83, "data": {"item": item, "question": "What is number 1?", "answer": "It is 1."},
        "annotations": [
            {
                "id": 1001, "was_cancelled": False, "ground_truth": False, "created_at": "2021-03-09T22:16:08.728353Z",
                "updated_at": "2021-03-09T22:16:08.728378Z", "lead_time": 4.288, "result_count": 0, "task": 1,
                "completed_by": completed_by,
                "result": [
                    {"id": "Dx_1", "from_name": "correct", "type": "choices", "value": {"choices": ["no"]}, **about},
                    {"id": "Dx_2", "from_name": "correct_comment", "type": "textarea",
                     "value": {"text": ["the year", "is wrong"]}, **about},
                    {"id": "x", "from_name": "correct_marks", "type": "labels",
                     "value": {"start": 0, "end": 5, "text": "It is", "labels": ["marked"]}, **about},
                ],
                **more,
            },
        ],
        "drafts": [], "predictions": [{"model_version": "m", "result": [
            {"from_name": "correct", "type": "choices", "value": {"choices": ["yes"]}, **about}]}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("completed_by", "expert"),
    [(10, "10"), ({"id": 5, "email": "ann@example.org", "first_name": ""}, "ann@example.org"), ({"id": 5}, "5")],
)
def test_a_task_of_label_studio_is_read_as_its_guide_shows_it(tmp_path: Path, completed_by: Any, expert: str) -> None:
    path = tmp_path / "project-83.json"
    with a_round(tmp_path / "l.sqlite") as store:
        item = next(store.items())
        path.write_text(json.dumps([documented_task(item.id, completed_by), documented_task("i-else")]))
        done = import_labels_of(store, path)
        (found,) = store.labels()
    assert (done.added, done.unknown) == (1, ["row 2: i-else correct"])
    assert (found.expert, found.value, found.comment) == (expert, "no", "the year\nis wrong")
    assert (found.seconds, iso(found.when)) == (4.288, "2021-03-09T22:16:08.728378Z")
    assert found.spans == (Marked(0, 5, "It is"),)


def test_skipped_annotations_and_predictions_of_label_studio_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with a_round(tmp_path / "l.sqlite") as store:
        path.write_text(json.dumps([documented_task(next(store.items()).id, was_cancelled=True)]))
        assert import_labels_of(store, path).added == 0
        assert store.labels() == ()


def test_the_interface_for_label_studio_has_every_choice(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 1, "correct", "faithful") as store:
        paths = export_labels(store, tmp_path / "l.json", language="zh")
    text = paths[1].read_text(encoding="utf-8")
    for part in ('name="correct"', 'name="faithful_marks"', '<Choice alias="cannot_tell" value="无法判断"/>'):
        assert part in text
    with a_round(tmp_path / "m.sqlite", 1, "correct", "relevant") as store, pytest.raises(UsageError, match="--task"):
        export_labels(store, tmp_path / "m.json")


def test_a_sheet_that_a_colleague_filled_in_is_read(tmp_path: Path) -> None:
    sheet = tmp_path / "ann.csv"
    with a_round(tmp_path / "l.sqlite", 3) as store:
        export_labels(store, sheet, expert="ann")
        rows = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines()))
        assert [row["label"] for row in rows] == ["", "", ""]
        for row, value in zip(rows, ("是", "N", "cannot tell"), strict=True):
            row["label"] = value
        with sheet.open("w", encoding="gbk", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        done = import_labels_of(store, sheet)
        assert (done.added, [one.value for one in store.labels()]) == (3, ["yes", "no", CANNOT_TELL])
        assert {one.expert for one in store.labels()} == {"ann"}


def test_a_table_with_ids_of_questions_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"id": "q1", "task": "correct", "label": 1}\n{"id": "q2", "task": "correct", "label": false}\n')
    with a_round(tmp_path / "l.sqlite", 3) as store:
        assert import_labels_of(store, path, expert="ann").added == 2
        questions = {item.id: item.sample_id for item in store.items()}
        assert {questions[one.item]: one.value for one in store.labels()} == {"q1": "yes", "q2": "no"}
    with (
        pytest.raises(DataError, match=r"line 1 has a label but no expert\. Add --as NAME"),
        a_round(tmp_path / "l.sqlite", 3) as store,
    ):
        import_labels_of(store, path)


def test_a_form_that_was_filled_in_offline_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels-ann.json"
    with a_round(tmp_path / "l.sqlite") as store:
        one, other, *_ = store.items()
        form = {"format": "ragstone labels", "version": 1, "form": "1f", "expert": "ann", "labels": [
            {"item": one.id, "task": "correct", "value": "no", "spans": [{"start": 0, "end": 2, "answer": 0}],
             "comment": "x", "seconds": 3.5, "when": 1_700_000_000.5},
            {"item": other.id, "task": "correct", "value": "yes", "spans": [], "comment": "", "seconds": 1, "when": 1},
        ]}  # fmt: skip
        path.write_text(json.dumps(form))
        assert import_labels_of(store, path).added == 2
        assert store.labels()[0].spans[0].text == "It"
        assert import_labels_of(store, path).unchanged == 2


def foreign(store: LabelStore, value: str, when: float = 0.0) -> tuple[str, Label]:
    return "row 1", Label(next(store.items()).id, "correct", "ann", value, when=when)


def test_contradicting_labels_are_conflicts_unless_they_are_newer(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite") as store:
        store.put(Label(next(store.items()).id, "correct", "ann", "yes", when=1000.0))
        old = import_labels(store, [foreign(store, "no", 500.0), foreign(store, "no")], source="f")
        assert [(one.kept, one.found) for one in old.conflicts] == [("yes", "no")] * 2
        assert [one.value for one in store.labels()] == ["yes"]
        newer = import_labels(store, [foreign(store, "no", 2000.0)], source="f")
        assert (newer.changed, [one.value for one in store.labels()]) == (1, ["no"])
        forced = import_labels(store, [foreign(store, CANNOT_TELL)], source="f", replaces=True)
        assert (forced.changed, [one.value for one in store.labels()]) == (1, [CANNOT_TELL])


def test_a_file_that_is_read_twice_brings_nothing_back_that_was_undone_or_changed(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite") as store:
        for _ in range(2):
            import_labels(store, [foreign(store, "no")], source="f")
            if store.labels():
                store.undo("ann")
        assert store.labels() == ()
        label(store, "ann", "yes")
        again = import_labels(store, [foreign(store, "no")], source="f")
        assert (again.unchanged, [one.value for one in store.labels()]) == (1, ["yes"])


def test_exports_are_blind_and_overwrite_nothing(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 3, "correct", systems=("secret-a", "secret-b")) as store:
        label(store, "ann", "yes")
        for name, kind in (("a.csv", ""), ("b.jsonl", ""), ("c.json", "")):
            export_labels(store, tmp_path / name, kind)
            text = (tmp_path / name).read_text(encoding="utf-8")
            for hidden in ("secret", "gold-1", "noise-2", "judge_metric"):
                assert hidden not in text
            with pytest.raises(UsageError, match="already exists"):
                export_labels(store, tmp_path / name, kind)
        with pytest.raises(UnknownName, match=r"No format of labels named '\.docx'"):
            export_labels(store, tmp_path / "x.docx")


def test_a_cell_that_a_spreadsheet_would_run_is_guarded(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 1) as store:
        label(store, "=ann", "yes", comment="=HYPERLINK(1)")
        export_labels(store, tmp_path / "l.csv")
    row = next(csv.DictReader((tmp_path / "l.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert (row["expert"], row["comment"]) == ("'=ann", "'=HYPERLINK(1)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected"), ('[{"a": 1}]', "has no label; expected the columns item, task, expert, label"),
        ('[{"item": "i", "task": "correct", "expert": "ann", "label": "maybe"}]', None),
        ('[{"item": "ITEM", "task": "correct", "expert": "ann", "label": "maybe"}]', "'maybe' is no label"),
        ('[{"item": "ITEM", "task": "correct", "expert": "a\\nb", "label": "yes"}]', "cannot be the name"),
        ('[{"item": "ITEM", "task": "correct", "expert": "a", "label": "yes", "when": "soon"}]', "is no time"),
        ('[{"item": "ITEM", "task": "correct", "expert": "a", "label": "yes", "seconds": "x"}]', "is no number"),
        ('[{"item": "ITEM", "task": "correct", "expert": "a", "label": "yes", "marks": "{"}]', "marks cannot be read"),
        ('[{"item": "ITEM", "task": "correct", "expert": "a", "label": "yes", "marks": [{"start": 0, "end": 999}]}]',
         "outside of the answer"),
        ('[{"label": "yes"}]', "has a label but no item and no task and no expert"),
    ],
)  # fmt: skip
def test_wrong_files_are_one_line(tmp_path: Path, text: str, message: str | None) -> None:
    path = tmp_path / "l.json"
    with a_round(tmp_path / "l.sqlite") as store:
        path.write_text(text.replace("ITEM", next(store.items()).id))
        if message is None:
            assert import_labels_of(store, path).unknown == ["row 1: i correct"]
            return
        with pytest.raises(UsageError, match=message) as raised:
            import_labels_of(store, path)
        assert len(str(raised.value).splitlines()) == 1
        assert store.labels() == ()


def test_times_are_read_with_and_without_a_zone() -> None:
    assert seconds_of("2021-03-09T22:16:08.728378Z") == seconds_of("2021-03-09T23:16:08.728378+01:00")
    assert seconds_of("2021-03-09 22:16:08.728378") == seconds_of("2021-03-09T22:16:08.728378Z")
    assert seconds_of(None) == 0.0


def test_labels_can_be_renamed_on_the_way_in(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite") as store:
        path = tmp_path / "p.json"
        path.write_text(json.dumps([documented_task(next(store.items()).id, 10)]))
        import_labels_of(store, path, names={"10": "王芳"})
        assert [one.expert for one in store.labels()] == ["王芳"]
