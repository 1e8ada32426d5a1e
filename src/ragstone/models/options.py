"""Options of model calls. One value for every kind of model; each uses what applies to it."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ragstone.errors import UsageError
from ragstone.models.allowance import Allowance
from ragstone.models.rate_limit import Limiter
from ragstone.types import Model

if TYPE_CHECKING:
    import numpy as np

_REPLY_BYTES = 20_000_000


def _reply_bytes() -> int:
    text = os.environ.get("RAGSTONE_REPLY_BYTES", "").strip()
    if not text:
        return _REPLY_BYTES
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) > 0):
        raise UsageError(f"RAGSTONE_REPLY_BYTES is {text[:40]}: set it to a number of bytes, such as 20000000.")
    return int(text)


class Batching(Protocol):
    """What sends the requests of models in batches (`models/batches`)."""

    def lane(
        self, client: Any, *, key: str, identity: Mapping[str, Any], allowance: Allowance | None
    ) -> AbstractAsyncContextManager[Callable[[Model], Model]]:
        """What wraps the model of this client, which is asked directly outside rounds."""


class Spread(Protocol):
    """The workers of a cluster, which embed large pools."""

    @property
    def least(self) -> int:
        """How many texts they embed at least."""

    async def embed(
        self, name: str, options: "ModelOptions", texts: Sequence[str], kind: Literal["query", "passage"], /
    ) -> "np.ndarray[Any, Any]":
        """(n, dimensions) float32, one unit vector per text, in order, by the embedder of this name."""


@dataclass(frozen=True)
class ModelOptions:
    """How to call a model.

    base_url: an endpoint other than the provider's own (`compat/…` has none and needs it), or several of one model:
        each request goes to the least busy, and one that fails is left out for a while (`models/replicas.py`). Limits
        hold for all together; the first is the address under which replies are cached.
    cache: folder of the reply and vector caches; None: no cache, but identical concurrent requests are sent once.
    deadline: seconds for one call with all its retries, without waits for rate limits.
    timeout: seconds for one attempt, within the deadline.
    attempts: maximum number of attempts for a call.
    requests_per_minute, tokens_per_minute: None: no limit. Every attempt counts.
    in_flight: maximum number of concurrent calls.
    reply_bytes: the longest decoded reply that is read; RAGSTONE_REPLY_BYTES, else 20 MB.
    slots, context: only for `local/…` chat models: concurrent prompts, and tokens of prompt and answer for each of
        them. With one slot, answers do not depend on other requests (see `models/local.py`).
    spread: has the workers of a cluster embed large pools; None: this process does.
    limiter: makes the limiter of an endpoint from `in_flight` and its check, where several processes share the limits.
    batch: sends chat requests through the provider's batch interface; None: each on its own.
    allowance: limits on the requests and the cost of all models of a command together.
    prefix_cache: only for `local/…` chat models: the prefix that a prompt shares with the previous one in its slot is
        not evaluated again. This changes how prompts are split into batches, and so occasionally a word of an answer.
    """

    base_url: str | Sequence[str] | None = None
    cache: Path | None = None
    deadline: float = 120.0
    timeout: float = 60.0
    attempts: int = 6
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    in_flight: int = 64
    reply_bytes: int = field(default_factory=_reply_bytes)
    slots: int = 1
    context: int = 8192
    prefix_cache: bool = False
    allowance: Allowance | None = None
    spread: Spread | None = None
    limiter: Callable[[int, Callable[[], None]], Limiter] | None = None
    batch: Batching | None = None

    @property
    def base_urls(self) -> tuple[str, ...]:
        """The addresses given, none if there are none."""
        given = self.base_url
        urls = () if not given else (given,) if isinstance(given, str) else tuple(given)
        return tuple(dict.fromkeys(urls))

    @property
    def address(self) -> str | None:
        """The first address given."""
        return next(iter(self.base_urls), None)
