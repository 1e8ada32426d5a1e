"""A number of 5,000 digits, which Python does not read, in every kind of file and in options: one line, exit 2."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line

Ragstone = Callable[..., Told]

LONG = "9" * 5000
ROW = {"id": "q1", "question": "Who?", "reference": "Me", "answer": "Me", "contexts": ["It is me."]}
SPAN = {
    "traceId": "a" * 32, "spanId": "b" * 16, "name": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2",
    "attributes": [
        {"key": "openinference.span.kind", "value": {"stringValue": "CHAIN"}},
        {"key": "input.value", "value": {"stringValue": "Who?"}},
        {"key": "output.value", "value": {"stringValue": "Me"}},
        {"key": "llm.token_count.prompt", "value": {"intValue": "LONG"}},
    ],
}  # fmt: skip


def row(**more: str) -> str:
    return json.dumps(ROW | more).replace('"LONG"', LONG)


RUN = ("run", "q.csv", "--system", "app.py:ask", "--quiet")
# File, content, command, words of the error.
FILES = [
    ("a.jsonl", f"{row()}\n{row(reference='LONG')}\n", ("eval", "a.jsonl"), "a.jsonl, line 2"),
    ("a.jsonl", f"{row()}\n{row(topic='LONG')}\n", ("eval", "a.jsonl"), "a.jsonl, line 2"),
    ("a.json", f"[{row()},{row(topic='LONG')}]", ("eval", "a.json"), "a.json"),
    ("a.jsonl", f"{row(id='LONG')}\n", ("run", "a.jsonl", "--system", "app.py:ask"), "a.jsonl, line 1"),
    ("c.json", f'{{"question": ["a"], "answer": [{LONG}]}}', ("eval", "c.json"), "c.json"),
    (
        "d.jsonl",
        f'{{"id": "a", "text": "b", "n": {LONG}}}\n',
        ("run", "q.csv", "--corpus", "d.jsonl"),
        "d.jsonl, line 1",
    ),
    (
        "d.json",
        f'[{{"id": {LONG}, "text": "b"}}]',
        ("diagnose", "q.csv", "--corpus", "docs.csv", "--index", "d.json"),
        "d.json",
    ),
    (
        "d.jsonl",
        f'{{"id": {LONG}, "text": "b"}}\n',
        ("diagnose", "q.csv", "--corpus", "docs.csv", "--index", "d.jsonl"),
        "d.jsonl, line 1",
    ),
    ("s.jsonl", f'{{"default": {LONG}}}\n', ("run", "q.csv", "--system", "scripted/s.jsonl"), "s.jsonl, line 1"),
    ("ragstone.toml", f"[run]\nlimit = {LONG}\n", RUN, "ragstone.toml"),
    ("ragstone.toml", f"[systems.a]\nurl = {LONG}\n", RUN, "ragstone.toml"),
    ("ragstone.toml", f"[gates]\nanswer_match = {LONG}\n", RUN, "ragstone.toml"),
    (
        "ragstone.toml",
        f"[gates]\nanswer_match = {LONG}\n",
        ("diagnose", "q.csv", "--system", "app.py:ask"),
        "ragstone.toml",
    ),
    ("pyproject.toml", f"[tool.ragstone.gates]\nanswer_match = {LONG}\n", RUN, "pyproject.toml"),
    (
        "r.toml",
        f'name = "r"\nquestion = "b"\nlevels = {LONG}\n',
        ("eval", "a.csv", "--judge", "scripted/j.jsonl", "--rubric", "r.toml"),
        "r.toml",
    ),
    ("t.toml", f"name = {LONG}\n", ("bench", "niah", "--model", "local/extractive", "--template", "t.toml"), "t.toml"),
    (
        "cells.json",
        f'{{"context_length": {LONG}, "depth_percent": 5, "score": 1}}',
        ("score", "niah", "cells.json"),
        "cells.json",
    ),
    (
        "p.json",
        f'{{"prediction": {LONG}, "id": 1}}\n',
        ("score", "rgb", "p.json", "--dataset", "en_fact"),
        "p.json, line 1",
    ),
    (
        "rgb.json",
        f'{{"id": {LONG}, "query": "a", "answer": ["b"], "positive": ["c"], "negative": ["d"]}}\n',
        ("bench", "rgb", "--model", "local/extractive", "--data", "rgb.json", "--dataset", "rgb"),
        "rgb.json, line 1",
    ),
    ("m.json", f'[{{"n": {LONG}}}]', ("bench", "mirage", "--model", "local/extractive", "--data", "m.json"), "m.json"),
]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def ask(question):\n    return {'answer': 'Me', 'contexts': ['It is me.']}\n")
    (tmp_path / "q.csv").write_text("question,reference\nWho?,Me\n")
    (tmp_path / "a.csv").write_text("question,reference,answer\nWho?,Me,Me\n")
    (tmp_path / "docs.csv").write_text("id,text\na,It is me.\n")
    (tmp_path / "j.jsonl").write_text('{"default": "{}"}\n')


@pytest.mark.parametrize(("name", "content", "arguments", "place"), FILES)
def test_a_file_with_it_is_named(
    ragstone: Ragstone, tmp_path: Path, name: str, content: str, arguments: tuple[str, ...], place: str
) -> None:
    (tmp_path / name).write_text(content)
    one_line(ragstone(*arguments), place, "308 digits; write it as a text")
    assert not [*tmp_path.glob("*.run")]


def test_as_the_text_of_a_cell_it_is_an_answer_like_any_other(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"question,reference,answer,topic\nWho?,{LONG},{LONG},{LONG}\n")
    assert ragstone("eval", "a.csv", "--metrics", "exact_match", "--run", "a.run").code == 0


def test_in_the_token_count_of_a_trace_it_counts_nothing(ragstone: Ragstone, tmp_path: Path) -> None:
    spans = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
    (tmp_path / "t.json").write_text(json.dumps(spans).replace("LONG", LONG))
    told = ragstone("eval", "t.json", "--metrics", "refusal", "--run", "a.run", "--json")
    assert told.code == 0, told.err
    assert told.document["done"] == 1


@pytest.mark.parametrize("flag", ["--limit", "--seed", "--timeout", "--rpm", "--max-requests", "--min-coverage"])
def test_in_an_option_it_is_one_line(ragstone: Ragstone, flag: str) -> None:
    one_line(ragstone(*RUN, flag, LONG), flag)
