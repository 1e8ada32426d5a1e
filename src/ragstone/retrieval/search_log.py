"""The steps inside one search: the queries that a rewriter made, and what was fetched before it was reranked.

Retrievers contain one another, and only the innermost knows this. A context variable keeps concurrent searches apart.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from ragstone.types import Passage, Usage


@dataclass
class SearchLog:
    """The log of a search for one question. `rewrites`: False makes every rewriter pass questions on as they stand.
    `queries`: what rewriters searched for instead, found in `rewrite_seconds`. `fetched`: the passages that a reranker
    was given, after `seconds` without those; None without a reranker. `usages`: of the models, by step ("rewrite",
    "rerank")."""

    rewrites: bool = True
    queries: list[str] = field(default_factory=list)
    fetched: tuple[Passage, ...] | None = None
    seconds: float = 0.0
    rewrite_seconds: float = 0.0
    usages: dict[str, Usage] = field(default_factory=dict)


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
