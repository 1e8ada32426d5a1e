"""What any search system found is a retriever: TREC's, BEIR's and MIRAGE's files, with what is wrong named by line."""

import contextlib
import gzip
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragstone.errors import DataError, UsageError
from ragstone.models.nested_names import parse
from ragstone.retrieval.open import facts_of
from ragstone.retrieval.registry import Building
from ragstone.retrieval.runs import Listed, open_run
from ragstone.types import Passage

POOL = [
    Passage("q1#0", "Mara founded it.", "Orchard", relevant=True),
    Passage("q1#1", "A river."),
    Passage("q2#0", "A river."),
    Passage("q2#1", "A river.", "Titled"),
    Passage("三#0", "果园由玛拉建立。"),
]
QUERIES = {"Who founded the orchard?": ["q1"], "Where is the river?": ["q2"], "谁？": ["三"]}


@contextlib.asynccontextmanager
async def opened(path: Path, queries: Mapping[str, Sequence[str]] = QUERIES) -> AsyncIterator[Listed]:
    async with open_run(parse(f"run:{path}"), Building(POOL, queries=queries)) as retriever:
        assert isinstance(retriever, Listed)
        yield retriever


async def found(path: Path, *queries: str, k: int = 9) -> list[list[tuple[str, float | None]]]:
    async with opened(path) as retriever:
        lists = await retriever.retrieve(queries or list(QUERIES), k=k)
    return [[(passage.id, passage.score) for passage in passages] for passages in lists]


def written(folder: Path, text: str, name: str = "a.run") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


TREC = """\
q1 Q0 q2#0 1 3.5 bm25
q1 Q0 q1#0 2 9.5 bm25

q2\tQ0\tq1#1\t2\t1.0\tbm25
q2\tQ0\tq2#0\t1\t1.0\tbm25
三 Q0 三#0 1 -4e-1 bm25
"""


async def test_a_trec_run_is_ordered_by_its_scores_then_by_rank(tmp_path: Path) -> None:
    path = written(tmp_path, TREC)
    assert await found(path) == [
        [("q1#0", 9.5), ("q2#0", 3.5)],
        [("q2#0", 1.0), ("q1#1", 1.0)],
        [("三#0", -0.4)],
    ]
    assert await found(path, "Who founded the orchard?", "q2", "unknown", "", k=1) == [
        [("q1#0", 9.5)], [("q2#0", 1.0)], [], [],
    ]  # fmt: skip
    async with opened(path) as retriever:
        assert retriever.id == f"run:{path}"
        ((best, *_),) = await retriever.retrieve(["q1"], k=1)
        facts = facts_of(retriever)
    assert (best.text, best.title, best.relevant) == ("Mara founded it.", "Orchard", True)
    assert (facts["form"], facts["tags"], facts["queries"], facts["deepest"]) == ("TREC", ["bm25"], 3, 2)
    assert len(facts["sha256"]) == 64


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_line_ends_a_mark_of_the_encoding_and_gzip_change_nothing(tmp_path: Path, ending: str) -> None:
    data = b"\xef\xbb\xbf" + TREC.replace("\n", ending).encode()
    plain, packed = tmp_path / "a.run", tmp_path / "a.run.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    assert await found(plain) == await found(packed) == await found(written(tmp_path, TREC, "b.run"))


SCORES: dict[str, dict[str, float]] = {"q1": {"q1#0": 9.5, "q2#0": 3}, "q2": {"q1#1": 1}}
SAME = [[("q1#0", 9.5), ("q2#0", 3.0)], [("q1#1", 1.0)], []]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SCORES),
        json.dumps(SCORES, indent=1),
        "query-id\tcorpus-id\tscore\nq1\tq2#0\t3\nq1\tq1#0\t9.5\n\nq2\tq1#1\t1\n",
        "q1\tq2#0\t3\nq1\tq1#0\t9.5\nq2\tq1#1\t1",
        "run,score,doc_id,query_id\nx,3,q2#0,q1\nx,9.5,\"q1#0\",q1\nx,1,q1#1,q2\n",
        "\n".join(
            json.dumps({"query_id": q, "doc_id": d, "score": s}) for q, its in SCORES.items() for d, s in its.items()
        ),
        json.dumps([{"qid": q, "docno": d, "score": s} for q, its in SCORES.items() for d, s in its.items()]),
    ],
)  # fmt: skip
async def test_the_same_run_in_other_forms(tmp_path: Path, text: str) -> None:
    assert await found(written(tmp_path, text)) == SAME


@pytest.mark.parametrize(
    "text",
    [
        "q1\tq2#0\t1\nq2\tq2#0\t1\nq1\tq1#0\t2\n",
        "query_id\tdoc_id\trank\nq1\tq1#0\t2\nq1\tq2#0\t1\nq2\tq2#0\t1\n",
        """{"qid": "q1", "pid": "q1#0", "rank": 7}\n{"qid": "q1", "pid": "q2#0", "rank": 3}
        {"qid": "q2", "pid": "q2#0", "rank": 0}""",
    ],
)
async def test_ranks_without_scores_order_a_list_and_give_one_over_the_rank(tmp_path: Path, text: str) -> None:
    assert (await found(written(tmp_path, text)))[:2] == [[("q2#0", 1.0), ("q1#0", 0.5)], [("q2#0", 1.0)]]


def mirage(query: str, *chunks: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    rows = [{"mapped_id": mapped, "doc_name": title, "doc_chunk": text, "support": 0} for mapped, title, text in chunks]
    return {"query_id": query, "top_chunks": rows, **more}


async def test_mirages_file_finds_its_chunks_by_text_query_and_title(tmp_path: Path) -> None:
    rows = [
        mirage("q1", ("q2", "", "A river."), ("q1", "Orchard", "Mara founded it."), scores=[0.25, 0.5]),
        mirage("q2", ("q2", "Titled", "A river."), ("x", "", "A river."), ("q2", "", "A river.")),
        mirage("三", scores=[]),
    ]
    path = written(tmp_path, json.dumps(rows))
    assert await found(path) == [
        [("q2#0", 0.25), ("q1#0", 0.5)],  # in their order
        [("q2#1", 1.0), ("q1#1", 0.5), ("q2#0", pytest.approx(1 / 3))],
        [],
    ]
    async with opened(path) as retriever:
        assert facts_of(retriever)["form"] == "MIRAGE"


async def test_scores_that_are_no_numbers_leave_mirages_order(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps([mirage("q1", ("q1", "", "A river."), scores=[float("nan")])]))
    assert (await found(path, "q1")) == [[("q1#1", 1.0)]]


async def test_questions_of_the_same_words_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    path = written(tmp_path, TREC)
    async with opened(path, {"Same?": ["q9", "q2", "q1"], "谁？": ["三"]}) as retriever:
        assert [passage.id for passage in (await retriever.retrieve(["Same?"], k=1))[0]] == ["q2#0"]
        lists = await retriever.retrieve_for(["q1", "q2", "q9"], k=1)
    assert [[passage.id for passage in passages] for passages in lists] == [["q1#0"], ["q2#0"], []]


async def test_questions_without_a_list_are_told_and_queries_that_are_not_asked_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, TREC + "other Q0 not-in-the-pool 1 1.0 x\n")
    with caplog.at_level(logging.WARNING):
        async with opened(path, {**QUERIES, "New?": ["q8"]}) as retriever:
            facts = facts_of(retriever)
    assert [message.partition(" has no list")[2] for message in caplog.messages] == [
        " for 1 of 4 queries ('q8'); they find nothing."
    ]
    assert (facts["lacking"], facts["not_asked"]) == (1, 1)


async def test_without_known_queries_the_ids_are_the_questions(tmp_path: Path) -> None:
    async with opened(written(tmp_path, TREC), {}) as retriever:
        assert [len(one) for one in await retriever.retrieve(["q1", "Who founded the orchard?"], k=5)] == [2, 0]
        assert "lacking" not in facts_of(retriever)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("q1 Q0 q1#0 1 1.0 x\nq1 Q0 q1#1 2\n", "line 2: is not a TREC line: 'q1 Q0 q1#1 2'"),
        ("q1 Q0 q1#0 1 1.0 x\nq1 Q0 q1#1 2 nan x\n", "line 2: is not a TREC line"),
        ("q1 Q0 d7 1 1.0 x\n", "the pool has none of its documents, such as 'd7'; the pool's ids look like 'q1#0'"),
        ("q1 Q0 q1#0 1 1.0 x\nq1 Q0 q1#0 2 0.5 x\n", "line 2: the query 'q1' has the document 'q1#0' twice"),
        (
            "a Q0 q1#0 1 1.0 x\nb Q0 q1#0 1 1.0 x\n",
            "none of its queries is in the benchmark; it has 'a', 'b', the benchmark 'q1',",
        ),
        ("just words\n", "line 1: is not a run: it starts with 'just words'"),
        ("query_id,doc_id,score\nq1,q1#0,high\n", "line 2: its score 'high' is not a finite number"),
        ("query_id,doc_id,score\nq1,,1\n", "line 2: it has no document"),
        ("query_id,doc_id,score\n", "it has no ranked documents"),
        ('query_id,doc_id,score\nq1,"q1#0', "cannot be read as a table|line 2: its score"),
        ("{}", "it has no ranked documents"),
        ("[]", "it has no ranked documents"),
        ("[1]", "item 0: is not an object"),
        ("{not json", "line 1: not JSON"),
        ('{"q1": {"q1#0": 1},', "line 1: not JSON"),
        ('{"q1": ["q1#0"]}', "field 'q1': expected {document: score}"),
        ('{"q1": {"q1#0": null}}', "query 'q1', document 'q1#0': its score None is not a finite number"),
        ('{"q1": {"q1#0": 1e999}}', "is not a finite number"),
        ('{"q1": {"zz": 1}}', "the pool has none of its documents, such as 'zz'"),
        ('{"qid": "q1", "doc": "q1#0", "score": 1}\n{"qid"\n', "line 2: not JSON"),
        ('{"qid": "q1", "doc": "q1#0", "score": 1}\n[]\n', "line 2: is not an object"),
        (json.dumps([mirage("q1"), mirage("q1")]), "item 1: the query 'q1' occurs twice"),
        (json.dumps([mirage("q1", ("q1", "", "Unknown text."))]), "the pool has none of its documents"),
        (json.dumps([mirage("", ("q1", "", "A river."))]), "item 0: it has no query_id"),
        ('[{"query_id": "q1", "top_chunks": [7]}]', "item 0: chunk 1 has no doc_chunk"),
        ('[{"query_id": "q1", "top_chunks": null}]', "item 0: top_chunks should be a list"),
        ("[" * 100_000, "nested too deeply"),
        ("query_id,doc_id,score\nq1," + "d" * 200_000 + ",1", "cannot be read as a table"),
        ("q1," + "d" * 200_000 + ",1", "cannot be read as a table"),
    ],
)
async def test_what_is_wrong_is_one_line_that_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        await found(written(tmp_path, text))
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value)


async def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        await found(tmp_path / "no.run")
    with pytest.raises(DataError, match="cannot be read"):
        await found(tmp_path)
    (tmp_path / "latin.run").write_bytes(b"q1 Q0 q1#0 1 1.0 x\nq1 Q0 caf\xe9 2 0.5 x\n")
    with pytest.raises(DataError, match="line 2: is not UTF-8"):
        await found(tmp_path / "latin.run")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TREC.encode() * 50)[:60])
    with pytest.raises(DataError, match="cannot be read"):
        await found(tmp_path / "cut.gz")


async def test_a_name_with_options_or_two_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no option 'k'"):
        async with open_run(parse("run(a.trec,k=3)"), Building(POOL)):
            pass
    with pytest.raises(UsageError, match="takes one file"):
        async with open_run(parse("run(a.trec,b.trec)"), Building(POOL)):
            pass
