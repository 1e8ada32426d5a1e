"""How a model is to be called. One value for every kind of model; each uses what concerns it."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from ragstone.errors import UsageError

__all__ = ["ModelOptions"]

_REPLY_BYTES = 20_000_000


def _reply_bytes() -> int:
    text = os.environ.get("RAGSTONE_REPLY_BYTES", "").strip()
    if not text:
        return _REPLY_BYTES
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) > 0):
        raise UsageError(f"RAGSTONE_REPLY_BYTES={text[:40]}: it should be a number of bytes, such as 20000000.")
    return int(text)


@dataclass(frozen=True)
class ModelOptions:
    """How to call a model.

    base_url: an endpoint other than the provider's own (`compat/…` has none of its own and needs it).
    cache: folder of the reply cache and of the vectors'; None: nothing is kept. Identical requests under way are sent
        once all the same.
    deadline: seconds for one call with all its retries, not counting the wait for a turn under the limits.
    timeout: seconds for one attempt; at most what is left of the deadline.
    attempts: how often a call is tried at most.
    requests_per_minute, tokens_per_minute: None: no limit. Every attempt counts.
    in_flight: calls under way at one time.
    reply_bytes: the longest reply, decoded, that is read; RAGSTONE_REPLY_BYTES, else 20 MB.
    slots, context: of `local/…` chat models only: prompts worked on at one time, and tokens of prompt and answer
        for each of them. One slot keeps answers independent of what else is asked (see `models/local.py`).
    prefix_cache: of `local/…` chat models only: what a prompt shares with the one before in its slot is not evaluated
        again. It changes how prompts are split into batches, and with it now and then a word of an answer.
    """

    base_url: str | None = None
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
