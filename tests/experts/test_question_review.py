"""Experts review a built set: accepted, edited, rejected, in the viewer and an offline form; then the set
is written as they left it, with an exact bound on what is still bad."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, one_line
from tests.web.conftest import Browse, browse  # noqa: F401  a fixture
from tests.web.rounds import OURS

from ragstone.experts.label_round import label_round
from ragstone.experts.question_review import review_of
from ragstone.labels import Edit, Label, LabelStore
from ragstone.stats import at_most

SIZE = 60


def row(n: int) -> dict[str, Any]:
    """A question as `build questions` writes it; every second is Chinese, every fifth has no answer."""
    chinese, answerable = n % 2 == 1, n % 5 != 4
    text = f"第{n}号泵的压力为{n}0巴。" if chinese else f"Pump {n} runs at {n}0 bar."
    place = {"document": f"{n}.pdf#page=3", "page": 3, "heading": "泵 > 压力" if chinese else "Pumps > Pressure"}
    return {
        "id": f"q{n}", "question": f"第{n}号泵的压力是多少？" if chinese else f"At what pressure does pump {n} run?",
        "reference": [[f"{n}0巴" if chinese else f"{n}0 bar"]] if answerable else [], "answerable": answerable,
        "language": "zh" if chinese else "en", "type": "single" if answerable else "unanswerable", "style": "plain",
        "document": f"{n}.pdf#page=3", "page": 3, "heading": place["heading"],
        "evidence": [{"text": text, "passage": f"{n}.pdf#page=3#1", **place, "start": 4, "end": 4 + len(text)}],
        "marks": [],
    }  # fmt: skip


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder with the files of a built set."""
    folder = tmp_path / "testset"
    folder.mkdir()
    rows = [row(n) for n in range(SIZE)]
    chunks = [{"id": f"{n}.pdf#page=3#1", "title": "Pumps", "text": f"All pumps. {row(n)['evidence'][0]['text']} End."}
              for n in range(SIZE)]  # fmt: skip
    for name, lines in (("questions", rows), ("corpus", chunks)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return folder


def said(store: LabelStore, values: dict[str, int], expert: str = "ann", **options: Any) -> None:
    """The next items get these values."""
    for value, count in values.items():
        for _ in range(count):
            assigned = store.next_item(expert, "question")
            assert assigned is not None
            store.put(Label(assigned.item.id, "question", expert, value, **options))


def test_a_built_set_is_reviewed_and_written_as_it_was_left(
    ragstone: Callable[..., Told], built: Path, tmp_path: Path
) -> None:
    with label_round("labels.sqlite", built) as store:
        said(store, {"accepted": 1, "edited": 1, "rejected": 1})
        values = {store.item(label.item).sample_id: label.value for label in store.labels()}
        edited = next(name for name, value in values.items() if value == "edited")
        edit = Edit(edited, "ann", "two readings", "第几号？", (("10巴", "十巴"), ("20巴",)))
        store.edit(edit)
    rejected = next(name for name, value in values.items() if value == "rejected")
    told = ragstone("data", "export", "labels.sqlite", "-o", "reviewed.jsonl")
    assert f"{SIZE - 1} questions, 1 changed by experts" in told.out
    assert "Left out: 1 " in told.out
    written = {one["id"]: one for one in map(json.loads, (tmp_path / "reviewed.jsonl").read_text("utf-8").splitlines())}
    assert rejected not in written
    assert written.keys() == {f"q{n}" for n in range(SIZE)} - {rejected}
    assert written[edit.sample_id]["question"] == "第几号？"
    for name, one in written.items():
        before = row(int(name[1:]))
        for column in ("evidence", "marks", "page", "heading", "type", "answerable", "document"):
            assert one[column] == before[column]
        if name != edit.sample_id:
            assert one["question"] == before["question"]
            assert one.get("reference", []) == before["reference"]


def test_undo_takes_the_edit_back_and_the_question_counts_as_it_was_built(
    ragstone: Callable[..., Told], built: Path
) -> None:
    with label_round("labels.sqlite", built) as store:
        assigned = store.next_item("ann", "question")
        assert assigned is not None
        sample = assigned.item.sample_id
        store.edit(Edit(sample, "ann", "why", "New?", (("new",),)))
        store.put(Label(assigned.item.id, "question", "ann", "edited"))
        store.undo("ann")
        said(store, {"accepted": 1})
        (label,) = store.labels()
        assert store.item(label.item).question == row(int(sample[1:]))["question"]
        assert store.sample(sample) == store.sample(sample, original=True)
        assert [edit.question for edit in store.edits()] == ["New?", row(int(sample[1:]))["question"]]
    found = json.loads(ragstone("data", "review", "labels.sqlite", "--json").out)
    assert (found["accepted"], found["edited"], found["bad"]) == (1, 0, 0)


def test_undo_of_a_label_leaves_a_later_edit_alone(built: Path) -> None:
    with label_round("labels.sqlite", built, seed=1) as store:
        said(store, {"edited": 1})
        (label,) = store.labels()
        sample = store.item(label.item).sample_id
        store.edit(Edit(sample, "ann", "found later", "Which?", when=label.when + 60))
        assert store.undo("ann") is not None
        assert store.item(label.item).question == "Which?"


def test_an_unanswerable_question_is_shown_as_one(ragstone: Callable[..., Told], built: Path, tmp_path: Path) -> None:
    assert ragstone("annotate", built, "--export", "form.html", "--language", "en").code == 0
    form = (tmp_path / "form.html").read_text("utf-8")
    assert form.count("None: the question is to have no answer.") == SIZE // 5


def test_the_bound_is_that_of_the_drawn_sample(ragstone: Callable[..., Told], built: Path) -> None:
    with label_round("labels.sqlite", built, sample=30, seed=1) as store:
        said(store, {"accepted": 27, "rejected": 1, "cannot_tell": 1})
        assert store.size("question") == 30
    told = ragstone("data", "review", "labels.sqlite", "--at-most", "0.2", "--json")
    found = json.loads(told.out)
    assert found["questions"] == SIZE
    assert (found["reviewed"], found["accepted"], found["rejected"], found["undecided"], found["bad"]) == (
        29, 27, 1, 1, 2,
    )  # fmt: skip
    assert found["at_most"] == at_most(2, 29, SIZE)
    assert found["interval"][0] == pytest.approx(2 / SIZE)
    assert found["needed"] is not None
    assert at_most(2, found["needed"], SIZE) <= 0.2 < at_most(2, found["needed"] - 1, SIZE)
    lines = ragstone("data", "review", "labels.sqlite", "--at-most", "0.03").out
    assert "Reviewed 29 of 60 questions: 27 accepted, 0 edited, 1 rejected, 1 undecided." in lines
    assert "Bad as built: 2 of 29, 6.9% [3.3%, " in lines
    assert "No review can show at most 3.0% bad: 2 are bad already." in lines
    assert "全部问题中至多" in ragstone("data", "review", "labels.sqlite", "--language", "zh").out


def test_before_the_review_the_size_of_the_sample_is_told(ragstone: Callable[..., Told], built: Path) -> None:
    told = ragstone("data", "review", built, "--at-most", "0.05")
    assert "Nobody has reviewed any of the 60 questions." in told.out
    assert "0 bad of 31 would show at most 5.0% bad" in told.out
    assert at_most(0, 31, SIZE) <= 0.05 < at_most(0, 30, SIZE)
    assert review_of(built).needed is None


def test_what_was_not_drawn_at_random_and_what_nobody_settled_is_told(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with label_round(path, built, sample=10, per_item=2) as store:
        said(store, {"accepted": 3, "rejected": 1})
        said(store, {"rejected": 1, "accepted": 3}, "bo")
    review = review_of(path)
    assert (review.accepted, review.undecided, review.bad) == (2, 2, 2)
    with LabelStore.open(path) as store:
        item = next(store.items("question"))
        origin = store.origins()[item.id]
        store.add_items([(_other(item), _picked(origin), "z")])
        store.put(Label("i-picked", "question", "ann", "rejected"))
    found = review_of(path)
    assert (found.not_random, found.bad) == (1, 2)
    assert "not drawn at random" in " ".join(found.lines())


def _other(item: Any) -> Any:
    from msgspec.structs import replace

    return replace(item, id="i-picked", sample_id="q-picked")


def _picked(origin: Any) -> Any:
    from msgspec.structs import replace

    return replace(origin, sample_id="q-picked", drawn="picked")


def test_a_question_marked_for_an_edit_that_nobody_made_is_not_written(
    ragstone: Callable[..., Told], built: Path, tmp_path: Path
) -> None:
    with label_round("labels.sqlite", built) as store:
        said(store, {"edited": 1}, comment="the year is wrong")
        (label,) = store.labels()
        sample = store.item(label.item).sample_id
    assert "Marked for an edit that nobody made: 1." in ragstone("data", "review", "labels.sqlite").out
    ragstone("data", "export", "labels.sqlite", "-o", "a.jsonl")
    assert f'"id":"{sample}"' not in (tmp_path / "a.jsonl").read_text("utf-8")
    ragstone("data", "edit", "labels.sqlite", sample, "--by", "bo", "--why", "as ann says", "--question", "Which year?")
    found = json.loads(ragstone("data", "export", "labels.sqlite", "-o", "b.jsonl", "--json").out)
    assert (found["rows"], found["left_out"], found["changed"]) == (SIZE, 0, 1)
    assert (found["review"]["edited"], found["review"]["unedited"]) == (1, 0)
    assert "Which year?" in (tmp_path / "b.jsonl").read_text("utf-8")


def test_the_viewer_shows_the_evidence_and_leads_to_the_edit(browse: Browse, built: Path, tmp_path: Path) -> None:  # noqa: F811
    label_round(tmp_path / "l.sqlite", built).close()
    client = browse(tmp_path, labels=tmp_path / "l.sqlite")
    page = client.post("/annotate/next", data={"expert": "Ida", "task": "question"}, headers=OURS)
    assert "Is this a good question for a test?" in page.text
    assert "p. 3 · " in page.text
    assert 'value="edited"' in page.text
    assert "/gold/question?id=q" in page.text
    with LabelStore.open(tmp_path / "l.sqlite") as store:
        assigned = store.next_item("Ida")
        assert assigned is not None
    fields = {"expert": "Ida", "task": "question", "item": assigned.item.id, "value": "rejected", "seconds": "3"}
    client.post("/annotate/label", data=fields, headers=OURS)
    assert review_of(tmp_path / "l.sqlite").rejected == 1


def test_an_offline_form_and_tables_of_the_review_come_back(
    ragstone: Callable[..., Told], built: Path, tmp_path: Path
) -> None:
    assert ragstone("annotate", built, "--sample", 3, "--export", "form.html", "--language", "zh").code == 0
    form = (tmp_path / "form.html").read_text("utf-8")
    assert form.count('value="edited"') == 3
    assert "这是一个好的测试问题吗？" in form
    for name, kind in (("t.csv", "csv"), ("t.json", "label-studio")):
        assert ragstone("annotate", "--export", name, "--format", kind).code == 0
    with LabelStore.open("labels.sqlite", write=False) as store:
        items = [item.id for item in store.items("question")]
    labels = [{"item": item, "task": "question", "expert": "ann", "value": value, "when": 1.0}
              for item, value in zip(items, ("accepted", "accepted", "rejected"), strict=True)]  # fmt: skip
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(one) + "\n" for one in labels), "utf-8")
    told = ragstone("annotate", "--import", "l.jsonl")
    assert "3 " in told.out
    found = review_of("labels.sqlite")
    assert (found.accepted, found.rejected) == (2, 1)


def test_wrong_input_is_one_line(ragstone: Callable[..., Told], built: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "data.jsonl").write_text('{"question": "a?", "answer": "b"}\n', "utf-8")
    ragstone("annotate", "data.jsonl", "--labels", "other.sqlite", "--json")
    for arguments, text in (
        (("data", "review", "nosuch"), "no such file"),
        (("data", "review", "empty"), "Name a file"),
        (("data", "review", "other.sqlite"), "has no reviewed questions"),
        (("data", "review", built, "--at-most", "5"), "range"),
        (("annotate", "empty"), "Name a file"),
    ):
        told = ragstone(*arguments)
        assert told.code == 2
        assert text in one_line(told)
    (built / "corpus.jsonl").write_text("no json\n", "utf-8")
    told = ragstone("annotate", built, "--labels", "new.sqlite", "--json")
    assert told.code == 2
    assert "corpus.jsonl" in one_line(told)
