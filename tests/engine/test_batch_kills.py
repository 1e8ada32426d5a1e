"""A command with `--batch` is killed between every two steps: nothing is submitted twice, and nothing is lost."""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.tools import environment
from tests.engine.test_batches import judged, options, shown
from tests.evaluation.test_eval import judging
from tests.servers.batch_endpoint import BatchEndpoint


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("provider", "parts"), [("openai", 1), ("anthropic", 1), ("openai", 2)])
async def test_kills_between_every_two_steps(
    provider: str, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one command, and of two with half of the samples each, whose files are merged."""
    key = f"{provider.upper()}_API_KEY"
    monkeypatch.setenv(key, "sk-of-the-test")
    async with BatchEndpoint(judging) as endpoint:
        calling = options(tmp_path / "online", endpoint, batch=None)
        await judged(tmp_path / "online", endpoint, f"{provider}/m-1-", model_options=calling)
        expected = str(list(shown(tmp_path / "online" / "e.run")))
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.engine.batch_worker", str(tmp_path), endpoint.base_url, provider, str(parts),
            cwd=Path(__file__).parents[2], env=environment(tmp_path, **{key: "sk-of-the-test"}),
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await worker.communicate()
        lines = [json.loads(line) for line in out.decode().splitlines()]
        ends = [line for line in lines if "code" in line]
        after = Counter(line["after"] for line in lines if "after" in line)
        assert worker.returncode == 0
        assert {line["code"] for line in ends} == {0}
        assert len(after) >= 8 // parts, after
        for line in ends:
            step = line["step"]
            found = str(list(shown(tmp_path / str(step) / "e.run"))).replace(f"m-{step}-", "m-1-")
            assert found == expected, (step, [item for item in lines if item["step"] == step])
        asked = Counter(item["custom_id"] for item in endpoint.lines)
        assert max(asked.values()) == 1
        files = [body["input_file_id"] for body in (batch.body for batch in endpoint.batches.values())]
        assert len(set(files)) == len(files)
        assert not [path for path in (tmp_path / "1" / "batches").iterdir() if path.suffix in (".jsonl", ".results")]
