"""The keys that the workers of a cluster need: they travel in memory, in no file and no log."""

import os
from collections.abc import Iterable, Iterator

from ragstone.engine.systems_and_metrics import Workload
from ragstone.models import PROVIDERS, Provider
from ragstone.models.http_call import variables_in
from ragstone.models.rerank import RERANKERS
from ragstone.retrieval import RETRIEVERS
from ragstone.retrieval.engine import EngineKind
from ragstone.systems import texts_of


def keys_of(workload: Workload) -> dict[str, str]:
    """`keys_for` what a workload opens: its systems, judges and embedder."""
    judging = workload.judging
    named = (*judging.judges, judging.embedder)
    return keys_for([*(text for system in workload.systems for text in texts_of(system)),
                     *(name for name in named if isinstance(name, str))])  # fmt: skip


def keys_for(texts: Iterable[str]) -> dict[str, str]:
    """The keys that are set here, by environment variable: of every provider of models, rerankers and search engines,
    and the variables that these names and headers mention."""
    mentioned = (name for text in texts for name in variables_in(text))
    return {name: os.environ[name] for name in {*_declared(), *mentioned} if os.environ.get(name)}


def _declared() -> Iterator[str]:
    for _, source in PROVIDERS:
        if isinstance(source, Provider):
            yield source.key
    for provider in RERANKERS.values():
        yield provider.key
    for _, opener in RETRIEVERS:
        if isinstance(opener, EngineKind):
            yield from (opener.key, *opener.more_keys)
