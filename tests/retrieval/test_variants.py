"""Other ways to search, proposed where the search is a cause of failures."""

import pytest

from ragstone.retrieval import check_retriever
from ragstone.retrieval.variants import Variant, variants

MODEL = "openai/gpt-4o-mini"


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("bm25", "fused", ["hybrid(bm25,local/e5-small)"]),
        ("local/e5-small", "fused", ["hybrid(local/e5-small,bm25)"]),
        ("hybrid(bm25,local/e5-small)", "fused", []),
        ("bm25", "reranked", [f"rerank(bm25,{MODEL})"]),
        (f"rewrite(rerank(bm25,{MODEL}),{MODEL})", "reranked", []),
        (f"rerank(bm25,{MODEL},depth=50)", "unranked", ["bm25"]),
        (f"rewrite(rerank(bm25,{MODEL}),{MODEL},tokens=99)", "unranked", [f"rewrite(bm25,{MODEL},tokens=99)"]),
        ("bm25", "unranked", []),
        ("bm25", "rewritten", [f"rewrite(bm25,{MODEL})", f"multiquery(bm25,{MODEL})"]),
        (f"multiquery(bm25,{MODEL})", "rewritten", []),
    ],
)
def test_a_variant_changes_one_thing_and_is_a_retriever(name: str, kind: Variant, expected: list[str]) -> None:
    found = variants(name, kind, MODEL)
    assert found == expected
    for variant in found:
        check_retriever(variant)


@pytest.mark.parametrize("kind", ["reranked", "rewritten"])
def test_nothing_is_reranked_or_rewritten_without_a_chat_model(kind: Variant) -> None:
    assert variants("bm25", kind) == []
