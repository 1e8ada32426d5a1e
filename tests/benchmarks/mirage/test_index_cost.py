"""What the retrievers take is told: index, size, time, requests."""

from typing import Any

from ragstone.benchmarks.mirage.index_cost import index_table, search_cost
from ragstone.messages import messages

HELD: dict[str, Any] = {
    "retrievers": {
        "bm25": {"library": "bm25s 0.3.16", "passages": 1000, "index_bytes": 1_234_567, "build_seconds": 0.4,
                 "seconds_per_question": 0.0021},
        "multivector(e)": {"index": "numpy", "passages": 1000, "vectors": 9000, "index_bytes": 13_824_000,
                           "single_index_bytes": 1_536_000, "embed_seconds": 9.0, "index_seconds": 1.0,
                           "search_seconds_per_query": 0.005, "single_search_seconds_per_query": 0.001},
        "rerank(bm25,m)": {"usage": {"requests": 12}, "seconds_per_question": 1.5},
        "rerank(hybrid(a,b),m)": {
            "usage": {"requests": 5}, "index_bytes": 300, "first": {"hybrid(a,b)": {
                "index_bytes": 300, "parts": {
                    "a": {"passages": 10, "build_seconds": 0.5}, "b": {"passages": 9, "embed_seconds": 1.0},
                    "c": {"usage": {"requests": 2}},
                },
            }},
        },
        "mine": {},
    }
}  # fmt: skip


def texts(preparation: Any, language: str = "en") -> list[list[str]]:
    return [
        [cell.text for cell in row.cells]
        for row in index_table(preparation, messages("ragstone.benchmarks.mirage.tables", language)).rows
    ]


def test_each_retriever_has_a_line_with_what_it_told() -> None:
    bm25, several, reranked, _ = texts(HELD)
    assert bm25 == ["bm25", "bm25s 0.3.16", "1,000", "", "1.23 MB", "0.4 s", "2.1 ms", ""]
    assert several[3:7] == ["9,000", "13.8 MB (1.54 MB)", "10.0 s", "5 ms (1 ms)"]
    assert (reranked[0], reranked[6], reranked[7]) == ("rerank(bm25,m)", "1.50 s", "12")


def test_a_composed_retriever_takes_what_its_parts_take() -> None:
    assert texts(HELD)[3] == ["rerank(hybrid(a,b),m)", "", "10", "", "300 B", "1.5 s", "", "7"]


def test_notes_say_what_stands_in_brackets_where_something_does() -> None:
    assert len(index_table(HELD, messages("ragstone.benchmarks.mirage.tables", "zh")).notes) == 2
    assert (
        len(
            index_table(
                {"retrievers": {"bm25": HELD["retrievers"]["bm25"]}},
                messages("ragstone.benchmarks.mirage.tables", "en"),
            ).notes
        )
        == 1
    )


def test_what_a_retriever_did_without_is_told() -> None:
    facts = {"model": "a/m", "without": 2, "answered": 1000, "without_because": "It is empty.", "first": {"bm25": {}}}
    held = {"retrievers": {"rerank(bm25,a/m)": facts, "run:x": {"lacking": 3}, "run:y": {"lacking": 0}}}
    _, model, lists = index_table(held, messages("ragstone.benchmarks.mirage.tables", "en")).notes
    assert model == "rerank(bm25,a/m): in 2 of 1,002 searches, a/m could not be used. First reason: It is empty."
    assert lists == "run:x: no list for 3 questions, which count as finding nothing."
    assert len(index_table(held, messages("ragstone.benchmarks.mirage.tables", "zh")).notes) == 3


def test_without_anything_told_there_is_no_line() -> None:
    held: list[Any] = [None, {}, {"retrievers": {}}, {"retrievers": {"a": None}}]
    assert [texts(nothing) for nothing in held] == [[]] * 4


def test_the_cost_of_a_question_has_the_models_of_all_parts() -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 100, "requests": 3, "cached": 2}
    first = {"multiquery(e,m)": {"usage": {"prompt_tokens": 50, "requests": 5}}}
    facts = {"usage": usage, "first": first, "questions": 10, "query_tokens": 80, "seconds_per_question": 0.25}
    preparation = {"retrievers": {"r": facts, "r/c330": {**facts, "questions": 5}}}
    assert search_cost(preparation, "r", 0) == (105.0 + 8.0, 1.0, 0.25)
    assert search_cost(preparation, "r", 330).requests == 2.0
    assert search_cost(preparation, "other", 0) == search_cost(None, "r", 0) == (0, 0, 0)
