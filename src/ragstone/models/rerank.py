"""Rerankers behind an endpoint: a query and texts go there, one score for each text comes back.

A name is `jina/MODEL`, `cohere/MODEL`, `voyage/MODEL`, `siliconflow/MODEL`, or `rerank/MODEL` for any server with a
`/rerank` path whose address is given: vLLM, llama.cpp, Infinity, LocalAI, OpenVINO, Text Embeddings Inference.

Two forms of request are in use. Jina's, which Cohere, Voyage, vLLM and llama.cpp share, has `documents` and answers
with `results` (Voyage: `data`) of `index` and `relevance_score`; Text Embeddings Inference has `texts` and answers with
a list of `index` and `score`. Which of them a server takes, and whether its path stands below `/v1`, is found out by
the first request. Forms as the servers' own pages give them, looked up in November 2026.

A call goes through the same wrappers as a chat model's: cache, limits, retries. To that end it travels as a `Request`
whose first message is the query and whose others are the texts, and its reply is the scores as JSON.
"""

import asyncio
import contextlib
import json
import math
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from ragstone.errors import BadReply, ModelError, Rejected, UsageError
from ragstone.models.client import Client, provider_key
from ragstone.models.endpoint import compose, reply_cache
from ragstone.models.network import endpoint_url
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider
from ragstone.models.wire import parse, read_usage
from ragstone.types import Completion, Frozen, Model, Request, Turn, Usage

__all__ = ["RERANKERS", "Reranker", "Reranking", "is_reranker", "open_reranker", "read_scores"]

Form: TypeAlias = Literal["documents", "texts"]

_DEFAULT = ModelOptions()
_OWN = "rerank"
# An address that names the operation is taken as it is.
_NAMES_THE_OPERATION = re.compile(r"/(?:rerank|reranks|reranking)/*\Z")
# Text Embeddings Inference takes as many texts at once unless it was started with --max-client-batch-size.
_TEXTS_AT_ONCE = 32

RERANKERS: dict[str, Provider] = {
    row.name: row
    for row in (
        Provider("jina", "https://api.jina.ai/v1", "JINA_API_KEY", "jina-reranker-v2-base-multilingual",
                 extra={"return_documents": False}),
        Provider("cohere", "https://api.cohere.com/v2", "COHERE_API_KEY", "rerank-v3.5"),
        Provider("voyage", "https://api.voyageai.com/v1", "VOYAGE_API_KEY", "rerank-2.5"),
        Provider("siliconflow", "https://api.siliconflow.cn/v1", "SILICONFLOW_API_KEY", "BAAI/bge-reranker-v2-m3",
                 regions=("https://api.siliconflow.com/v1",)),
        Provider(_OWN, "", "RERANK_API_KEY", "bge-reranker-v2-m3", key_optional=True),
    )
}  # fmt: skip
"""The providers of rerankers: apart from those of chat models, because one name could mean both."""


class Reranking(Frozen, frozen=True):
    """What a reranker said of one query: a score for each text, in the order in which the texts were given. Scores are
    comparable within one query; their scale is the model's own. `usage` counts what was sent."""

    scores: tuple[float, ...]
    usage: Usage = Usage()


class Reranker(Protocol):
    """Scores texts against a query. Raises `errors.ModelError` where no value came."""

    @property
    def id(self) -> str: ...
    async def rerank(self, query: str, texts: Sequence[str], /) -> Reranking: ...


def is_reranker(name: str) -> bool:
    """Whether `name` is a reranker's (`jina/MODEL`, `rerank/MODEL`…) and not a chat model's."""
    provider, slash, _ = name.partition("/")
    return bool(slash) and provider in RERANKERS


@contextlib.asynccontextmanager
async def open_reranker(name: str, options: ModelOptions = _DEFAULT, *, url: str = "") -> AsyncIterator[Reranker]:
    """The reranker of this name, with cache, limits and retries; its `id` is `name`.

    `url` is the address of the endpoint: a base URL, or the whole address of the operation (`http://host/rerank`).
    Without it hosted providers are asked where they are, and `rerank/MODEL` at `options.base_url`: that of a chat model
    would be the wrong one for the others. Raises `UsageError` for a name or address that cannot be, `MissingKey`."""
    provider_name, _, model = name.partition("/")
    if provider_name not in RERANKERS or not model:
        raise UsageError(
            f"{name!r} names no reranker: write PROVIDER/MODEL, for example rerank/bge-reranker-v2-m3. "
            f"There are these providers: {', '.join(RERANKERS)}."
        )
    provider = RERANKERS[provider_name]
    address = url or (options.base_url if provider_name == _OWN else None) or provider.base_url
    if not address:
        raise UsageError(f"{name} needs the address of its endpoint: url=http://localhost:8080, for example.")
    options = replace(options, base_url=address)
    key = provider_key(provider, own_endpoint=bool(url))
    client = _RerankClient(provider, model, options, key=key)
    identity = {"base_url": client.base_url, "model": model, "kind": "rerank", "extra": dict(provider.extra)}
    async with client, compose(client, options, identity=identity, cache=reply_cache(options)) as asked:
        yield _EndpointReranker(asked)


class _EndpointReranker:
    """A `Reranker` in front of a model that is asked as `_RerankClient` is."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def id(self) -> str:
        return self._model.id

    async def rerank(self, query: str, texts: Sequence[str], /) -> Reranking:
        if not texts:
            return Reranking(())
        asked = Request(messages=tuple(Turn("user", text) for text in (query, *texts)), schema_name="rerank")
        completion = await self._model.generate(asked)
        return Reranking(tuple(json.loads(completion.text)), completion.usage)


@dataclass(frozen=True)
class _Way:
    """An address, and the form in which it is asked."""

    url: str
    form: Form


class _RerankClient(Client):
    """One endpoint's `/rerank`, one attempt a call. `generate` takes the query and the texts as messages and gives the
    scores as JSON."""

    def __init__(self, provider: Provider, wire_name: str, options: ModelOptions, *, key: str) -> None:
        super().__init__(provider, wire_name, options, key=key)
        self._ways = _ways(self.base_url, own=provider.name == _OWN)
        self._settled: _Way | None = self._ways[0] if len(self._ways) == 1 else None
        self._settling = asyncio.Lock()
        self._refusal: ModelError | None = None

    async def generate(self, request: Request, /) -> Completion:
        """The scores. Raises the typed errors of `ModelError`; where no way is taken, what the first was told."""
        query, *texts = [turn.content for turn in request.messages]
        if self._settled is None:
            before = self._refusal
            async with self._settling:  # one request tries the ways, and not all that are under way at once
                if self._settled is None:
                    if self._refusal is not None and self._refusal is not before:
                        raise self._refusal
                    return await self._settle(query, texts)
        return await self._ask(self._settled, query, texts)

    async def _settle(self, query: str, texts: Sequence[str]) -> Completion:
        """The scores by the first way that is taken; it is that of all further requests."""
        first: ModelError | None = None
        for way in self._ways:
            try:
                completion = await self._ask(way, query, texts)
            except (Rejected, BadReply) as error:
                if isinstance(error, BadReply) and not error.permanent:  # permanent: a wrong path shows a web page
                    raise
                first = first or error
                continue
            except ModelError as error:
                self._refusal = error if error.refuses_all else None
                raise
            self._settled = way
            return completion
        assert first is not None
        self._refusal = first if first.refuses_all else None
        raise first

    async def _ask(self, way: _Way, query: str, texts: Sequence[str]) -> Completion:
        most = _TEXTS_AT_ONCE if way.form == "texts" else len(texts)
        scores: list[float] = []
        usage = Usage()
        for start in range(0, len(texts), most):
            some = texts[start : start + most]
            body = await self._post(way.url, self._payload(way.form, query, some))
            try:
                found, spent = read_scores(body, len(some), self._where)
            except BadReply as error:
                raise self._error_inside(body) or error from None
            scores += found
            usage += spent
        return Completion(text=json.dumps(scores), finish_reason="stop", usage=usage, model=self.wire_name)

    def _payload(self, form: Form, query: str, texts: Sequence[str]) -> dict[str, Any]:
        if form == "texts":
            return {"query": query, "texts": list(texts), "truncate": True}
        return {"model": self.wire_name, "query": query, "documents": list(texts), **self.provider.extra}


def _ways(base_url: str, *, own: bool) -> tuple[_Way, ...]:
    """What may be meant by the address, the likeliest first. A hosted provider's is known."""
    if _NAMES_THE_OPERATION.search(base_url.partition("?")[0]):
        addresses = [base_url]
    else:
        addresses = [endpoint_url(base_url, "rerank")]
        # An address without a path was given /v1; some servers have the operation at their root.
        path, mark, query = base_url.partition("?")
        if path.endswith("/v1"):
            addresses.append(endpoint_url(path.removesuffix("/v1") + mark + query, "rerank"))
    if not own:
        return (_Way(addresses[0], "documents"),)
    return tuple(_Way(address, form) for address in addresses for form in ("documents", "texts"))


class _Scored(msgspec.Struct):
    index: int
    relevance_score: float | None = None
    score: float | None = None


class _Reply(msgspec.Struct):
    results: list[_Scored] | None = None
    data: list[_Scored] | None = None
    usage: Any = None
    meta: Any = None


def read_scores(body: bytes, count: int, where: str) -> tuple[list[float], Usage]:
    """The scores in the reply to `count` texts, in the order in which the texts were sent, and the tokens they took
    where the endpoint tells. `BadReply` where any is missing, given twice, or no number."""
    usage: Any = None
    if body[:64].lstrip().startswith(b"["):
        found = parse(body, list[_Scored], where)
    else:
        reply = parse(body, _Reply, where)
        found = reply.results if reply.results is not None else reply.data or []
        usage = reply.usage if reply.usage is not None else _billed(reply.meta)
    scores: list[float | None] = [None] * count
    for scored in found:
        value = scored.relevance_score if scored.relevance_score is not None else scored.score
        if not 0 <= scored.index < count or scores[scored.index] is not None:
            raise BadReply(f"{where}: the reply numbers its scores wrongly (index {scored.index} of {count}).")
        if value is None or not math.isfinite(value):
            raise BadReply(f"{where}: the reply has no score for text {scored.index}.")
        scores[scored.index] = value
    whole = [score for score in scores if score is not None]
    if len(whole) != count:
        raise BadReply(f"{where}: {count} texts were sent, and {len(whole)} were scored.")
    return whole, _usage(usage)


def _billed(meta: Any) -> Any:
    """Where Cohere and SiliconFlow count."""
    tokens = meta.get("tokens") if isinstance(meta, dict) else None
    return {"prompt_tokens": tokens.get("input_tokens")} if isinstance(tokens, dict) else None


def _usage(told: Any) -> Usage:
    """Jina and Voyage tell the total alone; a reranker writes nothing."""
    if isinstance(told, dict) and not told.get("prompt_tokens"):
        told = {"prompt_tokens": told.get("total_tokens")}
    return msgspec.structs.replace(read_usage(told), completion_tokens=0)
