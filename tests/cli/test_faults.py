"""An endpoint that fails in every way it can: nothing is lost, nothing wrong is scored, the same command goes on."""

import asyncio
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import command, environment
from tests.servers.fake_endpoint import KINDS, Act, FakeEndpoint

from ragstone.runs import open_run

# Every way but "ok", and the answers that are refused for good: those end a run by themselves, so they come alone.
FAULTS = tuple(kind for kind in KINDS if kind not in ("ok", "raw"))
ROUNDS = 5
CASES = 44


def answers(path: Path) -> dict[str, tuple[str, Any]]:
    """Case id → the answer and what it scored, of the cases that were answered."""
    with open_run(path) as run:
        records = [record for record in run.records() if record.response is not None and record.error is None]
    return {
        record.case.id: (record.response.answer, {name: score.value for name, score in record.scores.items()})
        for record in records
        if record.response is not None
    }


async def asked(folder: Path, endpoint: FakeEndpoint, run: str) -> int:
    arguments = (
        "bench", "rgb", "--model", "compat/m", "--base-url", endpoint.base_url, "--limit", "2", "--deadline", "2",
        "--fictional-size", "2", "--no-cache", "--quiet", "--run", run,
    )  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *command(*arguments), cwd=folder, env=environment(folder),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, err = await process.communicate()
    assert b"Traceback" not in err, err
    assert process.returncode is not None
    return process.returncode


@pytest.mark.slow
async def test_a_run_through_every_fault_ends_as_one_without_any(tmp_path: Path) -> None:
    kinds, sound = cycle(FAULTS), asyncio.Event()

    def plan(number: int, _: object) -> Act:
        faulty = number % 2 and not sound.is_set()
        return Act(next(kinds), body={"error": {"message": "no"}}) if faulty else Act()

    kept: dict[str, Any] = {}
    async with FakeEndpoint(plan) as endpoint:
        for _ in range(ROUNDS):
            assert await asked(tmp_path, endpoint, "a.run") in (0, 3)
            now = answers(tmp_path / "a.run")
            assert kept.items() <= now.items(), "an answer that was kept is gone"
            kept = now
        assert set(FAULTS) <= set(endpoint.counts)
        sound.set()
        before = len(endpoint.seen)
        assert await asked(tmp_path, endpoint, "a.run") == 0
        assert len(endpoint.seen) - before == CASES - len(kept)
        assert await asked(tmp_path, endpoint, "sound.run") == 0
    expected = answers(tmp_path / "sound.run")
    assert len(expected) == CASES
    assert kept.items() <= expected.items(), "a fault was taken for an answer"
    assert answers(tmp_path / "a.run") == expected
