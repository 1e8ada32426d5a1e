"""Pools are read in MIRAGE's, the hub's and BEIR's form; what is wrong is named in one line."""

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragstone.datasets.pool_files import read_any_pool, read_beir, read_hub, read_mirage
from ragstone.errors import DataError

if TYPE_CHECKING:
    from ragstone.datasets.pools import Pool

QUESTIONS: list[dict[str, Any]] = [
    {"source": "popqa", "query_id": "q1", "query": "What is Ada's occupation?", "answer": ["engineer", "builder"],
     "doc_name": "Ada", "doc_url": "", "num_doc_labels": 1},
    {"source": "drop", "query_id": "q2", "query": "Who won?", "answer": ["Blue"], "doc_name": "Cup", "doc_url": ""},
]  # fmt: skip
CHUNKS: list[dict[str, Any]] = [
    {"mapped_id": "q1", "doc_name": "Ada", "doc_chunk": "Ada is an engineer.", "support": 1},
    {"mapped_id": "q1", "doc_name": "Ada", "doc_chunk": "Ada lives by the sea.", "support": 0},
    {"mapped_id": "q2", "doc_name": "Cup", "doc_chunk": "The cup was held in May.", "support": 0},
    {"mapped_id": "q2", "doc_name": "Cup", "doc_chunk": "Blue won the cup.", "support": 1},
]
ORACLE = {
    "q1": {"mapped_id": "q1", "doc_name": "Ada", "doc_chunk": "Ada is an engineer.", "support": 1},
    "q2": {"mapped_id": "q2", "doc_name": "Cup", "doc_chunk": "Blue won the cup.", "support": 1},
}


def folder(path: Path, *, questions: Any = QUESTIONS, chunks: Any = CHUNKS, oracle: Any = ORACLE) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, value in (("dataset", questions), ("doc_pool", chunks), ("oracle", oracle)):
        (path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return path


def test_the_official_files_become_a_pool(tmp_path: Path) -> None:
    pool = read_mirage(folder(tmp_path / "mirage"))
    one, two = pool.questions
    assert (one.id, one.gold, one.mapped, one.source) == ("q1", ("q1#0",), ("q1#0", "q1#1"), "popqa")
    assert (two.gold, two.oracle[0].text) == (("q2#1",), "Blue won the cup.")
    assert [passage.id for passage in pool.passages] == ["q1#0", "q1#1", "q2#0", "q2#1"]
    assert all(passage.relevant is None for passage in pool.passages)  # for which question?
    assert set(pool.sha256) == {"dataset.json", "doc_pool.json", "oracle.json"}


def test_the_oracle_may_be_a_list_or_by_query(tmp_path: Path) -> None:
    by_query = read_mirage(folder(tmp_path / "a"))
    listed = read_mirage(folder(tmp_path / "b", oracle=list(ORACLE.values())))
    assert by_query.questions == listed.questions


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"chunks": CHUNKS[2:]}, "the query 'q1' has no chunk in the pool"),
        ({"chunks": [{**chunk, "support": 0} for chunk in CHUNKS]}, "the query 'q1' has no label"),
        ({"questions": [*QUESTIONS, QUESTIONS[0]]}, "'q1' occurs twice"),
        ({"questions": QUESTIONS[:1]}, "belongs to the query 'q2', which is not there"),
        ({"oracle": {"q1": ORACLE["q1"]}}, "the query 'q2' has no oracle chunk"),
        ({"questions": [{**QUESTIONS[0], "answer": []}]}, "has no answer"),
        ({"chunks": [{"mapped_id": "q1"}]}, r"doc_pool\.json: item 0: object missing required field doc_chunk"),
        ({"chunks": CHUNKS[2:]}, "1 of 2 have none. Are the files whole"),
        ({"questions": []}, r"dataset\.json: holds no question"),
        ({"questions": [{**QUESTIONS[0], "query": " "}]}, r"item 0 \(q1\) has no question"),
        ({"questions": [{**QUESTIONS[0], "answer": None}]}, "field 'answer': item 0: expected a list, got null"),
        ({"oracle": {"q1": None}}, "oracle.json: expected object"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, changed: Any, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        read_mirage(folder(tmp_path, **changed))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    (folder(tmp_path) / "doc_pool.json").unlink()
    with pytest.raises(DataError, match=r"has no doc_pool\.json"):
        read_any_pool(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="holds neither"):
        read_any_pool(tmp_path / "none")


@pytest.mark.parametrize(
    ("held", "says"),
    [
        (gzip.compress(b"[]", mtime=0), r"is compressed \(gzip\)\. Unpack it first"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        ("[]".encode("utf-16"), "is UTF-16. Save it as UTF-8"),
        ('["\n\xe4"]'.encode("latin-1"), "line 2: is not UTF-8"),
        (b" \n", "is empty"),
        (b"<html>", "not JSON"),
    ],
)  # fmt: skip
def test_a_file_that_is_something_else_is_told_as_that(tmp_path: Path, held: bytes, says: str) -> None:
    (folder(tmp_path) / "doc_pool.json").write_bytes(held)
    with pytest.raises(DataError, match=says) as caught:
        read_any_pool(tmp_path)
    assert str(tmp_path / "doc_pool.json") in str(caught.value)


def test_what_is_no_pool_by_itself_is_told_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"one of MIRAGE's three files. Name their folder: {tmp_path}"):
        read_any_pool(folder(tmp_path) / "dataset.json")
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "dataset.json.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"Unpack its \.gz files"):
        read_any_pool(tmp_path / "packed")


def _hub_rows() -> list[dict[str, Any]]:
    rows = []
    for question in QUESTIONS:
        mapped = [chunk for chunk in CHUNKS if chunk["mapped_id"] == question["query_id"]]
        columns = {name: [chunk[name] for chunk in mapped] for name in CHUNKS[0]}
        rows.append({**question, "doc_pool": columns, "oracle": ORACLE[str(question["query_id"])]})
    return rows


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_the_hub_s_rows_are_the_same_pool(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"train.{form}"
    if form == "parquet":
        arrow = pytest.importorskip("pyarrow", reason="the extra files is not installed")
        parquet = pytest.importorskip("pyarrow.parquet", reason="the extra files is not installed")
        parquet.write_table(arrow.Table.from_pylist(_hub_rows()), path)
    else:
        lines = json.dumps(_hub_rows()) if form == "json" else "\n".join(map(json.dumps, _hub_rows()))
        path.write_text(lines, encoding="utf-8")
    official = read_mirage(folder(tmp_path / "mirage"))
    pool = read_hub(path)
    assert (pool.questions, pool.passages) == (official.questions, official.passages)


def test_the_hub_s_oracle_may_be_several_chunks_and_need_not_repeat_its_query(tmp_path: Path) -> None:
    bare = {name: value for name, value in ORACLE["q1"].items() if name != "mapped_id"}
    rows = [{**_hub_rows()[0], "oracle": bare}, {**_hub_rows()[1], "oracle": [CHUNKS[2], CHUNKS[3]]}]
    path = tmp_path / "train.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert [question.together for question in read_hub(path).questions] == [1, 2]
    path.write_text(json.dumps([{**rows[0], "oracle": []}]), encoding="utf-8")
    with pytest.raises(DataError, match="row 1 is none of MIRAGE"):
        read_hub(path)


def test_a_hub_row_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "query": "?", "answer": ["x"]}), encoding="utf-8")
    with pytest.raises(DataError, match="row 1 is none of MIRAGE"):
        read_hub(path)
    path.write_text("\n".join(map(json.dumps, [*_hub_rows(), _hub_rows()[0]])), encoding="utf-8")
    with pytest.raises(DataError, match="row 3: 'q1' occurs twice"):
        read_hub(path)
    for text, problem in (("{", "not JSON"), ('{"a":' * 100_000, "nested too deeply")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=f"line 1: {problem}"):
            read_hub(path)
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DataError, match="nested too deeply"):
        read_hub(path)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"doc_pool": {"mapped_id": ["q1", "q1"], "doc_chunk": ["x"]}}, "field 'doc_pool': .*differ in length"),
        ({"doc_pool": {"mapped_id": 3}}, "no chunk in the pool"),
        ({"doc_pool": None}, "field 'doc_pool': row 1 is none of MIRAGE: expected a list, got null"),
        ({"oracle": None}, r"field 'oracle\[0\]': row 1 is none of MIRAGE: expected object"),
        ({"query": ""}, r"row 1 \(q1\) has no question"),
    ],
)
def test_what_is_wrong_in_a_hub_row_is_named_with_its_field(tmp_path: Path, changed: Any, says: str) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({**_hub_rows()[0], **changed}), encoding="utf-8")
    with pytest.raises(DataError, match=says):
        read_hub(path)


def _beir(path: Path, qrels: str = "query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n2\td3\t1\n") -> Path:
    (path / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d{number}", "title": f"T{number}", "text": f"Text {number}."} for number in (1, 2, 3, 4)]
    queries: list[dict[str, Any]] = [
        {"_id": "1", "text": "First?", "metadata": {"answers": ["one", "uno"]}}, {"_id": "2", "text": "第二？"},
        {"_id": "3", "text": "Never judged"},
    ]  # fmt: skip
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (path / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    return path


def test_a_beir_folder_is_a_pool_too(tmp_path: Path) -> None:
    pool: Pool = read_any_pool(_beir(tmp_path / "beir"))
    one, two = pool.questions
    assert (one.answers, one.gold, one.mapped) == (("one", "uno"), ("d1",), ("d1", "d2"))
    assert (two.text, two.answers, two.gold) == ("第二？", (), ("d3",))
    assert [passage.id for passage in one.oracle] == ["d1"]
    assert len(pool.passages) == 4


@pytest.mark.parametrize(
    ("qrels", "says"),
    [
        ("1\td9\t1\n", "no query has a relevant document in the corpus"),
        ("9\td1\t1\n", "judges the query '9'"),
        ("1\td1\t0\n", "no query has a relevant document"),
        ("1 0 d1 high\n2 0 d1 1\n", "expected query"),
        ("1\n", r"line 1: expected query, document and grade; found \['1'\]"),
        ("1\td1\t²\n", "line 1: expected query, document and grade"),
        ("1\t" + "x" * 200_000 + "\t1\n", "cannot be read as a table"),
    ],
)
def test_judgements_that_do_not_fit_are_named(tmp_path: Path, qrels: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_beir(_beir(tmp_path / "beir", qrels))


def test_doubts_are_told_in_the_language_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    assert read_beir(_beir(tmp_path / "beir")).doubts == (
        "3 个查询中有 1 个在 test.tsv 中没有相关文档，已忽略，第一个是 '3'。",
    )


def test_a_query_of_beir_that_occurs_twice_is_named_and_one_that_nobody_judged_is_counted(tmp_path: Path) -> None:
    beir = _beir(tmp_path / "beir")
    (doubt,) = read_beir(beir).doubts
    assert doubt.startswith("1 of 3 queries have no relevant document in test.tsv and are left out, the first is '3'")
    with (beir / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"_id": "2", "text": "Again?"}\n')
    with pytest.raises(DataError, match="line 4, field '_id': the query '2' occurs twice"):
        read_beir(beir)
    for rows in ("[1]\n", '{"_id": "1", "text": " "}\n'):
        (beir / "queries.jsonl").write_text(rows, encoding="utf-8")
        with pytest.raises(DataError, match="expected _id and text"):
            read_beir(beir)
    for said in (3, {"a": 1}, ["x", None]):
        row = {"_id": "1", "text": "First?", "answers": said}
        (beir / "queries.jsonl").write_text(json.dumps(row), encoding="utf-8")
        with pytest.raises(DataError, match="line 1, field 'answers': expected a text or a list of texts"):
            read_beir(beir)
    (beir / "qrels" / "test.tsv").write_bytes(b"1\td\xe4\t1\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        read_beir(beir)


def test_supporting_documents_of_beir_are_not_needed_together_as_several_oracle_chunks_are(tmp_path: Path) -> None:
    several = "query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t1\n2\td3\t1\n"
    one, two = read_beir(_beir(tmp_path / "beir", several)).questions
    assert ([len(one.oracle), len(two.oracle)], [one.together, two.together]) == ([2, 1], [1, 1])
    both = {**ORACLE, "q2": [CHUNKS[2], CHUNKS[3]]}
    official = read_mirage(folder(tmp_path / "mirage", oracle=both)).questions
    assert [question.together for question in official] == [1, 2]


def _third() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One more question: (questions and oracle, its chunks)."""
    chunks = [{**chunk, "mapped_id": "q3"} for chunk in CHUNKS[2:]]
    questions = [*QUESTIONS, {**QUESTIONS[1], "query_id": "q3"}]
    return {"questions": questions, "oracle": {**ORACLE, "q3": {**ORACLE["q2"], "mapped_id": "q3"}}}, chunks


def test_rows_that_seem_to_be_missing_or_there_twice_are_told(tmp_path: Path) -> None:
    assert read_mirage(folder(tmp_path / "whole")).doubts == ()
    (fewer,) = read_mirage(folder(tmp_path / "fewer", chunks=[*CHUNKS[:2], CHUNKS[3]])).doubts
    assert fewer.startswith("1 of 2 questions have fewer than 2 chunks in the pool, the first is 'q2'")
    twice = [*CHUNKS, CHUNKS[0]]
    more, _ = read_mirage(folder(tmp_path / "more", chunks=[*twice, *_third()[1]], **_third()[0])).doubts
    assert more.startswith("1 of 3 questions have more than 2 chunks in the pool, the first is 'q1': are rows there")
    odd = [CHUNKS[0], {**CHUNKS[1], "support": 2}, *CHUNKS[2:]]
    (support,) = read_mirage(folder(tmp_path / "odd", chunks=odd)).doubts
    assert support.startswith("1 of 4 chunks have a support that is neither 0 nor 1")
    turned = [CHUNKS[0], {**CHUNKS[1], "support": 1}, *CHUNKS[2:]]
    (labels,) = read_mirage(folder(tmp_path / "labels", chunks=turned)).doubts
    assert labels.startswith("1 of 2 questions have another number of supporting chunks")
