"""`ragstone gate`, and the gates of `eval`: which runs pass, whose samples decide, and what is said when."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line
from tests.evaluation.test_evaluate import rows

from ragstone.api import check_gates


def written(path: Path, answer: str = "") -> Path:
    """The questions that have a reference, four times, with their answers or with this one."""
    many = [{**row, "question": f"{row['question']} {at}"} for at in range(4) for row in rows() if row["reference"]]
    told = [{**row, "answer": answer or row["answer"]} for row in many]
    path.write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")
    return path


@pytest.fixture
def two_systems(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    """One run of a good and a bad system."""
    for name, answer in (("good", ""), ("bad", "Something else was said.")):
        data = written(tmp_path / f"{name}.jsonl", answer)
        told = ragstone("eval", data, "--metrics", "token_f1", "--run", f"{name}.run", "--name", name, "--quiet")
        assert told.code == 0, told.err


@pytest.mark.usefixtures("two_systems")
def test_the_verdict_comes_last_and_names_those_who_decided(ragstone: Callable[..., Told]) -> None:
    told = ragstone("eval", "bad.jsonl", "--metrics", "token_f1", "--run", "bad.run", "--name", "bad", "--quiet",
                    "--fail-under", "token_f1=0.9")  # fmt: skip
    assert told.code == 1
    lines = told.out.splitlines()
    assert "gate" not in told.err
    assert lines[-3].startswith("gate failed: token_f1 ≥ 0.9: 0.")
    assert lines[-2].strip().startswith("decided by: ")
    assert " q-" not in lines[-2]
    assert any(row["question"][:25] in lines[-2] for row in rows())
    assert lines[-1].strip() == "read them: ragstone view bad.run"
    assert "token_f1" in told.out  # the tables are there all the same


@pytest.mark.usefixtures("two_systems")
def test_a_passed_gate_is_told_and_nothing_else_is(ragstone: Callable[..., Told]) -> None:
    told = ragstone("gate", "good.run", "--fail-under", "token_f1=0.1")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("gate passed: token_f1 ≥ 0.1")
    one_line(ragstone("gate", "good.run", "--system", "better", "--fail-under", "token_f1=0.1"), "better", "good")


@pytest.mark.usefixtures("two_systems")
def test_a_name_in_the_project_that_no_metric_has_is_an_error_before_anything_is_spent(
    ragstone: Callable[..., Told],
) -> None:
    Path("pyproject.toml").write_text("[tool.ragstone.gates]\nfaithfullness = 0.8\n")
    for run in ("good.run", "new.run"):
        told = ragstone("eval", "good.jsonl", "--metrics", "token_f1", "--run", run, "--quiet")
        one_line(told, "pyproject.toml", "Did you mean 'faithfulness'")
    assert not Path("new.run").exists()


@pytest.mark.usefixtures("two_systems")
def test_gates_are_checked_from_python_too(tmp_path: Path) -> None:
    (result,) = check_gates(tmp_path / "bad.run", {"token_f1": 0.9}, mode="point")
    assert (result.verdict, result.system, result.gate.side) == ("failed", "bad", "under")
    assert result.worst[0][1] <= result.worst[-1][1] < 0.9


def test_the_four_abilities_of_rgb_are_gated_one_by_one(ragstone: Callable[..., Told]) -> None:
    told = ragstone("bench", "rgb", "--model", "local/extractive", "--fictional-size", 2, "--run",
                    "rgb.run", "--quiet")  # fmt: skip
    assert told.code == 0, told.err
    for metric, where, total in (
        ("answer_match", ["ability=noise", "noise_ratio=0.4"], 4), ("answer_match", ["ability=integration"], 12),
        ("refusal", ["ability=rejection"], 4), ("error_detection", ["ability=counterfactual"], 8),
    ):  # fmt: skip
        chosen = [part for one in where for part in ("--where", one)]
        told = ragstone("gate", "rgb.run", "--fail-under", f"{metric}=0", *chosen, "--gate", "point")
        assert (told.code, told.err) == (0, "")
        assert told.out.startswith(f"gate passed: {metric} ({', '.join(where)}) ≥ 0: ")
        assert f" {total} of {total} scored." in told.out
    one_line(ragstone("gate", "rgb.run", "--fail-under", "refusal=0", "--where", "ability=reject"), "rejection")
    one_line(ragstone("gate", "rgb.run", "--where", "ability=noise"), "--fail-under")
    Path("pyproject.toml").write_text(
        '[tool.ragstone.gates]\nrefusal = { min = 0, where = { ability = "rejection" } }\n'
        'answer_match = [{ min = 0, where = { ability = "noise" } },'
        ' { min = 0, where = { ability = "integration" } }]\n'
    )
    told = ragstone("gate", "rgb.run", "--json")
    assert [(one["metric"], one["where"]["ability"], one["total"]) for one in json.loads(told.out)["gates"]] == [
        ("refusal", "rejection", 4), ("answer_match", "noise", 20), ("answer_match", "integration", 12),
    ]  # fmt: skip
