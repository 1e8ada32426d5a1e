"""`bench/judge.py` on a few samples, without the other tools and its times: what is asked, lost and asked again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "judge.py"


@pytest.mark.slow
def test_nothing_is_asked_twice_and_no_more_is_lost_than_must_be() -> None:
    command = [sys.executable, str(SCRIPT), "--no-peers", "--json", "--samples", "48", "--repeat", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    missed = [goal for goal, reached in found["goals"].items() if not reached and "CPU" not in goal]
    assert missed == []
    assert found["costs"]["ragstone"]["requests"] == 3
    assert found["costs"]["ragstone"]["lost"] == 0
    assert found["faults"]["for_ever"]["expected"] > 0
