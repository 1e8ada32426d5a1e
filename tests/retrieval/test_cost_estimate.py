"""What the models within retrievers are asked is told from the name alone, before anything is spent."""

import math
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.plans import RetrievalCost
from ragstone.retrieval.cost_estimate import TextCount, estimate_cost, query_tokens
from ragstone.text import estimate_tokens

POOL, ASKED = TextCount(1000, 300_000), TextCount(10, 150)


def told(name: str) -> list[tuple[str, int, int]]:
    return [(one.model, one.requests, one.tokens) for one in estimate_cost(name, POOL, ASKED)]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("bm25", []),
        ("run:found.trec", []),
        ("elasticsearch(http://localhost:9200)", []),
        ("local/e5-small", [("local/e5-small", 0, 300_150)]),
        ("dense(local/e5-small,index=faiss)", [("local/e5-small", 0, 300_150)]),
        ("lancedb(x,collection=mine,embedder=local/e5-small)", [("local/e5-small", 0, 150)]),
        ("elasticsearch(http://x,collection=mine,embedder=openai/e)", [("openai/e", 0, 150)]),
        ("elasticsearch(http://x,embedder=openai/e)", [("openai/e", 0, 300_150)]),
        ("rerank(bm25,cohere/rerank-v3.5)", [("cohere/rerank-v3.5", 10, 10 * (15 + 20 * 300))]),
        ("rerank(bm25,openai/m)", [("openai/m", 10, 10 * (15 + 20 * 300 + 400))]),
        ("rerank(bm25,openai/m,depth=50)", [("openai/m", 40, 10 * 4 * (15 + 20 * 300 + 400))]),
        ("rerank(bm25,openai/m,method=pointwise)", [("openai/m", 200, 10 * 20 * (15 + 300 + 400))]),
        ("rewrite(bm25,openai/m)", [("openai/m", 10, 10 * (15 + 400))]),
        ("multiquery(openai/e,openai/m,n=4)", [("openai/e", 0, 300_750), ("openai/m", 10, 4150)]),
        ("hybrid(bm25,rerank(openai/e,openai/m))", [("openai/e", 0, 300_150), ("openai/m", 10, 64_150)]),
    ],
)
def test_each_model_has_its_requests_and_tokens(name: str, asked: list[tuple[str, int, int]]) -> None:
    assert told(name) == asked


TEXT = "word " * 399 + "end."
EACH = estimate_tokens(TEXT)
PARTS = math.ceil(EACH / 100)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("dense(openai/e,corpus={docs})", [("openai/e", 0, 150 + 3 * EACH)]),
        ("hybrid(bm25(corpus={docs}),dense(openai/e,corpus={docs}))", [("openai/e", 0, 150 + 3 * EACH)]),
        ("bm25(corpus={docs})", []),
        ("rerank(bm25(corpus={docs},chunk=0),openai/m)", [("openai/m", 10, 10 * (15 + 3 * EACH + 400))]),
        (
            "rerank(bm25(corpus={docs},chunk=100),openai/m)",
            [("openai/m", 10, round(10 * (15 + 3 * PARTS * (EACH / PARTS) + 400)))],
        ),
    ],
)
def test_a_retrievers_own_documents_are_counted(name: str, asked: list[tuple[str, int, int]], tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(TEXT)
    assert told(name.format(docs=tmp_path)) == asked


def test_the_tokens_of_questions_alone_read_no_documents() -> None:
    assert query_tokens("dense(openai/e,corpus=/nowhere)", ASKED) == 150
    assert query_tokens("rerank(bm25,openai/m)", ASKED) == 0


def test_documents_that_are_not_there_are_told() -> None:
    with pytest.raises(UsageError, match="there is no such file or folder"):
        told("dense(openai/e,corpus=/nowhere)")


def test_a_small_pool_is_reranked_whole() -> None:
    assert estimate_cost("rerank(bm25,openai/m,depth=50)", TextCount(30, 300), ASKED)[0].requests == 20


def test_retrievers_that_share_an_embedder_have_one_key_and_several_vectors_another() -> None:
    names = ("local/e5-small", "dense(local/e5-small,index=exact)", "multivector(local/e5-small)")
    one, same, other = (estimate_cost(name, POOL, ASKED)[0] for name in names)
    assert one == same
    assert one.key != other.key
    assert isinstance(one, RetrievalCost)


def test_a_name_that_cannot_be_read_is_told() -> None:
    with pytest.raises(UsageError, match="not closed"):
        estimate_cost("rerank(bm25", POOL, ASKED)
