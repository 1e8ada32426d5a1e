"""`--judge FILE.py:name` whose code raises: each case fails, and the user's own line is named."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.tools import Told, one_line
from tests.models.test_own import CODE


def test_a_judge_that_raises_fails_each_case_and_is_named(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    rows = [{"id": str(n), "question": "Who?", "answer": f"It is {n}.", "contexts": ["It is me."]} for n in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "own_judge.py").write_text(CODE)
    command = ("eval", "a.jsonl", "--metrics", "faithfulness", "--quiet")
    told = ragstone(*command, "--judge", "own_judge.py:judge", "--run", "a.run")
    assert told.code == 3
    assert "3 scores failed" in told.err
    assert "mine raised KeyError: 'no such\\nverdict' (own_judge.py, line 7, in generate)" in told.err
    assert "bug" not in told.err
    one_line(ragstone(*command, "--judge", "own_judge.py:make", "--run", "b.run"), "own_judge.py, line 32")
    assert not (tmp_path / "b.run").exists()
