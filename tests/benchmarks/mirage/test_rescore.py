"""MIRAGE's official files are scored to the count, and what cannot be read is named in one line."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.benchmarks.mirage.official import (
    GROUPS,
    KS,
    adaptability,
    groups,
    rescore_answers,
    rescore_retrieval,
    retrieval_scores,
)
from ragstone.errors import DataError, UsageError
from ragstone.metrics.mirage_official import em_loose, em_strict, token_set_f1

DATA = Path(__file__).parents[4] / "shared" / "data" / "mirage" / "dataset.json"
official = pytest.mark.skipif(not DATA.is_file(), reason="MIRAGE's dataset.json is not beside the repository")


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def row(name: str, *answers: str) -> dict[str, Any]:
    return {"source": "s", "query_id": name, "query": f"{name}?", "doc_name": "d", "answer": list(answers),
            "doc_url": "", "num_doc_labels": 1}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    return held


@official
def test_first_aliases_as_predictions_have_the_known_f1(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """PROTOCOLS: the token-set F1 of a perfect first alias averages 0.859 over the official questions."""
    path = write(tmp_path / "p.json", [{**one, "model_predictions": [one["answer"][0]]} for one in rows])
    found = rescore_answers(DATA, {"base": path, "oracle": path, "mixed": path})
    assert found["n"] == 7560
    assert found["llm"]["base"]["em_loose"] == found["llm"]["base"]["em_strict"] == 1.0
    assert round(found["llm"]["base"]["f1"], 3) == 0.859
    assert found["groups"]["111"] == 7560
    assert found["adaptability"]["total"] == 1.0


@official
def test_five_questions_are_right_by_their_echo(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """PROTOCOLS: five questions are right (EM loose) where the prediction echoes the question."""
    path = write(tmp_path / "p.json", [{**one, "model_predictions": one["query"]} for one in rows])
    assert rescore_answers(DATA, {"base": path})["llm"]["base"]["em_loose"] * 7560 == pytest.approx(5)


@official
def test_every_group_is_counted(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rng = random.Random(1)
    bits = [rng.choice(GROUPS) for _ in rows]
    paths = {
        setting: write(
            tmp_path / f"{setting}.json",
            [{**one, "model_predictions": f"It is {one['answer'][-1]}." if bit[at] == "1" else "\u2603"}
             for one, bit in zip(rows, bits, strict=True)],
        )
        for at, setting in enumerate(("base", "oracle", "mixed"))
    }  # fmt: skip
    found = rescore_answers(DATA, paths)
    assert found["groups"] == {name: bits.count(name) for name in GROUPS}
    four = found["adaptability"]
    assert math.fsum(value for name, value in four.items() if name != "total") == pytest.approx(1)
    assert four["total"] == pytest.approx(2 * four["context_acceptability"] - 1)
    assert four["noise_vulnerability"] == pytest.approx((bits.count("010") + bits.count("110")) / 7560)


def test_matches_are_those_of_the_official_program() -> None:
    assert em_loose("It is NEW york City", ["new York"])
    assert not em_loose("Newyork", ["new york"])
    assert em_strict("PARIS", ["paris"])
    assert not em_strict(" Paris", ["Paris"])  # saved predictions are scored as they are
    assert token_set_f1("the journalist", ["journalist", "journo"]) == pytest.approx(2 * 1 / 4)
    assert token_set_f1("", ["a"]) == 0.0
    assert token_set_f1("a a b", ["a b"]) == 1.0


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1))
def test_the_four_shares_sum_to_one(labels: list[tuple[bool, bool, bool]]) -> None:
    b, o, m = zip(*labels, strict=True)
    counts = groups(b, o, m)
    four = adaptability(counts)
    assert sum(counts.values()) == len(labels)
    assert math.fsum(four[name] for name in four if name != "total") == pytest.approx(1)
    assert four["noise_vulnerability"] == pytest.approx(sum(y and not z for _, y, z in labels) / len(labels))
    assert four["context_misinterpretation"] == pytest.approx(sum(x and not y for x, y, _ in labels) / len(labels))


def chunk(query: str, support: int, number: int = 0) -> dict[str, Any]:
    return {"mapped_id": query, "doc_name": "d", "doc_chunk": f"{query} {number}", "support": support}


def test_retrieval_by_hand(tmp_path: Path) -> None:
    pool = [chunk("q", 1, 0), chunk("q", 1, 1), chunk("q", 0, 2), chunk("r", 1, 0), chunk("r", 0, 1)]
    found = [
        {"query_id": "q", "top_chunks": [pool[2], pool[0], pool[3], pool[4]], "scores": [3, 2, 1, 0.5]},
        {"query_id": "r", "top_chunks": [pool[3]], "scores": [float("nan")]},
    ]
    scores = rescore_retrieval(write(tmp_path / "pool.json", pool), write(tmp_path / "r.json", found))
    assert list(scores) == ["1", "3", "5"]
    second = 1 / math.log2(3)
    assert scores["1"] == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5, "ndcg": 0.5, "ndcg_textbook": 0.5})
    assert scores["3"]["precision"] == pytest.approx((1 / 3 + 1 / 3) / 2)
    assert scores["3"]["recall"] == pytest.approx((1 / 2 + 1) / 2)
    assert scores["3"]["f1"] == pytest.approx((2 * (1 / 3) * (1 / 2) / (5 / 6) + 2 * (1 / 3) / (4 / 3)) / 2)
    # The official ideal is what was retrieved, sorted: one chunk found at rank 2 could have stood at rank 1.
    assert scores["3"]["ndcg"] == pytest.approx((second / 1 + 1) / 2)
    assert scores["3"]["ndcg_textbook"] == pytest.approx((second / (1 + second) + 1) / 2)


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3),
        st.tuples(st.integers(1, 5), st.lists(st.booleans(), max_size=12)),
        min_size=1,
    )
)
def test_retrieval_scores_stay_within_their_range(held: dict[str, tuple[int, list[bool]]]) -> None:
    labels = {query: max(count, sum(found)) for query, (count, found) in held.items()}
    for k in KS:
        scores = retrieval_scores({query: found for query, (_, found) in held.items()}, labels, k)
        assert all(0 <= value <= 1 + 1e-12 for value in scores.values())
        assert scores["ndcg_textbook"] <= scores["ndcg"] + 1e-12


def test_a_chunk_of_another_query_is_not_relevant_even_if_it_supports_that_one(tmp_path: Path) -> None:
    pool = [chunk("q", 1), chunk("r", 1)]
    path = write(tmp_path / "r.json", [{"query_id": "q", "top_chunks": [pool[1]], "scores": [1]}])
    assert rescore_retrieval(write(tmp_path / "pool.json", pool), path)["1"]["precision"] == 0.0


@pytest.mark.parametrize(
    ("predictions", "told"),
    [
        ([{"query_id": "a", "model_predictions": None}], "a.*no prediction"),
        ([{"query_id": "a"}], "no prediction"),
        ([{"query_id": "a", "model_predictions": ["x", "y"]}], "no prediction"),
        ([{"query_id": "z", "model_predictions": "x"}], "no query 'z'"),
        ([{"query_id": "a", "model_predictions": "x"}, {"query_id": "a", "model_predictions": "x"}], "twice"),
        ([{"query_id": "a", "model_predictions": "x"}], "1 of 2 predictions are missing, the first of 'b'"),
        ([{"query_id": 5, "model_predictions": "x"}], "query_id"),
        ({"query_id": "a"}, "expected a list"),
    ],
)
def test_what_is_wrong_with_predictions_is_named(tmp_path: Path, predictions: Any, told: str) -> None:
    dataset = write(tmp_path / "d.json", [row("a", "x"), row("b", "y")])
    with pytest.raises(DataError, match=told) as caught:
        rescore_answers(dataset, {"base": write(tmp_path / "p.json", predictions)})
    assert "p.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_wrong_with_the_data_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with pytest.raises(UsageError, match="No predictions"):
        rescore_answers(write(tmp_path / "d.json", [row("a", "x")]), {})
    with pytest.raises(DataError, match="'a' occurs twice"):
        rescore_answers(write(tmp_path / "d.json", [row("a", "x"), row("a", "y")]), {"base": path})
    with pytest.raises(DataError, match="no answer"):
        rescore_answers(write(tmp_path / "d.json", [row("a")]), {"base": path})
    with pytest.raises(DataError, match="cannot be read"):
        rescore_answers(tmp_path / "nowhere.json", {"base": path})
    (tmp_path / "broken.json").write_text("[{", encoding="utf-8")
    with pytest.raises(DataError, match="not JSON"):
        rescore_answers(tmp_path / "broken.json", {"base": path})


def test_what_is_wrong_with_a_retrieval_is_named(tmp_path: Path) -> None:
    pool = write(tmp_path / "pool.json", [chunk("q", 1), chunk("r", 0)])
    for query, told in (("z", "no chunk of query 'z'"), ("r", "no chunk of the pool supports query 'r'")):
        with pytest.raises(DataError, match=told):
            rescore_retrieval(pool, write(tmp_path / "r.json", [{"query_id": query, "top_chunks": []}]))
    with pytest.raises(DataError, match="holds no query"):
        rescore_retrieval(pool, write(tmp_path / "r.json", []))
