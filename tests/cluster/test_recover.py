"""A run file that was cut short after its command had ended: what can be read is kept, only the rest is asked."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told

from ragstone.runs import open_run

ROWS = 400
APP = """
import random
def ask(question):
    with open("asked.txt", "a") as file:
        file.write(question + "\\n")
    passage = "A long passage: " + random.Random(question).randbytes(800).hex()
    return {"answer": "It is " + question.split()[-1], "contexts": [passage]}
"""


def asked() -> list[str]:
    return Path("asked.txt").read_text().splitlines()


@pytest.fixture
def complete(tmp_path: Path, ragstone: Callable[..., Told]) -> tuple[object, ...]:
    """The command of a run of 400 questions, which is done."""
    rows = ({"id": f"hr-{n}", "question": f"What is number {n}", "reference": str(n)} for n in range(ROWS))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "app.py").write_text(APP)
    command = ("run", "rows.jsonl", "--system", "app.py:ask", "--metrics", "token_f1", "--quiet")
    assert ragstone(*command, "--run", "a.run").code == 0
    assert len(asked()) == ROWS
    return command


@pytest.mark.parametrize("share", [0.9, 0.6])
def test_what_a_cut_file_has_is_kept_and_only_the_rest_is_asked(
    ragstone: Callable[..., Told], complete: tuple[object, ...], share: float
) -> None:
    whole = Path("a.run").read_bytes()
    Path("a.run").write_bytes(whole[: int(len(whole) * share)])
    refused = ragstone(*complete, "--run", "a.run")
    assert (refused.code, len(refused.err.splitlines())) == (2, 1), refused.err
    assert "save what can be read: ragstone merge a.run -o NEW.run --recover." in refused.err
    assert len(asked()) == ROWS
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.code == 0, saved.err
    assert "with --run b.run, which asks only for that." in saved.out
    with open_run("b.run") as run:
        records = list(run.records())
        kept = {record.case.query.question for record in records}
    assert ROWS * (share - 0.5) < len(kept) < ROWS
    assert all(record.response is not None and len(record.response.passages[0].text) > 400 for record in records)
    Path("asked.txt").unlink()
    ended = ragstone(*complete, "--run", "b.run")
    assert ended.code == 0, ended.err
    assert sorted([*asked(), *kept]) == sorted(f"What is number {n}" for n in range(ROWS))  # none twice
    with open_run("b.run") as run:
        assert all(record.scores["token_f1"].value for record in run.records())
    assert sorted(path.name for path in Path().glob("*.part")) + sorted(p.name for p in Path().glob(".b*")) == []


def test_nothing_is_left_where_nothing_can_be_saved(
    ragstone: Callable[..., Told], complete: tuple[object, ...]
) -> None:
    Path("a.run").write_bytes(Path("a.run").read_bytes()[:4096])
    told = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert (told.code, len(told.err.splitlines())) == (2, 1), told.err
    assert "a.run" in told.err
    assert [path.name for path in Path().iterdir() if "b.run" in path.name] == []


def test_a_whole_file_is_recovered_as_it_is(ragstone: Callable[..., Told], complete: tuple[object, ...]) -> None:
    assert ragstone("merge", "a.run", "-o", "b.run", "--recover").code == 0
    exports = [ragstone("export", name, "--format", "jsonl").out for name in ("a.run", "b.run")]
    assert exports[0].replace("a.run", "b.run") == exports[1]
