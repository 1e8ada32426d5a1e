"""Needles of the user's own: several answers with aliases, in three formats, and one line for each mistake."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.benchmark import expand_query
from ragstone.benchmarks.niah.needle_files import read_needles
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.errors import DataError, UsageError
from ragstone.metrics.needle import NeedleFound
from ragstone.types import Response

ROW: dict[str, Any] = {
    "needle": ["The cat sleeps on the tuba.", "The dog guards the harp."],
    "question": "Where do the cat and the dog stay?",
    "answers": [["tuba", "bass horn"], "harp"],
}
EXPECTED = NeedleQuestion(ROW["question"], tuple(ROW["needle"]), (("tuba", "bass horn"), ("harp",)))
TOML = """
[[needle]]
text = ["The cat sleeps on the tuba.", "The dog guards the harp."]
question = "Where do the cat and the dog stay?"
answers = [["tuba", "bass horn"], "harp"]
"""
CSV = """needle 1;needle 2;question;answer 1;answer 2
The cat sleeps on the tuba.;The dog guards the harp.;Where do the cat and the dog stay?;tuba | bass horn;harp
"""


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.jsonl", json.dumps(ROW) + "\n"), ("a.toml", TOML), ("a.csv", CSV), ("a.tsv", CSV.replace(";", "\t"))],
)
def test_the_same_needles_are_read_from_each_format(name: str, text: str, tmp_path: Path) -> None:
    assert read_needles(written(tmp_path, name, text)) == (EXPECTED,)


def test_one_answer_with_aliases_and_a_blank_line(tmp_path: Path) -> None:
    row = {"needle": " On the tuba. ", "question": "Where?", "answer": ["tuba", "bass horn"]}
    path = written(tmp_path, "a.jsonl", f"\n{json.dumps(row)}\n\n{json.dumps({**row, 'answer': 'tuba'})}\n")
    assert [one.answers for one in read_needles(path)] == [(("tuba", "bass horn"),), (("tuba",),)]
    assert read_needles(path)[0].needles == ("On the tuba.",)


def test_each_answer_counts_and_any_alias_states_it(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", json.dumps(ROW))
    made = make("niah", lengths="1500", depths="0,50", needles=["file"], needle_file=path, control="none")
    cases = list(made.cases())
    assert len(cases) == 2
    for case in cases:
        text = (expand_query(case.query, made.haystacks).passages or ())[0].text
        assert all(text.count(needle) == 1 for needle in ROW["needle"])
        assert case.sample.references == (("tuba", "bass horn"), ("harp",))
        for answer, share in (("On a bass horn; at the harp.", 1.0), ("On the tuba.", 0.5), ("In bed.", 0.0)):
            assert NeedleFound().score(case, Response(answer)).value == share


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.jsonl", '\n{"needle": "", "question": "q", "answer": "a"}', "line 2: needle is empty or missing"),
        ("a.jsonl", '\n{"needle": "n", "question": "q"}', "line 2: answer is empty or missing"),
        ("a.jsonl", '\n{"needle": "n", "question": "q", "answer": null}', "line 2: answer is empty or missing"),
        ("a.jsonl", '\n{"needle": "n", "question": ["q", "r"], "answer": "a"}', "line 2: question is empty or missing"),
        ("a.jsonl", '\n{"needle": "n", "question": "q", "answers": [["a"], []]}', "line 2: answer 2 is empty"),
        ("a.jsonl", '\n{"needle": "n", "question": "q", "answers": "a"}', "line 2: answers is empty or no list"),
        ("a.jsonl", '\n{"needle": "n", "question": "q", "answers": [], "answer": "a"}', "both answer and answers"),
        ("a.jsonl", '\n{"needle": 5, "question": "q", "answer": "a"}', "line 2: needle is a number"),
        ("a.jsonl", '\n{"needle": "n", "question": "q", "answer": [[]]}', "line 2: answer is a list"),
        ("a.jsonl", '\n{"needle": "n", "question": "q", "answer": false}', "line 2: answer is true or false"),
        ("a.jsonl", '\n{"needle": "n\\ud800", "question": "q", "answer": "a"}', "line 2: needle has half a character"),
        ("a.jsonl", '\n["needle"]', "line 2: found a list"),
        ("a.jsonl", "\nneedle", "line 2: not JSON"),
        ("a.jsonl", "\n" + "[" * 100_000, "line 2: nested too deeply"),
        ("a.jsonl", "\n", "contains no needle"),
        ("a.csv", "needle,question,answer\nn,q,a\nn,,a\n", "line 3: question is empty or missing"),
        ("a.csv", "needle,question\nn,q\n", "line 2: answers is empty"),
        ("a.csv", "needle,question,answer\n", "contains no needle"),
        ("a.csv", 'needle,question,answer\n"n,q,a\n', "line 2: a quotation mark is opened"),
        ("a.toml", "needle = 5", r"expected \[\[needle\]\] tables"),
        ("a.toml", "[[needle]]\ntext = 'n'\nquestion = 'q'\n", "needle 1: answer is empty or missing"),
        ("a.toml", "[[needle", "not TOML"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_row(name: str, text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told) as caught:
        read_needles(written(tmp_path, name, text))
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere.toml", tmp_path / "nowhere.csv", tmp_path / "nowhere.jsonl"):
        with pytest.raises(UsageError, match=path.name):
            read_needles(path)
