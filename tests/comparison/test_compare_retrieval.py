"""Retrievers, k and chunk sizes compared, between runs and within one; and an index from which documents are gone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.mirage.test_rankings import beir
from tests.cli.tools import Told

from ragstone import bench, compare
from ragstone.errors import UnknownName, UsageError


def ran(folder: Path, name: str, **options: Any) -> Path:
    path = folder / f"{name}.run"
    bench("mirage", run=path, fictional_size=30, **options)
    return path


def groups(comparison: Any, metric: str) -> dict[str, float]:
    return {row.group: row.difference for row in comparison.rows if row.metric == metric}


def test_retrievers_of_two_runs_are_compared_question_by_question(tmp_path: Path) -> None:
    first = ran(tmp_path, "a", retrievers=("bm25",))
    second = ran(tmp_path, "b", retrievers=("bm25(stem=no)", "bm25(k1=0,b=0)"))
    found = compare(first, second, by="retriever", metrics="mrr")
    assert set(groups(found, "mrr")) == {"bm25 → bm25(stem=no)", "bm25 → bm25(k1=0,b=0)"}
    assert [row.n for row in found.rows] == [30, 30]
    assert (found.left_out, found.changed) == ((0, 0), 0)


def test_within_one_run_every_pair_is_compared_once(tmp_path: Path) -> None:
    names = ("bm25", "bm25(stem=no)", "bm25(b=0)")
    run = ran(tmp_path, "a", retrievers=names, chunks=(0, 20), labels="document")
    assert set(groups(compare(run, by="retriever", metrics="mrr"), "mrr")) == {
        "bm25 → bm25(b=0)", "bm25 → bm25(stem=no)", "bm25(b=0) → bm25(stem=no)",
    }  # fmt: skip
    found = compare(run, by="chunk", metrics="ndcg@10")
    assert list(groups(found, "ndcg@10")) == ["0 → 20"]
    assert (found.rows[0].samples, found.rows[0].n) == (30, 90)  # three retrievers
    assert (found.a.name, found.b.name) == ("0", "20")


def test_numbers_of_chunks_are_compared_in_their_order(tmp_path: Path) -> None:
    run = ran(tmp_path, "a", retrievers=("bm25",), model="local/extractive", ks=(10, 1, 3))
    found = compare(run, by="k", metrics="answer_match")
    assert list(groups(found, "answer_match")) == ["1 → 3", "1 → 10", "3 → 10"]
    assert [row.n for row in found.rows] == [30] * 3  # neither base nor oracle is among them


def test_holm_is_over_all_pairs(tmp_path: Path) -> None:
    run = ran(tmp_path, "a", retrievers=("bm25", "bm25(b=0)", "bm25(k1=0,b=0)"))
    rows = compare(run, by="retriever", metrics=["mrr", "recall@100"]).rows
    assert len(rows) == 6
    least = min(rows, key=lambda row: row.p)
    assert least.p_holm == pytest.approx(min(1, 6 * least.p))


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    run = ran(tmp_path, "a", retrievers=("bm25",))
    with pytest.raises(UsageError, match="needs two values of retriever to compare; there is bm25"):
        compare(run, by="retriever")
    with pytest.raises(UnknownName, match="depth"):
        compare(run, by="depth")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="leave out group_by"):
        compare(run, by="k", group_by="k")


def test_runs_over_different_chunks_are_compared(ragstone: Callable[..., Told]) -> None:
    for name, chunk in (("a.run", "20"), ("b.run", "40")):
        assert ragstone(
            "bench", "mirage", "--retriever", "bm25", "--chunk", chunk, "--fictional-size", "10", "--run", name,
            "--quiet",
        ).code == 0  # fmt: skip
    told = ragstone("compare", "a.run", "b.run", "--by", "chunk", "--metrics", "ndcg@10", "--json")
    assert told.code == 0
    (row,) = told.document["metrics"]
    assert (row["group"], row["n"], told.document["left_out"]) == (
        "20 → 40", 10, {"only_a": 0, "only_b": 0, "changed": 0},
    )  # fmt: skip


def test_an_index_that_has_lost_relevant_documents_does_not_pass(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    """Nine of the relevant documents are gone. The pairs are kept, and the ranking is significantly worse."""
    corpus = {f"d{n}": f"Fact number{n} about thing{n}." for n in range(40)}
    rows = {f"thing{n}": {f"d{n}": 1} for n in range(40)}
    beir(tmp_path / "whole", {"test": rows}, corpus)
    beir(tmp_path / "stale", {"test": rows}, {key: text for key, text in corpus.items() if int(key[1:]) >= 9})
    for name in ("whole", "stale"):
        assert ragstone("bench", "mirage", "--data", tmp_path / name, "--retriever", "bm25", "--run", f"{name}.run",
                        "--quiet").code == 0  # fmt: skip
    told = ragstone("compare", "whole.run", "stale.run", "--fail-on-regression")
    assert told.code == 1
    assert "regression: map 1.000 → 0.775" in told.err


def test_pairs_that_are_left_out_count_against_the_coverage(ragstone: Callable[..., Told]) -> None:
    for name, size in (("a.run", "20"), ("b.run", "18")):
        assert ragstone("bench", "mirage", "--retriever", "bm25", "--fictional-size", "20", "--limit", size, "--run",
                        name, "--quiet").code == 0  # fmt: skip
    asked = ("compare", "a.run", "b.run", "--on", "common", "--fail-on-regression")
    told = ragstone(*asked)
    assert told.code == 3
    assert "only 18 pairs (90%) are in both runs" in told.err
    assert ragstone(*asked, "--min-coverage", "0.9").code == 0
