"""`ragstone eval` of traces, and everything around them."""

from collections.abc import Callable
from pathlib import Path

from tests.cli.tools import ROOT, Told

from ragstone.runs import open_run

RECORDED = ROOT / "tests" / "datasets" / "traces" / "recorded"


def test_eval_of_traces_without_references_counts_refusals_and_says_what_is_missing(
    ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    told = ragstone("eval", RECORDED / "langchain.txt", "--run", "a.run", "--json")
    assert told.code == 0, told
    assert told.document["scores"]["refusal"]["mean"] == 0.0
    assert any("token_f1, rouge_l" in note and "--references" in note for note in told.document["warnings"])
    with open_run("a.run") as run:
        records = list(run.records())
    assert [[step.name for step in record.response.steps] for record in records if record.response] == [
        ["fetch", "rerank", "prompt", "generate"], ["rewrite", "fetch", "prompt", "generate"],
    ]  # fmt: skip


def test_the_error_of_a_trace_is_that_of_its_sample_and_a_later_command_does_not_hope(
    ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    for _ in range(2):
        told = ragstone("eval", RECORDED / "llamaindex.txt", "--run", "a.run")
        assert told.code == 3
        assert "raised: KeyError: 'no such index'" in told.err
    with open_run("a.run") as run:
        assert [record.error for record in run.records()] == [None, "raised: KeyError: 'no such index'"]
