"""Checking a file names everything that is wrong with it, by line and field."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.datasets.rgb import read_rgb
from ragstone.datasets.rgb_check import DataProblem, check_rgb
from ragstone.errors import DataError

SHARED = Path(__file__).parents[3] / "shared" / "data" / "rgb"

GOOD: dict[str, Any] = {
    "id": 0,
    "query": "Who won?",
    "answer": ["Anna", ["seven", "7"]],
    "positive": [f"Anna won by {n} points, {i}." for i, n in enumerate(["seven", "7", "seven", "7", "SEVEN"])],
    "negative": [f"Ben lost {i}." for i in range(5)],
}
FACT: dict[str, Any] = GOOD | {
    "answer": "70",
    "fakeanswer": "80",
    "positive": [f"{i}: 70 seats." for i in "abcde"],
    "positive_wrong": [f"{i}: 80 seats." for i in "abcde"],
}


def problems(tmp_path: Path, name: str, *lines: object) -> list[DataProblem]:
    path = tmp_path / name
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines), encoding="utf-8")
    return check_rgb([path])


def brief(found: list[DataProblem]) -> list[tuple[int, str, str]]:
    return [(problem.line, problem.field, problem.severity) for problem in found]


def test_a_good_file_has_no_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, "en.json", GOOD) == []
    assert problems(tmp_path, "en_fact.json", FACT) == []
    groups = [GOOD["positive"][:3], GOOD["positive"][3:]]
    assert problems(tmp_path, "en_int.json", GOOD | {"positive": groups}) == []


def test_every_error_is_named_not_only_the_first(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        "en.json",
        "{",
        GOOD | {"query": 3, "negative": None},
        GOOD,
        "",
        '{"id": NaN}',
        GOOD | {"answer": []},
    )
    assert brief(found) == [
        (1, "", "error"),
        (2, "query", "error"),
        (2, "negative", "error"),
        (3, "id", "error"),
        (5, "", "error"),
        (6, "answer", "error"),
        (6, "id", "error"),
    ]
    assert str(found[1]).startswith(f"error: {tmp_path / 'en.json'}, line 2, field 'query': found a number; expected")


def test_a_file_without_errors_can_be_read_and_one_with_errors_cannot(tmp_path: Path) -> None:
    assert problems(tmp_path, "en.json", GOOD, GOOD | {"id": 1, "positive": []})[0].severity == "warning"
    assert len(read_rgb(tmp_path / "en.json").rows) == 2
    assert problems(tmp_path, "zh.json", GOOD | {"positive": 3})[0].severity == "error"
    with pytest.raises(DataError):
        read_rgb(tmp_path / "zh.json")


@pytest.mark.parametrize(
    ("name", "row", "field", "says"),
    [
        ("en.json", GOOD | {"positive": GOOD["positive"][:4]}, "positive", "has 4, fewer than the 5"),
        ("en.json", GOOD | {"negative": ["x"]}, "negative", "has 1, fewer than the 5 documents that are shown for rej"),
        (
            "en.json",
            GOOD | {"positive": [*GOOD["positive"], "Who?"]},
            "positive",
            "without any alias of the answer: 5.",
        ),
        ("en.json", GOOD | {"negative": [*GOOD["negative"], "anna, 7"]}, "negative", "1 document with the answer: 5."),
        ("en.json", GOOD | {"answer": ["Anna", ["seven", "7", ""]]}, "answer", "an alias is empty"),
        ("en_int.json", GOOD | {"positive": [GOOD["positive"], []]}, "positive", "group 1 has no documents"),
        ("en_int.json", GOOD | {"positive": [GOOD["positive"], ["No."]]}, "positive", "answer: 1:0."),
        ("en_fact.json", FACT | {"fakeanswer": "170"}, "fakeanswer", "'170' contains the true answer"),
        ("en_fact.json", {k: v for k, v in FACT.items() if k != "fakeanswer"}, "fakeanswer", "is missing"),
        ("en_fact.json", FACT | {"positive_wrong": ["80 of 70"] * 5}, "positive_wrong", "that still holds the true"),
        ("en_fact.json", FACT | {"positive_wrong": ["none"] * 5}, "positive_wrong", "without the false answer: 0, 1,"),
    ],
)
def test_what_weakens_a_measurement_is_a_warning(
    tmp_path: Path, name: str, row: dict[str, Any], field: str, says: str
) -> None:
    found = problems(tmp_path, name, row)
    assert {problem.severity for problem in found} == {"warning"}
    assert any(problem.field == field and says in problem.problem for problem in found)


def test_folders_and_what_is_not_there(tmp_path: Path) -> None:
    assert brief(check_rgb([tmp_path / "no.json"])) == [(0, "", "error")]
    assert "holds no RGB file" in check_rgb([tmp_path])[0].problem
    (tmp_path / "en.json").write_text("\n", encoding="utf-8")
    assert "has no rows" in check_rgb([tmp_path])[0].problem


@pytest.mark.skipif(not SHARED.is_dir(), reason="the official RGB files are not beside the repository")
def test_the_official_files_have_no_errors_and_their_known_weaknesses_are_found() -> None:
    found = check_rgb([SHARED])
    assert {problem.severity for problem in found} == {"warning"}
    short = [problem for problem in found if "en_fact" in problem.path and problem.problem.startswith("has ")]
    rows = read_rgb(SHARED / "en_fact.json").rows
    assert len(short) == sum(len(row.positive_wrong) < 5 for row in rows) > 0
