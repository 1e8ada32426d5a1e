"""`ragstone system check`, and `--system` of the benchmarks: what a system takes decides before anything is asked."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, json_server, one_line, process

from ragstone.runs import open_run

APP = """
def ask(question, history=()):
    print("asked", question)
    return {"answer": "Answer to " + question, "contexts": [{"id": "a.md", "text": "A."}], "usage": {"input_tokens": 7}}
def read(question, passages):
    return {"answer": passages[0] if passages else "none", "contexts": passages}
def search(question, k):
    return [{"id": f"{n}.md", "text": f"{question} {n}"} for n in range(k)]
def broken(question):
    raise ValueError("no such tenant")
def stream(question):
    yield "It is "
    yield "blue."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    (tmp_path / "q.csv").write_text("question\nWhy?\n为什么？\nNever asked\n", "utf-8")
    return tmp_path


def test_what_was_understood_is_shown(folder: Path) -> None:
    ended = process("system", "check", "app.py:ask", folder=folder)
    assert ended.code == 0, ended
    lines = ended.out.splitlines()
    assert lines[0] == "app.py:ask (python)"
    assert lines[1].startswith("Takes: a question, the history of a conversation. Does not take: given passages")
    assert "1. What can you help me with?" in lines
    assert "   Answer:   Answer to What can you help me with?" in lines
    assert "   Answer:   Answer to 你能帮我解决什么问题？" in lines
    assert lines.count("   Passages: 1 (a.md)") == 2
    assert lines.count("   Tokens:   7 + 0 in 1 request(s)") == 2
    assert lines[-1] == "The last line that it printed: asked 你能帮我解决什么问题？"


def test_the_first_two_of_a_file_in_chinese(folder: Path) -> None:
    ended = process("system", "check", "app.py:stream", "--questions", "q.csv", folder=folder, RAGSTONE_LANGUAGE="zh")
    assert ended.code == 0, ended
    assert "1. Why?\n   答案：It is blue." in ended.out
    assert "2. 为什么？" in ended.out
    assert "Never asked" not in ended.out
    assert "秒后收到首段文字" in ended.out
    assert "段落：返回的内容中没有找到" in ended.out


def test_a_system_without_a_search_of_its_own_is_told_where_to_name_one(folder: Path) -> None:
    ended = process("system", "check", "app.py:ask", folder=folder)
    (line,) = [line for line in ended.out.splitlines() if "Search alone" in line]
    assert "--retriever" in line


def test_it_is_one_document(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("Shipping to Norway costs 12 euros.", "utf-8")
    (folder / "q.csv").write_text("question\nWhat does shipping to Norway cost?\n", "utf-8")
    ended = process("system", "check", "rag(k=1)", "--corpus", "docs", "--questions", "q.csv", "--json", folder=folder)
    document = ended.document
    assert document["accepts"] == ["passages", "history", "k", "language", "retrieve"]
    assert document["spec"]["kind"] == "rag"
    (answer,) = document["answers"]
    assert "12 euros" in answer["response"]["answer"]
    assert [step["name"] for step in answer["response"]["steps"]] == ["fetch", "prompt"]


def test_interventions_are_tried_and_shown(folder: Path) -> None:
    ended = process("system", "check", "app.py:read", folder=folder)
    assert ended.code == 3, ended  # it answers only from given passages
    assert "Given passages: used: a marked passage was in the answer" in ended.out
    ended = process("system", "check", "app.py:ask", "--retriever", "app.py:search", folder=folder)
    assert ended.code == 0, ended
    assert ended.out.splitlines()[-8:-2] == [
        "",
        "Interventions, tried:",
        "   Given passages: not taken; a function takes them as a parameter `passages`",
        "   Closed book:    not taken",
        "   Passages (k):   not taken; a function takes it as a parameter `k`",
        "   Search alone:   returns 5 passages without an answer",
    ]
    ended = process(
        "system", "check", "app.py:ask", "--retriever", "app.py:search", "--json", folder=folder, RAGSTONE_LANGUAGE="zh"
    )
    assert ended.document["interventions"] == {
        "passages": {"outcome": "not_taken"}, "closed_book": {"outcome": "not_taken"}, "k": {"outcome": "not_taken"},
        "retrieve": {"outcome": "works", "found": 5},
    }  # fmt: skip


def test_an_address_is_told_what_to_put_where_and_what_its_retriever_gets(ragstone: Callable[..., Told]) -> None:
    def reply(body: Any, token: str | None) -> Any:
        return {"answer": "Ten.", "contexts": ["ten"]} if "question" in body else {"detail": "question is missing"}

    with json_server(reply) as address:
        told = ragstone("system", "check", address, "--retriever", address).out
        assert 'Given passages: not taken; an address gets them with "{passages}" in --body' in told
        assert 'Passages (k):   not taken; an address gets it with "{k}" in --body' in told
        (line,) = [line for line in told.splitlines() if "Search alone:   failed" in line]
        assert line.endswith('; the address gets {"query": …, "k": …}; http(URL,body=…) sends another body')
        own = f'http({address},body={{"question": "{{query}}"}})'
        assert '"query": …' not in ragstone("system", "check", address, "--retriever", own).out
        assert '--body 中写入 "{passages}"' in ragstone("system", "check", address, "--language", "zh").out


def test_the_help_says_what_a_body_and_a_retriever_get(ragstone: Callable[..., Told]) -> None:
    told = " ".join(ragstone("run", "--help").out.split())
    assert '"{passages}", "{k}"' in told
    assert 'gets {"query": …, "k": …}' in told


def test_interventions_of_ours_work_in_both_languages(folder: Path) -> None:
    (folder / "docs").mkdir()
    for number in range(4):
        (folder / "docs" / f"{number}.md").write_text(
            f"Shipping to Norway costs {number} euros. 运费{number}元。", "utf-8"
        )
    (folder / "q.csv").write_text("question\nWhat does shipping to Norway cost?\n", "utf-8")
    check = ("system", "check", "rag(k=2)", "--corpus", "docs", "--questions", "q.csv")
    ended = process(*check, folder=folder)
    assert ended.code == 0, ended
    assert "Given passages: used: a marked passage was in the answer" in ended.out
    assert "Closed book:    answers without passages: I can not answer" in ended.out
    assert "Passages (k):   k = 1 gives 1, k = 3 gives 3" in ended.out
    assert "Search alone:   returns 2 passages without an answer" in ended.out
    assert "段落数 k：k = 1 得到 1 个，k = 3 得到 3 个" in process(*check, folder=folder, RAGSTONE_LANGUAGE="zh").out


def test_a_failure_is_shown_with_its_line_and_exit_3(folder: Path) -> None:
    ended = process("system", "check", "app.py:broken", folder=folder)
    assert ended.code == 3
    assert (
        ended.out.count("Error:    raised an exception: ValueError: no such tenant (app.py, line 10, in broken)") == 2
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["app.py:aks"], "Did you mean 'ask'?"),
        (["nothing"], "has no provider"),
        (["rag(k=1)"], "--corpus"),
        (["app.py:ask", "--questions", "none.csv"], "none.csv"),
        (["app.py:ask", "--body", "{}"], "--body is for HTTP addresses"),
        (
            ["app.py:ask", "--retriever", "app.py:search", "--corpus", "docs"],
            "documents of its own: leave --corpus out",
        ),
    ],
)
def test_wrong_names_are_one_line(folder: Path, arguments: list[str], words: str) -> None:
    one_line(process("system", "check", *arguments, folder=folder), words)


SMALL = {
    "rgb": ["--fictional-size", "2", "--limit", "1", "--noise", "0.4", "--data-language", "en"],
    "mirage": ["--fictional-size", "2", "--limit", "1"],
    "niah": ["--lengths", "300", "--depths", "50"],
}


@pytest.mark.parametrize("benchmark", SMALL)
def test_a_benchmark_asks_a_system_that_takes_passages_and_refuses_the_others(folder: Path, benchmark: str) -> None:
    small = SMALL[benchmark]
    (folder / "ragstone.toml").write_text('[systems.mine]\npython = "app.py:read"\n', "utf-8")
    refused = process(
        "bench", benchmark, "--system", "mine", "--system", "app.py:ask", *small, "--run", "a.run", "--quiet",
        folder=folder,
    )  # fmt: skip
    one_line(refused, "app.py:ask retrieves for itself", "a parameter `passages`")
    assert not (folder / "a.run").exists()
    ended = process(
        "bench", benchmark, "--system", "mine", "--model", "local/extractive", *small, "--run", "a.run", "--quiet",
        "--json", folder=folder,
    )  # fmt: skip
    assert ended.document["failed"] == 0, ended
    with open_run(folder / "a.run") as run:
        records = list(run.records())
    assert {record.system_id for record in records} == {"app.py:read", "local/extractive"}
    for record in records:
        if record.system_id == "app.py:read" and record.response is not None and record.response.passages:
            assert record.response.passages[0].text.startswith(record.response.answer[:20])


def test_a_benchmark_refuses_an_address_without_passages_and_a_system_over_documents(folder: Path) -> None:
    ended = process("bench", "rgb", "--system", "http://127.0.0.1:9/ask", *SMALL["rgb"], "--quiet", folder=folder)
    one_line(ended, "http://127.0.0.1:9/ask retrieves for itself", "{passages} in its body")
    one_line(process("bench", "rgb", "--system", "rag(k=3)", folder=folder), "rag(k=3) retrieves for itself")


def test_the_options_of_an_address_and_its_time_limit_are_those_of_run(folder: Path) -> None:
    refused = process("bench", "rgb", "--system", "app.py:read", "--body", "{}", *SMALL["rgb"], folder=folder)
    one_line(refused, "--body is for HTTP addresses; app.py:read is none")
    twice = ["--system", "http://127.0.0.1:9/a", "--system", "http://127.0.0.1:9/b", "--answer", "x"]
    one_line(process("bench", "rgb", *twice, *SMALL["rgb"], folder=folder), "--answer is for one HTTP address")
    (folder / "slow.py").write_text(
        "import threading\ndef ask(question, passages):\n    threading.Event().wait(20)\n", "utf-8"
    )
    ended = process(
        "bench", "rgb", "--system", "slow.py:ask", "--timeout", "0.2", *SMALL["rgb"], "--quiet", folder=folder
    )
    assert "No answer within 0.2 seconds (the limit `timeout`)" in ended.err


def test_a_benchmark_asks_an_address_with_its_body_and_paths(folder: Path, passage_server: str) -> None:
    options = [
        "--body",
        '{"q": "{question}", "docs": "{passages}"}',
        "--answer",
        "out.text",
        "--header",
        "X-Token=$TOKEN",
    ]
    ended = process(
        "bench", "rgb", "--system", passage_server, *options, *SMALL["rgb"], "--quiet", "--json", "--run", "h.run",
        folder=folder, TOKEN="t0ken-value-123",
    )  # fmt: skip
    assert ended.code == 0, ended
    with open_run(folder / "h.run") as run:
        answers = {record.response.answer[:18] for record in run.records() if record.response is not None}
    assert answers == {"t0ken-value-123 0 ", "t0ken-value-123 5 "}
    assert ended.document["failed"] == 0


@pytest.fixture
def passage_server() -> Iterator[str]:
    """Answers with the token, the number of passages and the first of them."""

    def reply(body: Any, token: str | None) -> Any:
        return {"out": {"text": f"{token} {len(body['docs'])} {body['docs'][:1]}"}}

    with json_server(reply) as address:
        yield address
