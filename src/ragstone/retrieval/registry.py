"""What a retriever is built from, and the registry of those that build one."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ragstone.models import ModelOptions
from ragstone.models.nested_names import Spec, parse
from ragstone.registry import Registry
from ragstone.types import Passage, Retriever

_DEFAULT = ModelOptions()


@dataclass(frozen=True)
class Building:
    """The material of a retriever. `pool`: all passages, with unique ids. `queries`: question → its ids, if the
    questions are known in advance (`run:FILE` needs the ids)."""

    pool: Sequence[Passage]
    options: ModelOptions = _DEFAULT
    queries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _opened: dict[str, Retriever] = field(default_factory=dict, repr=False)

    def calling(self, spec: Spec) -> ModelOptions:
        """Options for opening this retriever's model: its option `url`, if given, is the base URL."""
        url = spec.options.get("url")
        return replace(self.options, base_url=url) if url else self.options

    @contextlib.asynccontextmanager
    async def open(self, name: str) -> AsyncIterator[Retriever]:
        """Opens an inner retriever over the same pool."""
        spec = parse(name)
        async with RETRIEVERS.get(spec.function)(spec, self) as opened:
            yield opened


Opener: TypeAlias = "Callable[[Spec, Building], contextlib.AbstractAsyncContextManager[Retriever]]"

RETRIEVERS: Registry[Opener] = Registry("retriever", "ragstone.retrieval", "ragstone.retrievers", needs=["__call__"])
