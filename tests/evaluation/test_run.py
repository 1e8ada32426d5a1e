"""`ragstone run` in processes of its own: the user's code, an address, documents; what is printed and the exit code."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import command, environment, json_server, one_line, process
from tests.waiting import until

from ragstone.runs import open_run

APP = """
import os
print("noise " * 1000)
def ask(question):
    print("asked", question)
    if question == "crash": os._exit(7)
    return {"answer": "It is Paris." if "capital" in question else "它是巴黎。", "contexts": ["c"]}
def broken(question):
    raise ValueError("no such tenant")
"""
QUESTIONS = "id,question,reference\na,What is the capital of France?,Paris\nb,法国的首都是哪里？,巴黎\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    (tmp_path / "q.csv").write_text(QUESTIONS, "utf-8")
    return tmp_path


def test_code_is_asked_and_its_output_disturbs_nothing(folder: Path) -> None:
    ended = process("run", "q.csv", "--system", "app.py:ask", "--json", "--quiet", "--report", "r.html", folder=folder)
    assert ended.code == 0, ended
    assert ended.document["scores"]["answer_match"]["mean"] == 1.0
    assert ended.document["done"] == 2
    assert "noise" not in ended.err
    assert "answer_match" in (folder / "r.html").read_text("utf-8")
    again = process("run", "q.csv", "--system", "app.py:ask", "--json", "--quiet", folder=folder)
    assert again.document["asked"] == 0


def test_a_run_that_asks_nothing_says_so(folder: Path) -> None:
    arguments = ("run", "q.csv", "--system", "app.py:ask", "--run", "a.run", "--quiet")
    first, second = (process(*arguments, folder=folder) for _ in range(2))
    assert (first.code, second.code) == (0, 0)
    assert "Nothing was asked" not in first.err
    assert "Nothing was asked: a.run has all answers already." in second.err
    process(*arguments, "--language", "zh", folder=folder)
    assert "a.run 中已有全部答案" in process(*arguments, folder=folder).err  # in the language of the run


def test_columns_of_recorded_contexts_that_are_not_used_cause_no_notes(folder: Path) -> None:
    (folder / "q.csv").write_text("question,reference,answer,contexts\nThe capital?,Paris,Paris,One text.\n", "utf-8")
    told = process("run", "q.csv", "--system", "app.py:ask", "--quiet", "--json", folder=folder)
    assert [note for note in told.document["warnings"] if "--sep" in note] == []
    told = process("eval", "q.csv", "--quiet", "--json", folder=folder)
    assert len([note for note in told.document["warnings"] if "--sep" in note]) == 1


def test_failures_are_named_and_exit_3(folder: Path) -> None:
    (folder / "q.csv").write_text(QUESTIONS + "c,crash,x\n", "utf-8")
    ended = process("run", "q.csv", "--system", "app.py:ask", "--quiet", folder=folder)
    assert ended.code == 3
    assert "process ended: The system's process ended (exit code 7" in ended.err
    assert "2/3" in ended.out
    ended = process("run", "q.csv", "--system", "app.py:broken", "--quiet", folder=folder)
    assert ended.code == 3
    assert "raised an exception: ValueError: no such tenant (app.py, line 9, in broken)" in ended.err


def test_documents_answer_without_a_key(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("Shipping to Norway costs 12 euros.", "utf-8")
    (folder / "q.csv").write_text("question,reference\nWhat does shipping to Norway cost?,12 euros\n", "utf-8")
    ended = process("run", "q.csv", "--corpus", "docs", "--json", "--quiet", folder=folder)
    assert ended.code == 0, ended
    assert ended.document["scores"]["answer_match"]["mean"] == 1.0


@pytest.fixture
def server() -> Iterator[str]:
    def reply(body: Any, token: str | None) -> Any:
        return {"out": "It is Paris. 它是巴黎。" if token == "t0ken-value-123" else body["q"], "hits": [{"t": "c"}]}

    with json_server(reply) as address:
        yield address


def test_an_address_is_asked_with_headers_and_paths(folder: Path, server: str) -> None:
    options = [
        "--body",
        '{"q": "{question}"}',
        "--answer",
        "out",
        "--contexts",
        "hits[].t",
        "--header",
        "X-Token=$APP_TOKEN",
    ]
    ended = process(
        "run", "q.csv", "--system", server, *options, "--json", "--quiet", "--run", "h.run", folder=folder,
        APP_TOKEN="t0ken-value-123",
    )  # fmt: skip
    assert ended.code == 0, ended
    assert ended.document["scores"]["answer_match"]["mean"] == 1.0
    assert b"t0ken" not in (folder / "h.run").read_bytes()


def test_the_same_address_by_a_name_of_the_configuration(folder: Path, server: str) -> None:
    config = f'[systems.prod]\nurl = "{server}"\nbody = \'{{"q": "{{question}}"}}\'\nanswer = "out"\n'
    (folder / "ragstone.toml").write_text(config, "utf-8")
    ended = process("run", "q.csv", "--system", "prod", "--json", "--quiet", "--run", "p.run", folder=folder)
    assert ended.code == 0, ended
    shown = process("show", "p.run", "--json", folder=folder)
    assert '"prod"' in shown.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Name a system to ask"),
        (["--system", "app.py:aks"], "Did you mean 'ask'?"),
        (["--system", "app.py:ask", "--body", "{}"], "--body is for HTTP addresses"),
        (["--system", "app.py:ask", "--header", "X=1"], "--header is for HTTP addresses"),
        (["--system", "app.py:ask", "--model", "openai/x"], "--model is for rag"),
        (["--system", "app.py:ask", "--corpus", "."], "--corpus is for rag"),
        (["--system", "rag(k=2)"], "name a folder or file with --corpus"),
        (["--corpus", "nowhere"], "no such file or folder"),
        (["--corpus", ".", "--system", "rag(model=a/b)", "--model", "c/d"], "Name the model once"),
        (["--system", "http://127.0.0.1:9/x", "--body", "{"], "--body is not JSON"),
        (["--system", "http://127.0.0.1:9/x", "--answer", "a["], "not a JMESPath expression"),
        (["--system", "http://u:p4ssword@127.0.0.1:9/x"], "must not contain a password"),
        (["--system", "app.py:ask", "--metrics", "answer_relevancy"], "--judge"),
    ],
)
def test_wrong_options_are_one_line(folder: Path, options: list[str], words: str) -> None:
    ended = process("run", "q.csv", *options, "--quiet", folder=folder)
    assert "p4ssword" not in one_line(ended, words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "q.csv"),
        ("question,reference\n", "q.csv"),
        ("name,price\na,1\n", "question"),
        ("question\n  \n", "has no rows"),
    ],
)
def test_questions_that_are_none_are_one_line(folder: Path, content: str, words: str) -> None:
    (folder / "q.csv").write_text(content, "utf-8")
    one_line(
        process("run", "q.csv", "--system", "app.py:ask", "--metrics", "answer_match", "--quiet", folder=folder), words
    )


def test_a_run_of_questions_is_read_by_every_command(folder: Path) -> None:
    assert process("run", "q.csv", "--system", "app.py:ask", "--quiet", "--run", "a.run", folder=folder).code == 0
    for arguments in (
        ["show", "a.run"], ["report", "a.run", "-o", "a.html"], ["export", "a.run", "--format", "csv", "-o", "a.csv"],
        ["gate", "a.run", "--min", "answer_match=0.9", "--gate-by", "mean"], ["compare", "a.run", "a.run"],
    ):  # fmt: skip
        ended = process(*arguments, folder=folder)
        assert ended.code in (0, 2), (arguments, ended)
        assert "bug" not in ended.err, (arguments, ended)


def test_nothing_of_asyncio_leaks(folder: Path) -> None:
    ended = process("run", "q.csv", "--system", "app.py:ask", "--quiet", folder=folder, PYTHONASYNCIODEBUG="1")
    assert ended.code == 0
    assert "was never awaited" not in ended.err
    assert "Event loop is closed" not in ended.err


CONFIG = """
[systems.mine]
python = "app.py:ask"
[systems.docs]
corpus = "docs"
[run]
questions = "q.csv"
system = "mine"
metrics = ["answer_match", "token_f1"]
group-by = ["topic"]
limit = 1
fail-under = { token_f1 = 0.99 }
gate = "point"
min-coverage = 0
"""


def with_topic(folder: Path) -> None:
    lines = QUESTIONS.splitlines()
    rows = [f"{lines[0]},topic", *(f"{line},geo" for line in lines[1:])]
    (folder / "q.csv").write_text("\n".join(rows), "utf-8")


def test_the_configuration_has_defaults_which_options_override(folder: Path) -> None:
    with_topic(folder)
    (folder / "ragstone.toml").write_text(CONFIG, "utf-8")
    ended = process("run", "--json", "--quiet", folder=folder)
    assert ended.code == 1, ended  # the gate of the configuration
    assert set(ended.document["scores"]) == {"answer_match", "token_f1"}
    assert ended.document["asked"] == 1
    assert any(table["id"].startswith("eval-groups") for table in ended.document["tables"])
    options = ["--limit", "2", "--metrics", "answer_match", "--fail-under", "answer_match=0.1"]
    ended = process("run", *options, "--json", "--quiet", folder=folder)
    assert ended.code == 0, ended
    assert ended.document["done"] == 2


def test_the_configuration_is_found_from_a_folder_below(folder: Path) -> None:
    with_topic(folder)
    (folder / "ragstone.toml").write_text(CONFIG.replace("0.99", "0"), "utf-8")
    (folder / ".git").mkdir()
    (folder / "notebooks").mkdir()
    trusted = {"RAGSTONE_TRUST": "../ragstone.toml"}
    ended = process("run", "--json", "--quiet", folder=folder / "notebooks", **trusted)
    assert ended.code == 0, ended
    assert ended.document["asked"] == 1


def test_another_system_replaces_the_configured_one_with_its_options(folder: Path) -> None:
    with_topic(folder)
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("Paris is the capital of France.", "utf-8")
    config = CONFIG.replace('system = "mine"', 'system = "docs"\nmodel = "local/extractive"')
    (folder / "ragstone.toml").write_text(config.replace("0.99", "0"), "utf-8")
    assert process("run", "--quiet", folder=folder).code == 0
    ended = process("run", "--system", "app.py:ask", "--quiet", folder=folder)
    assert ended.code == 0, ended


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("limitt = 3", ("ragstone.toml", "Did you mean 'limit'?")),
        ('limit = "x"', ("ragstone.toml", "run.limit", "expected an integer")),
        ("limit = 0", ("ragstone.toml", "run.limit")),
        ('fail-under = { token_f1 = "x" }', ("ragstone.toml", "run.fail-under", "expected METRIC=NUMBER")),
    ],
)
def test_what_the_configuration_cannot_mean_is_one_line(folder: Path, line: str, words: tuple[str, ...]) -> None:
    config = '[run]\nquestions = "q.csv"\nsystem = "app.py:ask"\n'
    (folder / "ragstone.toml").write_text(config + line, "utf-8")
    one_line(process("run", "--quiet", folder=folder), *words)


def test_without_questions_init_is_named(folder: Path) -> None:
    one_line(process("run", "--system", "app.py:ask", folder=folder), "ragstone init")


def test_a_dry_run_says_what_the_run_then_takes(folder: Path) -> None:
    (folder / "docs").mkdir()
    for number in range(8):
        (folder / "docs" / f"{number}.md").write_text(f"Paris is city {number} of France. " * 20, "utf-8")
    (folder / "model.jsonl").write_text('{"default": "It is Paris."}\n', "utf-8")
    system = "rag(retriever=rerank(bm25,scripted/model.jsonl), model=scripted/model.jsonl, k=3)"
    asking = ["run", "q.csv", "--corpus", "docs", "--system", system, "--metrics", "answer_match", "--price", "1/2"]
    dry = process(*asking, "--dry-run", "--json", folder=folder)
    assert dry.code == 0, dry
    assert not list(folder.glob("*.run"))
    expected = dry.document
    assert (expected["questions"], expected["asked"], expected["model_requests"]) == (2, 2, 2)
    assert expected["retrievers"][0]["requests"] == 2
    prompts_of_all = expected["prompt_tokens"] + expected["retrievers"][0]["tokens"]  # the reranker is a chat model
    assert expected["cost"] == pytest.approx((prompts_of_all + 2 * expected["completion_tokens"]) / 1e6)
    said = process(*asking, "--dry-run", folder=folder).out
    assert "requests to scripted/model.jsonl" in said
    assert "not in the cost" not in said
    embedding = process(*asking[:5], "rag(retriever=dense(openai/x), model=scripted/model.jsonl)", *asking[6:],
                        "--dry-run", folder=folder)  # fmt: skip
    assert "tokens for openai/x to embed; not in the cost" in embedding.out
    ended = process(*asking, "--run", "a.run", "--quiet", "--json", folder=folder)
    assert ended.code == 0, ended
    (table,) = [table for table in ended.document["tables"] if table["id"] == "eval-cost"]
    (row,) = table["rows"]
    label, requests, prompts, answers, money = [cell["text"] for cell in row["cells"][:5]]
    assert (label, requests) == ("the system's models", "4")  # the answers, and the reranker's
    prompt_tokens, answer_tokens = int(prompts.replace(",", "")), int(answers.replace(",", ""))
    assert prompt_tokens > expected["prompt_tokens"] > 300
    assert float(money) == pytest.approx((prompt_tokens + 2 * answer_tokens) / 1e6, abs=1e-4)
    again = process(*asking, "--run", "a.run", "--dry-run", folder=folder)
    assert again.out.startswith("2 cases (2 answered already): 0 questions to the system\n")


def test_a_dry_run_prices_the_judge_apart(folder: Path) -> None:
    asking = ["run", "q.csv", "--system", "app.py:ask", "--judge", "openai/gpt-4o-mini", "--metrics", "faithfulness"]
    dry = process(*asking, "--price", "1/2", "--judge-price", "10/20", "--dry-run", "--json", folder=folder).document
    assert dry["model_requests"] is None  # code of the user's own
    assert dry["judge_requests"] == 4
    tokens = dry["judge_prompt_tokens"], dry["judge_completion_tokens"]
    assert dry["judge_cost"] == dry["cost"] == pytest.approx((10 * tokens[0] + 20 * tokens[1]) / 1e6)
    said = process(*asking, "--dry-run", folder=folder, RAGSTONE_LANGUAGE="zh")
    assert "系统自身的开销无法由 ragstone 估算" in said.out


def documents(folder: Path) -> None:
    """Five documents of several chunks each, of which one answers each question."""
    (folder / "docs").mkdir()
    for city in ("Paris", "Rome", "Oslo", "Bern", "Kyiv"):
        text = "\n\n".join(f"{city} has the tower number {n}, which is built of stone. " * 12 for n in range(5))
        (folder / "docs" / f"{city}.md").write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("column", "cells", "options"),
    [
        ("gold_ids", ("Paris.md", "Oslo.md"), []),
        ("gold_documents", ("Paris.md", "Oslo.md"), []),
        ("document_ids", ("Paris.md", "Oslo.md"), []),
        ("relevant_ids", ("Paris.md; Rome.md", '"[""Oslo.md""]"'), []),
        ("document", ("Paris.md", "Oslo.md"), []),
        ("where", ("Paris.md", "Oslo.md"), ["--map", "reference_context_ids=where"]),
    ],
)
def test_gold_documents_make_rank_metrics_of_a_system_that_retrieves(
    folder: Path, column: str, cells: tuple[str, str], options: list[str]
) -> None:
    documents(folder)
    asked = f"id,question,{column}\na,Which towers has Paris?,{cells[0]}\nb,Which towers has Oslo?,{cells[1]}\n"
    (folder / "q.csv").write_text(asked, "utf-8")
    ended = process(
        "run", "q.csv", "--corpus", "docs", *options, "--metrics", "mrr,recall@5", "--json", "--quiet", folder=folder
    )
    assert ended.code == 0, ended
    scores = ended.document["scores"]
    assert scores["mrr"]["mean"] == 1.0
    assert scores["recall@5"]["mean"] == (0.75 if column == "relevant_ids" else 1.0)
    assert ended.document["warnings"] == []  # such as "contexts but no answer"


def test_gold_ids_that_no_document_has_are_named(folder: Path) -> None:
    documents(folder)
    asked = "id,question,gold_ids\na,Which towers has Paris?,Paris.md\nb,Which towers has Oslo?,Olso.md\n"
    (folder / "q.csv").write_text(asked, "utf-8")
    ended = process("run", "q.csv", "--corpus", "docs", "--metrics", "hit", "--json", "--quiet", folder=folder)
    assert ended.document["warnings"] == [
        (
            "1 id(s) of right passages belong to no document of docs: Olso.md (line 3). "
            "Their questions score 0 for what is missing."
        )
    ]
    assert ended.document["scores"]["hit"]["mean"] == 0.5


def test_chunk_ids_of_the_users_own_system_count_as_their_documents(folder: Path) -> None:
    (folder / "app.py").write_text(
        """def ask(question):
    ids = ["other.md#1", "other.md#2", "fr/paris.md:2", "fr/paris.md:7", "de/manual.pdf#page=3#4"]
    return {"answer": "x", "contexts": [{"id": name, "text": name} for name in ids]}
""",
        "utf-8",
    )
    (folder / "q.csv").write_text("question,gold_ids\nWhich?,fr/paris.md|de/manual.pdf\n", "utf-8")
    ended = process(
        "run", "q.csv", "--system", "app.py:ask", "--metrics", "mrr,recall,precision@2", "--json", "--quiet",
        folder=folder,
    )  # fmt: skip
    means = {name: score["mean"] for name, score in ended.document["scores"].items()}
    assert means == {"mrr": 0.5, "recall": 1.0, "precision@2": 0.5}


SLOW = """
import pathlib, threading
def ask(question):
    pathlib.Path("asked").touch()
    threading.Event().wait(1.5)
    return "x"
"""


@pytest.mark.parametrize(
    ("signals", "code", "language", "stopping", "rest"),
    [
        (1, 3, "en", "Stopping: finishing what is in flight.", "cases remain. Run the same command again to resume."),
        (2, 130, "zh", "正在停止：等待已发出的请求完成。", "再次运行同一命令即可继续。"),
    ],
)  # fmt: skip
def test_ctrl_c_finishes_what_is_in_flight_and_a_second_one_leaves(
    folder: Path, signals: int, code: int, language: str, stopping: str, rest: str
) -> None:
    (folder / "app.py").write_text(SLOW, "utf-8")
    (folder / "q.csv").write_text("question,reference\n" + "".join(f"q{n}?,x\n" for n in range(40)), "utf-8")
    running = subprocess.Popen(
        command("run", "q.csv", "--system", "app.py:ask", "--concurrency", "2", "--run", "a.run"),
        cwd=folder, env=environment(folder, RAGSTONE_LANGUAGE=language), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stderr is not None
    try:
        asyncio.run(until((folder / "asked").exists))
        running.send_signal(signal.SIGINT)
        first = running.stderr.readline()
        if signals == 2:
            running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert first.startswith(stopping)
    assert running.returncode == code
    assert (rest in err) == (signals == 1)
    with open_run(folder / "a.run") as run:
        (count,) = run.counts().values()
        assert (count.answered > 0) == (signals == 1)
