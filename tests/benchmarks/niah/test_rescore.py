"""Others' results are read as they were published, and averaged by cell first."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.benchmarks.niah.rescore import read_results
from ragstone.errors import DataError, UsageError

DATA = Path(__file__).parents[4] / "shared" / "data" / "niah"
official = pytest.mark.skipif(not DATA.is_dir(), reason="the published results are not beside the repository")


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def rescore(paths: list[Path]) -> list[dict[str, Any]]:
    return [results.summary() for results in read_results(paths)]


def cell(length: int = 1000, depth: float = 50.0, score: float = 10, **more: Any) -> dict[str, Any]:
    return {"model": "m", "context_length": length, "depth_percent": depth, "version": 1, "score": score, **more}


@official
def test_the_published_folder_has_an_object_a_version() -> None:
    found = rescore([DATA / "kamradt_format"])
    assert [(one["model"], one["version"], one["n"], len(one["cells"])) for one in found] == [
        ("claude-2.1", 1, 30, 30), ("claude-2.1", 2, 30, 30),
    ]  # fmt: skip
    rows = [json.loads(file.read_text(encoding="utf-8")) for file in (DATA / "kamradt_format").glob("*.json")]
    for one in found:
        scores = [row["score"] for row in rows if row["version"] == one["version"]]
        assert one["mean_of_cells"] == pytest.approx(sum(scores) / len(scores))
        assert one["share_at_10"] == pytest.approx(scores.count(10) / len(scores))


@official
def test_the_published_list_names_no_model() -> None:
    (one,) = rescore([DATA / "openai_format.sample.json"])
    assert (one["model"], one["version"], one["n"]) == (None, None, 15)
    rows = json.loads((DATA / "openai_format.sample.json").read_text(encoding="utf-8"))
    assert one["cells"][0] == {"context_length": rows[0]["token_limit"], "depth_percent": 0, "score": 10, "n": 1}


def test_a_cell_that_was_asked_again_counts_once(tmp_path: Path) -> None:
    write(tmp_path / "a.json", cell(score=10))
    write(tmp_path / "b.json", cell(score=1))
    write(tmp_path / "c.json", cell(score=1))
    write(tmp_path / "d.json", cell(depth=0.0, score=10))
    (one,) = rescore([tmp_path])
    assert one["cells"] == [
        {"context_length": 1000, "depth_percent": 0, "score": 10, "n": 1},
        {"context_length": 1000, "depth_percent": 50, "score": 4, "n": 3},
    ]
    assert (one["mean_of_cells"], one["share_at_10"], one["n"]) == (7.0, 0.5, 4)


def test_models_and_versions_are_apart_and_lists_without_a_model_by_file(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "a.json", [cell(), cell(model="other"), cell(version=2), cell(version=10)]),
        write(tmp_path / "b.json", [{"token_limit": 500, "depth_percent": 0, "score": 3}]),
        write(tmp_path / "c.json", [{"token_limit": 500, "depth_percent": 0, "score": 5}]),
    ]
    found = [(one["model"], one["version"], one["mean_of_cells"]) for one in rescore(paths)]
    assert found == [(None, None, 3), (None, None, 5), ("m", 1, 10), ("m", 2, 10), ("m", 10, 10), ("other", 1, 10)]


def test_answers_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", cell(model_response="Eat.", needle="\n Eat a sandwich. \n"))
    (results,) = read_results([path])
    assert (results.rows[0].answer, results.rows[0].needle) == ("Eat.", "Eat a sandwich.")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (cell(depth=101.0), "depth_percent.*expected 0 to 100"),
        (cell(length=0), "not a number of tokens"),
        (cell(score=float("nan")), "not a number"),
        ({"score": 1, "depth_percent": 0}, "context_length or token_limit"),
        (cell(score=None), "None is not a number"),  # type: ignore[arg-type]
        ([1], "expected an object"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, row: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        rescore([write(tmp_path / "a.json", row)])


def test_a_file_that_is_no_json_and_a_folder_without_any_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.json.*not JSON"):
        rescore([tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no JSON file"):
        rescore([tmp_path / "empty"])
    with pytest.raises(UsageError, match="no such file"):
        rescore([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="no result"):
        rescore([write(tmp_path / "list.json", [])])
