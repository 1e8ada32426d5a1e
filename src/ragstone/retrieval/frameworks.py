"""Retrievers, vector stores and indexes of LangChain, LlamaIndex and Haystack, searched by their own interface.

Nothing is imported: the modules of its classes tell the framework of an object. The number of passages that the user
has set is replaced by the one that is asked for.
"""

import copy
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ragstone.errors import UsageError
from ragstone.user_code.calls import in_thread


@dataclass(frozen=True)
class FrameworkSearch:
    """`search` finds k documents for a query."""

    framework: str
    search: Callable[[str, int], Awaitable[Any]]


def framework_search(target: Any) -> FrameworkSearch | None:
    """The search function of an object of a framework; None if it belongs to none of them. Raises UsageError for a
    Haystack component that takes no text."""
    if isinstance(target, type):
        return None
    for base in type(target).__mro__:
        make = _CLASSES.get((base.__module__.partition(".")[0], base.__name__))
        if make is not None:
            return FrameworkSearch(make.__name__.split("_")[1], make(target))
    if hasattr(target, "__haystack_input__"):
        return FrameworkSearch("haystack", _haystack_component(target))
    return None


def _langchain_retriever(retriever: Any) -> Callable[[str, int], Awaitable[Any]]:
    fields = type(retriever).model_fields

    async def search(query: str, k: int) -> Any:
        own = retriever
        if "search_kwargs" in fields:
            more = {"fetch_k": max(k, retriever.search_kwargs.get("fetch_k", 20))} if _is_mmr(retriever) else {}
            own = retriever.model_copy(update={"search_kwargs": {**retriever.search_kwargs, "k": k, **more}})
        elif name := next((name for name in ("k", "top_k") if name in fields), ""):
            own = retriever.model_copy(update={name: k})
        return await own.ainvoke(query)

    return search


def _is_mmr(retriever: Any) -> bool:
    return bool(getattr(retriever, "search_type", "") == "mmr")


def _langchain_store(store: Any) -> Callable[[str, int], Awaitable[Any]]:
    async def search(query: str, k: int) -> Any:
        return await store.asimilarity_search(query, k=k)

    return search


def _llamaindex_retriever(retriever: Any) -> Callable[[str, int], Awaitable[Any]]:
    async def search(query: str, k: int) -> Any:
        own = copy.copy(retriever)
        for name in ("_similarity_top_k", "similarity_top_k"):
            if hasattr(own, name):
                setattr(own, name, k)
                break
        return await own.aretrieve(query)

    return search


def _llamaindex_index(index: Any) -> Callable[[str, int], Awaitable[Any]]:
    async def search(query: str, k: int) -> Any:
        return await index.as_retriever(similarity_top_k=k).aretrieve(query)

    return search


def _haystack_component(component: Any) -> Callable[[str, int], Awaitable[Any]]:
    parameters = inspect.signature(component.run).parameters
    if "query" not in parameters:
        raise UsageError(
            f"The Haystack component {type(component).__name__} takes no `query`: name a function (query, k) that "
            f"embeds the query and runs it."
        )

    async def search(query: str, k: int) -> Any:
        return await in_thread(component.run, query=query, **({"top_k": k} if "top_k" in parameters else {}))

    return search


# Class of a framework (the first part of its module, and its name) → how to search with it.
_CLASSES = {
    ("langchain_core", "BaseRetriever"): _langchain_retriever,
    ("langchain_core", "VectorStore"): _langchain_store,
    ("llama_index", "BaseRetriever"): _llamaindex_retriever,
    ("llama_index", "BaseIndex"): _llamaindex_index,
}
