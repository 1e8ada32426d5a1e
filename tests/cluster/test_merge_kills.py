"""A merge that is killed between every two steps: its files stay as they are, its target is whole or not there."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import environment
from tests.runs.doubles import shown

from ragstone import evaluate
from ragstone.cluster.merge import merge

ROOT = Path(__file__).parents[2]


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[list[Path]]:
    rows = [
        {"id": f"q{at}", "question": f"What is {at}?", "answer": f"It is {at}.", "reference": f"{at}",
         "contexts": [f"The number is {at}, says the report of the harbour."]} for at in range(40)
    ]  # fmt: skip
    files = [tmp_path / f"part{number}.run" for number in (1, 2)]
    for number, file in enumerate(files, 1):
        evaluate(rows, ["answer_match", "token_f1"], run=file, shard=f"{number}/2")
    before = [file.read_bytes() for file in files]
    yield files
    assert [file.read_bytes() for file in files] == before


def killed_in_steps(tmp_path: Path, kind: str, parts: list[Path]) -> tuple[Path, list[dict[str, Any]]]:
    """The folder of what was merged, and what came of each kill."""
    folder = tmp_path / "merged"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster.merge_worker", kind, str(folder), *map(str, parts)], cwd=ROOT, check=True,
        env=environment(tmp_path), stdout=subprocess.PIPE, text=True, timeout=240,
    )  # fmt: skip
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert {step["code"] for step in steps[:-1]} == {-signal.SIGKILL}
    assert (steps[-1]["code"], steps[-1]["there"]) == (0, True)
    assert len(steps) > 30
    return folder, steps


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_merge_killed_between_every_two_steps_is_whole_or_not_there(tmp_path: Path, parts: list[Path]) -> None:
    whole = shown(merge(parts, tmp_path / "whole.run").path)
    folder, steps = killed_in_steps(tmp_path, "merge", parts)
    assert [step["there"] for step in steps] == sorted(step["there"] for step in steps)
    assert {step["again"] for step in steps if not step["there"]} == {0}
    for step in steps:
        assert shown(folder / f"{step['step']}.run") == whole, step


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_command_of_a_cluster_killed_in_a_merge_leaves_its_run_and_goes_on(tmp_path: Path, parts: list[Path]) -> None:
    whole = shown(merge(parts, tmp_path / "whole.run").path)
    folder, steps = killed_in_steps(tmp_path, "shards", parts)
    assert {step["again"] for step in steps} == {0}
    for step in steps:
        assert shown(folder / f"{step['step']}.run") == whole, step
    assert sorted(path.suffix for path in folder.iterdir()) == [".run"] * (len(steps) + 1), "nothing is left beside it"
