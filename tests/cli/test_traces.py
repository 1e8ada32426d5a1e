"""`ragstone eval` of traces, and everything around them."""

import json
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


def test_references_join_traces_and_questions_of_a_run(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("question,gold\nhow much is item 5,106 crowns\n", "utf-8")
    joined = ("--references", "gold.csv", "--map", "reference=gold", "--json")
    told = ragstone("eval", RECORDED / "langchain.txt", *joined, "--run", "a.run")
    assert told.document["scores"]["answer_match"]["mean"] == 1.0
    assert (told.document["scores"]["answer_match"]["n"], told.code) == (1, 0)
    (tmp_path / "app.py").write_text("def ask(question):\n    return 'It is 106 crowns.'\n", "utf-8")
    told = ragstone("run", RECORDED / "langchain.txt", "--system", "app.py:ask", *joined, "--run", "b.run")
    assert told.document["scores"]["answer_match"]["mean"] == 1.0
    with open_run("b.run") as run:
        assert [len(record.case.query.history) for record in run.records()] == [0, 2]


def test_a_sample_of_a_folder_of_traces_depends_on_the_seed(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for number in range(20):
        span = {"trace_id": f"t{number}", "span_id": "1", "attributes": {"input.value": "Q?", "output.value": "A."}}
        (folder / f"{number}.json").write_text(json.dumps(span), "utf-8")
    chosen: list[list[str]] = []
    for seed in (1, 1, 2):
        assert ragstone("eval", folder, "--sample", 5, "--seed", seed, "--run", f"{len(chosen)}.run").code == 0
        with open_run(f"{len(chosen)}.run") as run:
            chosen.append([record.case.sample.id for record in run.records()])
    assert [len(ids) for ids in chosen] == [5, 5, 5]
    assert chosen[0] == chosen[1] != chosen[2]
