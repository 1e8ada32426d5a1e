"""Rerankers behind an endpoint: they score texts against a query.

A name is `jina/MODEL`, `cohere/MODEL`, `voyage/MODEL`, `siliconflow/MODEL`, or `rerank/MODEL` for any server with a
`/rerank` path whose address is given: vLLM, llama.cpp, Infinity, LocalAI, OpenVINO, Text Embeddings Inference.

Two forms of request are in use. Jina's, which Cohere, Voyage, vLLM and llama.cpp share, sends `documents` and gets
`results` (Voyage: `data`) of `index` and `relevance_score`; Text Embeddings Inference takes `texts` and returns a list
of `index` and `score`. The first request finds out which form a server supports and whether its path is below `/v1`.
The forms were looked up in the servers' documentation in November 2026.

A call uses the same wrappers as a chat model's: cache, limits, retries. So it is a `Request` whose first message is the
query and whose other messages are the texts, and its reply is the scores as JSON.
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
from ragstone.models.network import endpoint_url, normal_base_url
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider
from ragstone.models.wire import parse, read_usage
from ragstone.structs import Frozen
from ragstone.types import Completion, Model, Request, Turn, Usage

Form: TypeAlias = Literal["documents", "texts"]

_DEFAULT = ModelOptions()
_SELF_HOSTED = "rerank"
# An address that includes the operation is used as it is.
_HAS_OPERATION = re.compile(r"/(?:rerank|reranks|reranking)/*\Z")
# Text Embeddings Inference takes this many texts at once unless it was started with --max-client-batch-size.
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
        Provider(_SELF_HOSTED, "", "RERANK_API_KEY", "bge-reranker-v2-m3", key_optional=True),
    )
}  # fmt: skip
"""The providers of rerankers, separate from those of chat models because a name could mean both."""


class Reranking(Frozen, frozen=True):
    """A reranker's result for one query: a score for each text, in the order of the texts. Scores are comparable within
    one query; the scale depends on the model. `usage` counts what was sent."""

    scores: tuple[float, ...]
    usage: Usage = Usage()


class Reranker(Protocol):
    """Scores texts against a query. Raises `errors.ModelError` on failure."""

    @property
    def id(self) -> str: ...
    async def rerank(self, query: str, texts: Sequence[str], /) -> Reranking: ...


def is_reranker(name: str) -> bool:
    """Whether `name` is a reranker (`jina/MODEL`, `rerank/MODEL`…) and not a chat model."""
    provider, slash, _ = name.partition("/")
    return bool(slash) and provider in RERANKERS


@contextlib.asynccontextmanager
async def open_reranker(name: str, options: ModelOptions = _DEFAULT, *, url: str = "") -> AsyncIterator[Reranker]:
    """Opens the reranker of this name, with cache, limits and retries; its `id` is `name`.

    `url` is the address of the endpoint: a base URL, or the whole address of the operation (`http://host/rerank`).
    Without it, hosted providers use their own address and `rerank/MODEL` uses `options.base_url`, which for the others
    would be that of the chat model. Raises `UsageError` for an invalid name or address, `MissingKey`."""
    provider, model, address = reranker_endpoint(name, options, url=url)
    options = replace(options, base_url=address)
    key = provider_key(provider, own_endpoint=bool(url))
    client = _RerankClient(provider, model, options, key=key)
    identity = {"base_url": client.base_url, "model": model, "kind": "rerank", "extra": dict(provider.extra)}
    async with (
        client,
        compose(client, options, identity=identity, cache=reply_cache(options), one_at_a_time=False) as model_behind,
    ):
        yield _EndpointReranker(model_behind)


def reranker_endpoint(name: str, options: ModelOptions = _DEFAULT, *, url: str = "") -> tuple[Provider, str, str]:
    """The provider, the model's name and the address of a reranker. Raises as `open_reranker`; needs no key."""
    provider_name, _, model = name.partition("/")
    if provider_name not in RERANKERS or not model:
        raise UsageError(
            f"{name!r} is not a reranker: write PROVIDER/MODEL, for example rerank/bge-reranker-v2-m3. "
            f"The providers are {', '.join(RERANKERS)}."
        )
    provider = RERANKERS[provider_name]
    address = url or (options.address if provider_name == _SELF_HOSTED else None) or provider.base_url
    if not address:
        raise UsageError(f"{name} needs the address of its endpoint: url=http://localhost:8080, for example.")
    normal_base_url(address)
    return provider, model, address


class _EndpointReranker:
    """A `Reranker` on top of a `_RerankClient` with its wrappers."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def id(self) -> str:
        return self._model.id

    async def rerank(self, query: str, texts: Sequence[str], /) -> Reranking:
        if not texts:
            return Reranking(())
        request = Request(messages=tuple(Turn("user", text) for text in (query, *texts)), schema_name="rerank")
        completion = await self._model.generate(request)
        return Reranking(tuple(json.loads(completion.text)), completion.usage)


@dataclass(frozen=True)
class _Route:
    """An address, and the form of request for it."""

    url: str
    form: Form


class _RerankClient(Client):
    """One endpoint's `/rerank`, with one attempt per call. `generate` takes the query and the texts as messages and
    returns the scores as JSON."""

    def __init__(self, provider: Provider, wire_name: str, options: ModelOptions, *, key: str) -> None:
        super().__init__(provider, wire_name, options, key=key)
        self._routes = _routes(self.base_url, self_hosted=provider.name == _SELF_HOSTED)
        self._route: _Route | None = self._routes[0] if len(self._routes) == 1 else None
        self._finding = asyncio.Lock()
        self._refusal: ModelError | None = None

    async def generate(self, request: Request, /) -> Completion:
        """The scores. Raises the typed errors of `ModelError`; if no route works, the error of the first."""
        query, *texts = [turn.content for turn in request.messages]
        if self._route is None:
            before = self._refusal
            async with self._finding:  # only one of the concurrent requests tries the routes
                if self._route is None:
                    if self._refusal is not None and self._refusal is not before:
                        raise self._refusal
                    return await self._find_route(query, texts)
        return await self._ask(self._route, query, texts)

    async def _find_route(self, query: str, texts: Sequence[str]) -> Completion:
        """The scores by the first route that works, which all further requests use."""
        first: ModelError | None = None
        for route in self._routes:
            try:
                completion = await self._ask(route, query, texts)
            except (Rejected, BadReply) as error:
                if isinstance(error, BadReply) and not error.permanent:  # permanent: a wrong path shows a web page
                    raise
                first = first or error
                continue
            except ModelError as error:
                self._refusal = error if error.refuses_all else None
                raise
            self._route = route
            return completion
        assert first is not None
        self._refusal = first if first.refuses_all else None
        raise first

    async def _ask(self, route: _Route, query: str, texts: Sequence[str]) -> Completion:
        batch_size = _TEXTS_AT_ONCE if route.form == "texts" else len(texts)
        scores: list[float] = []
        usage = Usage()
        for start in range(0, len(texts), batch_size):
            batch = texts[start : start + batch_size]
            body = await self._post(route.url, self._payload(route.form, query, batch))
            try:
                new_scores, spent = read_scores(body, len(batch), self._where)
            except BadReply as error:
                raise self._error_inside(body) or error from None
            scores += new_scores
            usage += spent
        return Completion(text=json.dumps(scores), finish_reason="stop", usage=usage, model=self.wire_name)

    def _payload(self, form: Form, query: str, texts: Sequence[str]) -> dict[str, Any]:
        if form == "texts":
            return {"query": query, "texts": list(texts), "truncate": True}
        return {"model": self.wire_name, "query": query, "documents": list(texts), **self.provider.extra}


def _routes(base_url: str, *, self_hosted: bool) -> tuple[_Route, ...]:
    """The possible routes of an address, the likeliest first. That of a hosted provider is known."""
    if _HAS_OPERATION.search(base_url.partition("?")[0]):
        addresses = [base_url]
    else:
        addresses = [endpoint_url(base_url, "rerank")]
        # `/v1` was added to an address without a path; some servers have the operation at their root.
        path, mark, query = base_url.partition("?")
        if path.endswith("/v1"):
            addresses.append(endpoint_url(path.removesuffix("/v1") + mark + query, "rerank"))
    if not self_hosted:
        return (_Route(addresses[0], "documents"),)
    return tuple(_Route(address, form) for address in addresses for form in ("documents", "texts"))


class _TextScore(msgspec.Struct):
    index: int
    relevance_score: float | None = None
    score: float | None = None


class _RerankReply(msgspec.Struct):
    results: list[_TextScore] | None = None
    data: list[_TextScore] | None = None
    usage: Any = None
    meta: Any = None


def read_scores(body: bytes, count: int, where: str) -> tuple[list[float], Usage]:
    """The scores in the reply to `count` texts, in the order of the texts, and the tokens if the endpoint counts them.
    `BadReply` if any score is missing, repeated, or not a number."""
    usage: Any = None
    if body[:64].lstrip().startswith(b"["):
        results = parse(body, list[_TextScore], where)
    else:
        reply = parse(body, _RerankReply, where)
        results = reply.results if reply.results is not None else reply.data or []
        usage = reply.usage if reply.usage is not None else _billed(reply.meta)
    scores: list[float | None] = [None] * count
    for scored in results:
        value = scored.relevance_score if scored.relevance_score is not None else scored.score
        if not 0 <= scored.index < count or scores[scored.index] is not None:
            raise BadReply(f"{where}: the reply numbers its scores wrongly (index {scored.index} of {count}).")
        if value is None or not math.isfinite(value):
            raise BadReply(f"{where}: the reply has no score for text {scored.index}.")
        scores[scored.index] = value
    complete = [score for score in scores if score is not None]
    if len(complete) != count:
        raise BadReply(f"{where}: {count} texts were sent, and {len(complete)} were scored.")
    return complete, _usage(usage)


def _billed(meta: Any) -> Any:
    """The token count as Cohere and SiliconFlow report it."""
    tokens = meta.get("tokens") if isinstance(meta, dict) else None
    return {"prompt_tokens": tokens.get("input_tokens")} if isinstance(tokens, dict) else None


def _usage(usage: Any) -> Usage:
    """Jina and Voyage report only the total, and a reranker generates no tokens."""
    if isinstance(usage, dict) and not usage.get("prompt_tokens"):
        usage = {"prompt_tokens": usage.get("total_tokens")}
    return msgspec.structs.replace(read_usage(usage), completion_tokens=0)
