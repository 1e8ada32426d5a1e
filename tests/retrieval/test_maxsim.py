"""The best passages by the best of their vectors, exactly."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.retrieval.multivector import MaxSim

Array = np.ndarray[Any, Any]


def _unit(rows: Any) -> Array:
    matrix = np.asarray(rows, dtype=np.float32)
    return np.asarray(matrix / np.linalg.norm(matrix, axis=-1, keepdims=True), dtype=np.float32)


def _by_hand(matrix: Array, counts: list[int], query: Array, k: int) -> list[tuple[int, float]]:
    """The definition, row by row."""
    ends = np.cumsum(counts).tolist()
    scored = []
    for number, (count, end) in enumerate(zip(counts, ends, strict=True)):
        rows = matrix[end - count : end].astype(np.float64)
        score = np.mean([max((row * window).sum() for row in rows) for window in query.astype(np.float64)])
        scored.append((number, float(score)))
    return sorted(scored, key=lambda one: (-one[1], one[0]))[:k]


# Of few different vectors there are many ties.
vectors = st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any)


@settings(deadline=None)
@given(
    st.lists(st.lists(vectors, min_size=1, max_size=4), min_size=1, max_size=12),
    st.lists(st.lists(vectors, min_size=1, max_size=3), max_size=5),
    st.integers(0, 14),
    st.integers(1, 5),
)
def test_found_are_the_best_by_the_definition_ties_in_order(
    passages: list[list[list[int]]], queries: list[list[list[int]]], k: int, block: int
) -> None:
    matrix, counts = _unit([row for rows in passages for row in rows]), [len(rows) for rows in passages]
    asked = [_unit(windows) for windows in queries]
    found = MaxSim(matrix, counts, block=block).search(asked, k)
    assert len(found) == len(asked)
    for query, (rows, scores) in zip(asked, found, strict=True):
        expected = _by_hand(matrix, counts, query, k)
        assert rows.tolist() == [number for number, _ in expected]
        assert scores.tolist() == [score for _, score in expected]


def test_what_is_asked_together_changes_nothing() -> None:
    random = np.random.default_rng(5)
    counts = random.integers(1, 20, size=300).tolist()
    matrix = _unit(random.standard_normal((sum(counts), 48)))
    queries = [_unit(random.standard_normal((windows, 48))) for windows in (1, 3, 1, 7, 2)]
    index = MaxSim(matrix, counts)
    together = index.search(queries, 10)
    for query, (rows, scores) in zip(queries, together, strict=True):
        ((alone_rows, alone_scores),) = index.search([query], 10)
        assert rows.tolist() == alone_rows.tolist()
        assert scores.tolist() == alone_scores.tolist()
    assert index.nbytes == matrix.nbytes + 2 * 8 * len(counts)


def test_a_thousand_equal_passages_come_in_their_order() -> None:
    matrix = _unit(np.tile([[3.0, 1.0], [1.0, 2.0]], (1000, 1)))
    ((rows, scores),) = MaxSim(matrix, [2] * 1000).search([_unit([[1.0, 1.0]])], 3)
    assert rows.tolist() == [0, 1, 2]
    assert len(set(scores.tolist())) == 1


@pytest.mark.parametrize("counts", [[1], [2, 1], [2, 0]])
def test_each_row_is_of_one_passage(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="at least one row"):
        MaxSim(_unit([[1.0, 0.0], [0.0, 1.0]]), counts)
