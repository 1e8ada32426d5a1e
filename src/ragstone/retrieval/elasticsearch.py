"""Elasticsearch 8 and 9, and OpenSearch 2 and 3 (`retrieval/engine.py` has the options).

    elasticsearch(http://localhost:9200,collection=wiki)                        BM25 over your own index
    elasticsearch(http://localhost:9200)                                        the pool, in an index that stays
    opensearch(https://localhost:9200,collection=wiki,embedder=local/e5-small,vector=embedding)      nearest vectors

Without an embedder, words are searched in the fields `text` and `title`. The pool is indexed with the analyzer
`english` or, for Chinese, `cjk` (character bigrams). `id` is a field of the document, without it the documents' `_id`
counts. Keys: ELASTIC_API_KEY, else ELASTIC_USER and ELASTIC_PASSWORD; OPENSEARCH_USER and OPENSEARCH_PASSWORD.

The REST interface is the same in all of them but for vectors, so no client is needed: Elasticsearch's own refuses
OpenSearch, and that of version 9 servers of version 8. Tested with replies in the form of the servers' documentation,
with their headers, not with running servers.
"""

import asyncio
import base64
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ragstone.errors import BadReply, Unauthorized, UsageError
from ragstone.models.endpoint import patience_for
from ragstone.models.http_errors import one_line, transport_error
from ragstone.models.network import open_session
from ragstone.models.reply_body import read_body
from ragstone.models.retry import retrying
from ragstone.retrieval.engine import Engine, EngineKind, EngineTarget, Hit, Vectors, value_at
from ragstone.text import detect
from ragstone.text.redaction import shown_url
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.models.options import ModelOptions

_ROWS = 500  # documents per write and per page
_SCROLL = "2m"  # how long a server remembers where a listing was
_CANDIDATES = 10  # that a vector search considers, per requested passage
_SAMPLED = 50  # passages that decide on the analyzer's language
_TRANSIENT = (429, 502, 503, 504)


class _Server:
    """Requests to a server's REST interface, with retries."""

    def __init__(self, target: EngineTarget, variables: Sequence[str]) -> None:
        self._url, self._options = target.place.rstrip("/"), target.model_options
        self._key = " or ".join(filter(None, variables))
        authorization = _authorization(*variables)
        self._headers = {"Authorization": authorization} if authorization else {}
        self._secrets = (authorization, *(os.environ.get(name, "") for name in variables))
        self.where = shown_url(self._url)
        self.status, self.product = 0, ""  # of the last reply
        self._session: Any = None
        self._request_options: dict[str, Any] = {}

    async def __aenter__(self) -> "_Server":
        options: ModelOptions = self._options
        self._session, self._request_options = open_session(
            self._url, "", connections=options.in_flight, timeout=options.timeout
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, method: str, path: str, body: Any = None, *, lines: str = "") -> Any:
        """The JSON document of the reply; None if there is nothing at this path. `lines`: a body of JSON lines. Raises
        UsageError for what the server refuses, Unauthorized, and the errors of a connection."""
        patience = patience_for(self._options)
        return await retrying(lambda: self._attempt(method, path, body, lines), patience, where=self.where)

    async def ask_if_allowed(self, path: str) -> Any:
        """The reply to a GET; {} if the key may not ask this (403): one for searching alone is enough."""
        try:
            return await self.ask("GET", path) or {}
        except Unauthorized:
            if self.status != 403:
                raise
            return {}

    async def _attempt(self, method: str, path: str, body: Any, lines: str) -> Any:
        import aiohttp  # noqa: PLC0415

        options = {**self._request_options, "headers": {**self._request_options.get("headers", {}), **self._headers}}
        if lines:
            options["headers"]["Content-Type"] = "application/x-ndjson"
        if body is not None or lines:
            options["data"] = (lines or json.dumps(body)).encode()
        try:
            async with self._session.request(method, f"{self._url}/{path}", **options) as reply:
                text = await read_body(reply, self._options.reply_bytes, self.where)
                status = self.status = reply.status
                self.product = reply.headers.get("X-Elastic-Product", "")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise transport_error(self.where, error) from None
        return self._read(status, text)

    def _read(self, status: int, text: bytes) -> Any:
        try:
            document = json.loads(text) if text.strip() else {}
        except ValueError:
            document = None
        if status == 404 and isinstance(document, dict) and _reason(document)[0] in ("", "index_not_found_exception"):
            return None
        if 200 <= status < 300 and isinstance(document, dict):
            return document
        if status in _TRANSIENT or document is None:
            raise BadReply(f"{self.where}: status {status} ({self.shown(text[:2000].decode('utf-8', 'replace'))}).")
        reason = self.shown(": ".join(filter(None, _reason(document))))
        if status in (401, 403):
            raise Unauthorized(f"{self.where}: not allowed ({reason}). Set the key in {self._key}.")
        raise UsageError(f"{self.where}: it refused this ({reason or status}).")

    def shown(self, text: str) -> str:
        """A server's words, as one line without the keys."""
        return one_line(text, tuple(filter(None, self._secrets)))


def _reason(document: Mapping[str, Any]) -> tuple[str, str]:
    """(type, reason) of an error, which is an object or a text."""
    error = document.get("error")
    if not isinstance(error, Mapping):
        return "", str(error or "")
    causes = error.get("root_cause") or [error]
    return str(error.get("type", "")), str(causes[0].get("reason") or error.get("reason") or "")


class _Index:
    """Indexes of one server. `is_open`: it is OpenSearch, whose vectors are spelled otherwise."""

    def __init__(self, server: _Server, target: EngineTarget, *, is_open: bool, library: str) -> None:
        self.library, self._server, self._is_open = library, server, is_open
        self._fields, self._vector = target.fields, target.fields.vector or "vector"
        self._collection = target.options.get("collection", "")

    async def collections(self) -> Sequence[str]:
        aliases = await self._server.ask_if_allowed("_aliases")
        if not aliases and self._server.status == 403:
            return [self._collection]
        names = {name for index in aliases.values() for name in index.get("aliases", {})}
        return sorted({*(name for name in aliases if not name.startswith(".")), *names})

    async def count(self, collection: str) -> int:
        return int((await self._server.ask("GET", f"{quote(collection, safe='')}/_count"))["count"])

    async def check(self, collection: str, dimensions: int) -> int:
        mappings: Mapping[str, Any] = await self._server.ask_if_allowed(f"{quote(collection, safe='')}/_mapping")
        if not mappings and self._server.status == 403:
            return dimensions
        index: Mapping[str, Any] = next(iter(mappings.values()), {})
        fields: Mapping[str, Any] = index.get("mappings", {}).get("properties", {})
        wanted = self._vector if dimensions else self._fields.text
        field = _nested(fields, wanted)
        if field is None:
            option = "vector" if dimensions else "text"
            raise UsageError(
                f"The index {collection} has no field {wanted!r}: name it with {option}=FIELD. It has: "
                f"{', '.join(list(fields)[:20]) or 'none'}."
            )
        return int(field.get("dims", field.get("dimension", dimensions))) if dimensions else 0

    async def fill(self, collection: str, passages: Sequence[Passage], vectors: Vectors) -> None:
        languages = [detect(passage.text) for passage in passages[:_SAMPLED]]
        analyzer = "cjk" if languages.count("zh") * 2 > len(languages) else "english"
        properties: dict[str, Any] = {name: {"type": "text", "analyzer": analyzer} for name in ("text", "title")}
        body: dict[str, Any] = {"mappings": {"properties": properties}}
        if vectors is not None:
            properties["vector"] = self._vector_field(vectors.shape[1])
            body |= {"settings": {"index": {"knn": True}}} if self._is_open else {}
        await self._server.ask("DELETE", collection)
        await self._server.ask("PUT", collection, body)
        for start in range(0, len(passages), _ROWS):
            lines = "".join(map(_line, _actions(passages, vectors, start)))
            reply = await self._server.ask("POST", f"{collection}/_bulk?refresh=true", lines=lines)
            if reply is None or reply.get("errors"):
                items = [item for entry in (reply or {}).get("items", []) for item in entry.values()]
                failed = [item["error"] for item in items if "error" in item]
                reason = failed[0].get("reason", "") if failed else "the index is missing"
                first = self._server.shown(reason)
                raise UsageError(f"{self._server.where}: {len(failed)} passages were refused; the first: {first}")

    def _vector_field(self, size: int) -> dict[str, Any]:
        if self._is_open:
            method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
            return {"type": "knn_vector", "dimension": size, "method": method}
        return {"type": "dense_vector", "dims": size, "index": True, "similarity": "cosine"}

    async def search(self, collection: str, query: str, vector: Vectors, k: int) -> list[Hit]:
        fields = self._fields
        if vector is None:
            names = [name for name in (fields.text, fields.title) if name]
            body: dict[str, Any] = {"query": {"multi_match": {"query": query, "fields": names, "type": "most_fields"}}}
        elif self._is_open:
            body = {"query": {"knn": {self._vector: {"vector": vector.tolist(), "k": k}}}}
        else:
            knn = {"field": self._vector, "query_vector": vector.tolist(), "k": k}
            body = {"knn": {**knn, "num_candidates": min(10_000, _CANDIDATES * k)}}
        shown = [name for name in (fields.id, fields.text, fields.title) if name]
        path = f"{quote(collection, safe='')}/_search"
        reply = await self._server.ask("POST", path, {**body, "size": k, "_source": shown})
        if reply is None:
            raise UsageError(f"{self._server.where}: there is no index {collection!r} any more.")
        return [self._hit(hit) for hit in reply["hits"]["hits"]]

    async def entries(self, collection: str) -> AsyncIterator[Hit]:
        shown = [name for name in (self._fields.id, self._fields.text, self._fields.title) if name]
        path = f"{quote(collection, safe='')}/_search?scroll={_SCROLL}"
        reply = await self._server.ask("POST", path, {"size": _ROWS, "sort": ["_doc"], "_source": shown})
        while reply is not None and reply["hits"]["hits"]:
            for hit in reply["hits"]["hits"]:
                yield self._hit(hit)
            scroll = {"scroll": _SCROLL, "scroll_id": reply["_scroll_id"]}
            reply = await self._server.ask("POST", "_search/scroll", scroll)

    def _hit(self, hit: Mapping[str, Any]) -> Hit:
        source, fields = hit.get("_source") or {}, self._fields
        key = value_at(source, fields.id) if fields.id else None
        return fields.hit(hit["_id"] if key is None else key, hit.get("_score") or 0.0, source)


def _actions(passages: Sequence[Passage], vectors: Any, start: int) -> Iterator[dict[str, Any]]:
    for place in range(start, min(start + _ROWS, len(passages))):
        passage = passages[place]
        yield {"index": {"_id": passage.id}}
        vector = {} if vectors is None else {"vector": vectors[place].tolist()}
        yield {"text": passage.text, "title": passage.title, **vector}


def _line(document: Mapping[str, Any]) -> str:
    return json.dumps(document) + "\n"


def _nested(fields: Mapping[str, Any], path: str) -> Any:
    """The mapping of a field at a dotted path."""
    field: Any = {"properties": fields}
    for name in path.split("."):
        inner: Mapping[str, Any] = (field or {}).get("properties") or (field or {}).get("fields") or {}
        field = inner.get(name)
    return field


def _authorization(*names: str) -> str:
    """The value of the header from the environment: of an API key, or of a user and a password."""
    key, user, password = (os.environ.get(name, "") if name else "" for name in names)
    if key:
        return f"ApiKey {key}"
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode('ascii')}" if user else ""


def _connect(*variables: str, is_open: bool) -> Callable[[EngineTarget], Any]:
    @contextlib.asynccontextmanager
    async def connect(target: EngineTarget) -> AsyncIterator[Engine]:
        async with _Server(target, variables) as server:
            version = (await server.ask_if_allowed("")).get("version") or {}
            known = "elasticsearch" if server.product == "Elasticsearch" else version.get("distribution", "")
            if known and (known == "opensearch") != is_open:
                raise UsageError(f"{server.where} is not what its name says: write {known}(…).")
            library = f"{'opensearch' if is_open else 'elasticsearch'} {version.get('number', '')}".strip()
            yield _Index(server, target, is_open=is_open, library=library)
        await asyncio.sleep(0)  # lets the session's connections close

    return connect


def _kind(name: str, label: str, *variables: str) -> EngineKind:
    connect = _connect(*variables, is_open=name == "opensearch")
    key = variables[0] or variables[2]
    return EngineKind(
        name, label, connect, key, f"{name}(http://localhost:9200)", words=True, options=("vector",),
        more_keys=variables[1:],
    )  # fmt: skip


PLUGINS = {
    "elasticsearch": _kind("elasticsearch", "Elasticsearch", "ELASTIC_API_KEY", "ELASTIC_USER", "ELASTIC_PASSWORD"),
    "opensearch": _kind("opensearch", "OpenSearch", "", "OPENSEARCH_USER", "OPENSEARCH_PASSWORD"),
}
