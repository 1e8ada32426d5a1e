"""The fake endpoint as a process of its own, as other tests and benchmarks use it."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

from ragstone.models import ModelOptions, open_model
from ragstone.types import Request, Turn


@pytest.fixture
def base_url() -> Iterator[str]:
    plan = json.dumps([{"kind": "rate_limit", "retry_after": "0"}, {"kind": "reset"}])
    command = [sys.executable, "-m", "tests.servers.fake_endpoint", "--plan", plan, "--fault-every", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["base_url"]
        process.kill()


def counts_of(base_url: str) -> dict[str, int]:
    with urllib.request.urlopen(base_url.replace("/v1", "/stats")) as reply:
        counts: dict[str, int] = json.load(reply)["counts"]
    return counts


async def test_it_misbehaves_as_told_and_counts_what_it_was_asked(base_url: str) -> None:
    async with open_model("compat/m", ModelOptions(base_url=base_url)) as model:
        answers = [(await model.generate(Request(messages=(Turn("user", str(n % 2)),)))).text for n in range(5)]
    assert answers == [answers[0], answers[1]] * 2 + [answers[0]]
    assert answers[0] != answers[1]
    assert counts_of(base_url) == {"asked": 7, "ok": 5, "rate_limit": 1, "reset": 1}
