"""Traces are diagnosed with the stages that their spans tell, without asking anybody."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.tabular.traces.test_exports import RUNS, write

from ragstone.diagnosis.diagnose import diagnose

DOCUMENTS = {"ferry.md": "The ferry leaves at 8.", "prices.md": "A ticket costs 2.40.", "pool.md": "The pool is at 9."}


def runs(question: str, reference: str, prompt: str) -> list[dict[str, Any]]:
    """A trace of LangSmith whose retriever found ferry.md and prices.md, with this prompt."""
    root = {**RUNS[0], "inputs": {"question": question}, "extra": {"metadata": {"expected": reference}}}
    text = json.loads(json.dumps(RUNS[2]).replace("The ferry leaves at 8.\\\\n\\\\nWhen", "When"))
    text["inputs"]["messages"][0][1]["kwargs"]["content"] = f"{prompt}\n\n{question}"
    return [root, RUNS[1], text]


@pytest.mark.parametrize(
    ("question", "reference", "prompt", "cause", "stages"),
    [
        ("What does a ticket cost?", "2.40", "ferry.md", "k_too_small", ("yes", "yes", "no")),
        ("What does a ticket cost?", "2.40", "prices.md", "generation", ("yes", "yes", "yes")),
        ("When does the pool open?", "9", "ferry.md", "not_retrieved", ("missing", "no", "no")),
        ("When does the ferry leave?", "8", "ferry.md", "healthy", ("yes", "yes", "yes")),
    ],
)
def test_the_stages_of_a_trace_tell_where_the_gold_was_lost(
    question: str, reference: str, prompt: str, cause: str, stages: tuple[str, ...], tmp_path: Path
) -> None:
    corpus = tmp_path / "documents.jsonl"
    corpus.write_text("\n".join(json.dumps({"id": n, "text": text}) for n, text in DOCUMENTS.items()), "utf-8")
    traces = write(tmp_path / "traces.jsonl", runs(question, reference, DOCUMENTS[prompt]))
    result = diagnose(str(traces), corpus=corpus, mapping={"reference": "expected"}, run=tmp_path / "t.run")
    (item,) = result.questions
    assert item.cause.name == cause
    assert tuple(item.evidence.value(name) for name in ("in_index", "fetched", "prompted")) == stages
    assert list(item.evidence.records) == ["as_is"]


def test_traces_are_joined_to_references_by_the_id_that_the_user_gave_the_question(tmp_path: Path) -> None:
    rows = []
    for n in (1, 2):
        root = json.loads(json.dumps(RUNS[0]))
        root |= {"id": f"r{n}", "trace_id": f"r{n}"}
        root["extra"]["metadata"] = {"question_id": f"u{n}"}
        rows.append(root)
    references = [{"id": "u2", "question": "When does the ferry leave?", "reference": "At 9."},
                  {"id": "u1", "question": "When does the ferry leave?", "reference": "8"}]  # fmt: skip
    traces = write(tmp_path / "traces.jsonl", rows)
    result = diagnose(str(traces), references=references, run=tmp_path / "t.run")
    found = [(item.evidence.slots, item.cause.name != "healthy") for item in result.questions]
    assert found == [((("8",),), False), ((("At 9.",),), True)]
