"""A judge whose replies cannot be used ends the run in one line; the same command goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.test_eval import asked, by_judge, judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import FakeEndpoint

AT_ONCE = 4
MUTE = {"noncommittal": "maybe", "answer_claims": [], "reference_claims": [], "questions": []}


@pytest.mark.parametrize(
    ("language", "words", "cache"),
    [
        ("en", "the last 20 replies could not be used", ("--no-cache",)),
        ("zh", "最近 20 条回复都无法使用", ("--no-cache",)),
        ("en", "(noncommittal is not true or false)", ()),
        ("zh", "（noncommittal 不是 true 或 false）", ()),
    ],
)
async def test_a_run_ends_after_twenty_and_is_resumed(
    tmp_path: Path, language: str, words: str, cache: tuple[str, ...]
) -> None:
    """With a cache, too: it holds the replies that could not be used."""
    many = [row | {"question": f"{row['question']} {n}"} for n in range(20) for row in rows()]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")
    is_mute = True

    def answer(payload: dict[str, Any]) -> Any:
        if is_mute:
            return MUTE
        turns = payload["messages"]
        is_again = "<judged " not in turns[-1]["content"]  # of a reply that came before the run ended
        return judging(payload | {"messages": turns[:-2] if is_again else turns})

    async with FakeEndpoint(answer=answer) as endpoint:
        options = by_judge(endpoint, "--metrics", "faithfulness", *cache, "--run", "a.run")
        command = ("eval", "data.jsonl", *options, "--concurrency", AT_ONCE, "--language", language)
        told = await ran(tmp_path, *command)
        assert told.code == 3
        (line,) = (line for line in told.err.splitlines() if words in line)
        assert '"noncommittal": "may' in line
        assert "answer_claims" in line
        assert asked(endpoint) <= 20 + 2 * AT_ONCE + 2  # those in flight, and two to learn which form it takes
        is_mute, before = False, asked(endpoint)
        resumed = await ran(tmp_path, *command)
        assert resumed.code == 0, resumed.err
        assert len(many) < asked(endpoint) - before <= 2 * len(many)
