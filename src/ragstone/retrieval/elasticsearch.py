"""Elasticsearch as a retriever. MIRAGE's authors used it to map queries to articles.

    elasticsearch(url=http://localhost:9200,index=wiki)                   BM25 over your own index
    elasticsearch(url=http://localhost:9200)                              indexes the pool first and keeps the index
    elasticsearch(local/e5-small,url=…,index=wiki,vector=embedding)       nearest vectors (knn)

Your own index must hold the pool's passages with the pool's ids as `_id`. Options: `url`, `index`, and the names of the
fields: `text` (searched, default "text"), `title` (also searched, "title"; empty: none), `vector` ("vector").
ELASTIC_API_KEY, if set, is sent as the key; certificates are configured as for models. If no index is named, the pool
is indexed as `ragstone-…` with Elasticsearch's analyzer `english` or, for Chinese, `cjk` (character bigrams).

Uses the official client (extra `elasticsearch`). Tested against a stub that replays recorded replies, not against a
running Elasticsearch.
"""

import contextlib
import hashlib
import importlib
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ragstone.errors import DataError, MissingExtra, Unauthorized, Unreachable, UsageError
from ragstone.models import open_embedder
from ragstone.models.nested_names import Spec
from ragstone.models.network import certificates
from ragstone.retrieval.embedders import embed_all
from ragstone.retrieval.open import Building
from ragstone.text import detect
from ragstone.text.redaction import redact, shown_url
from ragstone.types import Embedder, Passage, Retriever

__all__ = ["KEY", "PLUGINS", "Elastic", "open_elasticsearch"]

KEY = "ELASTIC_API_KEY"
_AT_ONCE = 64  # searches per request
_CANDIDATES = 10  # that a vector search considers, per requested passage
_SAMPLED = 50  # passages that decide on the analyzer's language


class Fields(msgspec.Struct, frozen=True):
    """The name of an index and of its fields."""

    index: str
    text: str = "text"
    title: str = "title"
    vector: str = "vector"


class Elastic:
    """A retriever over an index that holds `passages` by id. With an `embedder` it searches vectors, else BM25."""

    def __init__(
        self, name: str, client: Any, passages: Mapping[str, Passage], fields: Fields, embedder: Embedder | None,
        facts: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.id, self.facts = name, facts
        self._client, self._passages, self._fields, self._embedder = client, passages, fields, embedder
        self._places = {key: place for place, key in enumerate(passages)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query, best first; ties keep the pool's order. A blank query finds none. Raises
        DataError if the index returns an id that is not in the pool."""
        results: list[list[Passage]] = [[] for _ in queries]
        nonblank = [number for number, query in enumerate(queries) if query.strip()]
        if not nonblank or k < 1:
            return results
        vectors = None
        if self._embedder is not None:
            vectors = await embed_all(self._embedder, [queries[number] for number in nonblank], kind="query")
        for start in range(0, len(nonblank), _AT_ONCE):
            some = nonblank[start : start + _AT_ONCE]
            searches: list[dict[str, Any]] = []
            for place, number in enumerate(some, start):
                body = self._bm25(queries[number]) if vectors is None else self._knn(vectors[place], k)
                searches += [{"index": self._fields.index}, {**body, "size": k, "_source": False}]
            with _errors(self.id):
                reply = await self._client.msearch(searches=searches)
            for number, response in zip(some, reply["responses"], strict=True):
                results[number] = self._read(response)
        return results

    def _bm25(self, query: str) -> dict[str, Any]:
        names = [name for name in (self._fields.text, self._fields.title) if name]
        return {"query": {"multi_match": {"query": query, "fields": names, "type": "most_fields"}}}

    def _knn(self, vector: Any, k: int) -> dict[str, Any]:
        knn = {"field": self._fields.vector, "query_vector": vector.tolist(), "k": k}
        return {"knn": {**knn, "num_candidates": min(10_000, _CANDIDATES * k)}}

    def _read(self, reply: Mapping[str, Any]) -> list[Passage]:
        if "error" in reply:
            reason = reply["error"].get("reason") or reply["error"].get("type", "")
            raise UsageError(f"{self.id}: the search was refused ({' '.join(str(reason).split())[:200]}).")
        best = []
        for hit in reply["hits"]["hits"]:
            key = hit["_id"]
            if key not in self._passages:
                raise DataError(
                    self._fields.index, f"id {key!r} is in the index but not in the pool.",
                    advice="Index the pool's passages with their ids as _id.",
                )  # fmt: skip
            best.append((-float(hit["_score"] or 0.0), self._places[key], key))
        return [msgspec.structs.replace(self._passages[key], score=-low) for low, _, key in sorted(best)]


@contextlib.asynccontextmanager
async def open_elasticsearch(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever; indexes the pool if no index is named. Raises UsageError, MissingExtra, and a `ModelError`
    if the server cannot be reached."""
    spec.only("url", "index", "text", "title", "vector")
    if len(spec.arguments) > 1:
        raise UsageError(f"{spec.name}: give at most one embedder, for example elasticsearch(local/e5-small,url=…).")
    url = spec.options.get("url", "")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{spec.name}: give the server's address: url=http://localhost:9200.")
    library = _load()
    passages = {passage.id: passage for passage in building.pool}
    fields = Fields(
        spec.options.get("index", ""), spec.options.get("text", "text"), spec.options.get("title", "title"),
        spec.options.get("vector", "vector"),
    )  # fmt: skip
    async with contextlib.AsyncExitStack() as stack:
        embedder: Embedder | None = None
        if spec.arguments:
            embedder = await stack.enter_async_context(open_embedder(spec.arguments[0], building.options))
        try:
            client = library.AsyncElasticsearch(
                url, api_key=os.environ.get(KEY) or None, request_timeout=building.options.timeout,
                retry_on_timeout=True, max_retries=building.options.attempts - 1, meta_header=False,
                **({"ssl_context": certificates()} if url.startswith("https://") else {}),
            )  # fmt: skip
        except ValueError:
            raise UsageError(f"{spec.name}: the address needs a port: url=http://localhost:9200.") from None
        stack.push_async_callback(client.close)
        started = time.perf_counter()
        with _errors(spec.name):
            if fields.index:
                if not await client.indices.exists(index=fields.index):
                    raise UsageError(f"{spec.name}: {shown_url(url)} has no index {fields.index!r}.")
            else:
                fields = await _index(client, library, passages, embedder)
            counted = await client.count(index=fields.index)
        facts: dict[str, Any] = {
            "library": f"elasticsearch {library.__versionstr__}", "index": fields.index, "passages": counted["count"],
            "build_seconds": time.perf_counter() - started,
        }  # fmt: skip
        if embedder is not None:
            facts["embedder"] = embedder.id
        yield Elastic(spec.name, client, passages, fields, embedder, facts)


async def _index(client: Any, library: Any, passages: Mapping[str, Passage], embedder: Embedder | None) -> Fields:
    """The pool's index: a complete one from an earlier run, or a new one."""
    fields = Fields(f"ragstone-{_digest(passages, embedder)}")
    if await client.indices.exists(index=fields.index):
        if (await client.count(index=fields.index))["count"] == len(passages):
            return fields
        await client.indices.delete(index=fields.index)
    languages = [detect(passage.text) for passage in list(passages.values())[:_SAMPLED]]
    analyzer = "cjk" if languages.count("zh") * 2 > len(languages) else "english"
    properties: dict[str, Any] = {
        name: {"type": "text", "analyzer": analyzer} for name in (fields.text, fields.title)
    }  # fmt: skip
    vectors = None
    if embedder is not None:
        vectors = await embed_all(embedder, [passage.text or " " for passage in passages.values()], kind="passage")
        mapping = {"type": "dense_vector", "dims": int(vectors.shape[1]), "index": True, "similarity": "cosine"}
        properties[fields.vector] = mapping
    await client.indices.create(index=fields.index, mappings={"properties": properties})

    def actions() -> Iterator[dict[str, Any]]:
        for place, passage in enumerate(passages.values()):
            source: dict[str, Any] = {fields.text: passage.text, fields.title: passage.title}
            if vectors is not None:
                source[fields.vector] = vectors[place].tolist()
            yield {"_index": fields.index, "_id": passage.id, "_source": source}

    await library.helpers.async_bulk(client, actions(), refresh=True)
    return fields


def _digest(passages: Mapping[str, Passage], embedder: Embedder | None) -> str:
    digest = hashlib.sha256((embedder.id if embedder else "").encode())
    for passage in passages.values():
        digest.update(f"\x00{passage.id}\x01{passage.title}\x02{passage.text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    """Turns the client's errors into ragstone's, in one line."""
    library = _load()
    try:
        yield
    except (library.AuthenticationException, library.AuthorizationException) as error:
        raise Unauthorized(f"{name}: {_line(error)} Set the key in {KEY}.") from None
    except library.ApiError as error:
        raise UsageError(f"{name}: {_line(error)}") from None
    except library.helpers.BulkIndexError as error:
        raise UsageError(f"{name}: {len(error.errors)} passages were refused; the first: {_line(error)}") from None
    except library.TransportError as error:
        # The client nests the error's text in itself.
        cause = redact(str(error).rpartition("Error(")[2].rstrip(")") or str(error))
        raise Unreachable(
            f"{name}: no connection ({' '.join(cause.split())[:200]}). Is Elasticsearch running?"
        ) from None


def _line(error: Exception) -> str:
    return f"{' '.join(redact(str(error)).split())[:200]}."


def _load() -> Any:
    try:
        library = importlib.import_module("elasticsearch")
        importlib.import_module("elasticsearch.helpers")
    except ModuleNotFoundError:
        raise MissingExtra(
            "Elasticsearch's client is not installed. Run: pip install 'ragstone[elasticsearch]'"
        ) from None
    return library


PLUGINS = {"elasticsearch": open_elasticsearch}
