"""Saved predictions are scored again to the count: against figures worked out by hand, and against a count of its own
over many random files."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ragstone.benchmarks.rgb.rescore import rescore
from ragstone.datasets.rgb import rgb_set
from ragstone.errors import DataError, UnknownName, UsageError

REFUSAL = "I can not answer the question because of the insufficient information in documents."
ERRORS = "There are factual errors in the provided documents. It was "


def row(row_id: int, prediction: str, ans: Any = "Anna", noise: float | None = 0.0, **more: Any) -> dict[str, Any]:
    made = {"id": row_id, "query": "Who?", "ans": ans, "prediction": prediction} | more
    return made if noise is None else made | {"noise_rate": noise}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


def official(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in ("judge", "file", "dataset", "warnings")}


def test_a_base_set_counts_answers_with_every_slot(tmp_path: Path) -> None:
    path = write(
        tmp_path / "predictions.txt",
        row(0, "It was ANNA.", [["Ann", "anna"], "Monday"]),  # a slot is missing
        row(1, "anna, on monday", [["Ann", "anna"], "Monday"]),
        row(2, "Not Anna."),  # the official scoring takes it for right
        row(3, REFUSAL),
        row(4, REFUSAL.upper() + " Ben."),  # the phrase is case-sensitive, and Anna is not named
    )
    (result,) = rescore([path], dataset="en")
    assert list(official(result).items()) == [("all_rate", 2 / 5), ("noise_rate", 0.0), ("tt", 2), ("nums", 5)]
    assert (result["file"], result["dataset"], result["warnings"]) == (str(path), "en", [])


def test_at_a_ratio_of_1_refusals_count_and_lucky_answers_too(tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", row(0, REFUSAL, noise=1.0), row(1, "Anna", noise=1.0), row(2, "Ben", noise=1.0))
    (result,) = rescore([path], dataset="en_refine")
    assert official(result) == {"all_rate": 2 / 3, "noise_rate": 1.0, "tt": 2, "nums": 3}


def test_a_counterfactual_set_counts_detection_and_correction(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.json",
        row(0, ERRORS + "Anna."),
        row(1, ERRORS + "Ben."),
        row(2, "Anna."),
        row(3, ERRORS + REFUSAL),  # detected; its label [-1] has no 0, and so counts as corrected
    )
    (result,) = rescore([path], dataset="en_fact")
    assert list(official(result).items()) == [
        ("all_rate", 2 / 4), ("noise_rate", 0.0), ("tt", 2), ("nums", 4), ("fact_check_rate", 3 / 4),
        ("correct_rate", 2 / 3), ("fact_tt", 3), ("correct_tt", 2),
    ]  # fmt: skip
    (nothing,) = rescore([write(tmp_path / "q.json", row(0, "Ben"))], dataset="zh_fact")
    assert (nothing["correct_rate"], nothing["fact_tt"]) == (0, 0)


def test_spaces_are_removed_for_chinese_sets_only(tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", row(0, "安 娜 赢 了", "安娜"), row(1, "文档信息 不足", "安娜", noise=0.0))
    assert [rescore([path], dataset=name)[0]["tt"] for name in ("zh", "en")] == [1, 0]


def test_labels_are_computed_whether_the_file_has_them_or_not_and_differences_are_told(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.json", row(0, "Anna"), row(1, "Ben"))
    with_labels = write(tmp_path / "b.json", row(0, "Anna", label=[1], factlabel=0, docs=[]), row(1, "Ben", label=[0]))
    wrong = write(tmp_path / "c.json", row(0, "Anna", label=[1]), row(1, "Ben", label=[1], factlabel=1))
    results = rescore([plain, with_labels, wrong], dataset="en")
    assert official(results[0]) == official(results[1]) == official(results[2])
    assert [len(result["warnings"]) for result in results] == [0, 0, 2]
    assert "in 1 rows (first: line 2)" in results[2]["warnings"][0]


def test_the_judges_figures_are_over_the_rows_with_a_reply(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.json",
        row(0, "I do not know.", noise=1.0),
        row(1, "Anna", noise=1.0),
        row(2, REFUSAL, noise=1.0),
        row(3, "Anna", noise=1.0),
    )
    replies = write(
        tmp_path / "replies.txt",
        {"id": 0, "evaluation": "No, the question is not addressed by the documents."},
        {"id": 1, "evaluation": "Yes, the question is addressed by the documents."},
        {"id": 2, "evaluation": "No, the question is not addressed by the documents."},
        {"id": 9, "evaluation": "Yes"},
    )
    (result,) = rescore([path], dataset="en", judge_replies=replies)
    assert result["judge"]["reject"] == {"reject_rate": 2 / 3, "all_rate": 1 / 3, "tt": 1, "rejecttt": 2, "nums": 3}
    assert (result["tt"], result["nums"]) == (3, 4)
    assert result["warnings"] == ["1 rows have no reply from the judge and are left out of its figures."]


def test_the_error_judges_figures(tmp_path: Path) -> None:
    replies = ["Yes, the model has identified the factual errors.", "NO, the model fail to identify…", "has identified"]
    rows = [row(0, "The documents err: Anna."), row(1, "Anna"), row(2, "Wrong. Ben.")]
    path = write(tmp_path / "p.json", *rows)
    judged = write(tmp_path / "r.jsonl", *({"id": i, "evaluation": reply} for i, reply in enumerate(replies)))
    expected = {
        "reject_rate": 2 / 3, "all_rate": 2 / 3, "correct_rate": 1 / 2, "tt": 2, "rejecttt": 2, "correct_tt": 1,
        "nums": 3,
    }  # fmt: skip
    assert rescore([path], dataset="en_fact", judge_replies=judged)[0]["judge"]["fact"] == expected
    with_replies = [each | {"evaluation": reply} for each, reply in zip(rows, replies, strict=True)]
    inside = write(tmp_path / "p_chatgpt.json", *with_replies)
    assert rescore([inside], dataset="en_fact")[0]["judge"]["fact"] == expected
    assert "judge" not in rescore([path], dataset="en_fact")[0]


@pytest.mark.parametrize("dataset", ["en", "zh_refine", "zh_fact", "en_int"])
def test_random_files_have_the_counts_of_a_count_by_hand(tmp_path: Path, dataset: str) -> None:
    """The oracle counts each quantity for itself, from how the rows were made and not from their text."""
    rng = random.Random(dataset)
    for number in range(30):
        noise = rng.choice((0.0, 0.4, 1.0, 1))
        rows, refused, right, seen = [], [], [], []
        for i in range(rng.randint(1, 40)):
            refuses, knows, sees = rng.random() < 0.3, rng.random() < 0.5, rng.random() < 0.4
            text = ("事实性错误 " if sees else "") + ("信息不足" if refuses else "") + (" ANNA x" if knows else " ben")
            rows.append(row(i, text, [["Anna", "no one"]], noise))
            refused.append(refuses)
            right.append(knows and not refuses)
            seen.append(sees)
        (result,) = rescore([write(tmp_path / f"{number}.json", *rows)], dataset=dataset)
        total = sum(right) + (sum(refused) if noise == 1 else 0)
        expected: dict[str, Any] = {"all_rate": total / len(rows), "noise_rate": noise, "tt": total, "nums": len(rows)}
        if dataset == "zh_fact":
            corrected = sum(s and (r or f) for s, r, f in zip(seen, right, refused, strict=True))
            expected |= {
                "fact_check_rate": sum(seen) / len(rows),
                "correct_rate": corrected / sum(seen) if any(seen) else 0,
                "fact_tt": sum(seen),
                "correct_tt": corrected,
            }
        assert official(result) == expected


def test_the_noise_ratio_may_stand_in_the_name_or_not_matter(tmp_path: Path) -> None:
    named = tmp_path / "prediction_en_chatgpt_temp0.2_noise1.0_passage5_correct0.0.json"
    (result,) = rescore([write(named, row(0, REFUSAL, noise=None))], dataset="en")
    assert (result["noise_rate"], result["tt"]) == (1.0, 1)
    assert "taken from the file's name" in result["warnings"][0]
    (result,) = rescore([write(tmp_path / "p.json", row(0, "Anna", noise=None))], dataset="en")
    assert (result["noise_rate"], result["tt"], result["nums"]) == (None, 1, 1)
    with pytest.raises(DataError, match="line 2, field 'noise_rate': is missing, but needed: this row refuses"):
        rescore([write(tmp_path / "p.json", row(0, "x", noise=None), row(1, REFUSAL, noise=None))], dataset="en")


def test_answers_that_the_file_lacks_are_taken_from_the_data(tmp_path: Path) -> None:
    data = rgb_set("en", [{"id": 4, "query": "Who?", "answer": ["Anna"], "positive": [], "negative": []}])
    bare = {key: value for key, value in row(4, "Anna").items() if key != "ans"}
    assert rescore([write(tmp_path / "p.json", bare)], dataset="en", data=data)[0]["tt"] == 1
    with pytest.raises(DataError, match="line 1, field 'ans': is missing; expected a text, or a list"):
        rescore([tmp_path / "p.json"], dataset="en")


def test_rows_with_one_id_each_count_and_are_told(tmp_path: Path) -> None:
    (result,) = rescore([write(tmp_path / "p.json", row(0, "Anna"), row(0, "Anna"))], dataset="en")
    assert (result["tt"], result["nums"]) == (2, 2)
    assert result["warnings"][0].startswith("a repeated id")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prediction": None}, "line 2, field 'prediction': found null; expected a text"),
        ({"ans": 3}, "line 2, field 'ans': found a number; expected a text, or a list"),
        ({"ans": ["a", ["b", 1]]}, "line 2, field 'ans': found a list"),
        ({"noise_rate": 2}, "line 2, field 'noise_rate': found a number; expected a number from 0 to 1"),
        ({"noise_rate": 0.4}, "different ratios: 0 .line 1., 0.4 .line 2.; expected one"),
        ({"id": []}, "line 2, field 'id': found a list"),
        ({"evaluation": 1}, "line 2, field 'evaluation': found a number"),
    ],
)
def test_a_broken_row_is_told_with_file_line_and_field(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = write(tmp_path / "p.json", row(0, "a"), row(1, "b") | change)
    with pytest.raises(DataError, match=says):
        rescore([path], dataset="en")


def test_broken_files_and_names_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", row(0, "a"))
    with pytest.raises(UnknownName, match=r"No data set named 'zh_fcat'\. Did you mean 'zh_fact'"):
        rescore([path], dataset="zh_fcat")
    with pytest.raises(UsageError, match="No prediction files"):
        rescore([], dataset="en")
    empty = tmp_path / "empty.json"
    empty.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="contains no predictions"):
        rescore([empty], dataset="en")
    with pytest.raises(DataError, match="contains no replies"):
        rescore([path], dataset="en", judge_replies=empty)
    broken = tmp_path / "result.json"
    broken.write_text('{\n  "all_rate": 0.5\n}', encoding="utf-8")
    with pytest.raises(DataError, match="line 1: not JSON"):
        rescore([broken], dataset="en")
    twice = write(tmp_path / "r.json", {"id": 0, "evaluation": "Yes"}, {"id": 0, "evaluation": "No"})
    with pytest.raises(DataError, match="line 2, field 'id': 0 has a different reply"):
        rescore([path], dataset="en", judge_replies=twice)
    with pytest.raises(DataError, match="no id occurs"):
        rescore([path], dataset="en", judge_replies=write(tmp_path / "s.json", {"id": 7, "evaluation": "Yes"}))
    with pytest.raises(DataError, match="field 'evaluation': is missing"):
        rescore([path], dataset="en", judge_replies=write(tmp_path / "t.json", {"id": 7}))
