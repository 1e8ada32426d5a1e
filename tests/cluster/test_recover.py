"""A run file that was cut short after its command had ended: what can be read is kept, only the rest is asked."""

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told

from ragstone.cluster.merge import _named
from ragstone.errors import DataError, UsageError
from ragstone.runs import open_run
from ragstone.runs.entries import CaseResult, ScoreRow
from ragstone.runs.outbox import Outbox
from ragstone.runs.owners import forget, new_owner
from ragstone.runs.schema import LAYOUT, damaged
from ragstone.storage import connect
from ragstone.structs import to_json
from ragstone.types import Response, Score

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


@pytest.fixture
def small(ragstone: Callable[..., Told]) -> tuple[object, ...]:
    """The command of a run of five questions, which is done."""
    rows = ({"id": f"hr-{n}", "question": f"What is number {n}", "reference": str(n)} for n in range(5))
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("app.py").write_text(APP)
    command = ("run", "rows.jsonl", "--system", "app.py:ask", "--metrics", "token_f1,exact_match", "--quiet")
    assert ragstone(*command, "--run", "a.run").code == 0
    return command


def altered(sql: str) -> None:
    with contextlib.closing(sqlite3.connect("a.run")) as file, file:
        assert file.execute(sql).rowcount > 0


_ONE = "WHERE metric = 'token_f1' AND case_id = '000002'"


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        (f"UPDATE scores SET payload = json_set(payload, '$.value', 17) {_ONE}", "scores: 1"),
        (f"UPDATE scores SET payload = json_set(payload, '$.value', -0.5) {_ONE}", "scores: 1"),
        (f"UPDATE scores SET payload = json_set(payload, '$.value', null) {_ONE}", "scores: 1"),
        (f"UPDATE scores SET status = 'maybe' {_ONE}", "scores: 1"),
        (f"UPDATE scores SET status = 'failed' {_ONE}", "scores: 1"),
        (f"UPDATE scores SET status = 'not_applicable' {_ONE}", "scores: 1"),
        (f"UPDATE scores SET payload = CAST(x'ff' AS TEXT) {_ONE}", "scores: 2"),  # of the case
        ("UPDATE meta SET value = '7' WHERE key = 'metrics'", "settings: metrics"),
        ("UPDATE meta SET value = '[1]' WHERE key = 'options'", "settings: options"),
        ("""UPDATE meta SET value = '{"group_by": 7}' WHERE key = 'options'""", "settings: options"),
        ("UPDATE meta SET value = '7' WHERE key = 'warnings'", "settings: warnings"),
        ("UPDATE meta SET value = '7' WHERE key = 'scored_later'", "settings: scored_later"),
        ("UPDATE cells SET condition = '[1]'", ""),  # the cases have it
        ("INSERT INTO systems VALUES ('other', '[1]')", "systems with their answers: other"),
    ],
)  # fmt: skip
def test_one_value_that_cannot_be_is_left_out_and_the_rest_is_saved(
    ragstone: Callable[..., Told], small: tuple[object, ...], sql: str, left: str
) -> None:
    with open_run("a.run") as run:
        before = list(run.records())
    altered(sql)
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.code == 0, saved.err
    assert "b.run has 5 of 5 planned cases." in saved.out
    assert ("Left out of a.run, as it cannot be read: " in saved.out) is bool(left)
    assert left in saved.out
    assert "What could not be read is missing" in saved.out
    assert ragstone("show", "b.run").code == 0
    Path("asked.txt").unlink()
    ended = ragstone(*small, "--run", "b.run")
    assert ended.code == 0, ended.err
    assert not Path("asked.txt").exists()
    with open_run("b.run") as run:
        assert list(run.records()) == before


def test_a_healthy_file_is_not_said_to_miss_anything(ragstone: Callable[..., Told], small: tuple[object, ...]) -> None:
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.out.splitlines()[-1] == "b.run has 5 of 5 planned cases."
    assert "missing" not in saved.out
    chinese = ragstone("merge", "a.run", "-o", "c.run", "--recover", "--language", "zh").out
    assert chinese.splitlines()[-1] == "c.run 中有计划的 5 个用例中的 5 个。"


@pytest.mark.parametrize(
    ("sql", "words", "chinese"),
    [
        ("DELETE FROM records", "nothing can be read, it has no whole answer.", "没有可读取的内容"),
        ("UPDATE systems SET spec = '[1]'", "nothing can be saved, its settings are lost.", "设置已丢失"),
        ("UPDATE meta SET value = '7' WHERE key = 'question'", "nothing can be saved, its settings are lost.", "设置"),
    ],
)  # fmt: skip
def test_where_nothing_is_left_one_line_names_the_users_file(
    ragstone: Callable[..., Told], small: tuple[object, ...], sql: str, words: str, chinese: str
) -> None:
    altered(sql)
    told = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert (told.code, told.err) == (2, f"ragstone: a.run: {words} Restore the file from a copy.\n")
    assert chinese in ragstone("merge", "a.run", "-o", "b.run", "--recover", "--language", "zh").err
    assert [path.name for path in Path().iterdir() if "b.run" in path.name] == []


def test_files_of_other_settings_are_named_as_the_user_named_them(
    ragstone: Callable[..., Told], small: tuple[object, ...]
) -> None:
    Path("rows.jsonl").write_text(json.dumps({"id": "x", "question": "What is it 7", "reference": "7"}))
    assert ragstone(*small, "--run", "e.run").code == 0
    for options in ((), ("--recover",)):
        told = ragstone("merge", "a.run", "e.run", "-o", "x.run", *options)
        assert (told.code, len(told.err.splitlines())) == (2, 1)
        assert ".part" not in told.err
        assert "a.run" in told.err
        assert "e.run" in told.err


@pytest.mark.parametrize("content", [b"question,answer\nwhy,because\n", None])
def test_recovery_is_not_advised_where_it_cannot_help(
    ragstone: Callable[..., Told], small: tuple[object, ...], content: bytes | None
) -> None:
    Path("bad.run").write_bytes(content or Path("a.run").read_bytes()[:100])
    told = ragstone("merge", "bad.run", "-o", "b.run", "--recover")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert told.err.startswith("ragstone: bad.run: ")
    assert "--recover" not in told.err
    shown = ragstone("show", "bad.run").err
    assert ("--recover" in shown) is (content is None)  # its header says that it was a run file


def test_damage_met_while_reading_names_the_command_that_saves_the_rest(
    ragstone: Callable[..., Told], small: tuple[object, ...]
) -> None:
    altered("UPDATE records SET response = CAST(x'ff' AS TEXT) WHERE case_id = '000002'")
    told = ragstone("export", "a.run", "--format", "jsonl")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert "ragstone merge a.run -o NEW.run --recover." in told.err


def test_a_case_that_is_gone_is_said_to_be_missing(ragstone: Callable[..., Told], small: tuple[object, ...]) -> None:
    altered("DELETE FROM cases WHERE case_id = '000002'")
    assert "a.run: the file is damaged: case '000002' is missing. " in ragstone("show", "a.run").err
    assert "用例“000002”缺失" in ragstone("show", "a.run", "--language", "zh").err


def left_beside(path: str, *answers: tuple[str, str, str]) -> Path:
    """An outbox of a killed process beside a run file, with these answers: system, case id and text."""
    owner = new_owner()
    with contextlib.closing(sqlite3.connect(path)) as file:
        (file_id,) = file.execute("SELECT value FROM meta WHERE key = 'file_id'").fetchone()
    box = Outbox(Path(path), owner, file_id)
    rows = [ScoreRow("token_f1", 1, "scored", to_json(Score.of(1.0)), [])]
    for system, case, text in answers:
        left = box.put(CaseResult(system, case, to_json(Response(text)), None, rows)).path
    forget(owner)
    return left


def test_answers_that_a_killed_process_left_beside_a_damaged_file_are_saved_too(
    ragstone: Callable[..., Told], small: tuple[object, ...]
) -> None:
    with open_run("a.run") as run:
        (system,) = run.systems
    for table in ("records", "scores"):
        altered(f"DELETE FROM {table} WHERE case_id IN ('000001', '000003')")
    altered("UPDATE meta SET value = '7' WHERE key = 'warnings'")
    left = left_beside("a.run", (system, "000001", "kept"), (system, "999999", "of no case"), ("lost", "000003", "no"))
    before = left.read_bytes()
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.code == 0, saved.err
    with open_run("b.run") as run:
        answers = {record.case.id: record.response.answer for record in run.records() if record.response}
    assert answers == {"000001": "kept", **{f"00000{n}": f"It is {n - 1}" for n in (2, 4, 5)}}
    assert left.read_bytes() == before  # the damaged file is kept as it was, with what is beside it
    Path("asked.txt").unlink()
    assert ragstone(*small, "--run", "b.run").code == 0
    assert asked() == ["What is number 2"]


def test_a_file_whose_answers_are_all_beside_it_is_saved(
    ragstone: Callable[..., Told], small: tuple[object, ...]
) -> None:
    with open_run("a.run") as run:
        (system,) = run.systems
    for table in ("records", "scores"):
        altered(f"DELETE FROM {table}")
    left_beside("a.run", (system, "000001", "kept"))
    assert ragstone("merge", "a.run", "-o", "b.run", "--recover").code == 0
    with open_run("b.run") as run:
        assert [record.case.id for record in run.records()] == ["000001"]


def test_an_error_about_a_temporary_file_is_one_about_the_users_file(tmp_path: Path) -> None:
    part, source = tmp_path / ".b.run.1.part", tmp_path / "a.run"
    with pytest.raises(DataError) as caught, _named({part: source}):
        raise damaged(part, "a score is gone.")
    assert caught.value.path == str(source)
    assert str(caught.value) == f"{source}: the file is damaged: a score is gone. Restore the file from a copy."
    connect(part, LAYOUT).close()
    with contextlib.closing(sqlite3.connect(part)) as file, file:
        file.execute("DROP TABLE planned")
    with pytest.raises(UsageError) as refused, _named({part: source}):
        connect(part, LAYOUT, write=False)
    assert str(refused.value) == f"{source} has lost its table 'planned'. Restore the file from a copy."


_UNREADABLE = [
    b"[" * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'["SYSTEM","000001","{\\"answer\\":\\"\\ud800\\"}",null,[],""]',
    '["SYSTEM","000001","{\\"answer\\":\\"é\\"}",null,[],""]'.encode(),
    b'["SYSTEM","000001","{\\"answer\\":17}",null,[],""]',
    b'["SYSTEM","000001","{\\"answer\\":\\"a\\"}",null,[["token_f1",1e30,"scored","{}",[]]],""]',
    b'["SYSTEM","000001","{\\"answer\\":\\"a\\"}",null,{"a":5},""]',
    b'["SYSTEM","000001",null,"17",[],""]',
    b'["SYSTEM","000001","reply:a","{",""]',
    b'\xff\xfe["SYSTEM"]',
]


@pytest.mark.parametrize("line", _UNREADABLE)
def test_a_line_beside_the_file_that_cannot_be_read_is_left_out_and_counted(
    ragstone: Callable[..., Told], small: tuple[object, ...], line: bytes
) -> None:
    with open_run("a.run") as run:
        (system,) = run.systems
    for table in ("records", "scores"):
        altered(f"DELETE FROM {table} WHERE case_id IN ('000001', '000003')")
    left = left_beside("a.run", (system, "000003", "kept"))
    head, rest = left.read_bytes().split(b"\n", 1)
    damaged_line = line.replace(b"SYSTEM", system.encode())
    # The last one is cut off: it was never acknowledged.
    left.write_bytes(head + b"\n" + damaged_line + b"\n" + rest + damaged_line + b"\n" + damaged_line)
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.code == 0, saved.err
    assert "Left out of a.run, as it cannot be read: answers that a killed process left: 2." in saved.out
    assert "b.run has 4 of 5 planned cases." in saved.out
    chinese = ragstone("merge", "a.run", "-o", "z.run", "--recover", "--language", "zh").out
    assert "被终止的进程留下的答案 2 条" in chinese
    assert ragstone("merge", "a.run", "-o", "c.run").code == 0
    assert ragstone(*small, "--run", "a.run").code == 0
    for name in ("a.run", "b.run", "c.run"):
        with open_run(name) as run:
            answers = {record.case.id: record.response.answer for record in run.records() if record.response}
        assert answers["000003"] == "kept"
        assert ("000001" in answers) is (name == "a.run")
    assert not left.exists()


def test_an_outbox_whose_first_line_is_nested_too_deeply_is_left_alone(
    ragstone: Callable[..., Told], small: tuple[object, ...]
) -> None:
    left = left_beside("a.run", ("lost", "000001", "kept"))
    left.write_bytes(b"[" * 100_000 + b"\n" + left.read_bytes())
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.code == 0, saved.err
    assert "answers that a killed process left: 2." in saved.out
    assert ragstone(*small, "--run", "a.run").code == 0


def test_a_score_out_of_range_beside_the_file_is_left_out_and_its_answer_kept(
    ragstone: Callable[..., Told], small: tuple[object, ...]
) -> None:
    with open_run("a.run") as run:
        (system,) = run.systems
    for table in ("records", "scores"):
        altered(f"DELETE FROM {table} WHERE case_id IN ('000001', '000003')")
    left = left_beside("a.run", (system, "000001", "kept"), (system, "000003", "kept"))
    left.write_bytes(left.read_bytes().replace(b'\\"value\\":1.0', b'\\"value\\":17.0', 1))
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.code == 0, saved.err
    assert "Left out of a.run, as it cannot be read: scores: 1." in saved.out
    with open_run("b.run") as run:
        found = {record.case.id: record for record in run.records()}
    assert [found[name].response.answer for name in ("000001", "000003")] == ["kept", "kept"]  # type: ignore[union-attr]
    assert [set(found[name].scores) for name in ("000001", "000003")] == [set(), {"token_f1"}]
    Path("asked.txt").unlink()
    assert ragstone(*small, "--run", "b.run").code == 0
    assert not Path("asked.txt").exists()


def test_what_is_no_regular_file_is_no_outbox(ragstone: Callable[..., Told], small: tuple[object, ...]) -> None:
    Path("a.run-outbox-1").mkdir()
    Path("a.run-outbox-2").symlink_to("a.run-outbox-2")
    Path("a.run-outbox-3").symlink_to("rows.jsonl")
    for command in (("merge", "a.run", "-o", "b.run"), ("merge", "a.run", "-o", "c.run", "--recover")):
        told = ragstone(*command)
        assert told.code == 0, told.err
        assert "killed process" not in told.out
    assert ragstone(*small, "--run", "a.run").code == 0
    assert len(list(Path().glob("a.run-outbox-*"))) == 3
