"""Retrieval: chunkers, indexes, retrievers, fusion, reranking, query rewriting.

async with open_retriever("hybrid(bm25,local/e5-small)", pool) as retriever:
    (passages,) = await retriever.retrieve(["Who founded the orchard?"], k=5)
"""

from ragstone.models.nested_names import Spec, parse
from ragstone.retrieval.open import (
    brings_documents,
    check_retriever,
    code_of,
    facts_of,
    named_retrievers,
    open_retriever,
    retriever_name,
)
from ragstone.retrieval.registry import RETRIEVERS, Building, Opener

__all__ = [
    "RETRIEVERS", "Building", "Opener", "Spec", "brings_documents", "check_retriever", "code_of", "facts_of",
    "named_retrievers", "open_retriever", "parse", "retriever_name",
]  # fmt: skip
