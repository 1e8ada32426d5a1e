"""The nearest vectors are the same whatever finds them, and ties go by the rows' order."""

from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ragstone.errors import MissingExtra
from ragstone.retrieval.nearest import Exact, Faiss, Nearest

Array: TypeAlias = "np.ndarray[Any, Any]"


def units(seed: int, n: int, d: int, *, different: int | None = None) -> Array:
    """`n` rows of unit length, of which `different` are different."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((different or n, d), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows if different is None else rows[rng.integers(0, different, n)]


def brute(matrix: Array, queries: Array, k: int) -> tuple[Array, Array]:
    """In float64, one row at a time."""
    scores = np.array([[float((q * r).sum()) for r in matrix.astype(np.float64)] for q in queries.astype(np.float64)])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


@settings(max_examples=examples(100))
@given(
    st.integers(0, 99), st.integers(1, 130), st.integers(1, 40), st.integers(1, 12), st.integers(1, 4),
    st.integers(1, 50), st.integers(1, 5), st.integers(1, 200),
)  # fmt: skip
def test_exact_search_is_what_looking_at_every_row_finds_ties_included(
    seed: int, n: int, k: int, d: int, different: int, columns: int, block: int, most: int
) -> None:
    matrix, queries = units(seed, n, d, different=different * 3), units(seed + 1, 7, d)
    rows, scores = Exact(matrix, block=block, columns=columns, most=most).search(queries, k)
    right, its = brute(matrix, queries, k)
    assert rows.tolist() == right.tolist()
    assert scores.tolist() == its.tolist()


@pytest.mark.parametrize("make", [Exact, Faiss])
def test_larger_searches_agree_with_every_row_however_they_are_parted(make: type[Exact] | type[Faiss]) -> None:
    if make is Faiss:
        pytest.importorskip("faiss")
    matrix, queries = units(0, 9000, 24, different=700), units(1, 20, 24)
    index: Nearest = make(matrix)
    right, its = brute(matrix, queries, 30)
    rows, scores = index.search(queries, 30)
    assert (rows == right).all()
    assert (scores == its).all()
    # One at a time, the library computes otherwise; the answer is the same to the last bit.
    for number, query in enumerate(queries[:, None]):
        one, score = index.search(query, 30)
        assert (one[0] == right[number]).all()
        assert (score[0] == its[number]).all()
    assert index.nbytes >= matrix.nbytes


@pytest.mark.parametrize("make", [Exact, Faiss])
def test_equal_vectors_without_end_are_ranked_by_their_order(make: type[Exact] | type[Faiss]) -> None:
    if make is Faiss:
        pytest.importorskip("faiss")
    matrix = np.repeat(units(4, 1, 8), 9000, axis=0)
    rows, scores = make(matrix).search(matrix[:2], 5)
    assert rows.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert len(set(scores.ravel().tolist())) == 1


@pytest.mark.parametrize("make", [Exact, Faiss])
def test_nothing_asked_and_more_asked_than_there_is(make: type[Exact] | type[Faiss]) -> None:
    if make is Faiss:
        pytest.importorskip("faiss")
    matrix = units(5, 4, 8)
    assert make(matrix).search(matrix[:0], 3)[0].shape == (0, 3)
    assert make(matrix).search(matrix, 0)[0].shape == (4, 0)
    assert make(matrix).search(matrix, 9)[0].shape == (4, 4)


def test_the_graph_finds_nearly_the_same_and_says_that_it_is_approximate() -> None:
    pytest.importorskip("faiss")
    matrix = units(6, 2000, 16)
    graph = Faiss(matrix, links=16)
    found, scores = graph.search(matrix[:100], 10)
    right, _ = Exact(matrix).search(matrix[:100], 10)
    common = sum(len(set(a) & set(b)) for a, b in zip(found.tolist(), right.tolist(), strict=True))
    assert common / right.size > 0.95
    assert (np.diff(scores) <= 0).all()
    assert graph.name.startswith("approximate, HNSW with 16 links, faiss ")
    assert graph.nbytes > matrix.nbytes + 4 * 2 * 16 * len(matrix)
    assert Faiss(matrix[:3], links=16).search(matrix[:1], 9)[0].shape == (1, 3)


def test_without_faiss_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"pip install 'ragstone\[faiss\]'"):
        Faiss(units(0, 2, 2))
