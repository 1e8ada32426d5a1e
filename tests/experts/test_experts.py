"""`ragstone agreement experts`: labels of people, the judge of a run against them, calibrated means."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.labels.rounds import a_round, label

from ragstone import evaluate
from ragstone.analysis.calibration import Calibrated
from ragstone.analysis.expert_agreement import Refused, confusions, one_by_one
from ragstone.errors import DataError, UsageError
from ragstone.experts.experts import agreement_of_experts, next_to_label
from ragstone.experts.label_round import label_round
from ragstone.labels import Label, LabelStore, items_of, task_named
from ragstone.labels.items import Candidate
from ragstone.labels.sampling import PICKED
from ragstone.runs import open_run


def data(count: int) -> list[dict[str, Any]]:
    """Answers of which every third is wrong; English and Chinese."""
    rows = []
    for n in range(count):
        zh = n % 2
        answer = f"{n}" if n % 3 else "1000000"
        question = f"第{n}个数是多少？" if zh else f"What is number {n}?"
        rows.append({"id": f"q{n}", "question": question, "answer": answer, "reference": f"{n}", "part": "xy"[zh]})
    return rows


def labels(count: int) -> list[dict[str, Any]]:
    """Two experts; the second is wrong about every tenth answer, and cannot tell once."""
    rows = []
    for n in range(count):
        right = bool(n % 3)
        rows.append({"id": f"q{n}", "expert": "ann", "correct": "yes" if right else "no"})
        second = "cannot tell" if n == 5 else "yes" if right != (n % 10 == 7) else "no"
        rows.append({"id": f"q{n}", "expert": "bo", "correct": second})
    return rows


def test_experts_and_the_judge_are_compared_and_its_mean_is_calibrated(tmp_path: Path) -> None:
    run = evaluate(data(200), ["answer_match"], run=tmp_path / "e.run").run
    found = agreement_of_experts(labels(80), run)
    (agreed,) = found.agreed
    assert (agreed.task, agreed.items, agreed.experts) == ("correct", 79, ("ann", "bo"))
    assert agreed.equal == pytest.approx(71 / 79)
    assert agreed.statistics["kappa"] is not None
    assert agreed.disputed == tuple(f"q{n}" for n in range(7, 80, 10))
    whole = found.judged[0]
    assert (whole.metric, whole.part, whole.n) == ("answer_match", "", 80)
    assert {one.part for one in found.judged} == {"", "en", "zh", "short", "long", "expert ann", "expert bo"}
    calibrated = found.calibrated["correct", "answer_match"]
    assert isinstance(calibrated, Calibrated)
    assert calibrated.low <= calibrated.mean <= calibrated.high
    assert calibrated.naive == pytest.approx(133 / 200)
    assert calibrated.saved > 50


def test_the_command_prints_tables_in_both_languages(tmp_path: Path, ragstone: Any) -> None:
    run = evaluate(data(90), ["answer_match"], run=tmp_path / "e.run").run
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in labels(60)), encoding="utf-8")
    told = ragstone("agreement", "experts", str(path), "--run", str(run))
    assert told.code == 0
    assert "The judge against the experts" in told.out
    told = ragstone("agreement", "experts", str(path), "--run", str(run), "--language", "zh", "--by", "part")
    assert "校准后的均值" in told.out
    document = json.loads(ragstone("agreement", "experts", str(path), "--json").out)
    assert [table["id"] for table in document["tables"]] == [
        "experts-agreed", "experts-by-expert", "experts-confusion-correct",
    ]  # fmt: skip


def test_fewer_than_fifty_labels_give_no_calibrated_mean(tmp_path: Path) -> None:
    run = evaluate(data(60), ["answer_match"], run=tmp_path / "e.run").run
    assert agreement_of_experts(labels(49), run).calibrated["correct", "answer_match"] == Refused("few", 49)


def test_stars_are_scaled(tmp_path: Path) -> None:
    rows = [{"id": f"q{n}", "expert": expert, "task": "tone", "label": 1 + (n + (expert == "bo" and n == 3)) % 5}
            for n in range(20) for expert in ("ann", "bo")]  # fmt: skip
    (agreed,) = agreement_of_experts(rows, scale=(1, 5)).agreed
    assert agreed.statistics["weighted_kappa"] is not None
    assert agreed.disputed == ("q3",)
    with pytest.raises(DataError, match=r"the label 2 is outside of 0\.\.1; set the scale"):
        agreement_of_experts(rows)


@pytest.mark.parametrize(
    ("row", "message"),
    [({"id": "q", "correct": "yes"}, "has no expert"), ({"expert": "ann", "correct": "yes"}, "has no id"),
     ({"id": "q", "expert": "ann", "correct": "maybe"}, "neither yes or no nor a number"),
     ({"id": "q", "expert": "ann", "correct": ""}, "has no label")],
)  # fmt: skip
def test_bad_labels_are_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        agreement_of_experts([row])


def test_a_run_without_the_labelled_questions_is_refused(tmp_path: Path) -> None:
    run = evaluate(data(5), ["answer_match"], run=tmp_path / "e.run").run
    rows = [{"id": "other", "expert": "ann", "correct": "yes"}]
    with pytest.raises(UsageError, match="has no metric for correct"):
        agreement_of_experts(rows, run)


def judged_run(tmp_path: Path, count: int = 200) -> tuple[Path, Path]:
    run = evaluate(data(count), ["answer_match"], run=tmp_path / "e.run").run
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in labels(80)), encoding="utf-8")
    return Path(run), path


def test_the_answer_comes_first_and_the_questions_to_label_next_last(tmp_path: Path, ragstone: Any) -> None:
    run, path = judged_run(tmp_path)
    lines = ragstone("agreement", "experts", str(path), "--run", str(run), "--next", "7").out.splitlines()
    assert lines[0].startswith(
        "answer_match: the judge agrees with the experts on 98% of 80 answers, κ 0.94 [0.85, 1.00]; "
    )
    assert lines[1].startswith(
        "answer_match: the mean is 0.64 [0.57, 0.70], calibrated by 80 labels (200 answers; the judge"
    )
    following = next(n for n, line in enumerate(lines) if line.startswith("Label these 7 next: the interval of"))
    ids = lines[following + 1 :]
    assert len(ids) == 7
    assert {*ids} <= {f"q{n}" for n in range(80, 200)}
    document = json.loads(ragstone("agreement", "experts", str(path), "--run", str(run), "--next", "7", "--json").out)
    assert document["next"]["ids"] == ids
    chinese = ragstone("agreement", "experts", str(path), "--language", "zh").out
    assert chinese.startswith("正确：2 位专家对 79 个至少有两份标注的条目中的 90% 意见一致，κ 0.78")
    refused = ragstone("agreement", "experts", str(path), "--next", "7")
    assert (refused.code, "add --run RUN" in refused.err) == (2, True)


def test_a_judge_that_is_too_kind_is_said_to_be(tmp_path: Path) -> None:
    run = evaluate(data(60), ["answer_match"], run=tmp_path / "e.run").run
    strict = [{"id": f"q{n}", "expert": "ann", "correct": "yes" if n % 3 == 1 else "no"} for n in range(60)]
    found = agreement_of_experts(strict, run)
    assert "; it is 33.3 points too kind [" in found.summary()
    assert found.judged[0].confusion == (20, 0, 20, 20)
    kind = [{"id": f"q{n}", "expert": "ann", "correct": "yes"} for n in range(60)]
    assert "too strict [" in agreement_of_experts(kind, run).summary()


def test_what_is_kept_is_in_every_later_report_of_this_run_alone(tmp_path: Path, ragstone: Any) -> None:
    run, path = judged_run(tmp_path)
    told = ragstone("agreement", "experts", str(path), "--run", str(run), "--keep")
    kept = tmp_path / "e.run.experts.json"
    assert (told.code, kept.is_file(), str(kept) in told.err) == (0, True, True)
    assert "calibrated by 80 labels" in " ".join(ragstone("show", str(run)).out.split())
    assert ragstone("report", str(run), "-o", str(tmp_path / "r.html")).code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Judge and experts" in page
    assert "answer_match: the judge and the experts differ on 2:" in page
    assert page.count("calibrated by 80 labels") == 1
    other = evaluate(data(60), ["answer_match"], run=tmp_path / "o.run").run
    (tmp_path / "o.run.experts.json").write_bytes(kept.read_bytes())
    assert "calibrated" not in ragstone("show", str(other)).out
    kept.write_text("{}", encoding="utf-8")
    damaged = ragstone("show", str(run))
    assert damaged.code == 2
    assert "e.run.experts.json: is not what --keep writes" in damaged.err


def test_a_report_with_labels_says_what_they_say_in_both_languages(tmp_path: Path, ragstone: Any) -> None:
    run, path = judged_run(tmp_path)
    for language, words in (("en", "calibrated by 80 labels"), ("zh", "由 80 个标注校准")):
        target = tmp_path / f"{language}.html"
        assert ragstone("report", str(run), "--labels", str(path), "-o", str(target), "--language", language).code == 0
        assert words in target.read_text(encoding="utf-8")
    assert not (tmp_path / "e.run.experts.json").exists()


def test_labels_of_the_most_doubtful_answers_calibrate_nothing(tmp_path: Path) -> None:
    run = evaluate(data(60), ["answer_match"], run=tmp_path / "e.run").run
    for by in ("uncertainty", "random"):
        path = tmp_path / f"{by}.sqlite"
        with label_round(path, run, tasks=["correct"], sample=55, by=by) as store:
            for number, item in enumerate(store.items()):
                store.put(Label(item.id, "correct", "ann", "yes" if number % 2 else "no"))
        found = agreement_of_experts(path, run)
        assert found.judged[0].n == 55
        value = found.calibrated["correct", "answer_match"]
        assert isinstance(value, Refused) == (by == "uncertainty")
        assert ("drawn at random; nothing is known" in found.summary()) == (by == "uncertainty")


def test_labels_that_were_picked_in_the_viewer_calibrate_nothing(tmp_path: Path) -> None:
    run, path = evaluate(data(60), ["answer_match"], run=tmp_path / "e.run").run, tmp_path / "labels.sqlite"
    with open_run(run) as opened, LabelStore.open(path) as store:
        records = list(opened.records())
        keys: list[tuple[str, ...]] = [("answer", record.system_id, record.case.id) for record in records]
        chosen = {key: Candidate(key) for key in keys}
        store.add_tasks([task_named("correct")])
        store.add_items(items_of(records, chosen, source=opened.file_id, by=PICKED))
        for item in list(store.items()):
            store.put(Label(item.id, "correct", "ann", "yes"))
    assert isinstance(agreement_of_experts(path, run).calibrated["correct", "answer_match"], Refused)


def test_annotate_goes_on_with_what_narrows_the_interval_most(tmp_path: Path) -> None:
    run = evaluate(data(120), ["answer_match"], run=tmp_path / "e.run").run
    path = tmp_path / "labels.sqlite"
    with label_round(path, run, tasks=["correct"], sample=60) as store:
        for item in store.items():
            right = item.answers[0] != "1000000"
            store.put(Label(item.id, "correct", "ann", "yes" if right else "no"))
        before = {label.item for label in store.labels()}
    _, plan = next_to_label(path, run, 10)
    with label_round(path, run, tasks=["correct"], sample=10, by="interval") as store:
        new = [item for item in store.items() if item.id not in before]
        assert {item.sample_id for item in new} == {*plan.ids}
        assert {store.origins()[item.id].drawn for item in new} == {"interval"}
        for item in new:
            store.put(Label(item.id, "correct", "ann", "no"))
    value = agreement_of_experts(path, run).calibrated["correct", "answer_match"]
    assert isinstance(value, Calibrated)
    assert value.n == 70
    with pytest.raises(UsageError, match="interval chooses answers of a run with scores"):
        label_round(tmp_path / "o.sqlite", run, tasks=["correct"], by="interval")


def test_where_all_answers_are_labelled_none_narrows_the_interval_and_a_round_adds_none(tmp_path: Path) -> None:
    run, path = evaluate(data(12), ["answer_match"], run=tmp_path / "e.run").run, tmp_path / "labels.sqlite"
    with label_round(path, run, tasks=["correct"]) as store:
        for item in list(store.items()):
            store.put(Label(item.id, "correct", "ann", "yes"))
    with label_round(path, run, tasks=["correct"], sample=10, by="interval") as store:
        assert store.get("draw", {})["added"] == 0


def test_labels_of_data_count_for_a_run_of_them_and_labels_of_another_run_do_not(tmp_path: Path) -> None:
    source = tmp_path / "answers.jsonl"
    source.write_text("\n".join(map(json.dumps, data(60))), encoding="utf-8")
    run = evaluate(source, ["answer_match"], run=tmp_path / "e.run").run
    other = evaluate([{**row, "answer": "0"} for row in data(60)], ["answer_match"], run=tmp_path / "o.run").run
    path = tmp_path / "labels.sqlite"

    def label(origin: Path, value: str) -> None:
        with label_round(path, origin, tasks=["correct"]) as store:
            done = {one.item for one in store.labels()}
            for item in store.items():
                if item.id not in done:
                    store.put(Label(item.id, "correct", "ann", value))

    label(source, "yes")
    assert agreement_of_experts(path, run).judged[0].n == 60
    label(Path(other), "no")
    label(Path(run), "yes")
    (whole, *_) = agreement_of_experts(path, run).judged
    assert whole.confusion == (0, 20, 0, 40)  # every label that counts says yes


def test_each_expert_is_compared_with_the_others_and_labels_are_tabled(tmp_path: Path, ragstone: Any) -> None:
    (agreed,) = agreement_of_experts(labels(80)).agreed
    ann, bo = agreed.by_expert
    assert (ann.expert, ann.items, bo.items) == ("ann", 79, 79)
    assert ann.equal == bo.equal == agreed.equal
    assert ann.kappa == pytest.approx(agreed.statistics["kappa"][0] if agreed.statistics["kappa"] else None)
    assert (ann.bias.value or 0) == pytest.approx(-(bo.bias.value or 0))
    (confusion,) = agreed.confusions
    assert sum(count for *_, count in confusion.counts) == 79
    assert sum(count for a, b, count in confusion.counts if a != b) == len(agreed.disputed)
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in labels(60)), encoding="utf-8")
    told = ragstone("agreement", "experts", str(path), "--language", "zh")
    assert "每位专家与其他专家的一致性" in told.out
    assert "专家两两之间的标注分布：correct" in told.out


def test_three_experts_are_compared_in_pairs() -> None:
    items = {"a": {"x": 1.0, "y": 1.0, "z": 0.0}, "b": {"x": 0.0, "y": 0.0}, "c": {"z": 1.0}}
    x, y, z = one_by_one(items)
    assert (x.items, x.pairs) == (2, 3)
    assert x.equal == pytest.approx(2 / 3)
    assert (z.items, z.pairs, z.equal, z.bias.value) == (1, 2, 0.0, -1.0)
    assert y.bias.value == pytest.approx(0.25)
    assert [(one.first, one.second, one.counts) for one in confusions(items)] == [
        ("x", "y", ((0.0, 0.0, 1), (1.0, 1.0, 1))), ("x", "z", ((1.0, 0.0, 1),)), ("y", "z", ((1.0, 0.0, 1),)),
    ]  # fmt: skip


def test_agreement_on_passages_and_pairs_of_a_file_of_labels_is_measured(tmp_path: Path) -> None:
    with a_round(tmp_path / "l.sqlite", 6, "relevant", "better", systems=("s", "tt")) as store:
        store.set("per_item", 2)
        for expert in ("ann", "bo"):
            for task, value in (("relevant", "yes" if expert == "ann" else "no"), ("better", "first")):
                for _ in range(4):
                    label(store, expert, value, task)
    found = {one.task: one for one in agreement_of_experts(tmp_path / "l.sqlite").agreed}
    assert (found["relevant"].items, found["relevant"].equal) == (4, 0.0)
    assert "gold-1" in found["relevant"].disputed[0] or "noise-2" in found["relevant"].disputed[0]
    assert (found["better"].items, found["better"].equal) == (4, 1.0)
