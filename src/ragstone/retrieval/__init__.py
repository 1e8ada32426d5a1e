"""Retrieval: chunkers, indexes, retrievers, fusion, reranking, query rewriting.

async with open_retriever("hybrid(bm25,local/e5-small)", pool) as retriever:
    (passages,) = await retriever.retrieve(["Who founded the orchard?"], k=5)
"""

from ragstone.retrieval.names import Spec, parse
from ragstone.retrieval.open import RETRIEVERS, Building, Opener, check_retriever, facts_of, open_retriever

__all__ = ["RETRIEVERS", "Building", "Opener", "Spec", "check_retriever", "facts_of", "open_retriever", "parse"]
