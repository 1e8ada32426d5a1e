"""Runs and judgements: TREC's formats, BEIR's folders, and the same as tables."""

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.datasets.tabular.samples import answer, texts

from ragstone.datasets.tabular import read_eval_data, retrieval_only, retrieval_only_note
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.types import NO_ANSWER

RUN = "q1 Q0 d2 1 9.5 mine\nq1 Q0 d1 2 12.0 mine\nq1 Q0 d3 3 9.5 mine\nq2 Q0 d9 1 0.5 mine\n"
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d4 1\nq3 0 d1 1\n"
WANTED = {"d1": 2, "d2": 0}


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def beir(folder: Path, *, run: bool = True) -> Path:
    """A folder as BEIR's data sets are."""
    queries = [{"_id": f"q{n}", "text": f"Question {n}?"} for n in (1, 2, 3, 4)]
    corpus = [{"_id": f"d{n}", "title": f"T{n}", "text": f"Text {n}."} for n in (1, 2, 3, 4)]
    write(folder / "queries.jsonl", "\n".join(map(json.dumps, queries)))
    write(folder / "corpus.jsonl", "\n".join(map(json.dumps, corpus)))
    write(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td4\t1\nq3\td1\t1\n")
    if run:
        write(folder / "run.trec", RUN)
    return folder


def assert_judged(path: Path, qrels: Path) -> None:
    data = read_eval_data(path, qrels=qrels)
    first = data.items[0]
    assert [passage.id for passage in answer(data).passages] == ["d1", "d2", "d3"], "by score, then by rank"
    assert answer(data).finish_reason == NO_ANSWER
    assert {passage.id: passage.meta["grade"] for passage in first.sample.passages} == WANTED
    assert {passage.id: passage.relevant for passage in first.sample.passages} == {"d1": True, "d2": False}
    assert [item.sample.id for item in data.items] == ["q1", "q2"]
    assert any("1 of 3 queries have no row" in warning for warning in data.warnings)


@pytest.mark.parametrize("name", ["run.trec", "run.txt", "a.run", "run"])
def test_a_run_with_its_judgements(tmp_path: Path, name: str) -> None:
    run, qrels = write(tmp_path / name, RUN), write(tmp_path / "qrels.txt", QRELS)
    assert_judged(run, qrels)
    data = read_eval_data(run)
    assert data.schema == "trec"
    assert data.items[0].sample.passages == ()
    assert "2 of 2 queries have no text; their ids stand for it" in data.warnings[0]


TABLES = {
    "run.csv": "query_id,doc_id,rank,score\nq1,d2,1,9.5\nq1,d1,2,12\nq1,d3,3,9.5\nq2,d9,1,0.5\n",
    "run.tsv": "qid\tdocno\tscore\tsystem\nq1\td2\t9.5\tx\nq1\td1\t12\tx\nq1\td3\t9.5\tx\nq2\td9\t0.5\tx\n",
    "run.jsonl": "\n".join(
        json.dumps({"query-id": q, "corpus-id": d, "score": s})
        for q, d, s in (("q1", "d2", 9.5), ("q1", "d1", 12), ("q1", "d3", 9.5), ("q2", "d9", 0.5))
    ),
    "run.json": json.dumps({"q1": {"d2": 9.5, "d1": 12, "d3": 9.5}, "q2": {"d9": 0.5}}),
}
JUDGEMENTS = {
    "qrels.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td4\t1\nq3\td1\t1\n",
    "qrels.csv": "query_id,doc_id,relevance\nq1,d1,2\nq1,d2,0\nq2,d4,1\nq3,d1,1\n",
    "qrels.json": json.dumps({"q1": {"d1": 2, "d2": 0}, "q2": {"d4": 1}, "q3": {"d1": 1}}),
    "qrels": QRELS,
}


@pytest.mark.parametrize("run", TABLES)
@pytest.mark.parametrize("qrels", JUDGEMENTS)
def test_tables_of_runs_and_judgements_are_the_same(tmp_path: Path, run: str, qrels: str) -> None:
    assert_judged(write(tmp_path / run, TABLES[run]), write(tmp_path / qrels, JUDGEMENTS[qrels]))


def test_without_scores_the_rank_orders() -> None:
    frame = pd.DataFrame({"qid": [1, 1, 1], "docid": ["b", "c", "a"], "rank": [2, 3, 1]})
    data = read_eval_data(frame)
    assert [passage.id for passage in answer(data).passages] == ["a", "b", "c"]
    assert data.items[0].sample.id == "1"


def test_a_run_with_questions_and_texts_keeps_them() -> None:
    rows = [
        {"query_id": "q", "query": "When?", "doc_id": "a", "text": "At 8.", "score": 1},
        {"query_id": "q", "query": "When?", "doc_id": "b", "text": "At 9.", "score": 2},
    ]
    data = read_eval_data(rows)
    assert data.items[0].sample.question == "When?"
    assert texts(data) == ["At 9.", "At 8."]
    assert retrieval_only_note([item.where for item in data.items if retrieval_only(item)]) == [
        "row 1: contexts but no answer; only the retrieval is scored."
    ]


def test_a_beir_folder_is_questions_judgements_texts_and_a_run(tmp_path: Path) -> None:
    data = read_eval_data(beir(tmp_path / "nq"))
    assert (data.name, data.schema) == ("nq", "trec")
    assert [item.sample.question for item in data.items] == ["Question 1?", "Question 2?"]
    assert texts(data) == ["Text 1.", "Text 2.", "Text 3."]
    assert [passage.title for passage in answer(data).passages] == ["T1", "T2", "T3"]
    assert [passage.text for passage in data.items[1].sample.passages] == ["Text 4."]
    assert "corpus.jsonl: 1 of 5 passages are not in it; they have no text." in data.warnings


def test_a_beir_folder_without_a_run_has_its_judged_questions(tmp_path: Path) -> None:
    data = read_eval_data(beir(tmp_path / "nq", run=False))
    assert [(item.sample.id, item.response) for item in data.items] == [("q1", None), ("q2", None), ("q3", None)]
    assert data.schema == "beir"


def test_splits_and_runs_of_a_beir_folder_are_chosen_or_told(tmp_path: Path) -> None:
    folder = beir(tmp_path / "nq")
    write(folder / "qrels" / "dev.tsv", "query-id\tcorpus-id\tscore\nq1\td3\t1\n")
    data = read_eval_data(folder)
    assert "judged by the split 'test'; there are others: 'dev' (--split NAME)." in data.warnings
    dev = read_eval_data(folder, split="dev")
    assert [passage.id for passage in dev.items[0].sample.passages] == ["d3"]
    with pytest.raises(UnknownName, match="Did you mean 'dev'"):
        read_eval_data(folder, split="dve")
    write(folder / "other.run", RUN)
    with pytest.raises(UsageError, match=r"holds several runs \(other\.run, run\.trec\); name one of them"):
        read_eval_data(folder)
    one = read_eval_data(folder / "other.run", corpus=folder, qrels=folder / "qrels" / "test.tsv")
    assert one.items[0].sample.question == "Question 1?"
    assert texts(one) == ["Text 1.", "Text 2.", "Text 3."]
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "train.tsv")
    (folder / "other.run").unlink()
    with pytest.raises(UsageError, match="splits 'dev', 'train'; choose one with --split"):
        read_eval_data(folder)


def test_judgements_label_the_rows_of_any_file_by_their_ids(tmp_path: Path) -> None:
    rows = [{"id": "q1", "question": "When?", "answer": "At 8.", "contexts": [{"id": "d1", "text": "At 8."}]}]
    data = read_eval_data(rows, qrels=write(tmp_path / "q.txt", QRELS))
    assert [(passage.id, passage.relevant) for passage in data.items[0].sample.passages] == [
        ("d1", True),
        ("d2", False),
    ]
    with pytest.raises(DataError, match=r"no query in it \('q1'.*--map id=COLUMN"):
        read_eval_data([rows[0] | {"id": "7"}], qrels=tmp_path / "q.txt")


def test_a_corpus_gives_texts_to_passages_with_ids_alone(tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus.csv", "id,title,text\nd1,T,At 8.\nd2,,At 9.\n")
    rows = [{"question": "When?", "answer": "At 8.", "context_ids": ["d2", "d1"], "reference_context_ids": ["d1"]}]
    data = read_eval_data(rows, corpus=corpus)
    assert texts(data) == ["At 9.", "At 8."]
    assert [(passage.text, passage.relevant) for passage in data.items[0].sample.passages] == [("At 8.", True)]


@pytest.mark.parametrize(
    ("run", "qrels", "told"),
    [
        (
            "q1 Q0 d1 1 9.5 x\nq1 Q0 d2\n",
            QRELS,
            "line 2: not a line of a run; expected: query Q0 document rank score tag",
        ),
        ("q1 Q0 d1 1 9.5 x\nq1 Q0 d2 2 nan x\n", QRELS, "line 2"),
        (RUN, "q1 0 d1 1\nq1 0 d2 x\n", "line 2, field 'grade': found 'x'; expected a whole number"),
        (RUN, "q1 0 d1 1\nq1 d2 1\n", "line 2: is no line of qrels"),
        (RUN, "a,b\n1,2\n", "holds no relevance judgements; expected query, document and grade, found 'a', 'b'"),
        (RUN, "query_id,doc_id,rel\nq1,,1\n", "line 2, field 'doc_id': is empty"),
        ('[{"qid": "q", "docid": "d", "score": null}]', QRELS, "field 'score' is empty or no number"),
    ],
)
def test_broken_runs_and_judgements_name_the_line(tmp_path: Path, run: str, qrels: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_eval_data(write(tmp_path / "run.txt", run), qrels=write(tmp_path / "qrels", qrels))


def test_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    run = write(tmp_path / "run.txt", RUN)
    with pytest.raises(UsageError, match=r"--qrels .*none\.txt: no such file"):
        read_eval_data(run, qrels=tmp_path / "none.txt")
    with pytest.raises(UsageError, match=r"--corpus .*none: no such file"):
        read_eval_data(run, corpus=tmp_path / "none")
