"""What happens inside one search: the queries that a rewriter made, and what was fetched before it was reranked.

Retrievers contain one another, and only the innermost knows this. A context variable keeps concurrent searches apart.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from ragstone.types import Passage, Usage

__all__ = ["SearchLog", "current_log", "logged"]


@dataclass
class SearchLog:
    """The log of a search for one question. `rewrites`: False makes every rewriter pass questions on as they stand.
    `fetched`: the passages that a reranker was given, after `seconds`; None without a reranker. `usage`: of the models
    that rewrite and rerank."""

    rewrites: bool = True
    queries: list[str] = field(default_factory=list)
    fetched: tuple[Passage, ...] | None = None
    seconds: float | None = None
    usage: Usage = field(default_factory=Usage)


_log: ContextVar[SearchLog | None] = ContextVar("_log", default=None)


def current_log() -> SearchLog | None:
    """The log of the search that this call belongs to; None if nobody keeps one."""
    return _log.get()


@contextlib.contextmanager
def logged(*, rewrites: bool = True) -> Iterator[SearchLog]:
    """Keeps a log of the search for one question inside this context."""
    log = SearchLog(rewrites)
    token = _log.set(log)
    try:
        yield log
    finally:
        _log.reset(token)
