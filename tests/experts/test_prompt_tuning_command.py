"""`ragstone prompts tune`: what it costs, and what came of it."""

import json
from pathlib import Path
from typing import Any

from tests.experts.test_prompt_tuning import has_seen_one, judge, labels, plan, rows


def test_the_command_says_what_came_of_it_in_both_languages(tmp_path: Path, ragstone: Any, monkeypatch: Any) -> None:
    data = rows(40)
    monkeypatch.chdir(tmp_path)
    plan(tmp_path, judge(has_seen_one), data)
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels(data))), encoding="utf-8")
    (tmp_path / "judge.jsonl").write_text(json.dumps({"default": '{"elements": [], "reason": "so", "score": 5}'}))
    line = ["prompts", "tune", "labels.jsonl", "--run", "e.run", "--judge", "scripted/judge.jsonl", "--rubric",
            "./polite.toml", "--scale", "1..5"]  # fmt: skip
    told = ragstone(*line, "--dry-run", "--price", "1/2")
    assert told.out.startswith("rubric.polite: at most ")
    assert "20 labelled answers to choose from, 20 to measure on" in told.out
    told = ragstone(*line)
    assert told.out.startswith("English: nothing better was found: the mean distance on 20 other answers went from 0.")
    assert told.out.endswith("The prompts stay as they are.\n")
    assert not (tmp_path / "prompts").exists()
    assert "没有找到更好的提示词" in ragstone(*line, "--language", "zh").out
