"""What a retriever's ranking is worth: graded labels, deep lists, chunks, recorded lists, and its export for TREC."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ragstone import bench
from ragstone.benchmarks.mirage.data import load_pool
from ragstone.benchmarks.mirage.official import rescore_retrieval
from ragstone.display import Table
from ragstone.engine.open_run import read_run
from ragstone.errors import DataError, RunMismatch, UsageError
from ragstone.metrics.rank.measures import Recall
from ragstone.runs import open_run
from ragstone.types import Record


def beir(
    folder: Path, qrels: dict[str, dict[str, dict[str, int]]], corpus: dict[str, str], **fields: dict[str, Any]
) -> Path:
    """A BEIR folder: split → query → document → grade. `fields`: of queries, by query."""
    (folder / "qrels").mkdir(parents=True)
    queries = sorted({query for judged in qrels.values() for query in judged})
    rows = [{"_id": query, "text": f"What is {query}?", **fields.get(query, {})} for query in queries]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    documents = [{"_id": key, "text": text} for key, text in corpus.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    for split, judged in qrels.items():
        lines = [f"{query}\t{key}\t{grade}" for query, by_key in judged.items() for key, grade in by_key.items()]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(["q\td\tscore", *lines]), encoding="utf-8")
    return folder


def trec(path: Path, lists: dict[str, list[str]]) -> str:
    lines = [
        f"{query} Q0 {document} {rank} {100 - rank} x"
        for query, found in lists.items()
        for rank, document in enumerate(found, 1)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"run:{path}"


def ran(folder: Path, **options: Any) -> tuple[list[Record], dict[str, Table]]:
    result = bench("mirage", run=folder / f"{len(list(folder.glob('*.run')))}.run", **options)
    with open_run(result.run) as run:
        records = sorted(run.records(), key=lambda one: one.case.id)
    return records, {table.id: table for table in result.tables()}


def column(table: Table, name: str) -> list[float | None]:
    at = table.columns.index(name)
    return [row.cells[at].value for row in table.rows]


DOCUMENTS = {f"d{number}": f"Document {number}." for number in range(1, 13)}


def test_grades_are_the_gains_of_ndcg(tmp_path: Path) -> None:
    """pytrec_eval's figure for the grades 1, 3 in this order is 0.7967; binary labels give 1."""
    data = beir(tmp_path / "b", {"test": {"q": {"d1": 1, "d2": 3}}}, DOCUMENTS)
    name = trec(tmp_path / "x.trec", {"q": ["d1", "d2"]})
    records, tables = ran(tmp_path, data=str(data), retrievers=(name,))
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert expected == pytest.approx(0.7967, abs=5e-5)
    assert records[0].scores["ndcg@10"].value == pytest.approx(expected)
    assert column(tables["mirage-ranking"], "ndcg@10") == [pytest.approx(expected)]


def test_lists_are_kept_to_the_depth_of_the_metrics_whatever_is_given_to_a_model(tmp_path: Path) -> None:
    pool = load_pool("fictional", size=40)
    (tmp_path / "mine.py").write_text(
        "class First:\n    id = 'first'\n    def __init__(self, pool):\n        self.pool = pool\n"
        "    async def retrieve(self, queries, /, *, k):\n        return [self.pool[:k] for _ in queries]\n"
    )
    _, tables = ran(
        tmp_path, model="local/extractive", retrievers=(f"{tmp_path}/mine.py:First",), ks=(5,), fictional_size=40,
        settings=("retrieved",), metrics=["recall@150", "rouge_l"],
    )  # fmt: skip
    first = [{passage.id for passage in pool.passages[:k]} for k in (5, 100, 150)]
    expected = [
        sum(len(found & set(question.gold)) / len(question.gold) for question in pool.questions) / 40 for found in first
    ]
    table = tables["mirage-ranking"]
    assert table.columns == ("Retriever", "mrr", "map", "ndcg@10", "recall@100", "recall@150")
    at_5, at_100, at_150 = expected
    assert at_5 < at_100 < at_150
    assert column(tables["mirage-retrievers"], "Recall") == [pytest.approx(at_5)]
    assert column(table, "recall@100") == [pytest.approx(at_100)]
    assert column(table, "recall@150") == [pytest.approx(at_150)]
    assert table.rows[0].cells[1].scored == 40
    assert tables["mirage-metrics"].columns[-1] == "rouge_l"


def test_a_metric_deeper_than_the_list_was_kept_is_no_figure(tmp_path: Path) -> None:
    options: dict[str, Any] = {"retrievers": ("bm25",), "fictional_size": 40, "run": tmp_path / "a.run"}
    result = bench("mirage", **options)
    with open_run(result.run) as run:
        records = [record for record in run.records() if record.case.sample.meta["ranking_cut"]]
    case, response = records[0].case, records[0].response
    assert response is not None
    assert Recall(100).score(case, response).value == 1
    assert Recall(101).score(case, response).reason == "the list was kept to 100 passages: run again with this metric"
    with pytest.raises(RunMismatch, match=r"ranking.*Name another file"):
        bench("mirage", metrics="recall@120", **options)


def test_metrics_of_a_ranking_do_not_apply_to_what_was_not_retrieved(tmp_path: Path) -> None:
    records, _ = ran(tmp_path, model="local/extractive", retrievers=("bm25",), ks=(1,), fictional_size=2)
    by_setting = {str(record.case.condition["setting"]): record.scores["ndcg@10"] for record in records}
    assert by_setting["retrieved"].value is not None
    assert {by_setting[name].reason for name in ("oracle", "mixed")} == {"the passages were not retrieved"}


@pytest.mark.parametrize("labels", ["chunk", "document"])
def test_labels_reach_the_chunks(tmp_path: Path, labels: str) -> None:
    _, tables = ran(tmp_path, retrievers=("bm25",), chunks=(0, 20), fictional_size=20, labels=labels)
    whole, cut = column(tables["mirage-ranking"], "ndcg@10")
    assert whole is not None
    assert cut is not None
    assert whole > cut > 0.3  # 0 where labels stay with the passages


def test_documents_and_evidence_are_the_same_labels_however_the_passages_are_cut(tmp_path: Path) -> None:
    """Two documents are relevant; the evidence of one stands in its third sentence, in other letters."""
    fillers = "The river is long. The town is old. "
    corpus = {"d1": fillers + "The ＦＥＲＲＹ leaves at nine sharp. Birds sing.", "d2": "What is q? " * 3, "d3": "No."}
    evidence = {"q": {"evidence": "the ferry leaves at nine sharp", "answers": ["river"]}}
    data = beir(tmp_path / "b", {"test": {"q": {"d1": 1}}}, corpus, **evidence)
    options: dict[str, Any] = {"data": str(data), "retrievers": ("bm25",), "chunks": (0, 8)}

    def labelled(labels: str) -> dict[int, list[str]]:
        records, _ = ran(tmp_path, labels=labels, **options)
        return {int(one.case.condition["chunk"]): [p.id for p in one.case.sample.passages] for one in records}

    assert labelled("document") == {0: ["d1"], 8: ["d1"]}
    assert labelled("evidence") == {0: ["d1"], 8: ["d1#3"]}
    assert labelled("chunk") == {0: ["d1"], 8: ["d1#1"]}  # the chunk that states an answer
    plain = beir(tmp_path / "c", {"test": {"q": {"d1": 1}}}, corpus)
    with pytest.raises(UsageError, match="not every question has evidence"):
        bench("mirage", data=str(plain), retrievers=("bm25",), labels="evidence")


def test_the_official_ndcg_of_a_recorded_list_is_that_of_the_whole_list(tmp_path: Path) -> None:
    """As `ragstone score mirage` says it of the same file: the ideal of k = 1 has what stands at place 7."""
    chunks = [
        {"mapped_id": "q1", "doc_name": "", "doc_chunk": f"Chunk {n}.", "support": int(n == 6)} for n in range(10)
    ]
    data = tmp_path / "m"
    data.mkdir()
    question = {"query_id": "q1", "query": "What?", "answer": ["x"]}
    (data / "dataset.json").write_text(json.dumps([question]), encoding="utf-8")
    (data / "doc_pool.json").write_text(json.dumps(chunks), encoding="utf-8")
    (data / "oracle.json").write_text(json.dumps([chunks[6]]), encoding="utf-8")
    lists = [{"query_id": "q1", "top_chunks": chunks, "scores": [1 - n / 10 for n in range(10)]}]
    (tmp_path / "r.json").write_text(json.dumps(lists), encoding="utf-8")
    _, tables = ran(tmp_path, data=str(data), retrievers=(f"run:{tmp_path / 'r.json'}",), ks=(1, 5, 10))
    official = rescore_retrieval(data / "doc_pool.json", tmp_path / "r.json")
    found = dict(zip((1, 5, 10), column(tables["mirage-retrievers"], "NDCG (official)"), strict=True))
    assert [found[k] for k in (1, 5)] == [official[str(k)]["ndcg"] for k in (1, 5)] == [0.0, 0.0]
    assert found[10] == pytest.approx(1 / math.log2(8))


def test_relevant_documents_that_the_corpus_lacks_are_told_and_count_as_not_found(tmp_path: Path) -> None:
    judged = {"p": {"d1": 1, "gone": 1}, "q": {"lost": 2}}
    data = beir(tmp_path / "b", {"test": judged}, DOCUMENTS)
    (doubt,) = load_pool(data).doubts
    assert doubt.startswith("2 relevant documents of 2 queries in test.tsv are not in the corpus, the first is 'gone'")
    name = trec(tmp_path / "x.trec", {"p": ["d1"], "q": ["d1", "d2"]})
    records, _ = ran(tmp_path, data=str(data), retrievers=(name,))
    assert [record.scores["recall@100"].value for record in records] == [0.5, 0.0]


def test_hits_outside_the_pool_keep_their_places_and_are_not_given_to_a_model(tmp_path: Path) -> None:
    data = beir(tmp_path / "b", {"test": {"q": {"d1": 1}}}, DOCUMENTS, q={"answers": ["x"]})
    name = trec(tmp_path / "x.trec", {"q": ["else", "d1"]})
    records, tables = ran(
        tmp_path, data=str(data), retrievers=(name,), model="local/extractive", settings=("retrieved",), ks=(2,)
    )
    assert records[0].scores["mrr"].value == 0.5
    assert [passage.id for passage in records[0].case.query.passages or ()] == ["d1"]
    assert any("1 retrieved documents are not in the pool" in note for note in tables["mirage-indexes"].notes)


def test_a_search_that_finds_nothing_scores_0(tmp_path: Path) -> None:
    data = beir(tmp_path / "b", {"test": {"q": {"d1": 1}, "zzz": {"d2": 1}}}, DOCUMENTS | {"d1": "q"})
    records, _ = ran(tmp_path, data=str(data), retrievers=("bm25",))
    assert [record.scores["mrr"].value for record in records] == [1.0, 0.0]


def test_the_split_chooses_the_judgements(tmp_path: Path) -> None:
    splits = {"train": {"q": {"d1": 1}}, "dev": {"q": {"d2": 1}}, "test": {"q": {"d3": 1}}}
    data = beir(tmp_path / "b", splits, DOCUMENTS)
    gold = {split: load_pool(data, split=split).questions[0].gold for split in ("", *splits)}
    assert gold == {"": ("d3",), "train": ("d1",), "dev": ("d2",), "test": ("d3",)}
    with pytest.raises(DataError, match=r"has no split 'valid'\. It has: dev, test, train"):
        bench("mirage", data=str(data), split="valid", retrievers=("bm25",))
    with pytest.raises(UsageError, match="the fictional data have no splits"):
        bench("mirage", split="dev", retrievers=("bm25",))


def test_a_run_exported_for_trec_is_read_again_to_the_same_figures(tmp_path: Path) -> None:
    records, tables = ran(tmp_path, retrievers=("bm25",), fictional_size=20)
    written = tmp_path / "bm25.trec"
    with read_run(tmp_path / "0.run") as run:
        run.export(written, "trec")
    lines = [line.split() for line in written.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == sum(len(record.case.sample.meta["ranking"]) for record in records)
    assert lines[0][1] == "Q0"
    assert {line[5] for line in lines} == {"bm25"}
    again, _ = ran(tmp_path, retrievers=(f"run:{written}",), fictional_size=20)
    rankings = [[row[0] for row in record.case.sample.meta["ranking"]] for record in records]
    assert [[row[0] for row in record.case.sample.meta["ranking"]] for record in again] == rankings
    assert tables["mirage-ranking"].rows
