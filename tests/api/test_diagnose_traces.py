"""Traces are diagnosed with the stages that their spans tell, without asking anybody."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.traces.test_exports import RUNS, write

from ragstone.api.diagnose import diagnose

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
        ("When does the pool open?", "9", "ferry.md", "not_retrieved", ("yes", "no", "no")),
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
