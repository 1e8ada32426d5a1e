"""Retrievers, vector stores, indexes, embedders and rerankers of LangChain, LlamaIndex and Haystack, by their names in
this file. As a script, it prints as JSON what each of them finds: `python framework_objects.py`."""

import asyncio
import json
import sys
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz船火车"
TEXTS = ["ships sail the sea", "trains run on rails", "火车在铁路上", "quick zebras jump"]
KEYS = ["p/1", "p/2", "段落", "other"]


def vector(text: str) -> list[float]:
    return [text.lower().count(letter) + 1e-3 for letter in LETTERS]


def langchain_embeddings() -> Any:
    from langchain_core.embeddings import Embeddings

    class Letters(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    return Letters()


def langchain_store() -> Any:
    from langchain_core.vectorstores import InMemoryVectorStore

    return InMemoryVectorStore.from_texts(TEXTS, langchain_embeddings(), metadatas=[{"source": key} for key in KEYS])


def langchain_store_retriever() -> Any:
    return langchain_store().as_retriever(search_kwargs={"k": 1})  # the k that is asked for replaces it


def langchain_mmr_retriever() -> Any:
    return langchain_store().as_retriever(search_type="mmr", search_kwargs={"k": 1, "lambda_mult": 1.0})


def langchain_retriever() -> Any:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Words(BaseRetriever):
        k: int = 1

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            print("noise")
            order = sorted(TEXTS, key=lambda text: -len(set(query.split()) & set(text.split())))
            return [Document(text) for text in order[: self.k]]

    return Words()


def langchain_compressor() -> Any:
    from langchain_core.documents import Document
    from langchain_core.documents.compressor import BaseDocumentCompressor

    class Longest(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
            return sorted(documents, key=lambda item: -len(item.page_content))

    return Longest()


def llamaindex_embedding() -> Any:
    from llama_index.core.embeddings import BaseEmbedding

    class Letters(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vector(query)

    return Letters()


def llamaindex_index() -> Any:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    nodes = [TextNode(text=text, id_=key) for key, text in zip(KEYS, TEXTS, strict=True)]
    return VectorStoreIndex(nodes, embed_model=llamaindex_embedding())


def llamaindex_retriever() -> Any:
    return llamaindex_index().as_retriever(similarity_top_k=1)


def llamaindex_postprocessor() -> Any:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    class Longest(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            for node in nodes:
                node.score = float(len(node.node.get_content()))
            return sorted(nodes, key=lambda node: -node.score)

    return Longest()


def haystack_retriever() -> Any:
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(id=key, content=text) for key, text in zip(KEYS, TEXTS, strict=True)])
    return InMemoryBM25Retriever(store, top_k=1)


def haystack_embedding_retriever() -> Any:
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    return InMemoryEmbeddingRetriever(InMemoryDocumentStore())


def haystack_ranker() -> Any:
    from haystack import Document, component

    @component
    class Longest:
        @component.output_types(documents=list[Document])
        def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
            return {"documents": sorted(documents, key=lambda item: -len(item.content or ""))}

    return Longest()


RETRIEVERS = (
    "langchain_store", "langchain_store_retriever", "langchain_mmr_retriever", "langchain_retriever",
    "llamaindex_index", "llamaindex_retriever", "haystack_retriever", "haystack_embedding_retriever",
)  # fmt: skip
EMBEDDERS = ("langchain_embeddings", "llamaindex_embedding")
RERANKERS = ("langchain_compressor", "llamaindex_postprocessor", "haystack_ranker")


async def search(name: Any) -> Any:
    from ragstone.errors import RagstoneError
    from ragstone.models import ModelOptions
    from ragstone.retrieval import open_retriever
    from ragstone.types import Passage

    pool = [Passage(key, text, title=f"title of {key}") for key, text in zip(KEYS[:3], TEXTS[:3], strict=True)]
    try:
        async with open_retriever(name, pool, options=ModelOptions(cache=None)) as retriever:
            first, second = await retriever.retrieve(["ships sea run", "trains rails"], k=2)
    except RagstoneError as error:
        return f"{type(error).__name__}: {error}"
    return [[[item.id, item.title] for item in found] for found in (first, second)]


async def listed(name: Any) -> Any:
    from ragstone.errors import RagstoneError
    from ragstone.retrieval.index_list import read_index

    try:
        return [item.text for item in (await read_index(name)).passages]
    except RagstoneError as error:
        return f"{type(error).__name__}: {error}"


async def main() -> dict[str, Any]:
    found = {name: await search(f"{__file__}:{name}") for name in RETRIEVERS}
    found |= {name: await search(f"dense({__file__}:{name})") for name in EMBEDDERS}
    found |= {name: await search(f"rerank(bm25,{__file__}:{name})") for name in RERANKERS}
    found |= {f"listed {name}": await listed(f"{__file__}:{name}") for name in RETRIEVERS}
    return found | {f"live {name}": await search(globals()[name]()) for name in ("langchain_store", "llamaindex_index")}


if __name__ == "__main__":
    json.dump(asyncio.run(main()), sys.stdout)
