"""`ragstone init` in processes of its own: an empty folder, documents, code, an address; by options and typed."""

import contextlib
import csv
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.test_chinese_output import english
from tests.cli.tools import ROOT, Told, command, environment, one_line, process

from ragstone.datasets.starter import example_questions
from ragstone.engine.project_config import configured_system
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RagTarget
from ragstone.types import Passage

WORKFLOW = ".github/workflows/ragstone.yml"
APP = """
def ask(question):
    return {"answer": "I do not know.", "contexts": ["c"]}
def broken(question):
    raise ValueError("no such tenant")
"""


def files(folder: Path) -> set[str]:
    """Everything in the folder, without the caches of the process."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {name for name in found if not name.startswith("home/")}


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "questions.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(("language", "word"), [("en", "Generated example"), ("zh", "按规则生成的示例")])
def test_an_empty_folder_ends_with_a_report(tmp_path: Path, language: str, word: str) -> None:
    ended = process("init", folder=tmp_path, RAGSTONE_LANGUAGE=language, COLUMNS="80")
    assert ended.code == 0, ended
    first_screen = ended.out.splitlines()[:12]
    # 4 of 8: the 3.5% quantile of beta(4, 5), and mirrored.
    assert any("answers 50% [17, 83] of 8 questions" in line or "8 个问题" in line for line in first_screen)
    assert any("█" in line for line in first_screen)
    steps = [line.strip() for line in ended.out.splitlines() if line.startswith("  ragstone ")]
    assert steps[0].startswith("ragstone diagnose ")
    assert {"ragstone.toml", "questions.csv", WORKFLOW, "diagnosis.html", "docs/01.md"} <= files(tmp_path)
    report = (tmp_path / "diagnosis.html").read_text("utf-8")
    assert '<ol class="fall">' in report
    assert f'lang="{language}' in report
    assert all(word in row["note"] for row in rows(tmp_path))
    assert {row["answerable"] for row in rows(tmp_path)} == {"yes", "no"}
    kept = {path.name for path in tmp_path.glob("*.run")}
    again = process("diagnose", "--json", "--quiet", "--limit", "20", folder=tmp_path)
    assert again.code == 0, again
    assert kept == {path.name for path in tmp_path.glob("*.run")}  # the first run was of the same settings
    scored = process("run", "--json", "--quiet", folder=tmp_path)
    assert scored.document["scores"]["answer_match"]["total"] == len(rows(tmp_path))
    assert [gate["metric"] for gate in scored.document["gates"]] == ["answer_match"]


def test_the_gates_of_init_hold_on_the_handbook(tmp_path: Path) -> None:
    for name in ("app.py", "questions.csv"):
        shutil.copy(ROOT / "examples" / "handbook" / name, tmp_path / name)
    shutil.copytree(ROOT / "examples" / "handbook" / "docs", tmp_path / "docs")
    named = ("--system", "app.py:ask", "--documents", "docs", "--questions", "questions.csv")
    ended = typed(tmp_path, arguments=(*named, "--no-run"))  # asks nothing more
    assert ended.code == 0, ended
    assert tomllib.loads((tmp_path / "ragstone.toml").read_text("utf-8"))["diagnose"] == {"corpus": "docs"}
    scored = process("run", "--json", "--quiet", folder=tmp_path)
    assert scored.code == 0, scored
    assert [(gate["metric"], gate["verdict"]) for gate in scored.document["gates"]] == [("answer_match", "passed")]
    diagnosed = process("diagnose", "--limit", "4", "--quiet", folder=tmp_path)  # with the corpus and the system
    assert diagnosed.code == 0, diagnosed
    assert "█" in diagnosed.out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_questions_are_made_from_the_users_documents(tmp_path: Path, language: str) -> None:
    shutil.copytree(ROOT / "examples" / "handbook" / "docs" / language, tmp_path / "docs")
    ended = process("init", "--documents", "docs", folder=tmp_path)
    assert ended.code == 0, ended
    made = [row for row in rows(tmp_path) if row["reference"]]
    assert len(made) == 6
    for row in made:
        text = (tmp_path / "docs" / row["gold_ids"]).read_text("utf-8")
        gap = next(gap for gap in ("how many", "whom", "多少", "谁", "___") if gap in row["question"])
        quoted = row["question"].partition("“")[2].rstrip("”") if gap == "___" else row["question"]
        before, _, after = quoted.rstrip("?？").partition(gap)
        assert "".join((before + row["reference"] + after).split()) in "".join(text.split())
    scores = process("run", "--json", "--quiet", folder=tmp_path).document["scores"]
    assert scores["answer_match"]["mean"] >= 0.5
    assert scores["recall"]["mean"] > 0.9


SHORT = {
    "en": {
        "faq.txt": """FAQ

Q: How many of the 30 tests pass?
A: The link in the message is valid for 45 minutes.

See https://example.org for all 2000 answers that we wrote.""",
        "bakery.md": """# About the 7 of us at the bakery

Bread made by hand since we were young and in love.

It has been open for 12 years in all. The bakery was founded by Ruth Hale.

Copyright 2024 by the bakery of Marlow.""",
        "library.md": """# Library

- Books may be kept for 28 days at a time.

| Item | 40 days of lending |
|---|---|""",
    },
    "zh": {
        "faq.txt": """常见问题

问：30 项测试中有几项通过？
答：消息中的链接在 45 分钟内有效。

全部 2000 个回答见 https://example.org 网站。""",
        "bakery.md": """# 关于本店的 7 位师傅

它营业已有 12 年之久。本店由陈露创办。

版权所有 2024 面包店，保留 3 项权利。""",
        "library.md": """# 图书馆

- 每本图书一次可借 28 天。

| 类别 | 可借 40 天 |
|---|---|""",
    },
}
ASKED = {
    "en": {"The link in the message is valid for how many minutes?": "45",
           "The bakery was founded by whom?": "Ruth Hale", "Books may be kept for how many days at a time?": "28"},
    "zh": {"消息中的链接在多少分钟内有效？": "45", "本店由谁创办？": "陈露", "每本图书一次可借多少天？": "28"},
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_short_documents_are_asked_for_what_they_state(language: str) -> None:
    """Not for headings, tables, slogans, questions, addresses and copyright lines, nor for what “it” is about."""
    passages = [Passage(name, text) for name, text in SHORT[language].items()]
    found = example_questions(passages, language)
    assert {one.question: one.reference for one in found} == ASKED[language]
    assert {one.document for one in found} == set(SHORT[language])


def test_documents_that_state_nothing_to_ask_for_are_set_up_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# We\n\nBread made by hand since we were young and in love.\n", "utf-8")
    ended = process("init", "--documents", "docs", folder=tmp_path)
    assert ended.code == 0, ended
    assert {row["answerable"] for row in rows(tmp_path)} == {"no"}
    assert process("run", "--quiet", folder=tmp_path).code == 0


def test_a_chinese_reader_of_english_documents_gets_a_chinese_project(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "handbook" / "docs" / "en", tmp_path / "docs")
    ended = process("init", "--documents", "docs", folder=tmp_path, RAGSTONE_LANGUAGE="zh")
    assert ended.code == 0, ended
    assert english(ended.out) == []
    for name in ("ragstone.toml", WORKFLOW):
        comments = [line for line in (tmp_path / name).read_text("utf-8").splitlines() if line.lstrip().startswith("#")]
        assert len(comments) >= 2
        assert all(re.search("[\u4e00-\u9fff]", line) for line in comments), comments
    assert tomllib.loads((tmp_path / "ragstone.toml").read_text("utf-8"))["run"]["language"] == "zh"
    assert 'lang="zh' in (tmp_path / "diagnosis.html").read_text("utf-8")
    assert {row["note"] for row in rows(tmp_path)} == {"按规则生成的示例，请换成用户真正会问的问题。"}
    assert not re.search("[\u4e00-\u9fff]", " ".join(row["question"] for row in rows(tmp_path)))


def test_the_workflow_runs(tmp_path: Path) -> None:
    assert process("init", "--judge", "", "--no-run", folder=tmp_path).code == 0
    assert not (tmp_path / "report.html").exists()
    lines = (tmp_path / WORKFLOW).read_text("utf-8").splitlines()
    steps = [line.partition("run: ")[2] for line in lines if "run: ragstone" in line]
    assert len(steps) == 2
    place = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for step in steps:
        subprocess.run(step, shell=True, cwd=tmp_path, env=environment(tmp_path) | place, check=True, timeout=60)
    assert {"answers.run", "report.html", "junit.xml"} <= files(tmp_path)
    assert "<testsuite" in (tmp_path / "junit.xml").read_text("utf-8")
    kept = [line.strip() for line in lines[lines.index("          path: |") + 1 :]]
    assert kept == ["report.html", "junit.xml", "answers.run"]


def test_an_address_and_a_judge_are_written_with_their_variables(tmp_path: Path) -> None:
    options = ["--body", '{"q": "{question}"}', "--answer", "out", "--contexts", "hits[].t",
               "--header", "Authorization=Bearer $APP_TOKEN"]  # fmt: skip
    ended = process(
        "init", "--system", "http://127.0.0.1:9/ask", "--judge", "openai/gpt-4o-mini", *options, "--no-run",
        folder=tmp_path,
    )  # fmt: skip
    assert ended.code == 0, ended
    assert configured_system("app", tmp_path) == HttpTarget(
        "http://127.0.0.1:9/ask", body='{"q": "{question}"}', answer="out", contexts="hits[].t", name="app",
        headers={"Authorization": "Bearer $APP_TOKEN"},
    )  # fmt: skip
    config = tomllib.loads((tmp_path / "ragstone.toml").read_text("utf-8"))
    assert config["run"]["judge"] == ["openai/gpt-4o-mini"]
    assert "faithfulness" in config["run"]["metrics"]
    workflow = (tmp_path / WORKFLOW).read_text("utf-8")
    assert "OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}" in workflow
    assert "APP_TOKEN: ${{ secrets.APP_TOKEN }}" in workflow
    assert not (tmp_path / "docs").exists()  # it has documents of its own


def test_a_model_answers_from_the_documents(tmp_path: Path) -> None:
    assert process("init", "--system", "openai/gpt-4o-mini", "--no-run", folder=tmp_path).code == 0
    target = configured_system("documents", tmp_path)
    assert target == RagTarget(f"{tmp_path}/docs", model="openai/gpt-4o-mini")


def test_code_is_asked_and_broken_code_keeps_the_files(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    ended = process("init", "--system", "app.py:ask", folder=tmp_path)
    assert ended.code == 0, ended
    assert "Refused rightly" in ended.out
    ended = process("init", "--system", "app.py:broken", "--force", folder=tmp_path)
    assert ended.code == 3
    assert "no such tenant" in ended.out
    assert "ragstone system check app" in ended.out
    assert (tmp_path / "ragstone.toml").is_file()


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "fix the address in ragstone.toml"), ("zh", "请启动系统，或修正 ragstone.toml 中的地址")],
)
def test_where_nobody_answers_the_exit_code_is_that_of_the_other_commands(
    tmp_path: Path, language: str, words: str
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/ask"
        ended = process("init", "--system", address, folder=tmp_path, RAGSTONE_LANGUAGE=language)
        checked = process("system", "check", "app", folder=tmp_path)
    assert (ended.code, checked.code) == (2, 2), ended
    (line,) = [line for line in ended.out.splitlines() if "ragstone diagnose" in line and "  " not in line]
    assert words in line
    assert "`ragstone system check app`" in line
    assert (tmp_path / "ragstone.toml").is_file()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--system", "app.py:aks"], "Did you mean 'ask'?"),
        (["--system", "gpt-4o"], "has no provider"),
        (["--judge", "opnai/x"], "Did you mean 'openai'?"),
        (["--documents", "nowhere"], "no such file or folder"),
        (["--questions", "nowhere.csv"], "nowhere.csv"),
        (["--body", "{}"], "--body is for HTTP addresses"),
        (["--system", "http://u:p4ssword@127.0.0.1:9/x"], "must not contain a password"),
    ],
)
def test_what_cannot_be_leaves_nothing_behind(tmp_path: Path, options: list[str], words: str) -> None:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    ended = process("init", *options, folder=tmp_path)
    assert ended.code == 2, ended
    (line,) = ended.err.splitlines()
    assert words in line
    assert files(tmp_path) == {"app.py"}
    assert not (tmp_path / ".github").exists()


def test_existing_files_are_named_and_kept(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("question,reference\nWhy?,rain\n", "utf-8")
    one_line(process("init", folder=tmp_path), "is already questions.csv.", "--questions questions.csv", "--force")
    chinese = process("init", folder=tmp_path, RAGSTONE_LANGUAGE="zh")
    one_line(chinese, "已有 questions.csv", "--questions questions.csv", "替换已有的文件")
    assert files(tmp_path) == {"questions.csv"}
    given = process("init", "--questions", "questions.csv", "--no-run", folder=tmp_path)  # as the line says
    assert given.code == 0, given
    assert len(rows(tmp_path)) == 1
    one_line(process("init", folder=tmp_path), "ragstone.toml, ", "`ragstone run` takes", "--force")
    for name in {*files(tmp_path)} - {"questions.csv", "ragstone.toml"}:
        (tmp_path / name).unlink()
    one_line(process("init", folder=tmp_path), "is already ragstone.toml.")
    assert (tmp_path / "questions.csv").read_text("utf-8") == "question,reference\nWhy?,rain\n"
    assert process("init", "--force", "--no-run", folder=tmp_path).code == 0
    assert len(rows(tmp_path)) > 4


def test_a_mistyped_judge_is_refused_though_no_metric_asks_it(tmp_path: Path) -> None:
    assert process("init", "--no-run", folder=tmp_path).code == 0
    before = files(tmp_path)
    for arguments in (("run",), ("diagnose",), ("run", "--dry-run")):
        ended = process(*arguments, "--judge", "opnai/gpt", "--quiet", folder=tmp_path)
        one_line(ended, "No model provider named 'opnai'", "Did you mean 'openai'?")
    config = tmp_path / "ragstone.toml"
    config.write_text(config.read_text("utf-8").replace("[run]", '[run]\njudge = "opnai/gpt"'), "utf-8")
    for name in ("run", "diagnose"):
        one_line(process(name, folder=tmp_path), "No model provider named 'opnai'", "Did you mean 'openai'?")
    assert files(tmp_path) == before  # nobody was asked


def test_what_would_fail_later_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    address = ("--system", "http://127.0.0.1:9/ask", "--no-run")
    one_line(process("init", *address, "--body", "{question}", folder=tmp_path), "--body is not JSON")
    one_line(process("init", *address, "--contexts", "a[", folder=tmp_path), "a[")
    assert files(tmp_path) == set()


def interrupt(running: subprocess.Popen[bytes], number: int) -> None:
    """Sends the signal until it is noticed: one that comes just before Python reads the terminal waits for a key."""
    for _ in range(10):
        running.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(2)
            return


def typed(folder: Path, *answers: str | int, arguments: Sequence[str] = (), **more: str) -> Told:
    """Runs `init` on a pseudo-terminal: types the answers one by one, or sends a signal."""
    main, terminal = pty.openpty()
    running = subprocess.Popen(
        command("init", *arguments), cwd=folder, env=environment(folder, **more), stdin=terminal,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    assert running.stderr is not None
    asked = b""
    try:
        for number, answer in enumerate(answers, 1):
            while f"{number}/5".encode() not in asked or not asked.rstrip().endswith((b":", b"\xef\xbc\x9a")):
                piece = os.read(running.stderr.fileno(), 4096)
                assert piece, asked
                asked += piece
            if isinstance(answer, int):
                interrupt(running, answer)
            else:
                os.write(main, answer.encode())
                asked += b"|"
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
        os.close(main)
    return Told(running.returncode, out.decode(), (asked + err).decode())


def test_answers_are_typed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "handbook" / "docs" / "zh", tmp_path / "docs")
    ended = typed(tmp_path, "\n", "docs\n", "\n", "\n", "\n", RAGSTONE_LANGUAGE="zh")
    assert ended.code == 0, ended
    config = tomllib.loads((tmp_path / "ragstone.toml").read_text("utf-8"))
    assert config["systems"]["documents"]["corpus"] == "docs"
    assert config["run"]["language"] == "zh"
    assert "1/5 您的系统" in ended.err
    assert (tmp_path / "diagnosis.html").is_file()


def test_a_typed_answer_that_cannot_be_used_is_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    ended = typed(tmp_path, "app.py:aks\napp.py:ask\n", "nowhere\n\n", "\n", "\n", "opnai/x\n\n")
    assert ended.code == 0, ended
    for words in ("Did you mean 'ask'?", "no such file or folder", "Did you mean 'openai'?"):
        assert words in ended.err
    assert tomllib.loads((tmp_path / "ragstone.toml").read_text("utf-8"))["systems"]["app"]["python"] == "app.py:ask"


@pytest.mark.parametrize(("last", "code"), [("\x04", 2), (signal.SIGINT, 130)])
@pytest.mark.parametrize("before", [0, 3])
def test_leaving_at_a_question_writes_nothing(tmp_path: Path, last: str | int, code: int, before: int) -> None:
    started = time.monotonic()
    ended = typed(tmp_path, *["\n"] * before, last)
    assert ended.code == code, ended
    assert "othing was written" in ended.err
    assert "Traceback" not in ended.err
    assert files(tmp_path) == set()
    assert time.monotonic() - started < 60
