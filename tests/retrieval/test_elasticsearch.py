"""Elasticsearch 8 and 9, OpenSearch 2 and 3: requests and replies in the form of the servers' documentation.

The stub has the headers and the first reply of each server, keeps what is indexed and scores by words in common, so
that what is asked for can be checked; it is no search engine.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.retrieval.words import WordEmbedder, opening

from ragstone.errors import DataError, ModelError, Unauthorized, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import facts_of, open_retriever
from ragstone.retrieval.index_list import read_index
from ragstone.types import Passage

POOL = [
    Passage("a", "ships sail the sea", "Sea", True),
    Passage("b/1", "trains run on rails"),
    Passage("c", "海 上 的 船"),
]
OPTIONS = ModelOptions(attempts=2, deadline=20, timeout=10, cache=None)
# What GET / of the servers says, and the header by which Elasticsearch's own clients know it.
SERVERS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "elasticsearch 8.19.2": (
        {"name": "n1", "cluster_name": "docker-cluster", "cluster_uuid": "x", "version": {
            "number": "8.19.2", "build_flavor": "default", "build_type": "docker", "build_snapshot": False,
            "lucene_version": "9.12.2", "minimum_wire_compatibility_version": "7.17.0",
            "minimum_index_compatibility_version": "7.0.0"}, "tagline": "You Know, for Search"},
        {"X-Elastic-Product": "Elasticsearch"},
    ),
    "elasticsearch 9.1.3": (
        {"name": "n1", "cluster_name": "docker-cluster", "cluster_uuid": "x", "version": {
            "number": "9.1.3", "build_flavor": "default", "build_type": "docker", "build_snapshot": False,
            "lucene_version": "10.2.2", "minimum_wire_compatibility_version": "8.19.0",
            "minimum_index_compatibility_version": "8.0.0"}, "tagline": "You Know, for Search"},
        {"X-Elastic-Product": "Elasticsearch"},
    ),
    "opensearch 2.19.1": (
        {"name": "n1", "cluster_name": "opensearch-cluster", "cluster_uuid": "x", "version": {
            "distribution": "opensearch", "number": "2.19.1", "build_type": "tar", "build_snapshot": False,
            "lucene_version": "9.12.1", "minimum_wire_compatibility_version": "7.10.0"},
         "tagline": "The OpenSearch Project: https://opensearch.org/"},
        {},
    ),
    "opensearch 3.2.0": (
        {"name": "n1", "cluster_name": "opensearch-cluster", "cluster_uuid": "x", "version": {
            "distribution": "opensearch", "number": "3.2.0", "build_type": "tar", "build_snapshot": False,
            "lucene_version": "10.2.2", "minimum_wire_compatibility_version": "2.19.0"},
         "tagline": "The OpenSearch Project: https://opensearch.org/"},
        {},
    ),
}  # fmt: skip


class Stub:
    """One server. `refuse`: the status of every reply; `forbidden`: paths that the key may not read."""

    def __init__(self, server: str) -> None:
        self.server, self.name = server, server.split(maxsplit=1)[0]
        self.about, self.headers = SERVERS[server]
        self.indices: dict[str, dict[str, Any]] = {}
        self.mappings: dict[str, Any] = {}
        self.searches: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.kinds: set[str] = set()
        self.bulks = 0
        self.refuse, self.busy, self.forbidden = 0, 0, set[str]()
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        self.keys.add(request.headers.get("Authorization", ""))
        text, path, method = await request.text(), request.path.strip("/"), request.method
        if text:
            self.kinds.add(request.headers["Content-Type"])
        if self.busy:
            self.busy -= 1
            return self._reply({"error": {"type": "es_rejected_execution_exception", "reason": "busy"}}, 429)
        if self.refuse or path in self.forbidden:
            kind = "security_exception"
            error: dict[str, Any] = {
                "root_cause": [{"type": kind, "reason": "missing authentication credentials for s3cret-key"}]
            }
            return self._reply({"error": {**error, "type": kind}, "status": self.refuse or 403}, self.refuse or 403)
        if not path:
            return self._reply(self.about)
        if path == "_aliases":
            return self._reply({name: {"aliases": {}} for name in [*self.indices, ".security-7"]})
        if path == "_search/scroll":
            index, start, size = json.loads(text)["scroll_id"].split()
            return self._reply(self._scrolled(index, int(start), int(size)))
        index, _, operation = path.partition("/")
        if method != "PUT" and index not in self.indices:
            gone = {"type": "index_not_found_exception", "reason": f"no such index [{index}]"}
            return self._reply({"error": {"root_cause": [gone], **gone}, "status": 404}, 404)
        return self._reply(self._result(method, index, operation, text))

    def _result(self, method: str, index: str, operation: str, text: str) -> Any:
        match method, operation:
            case "PUT", "":
                self.indices[index], self.mappings[index] = {}, json.loads(text)
                return {"acknowledged": True, "shards_acknowledged": True, "index": index}
            case "DELETE", "":
                del self.indices[index]
                return {"acknowledged": True}
            case "GET", "_count":
                return {"count": len(self.indices[index]), "_shards": {"total": 1, "successful": 1, "failed": 0}}
            case "GET", "_mapping":
                return {index: {"mappings": self.mappings[index]["mappings"]}}
            case "POST", "_bulk":
                return self._bulk(index, text)
            case "POST", "_search" if (body := json.loads(text)).get("sort") == ["_doc"]:
                return self._scrolled(index, 0, body["size"])
            case "POST", "_search":
                return self._search(index, json.loads(text))
        raise AssertionError((method, operation))

    def _bulk(self, index: str, text: str) -> dict[str, Any]:
        self.bulks += 1
        lines = [json.loads(line) for line in text.splitlines()]
        for action, source in zip(lines[::2], lines[1::2], strict=True):
            self.indices[index][action["index"]["_id"]] = source
        items = [{"index": {"_index": index, "_id": line["index"]["_id"], "status": 201}} for line in lines[::2]]
        return {"took": 1, "errors": False, "items": items}

    def _search(self, index: str, body: dict[str, Any]) -> dict[str, Any]:
        self.searches.append(body)
        scores = {key: self._score(source, body) for key, source in self.indices[index].items()}
        best = sorted((-score, key) for key, score in scores.items() if score)[: body["size"]]
        hits = [
            {"_index": index, "_id": key, "_score": -low,
             "_source": {name: value for name, value in self.indices[index][key].items() if name in body["_source"]}}
            for low, key in best
        ]  # fmt: skip
        total = {"value": len(hits), "relation": "eq"}
        return {"took": 1, "timed_out": False, "hits": {"total": total, "max_score": 1.0, "hits": hits}}

    def _scrolled(self, index: str, start: int, size: int) -> dict[str, Any]:
        """A page of all documents, as a scroll gives them."""
        rows = list(self.indices[index].items())[start : start + size]
        hits = [{"_index": index, "_id": key, "_score": None, "_source": source} for key, source in rows]
        return {"_scroll_id": f"{index} {start + size} {size}", "hits": {"hits": hits}}

    @staticmethod
    def _score(source: dict[str, Any], body: dict[str, Any]) -> float:
        if "knn" in body:
            asked, vector = body["knn"]["query_vector"], source[body["knn"]["field"]]
            return float(1 + sum(a * b for a, b in zip(vector, asked, strict=True)))
        if "knn" in body["query"]:
            ((field, knn),) = body["query"]["knn"].items()
            return float(1 + sum(a * b for a, b in zip(source[field], knn["vector"], strict=True)))
        match = body["query"]["multi_match"]
        words = " ".join(str(source.get(name, "")) for name in match["fields"]).lower().split()
        return float(sum(word in words for word in match["query"].lower().split()))

    def _reply(self, body: Any, status: int = 200) -> web.Response:
        return web.json_response(body, status=status, headers=self.headers)


@contextlib.asynccontextmanager
async def running(server: str) -> AsyncIterator[Stub]:
    made = Stub(server)
    test_server = TestServer(made.app())
    await test_server.start_server()
    made.url = str(test_server.make_url("/")).rstrip("/")
    try:
        yield made
    finally:
        await test_server.close()


@pytest.fixture(params=SERVERS)
async def stub(request: pytest.FixtureRequest) -> AsyncIterator[Stub]:
    async with running(request.param) as made:
        yield made


@pytest.fixture
async def nine() -> AsyncIterator[Stub]:
    async with running("elasticsearch 9.1.3") as made:
        yield made


async def test_a_pool_is_indexed_once_and_searched_by_words(stub: Stub) -> None:
    for _ in range(2):
        async with open_retriever(f"{stub.name}({stub.url})", POOL, options=OPTIONS) as retriever:
            first, second, blank = await retriever.retrieve(["the sea", "rails", " "], k=2)
            facts = facts_of(retriever)
    assert [(one.id, one.score, one.relevant) for one in first] == [("a", 2.0, True)]
    assert ([one.id for one in second], blank) == (["b/1"], [])
    ((index, documents),) = stub.indices.items()
    assert (index, set(documents)) == (facts["collection"], {"a", "b/1", "c"})
    assert stub.mappings[index]["mappings"]["properties"]["text"]["analyzer"] == "english"
    assert (facts["passages"], facts["library"]) == (3, stub.server)
    assert stub.bulks == 1
    # Media types that every server takes: `compatible-with=9` would be refused by version 8.
    assert stub.kinds == {"application/json", "application/x-ndjson"}


async def test_vectors_are_searched_where_an_embedder_is_named(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.retrieval.engine.open_embedder", opening(WordEmbedder(8)))
    name = f"{stub.name}({stub.url},embedder=test/words)"
    async with open_retriever(name, POOL, options=OPTIONS) as retriever:
        ((best, *_),) = await retriever.retrieve(["trains run on rails"], k=2)
        facts = facts_of(retriever)
    assert (best.id, facts["embedder"]) == ("b/1", "test/words")
    (mapping,) = stub.mappings.values()
    field = mapping["mappings"]["properties"]["vector"]
    if stub.name == "opensearch":
        assert (field["type"], field["dimension"]) == ("knn_vector", 8)
        assert mapping["settings"] == {"index": {"knn": True}}
        assert stub.searches[-1]["query"]["knn"]["vector"]["k"] == 2
    else:
        assert (field["type"], field["dims"], field["similarity"]) == ("dense_vector", 8, "cosine")
        assert stub.searches[-1]["knn"]["num_candidates"] == 20


async def test_a_chinese_pool_gets_chinese_analysis(nine: Stub) -> None:
    async with open_retriever(f"elasticsearch({nine.url})", POOL[2:], options=OPTIONS) as retriever:
        ((found,),) = await retriever.retrieve(["船"], k=1)
    assert found.id == "c"
    (mapping,) = nine.mappings.values()
    assert mapping["mappings"]["properties"]["text"]["analyzer"] == "cjk"


def with_index(stub: Stub) -> str:
    """A user's index; the options that name its fields."""
    stub.indices["wiki"] = {
        "7": {"body": "ships sail the sea", "meta": {"key": "k1"}},
        "8": {"body": "quick zebras", "meta": {"key": "k2"}, "name": "Zebra"},
        "9": {"meta": {"key": "k3"}, "name": "zebras without a text"},
    }
    fields = {"body": {"type": "text"}, "meta": {"properties": {"key": {"type": "keyword"}}}, "name": {"type": "text"}}
    stub.mappings["wiki"] = {"mappings": {"properties": {**fields, "v": {"type": "dense_vector", "dims": 3}}}}
    return "collection=wiki,text=body,title=name,id=meta.key"


async def test_an_index_of_the_user_s_is_searched_by_its_fields(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELASTIC_API_KEY", "s3cret-key")
    monkeypatch.setenv("OPENSEARCH_USER", "reader")
    monkeypatch.setenv("OPENSEARCH_PASSWORD", "s3cret-key")
    name = f"{stub.name}({stub.url},{with_index(stub)})"
    stub.busy = 1  # it is asked again
    async with open_retriever(name, POOL, options=OPTIONS) as retriever:
        (found,), (zebra,) = await retriever.retrieve(["ships", "quick"], k=3)
        with pytest.raises(DataError, match=r"id '9' is in the collection but not in the pool, and it has no text"):
            await retriever.retrieve(["without"], k=3)
    assert (found.id, found.title) == ("a", "Sea")  # the pool's passage of this text
    assert (zebra.id, zebra.text, zebra.title) == ("8", "quick zebras", "Zebra")
    assert stub.searches[0]["query"]["multi_match"]["fields"] == ["body", "name"]
    expected = "ApiKey s3cret-key" if stub.name == "elasticsearch" else "Basic cmVhZGVyOnMzY3JldC1rZXk="
    assert stub.keys == {expected}
    assert stub.bulks == 0


async def test_an_index_is_listed_page_by_page(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.retrieval.elasticsearch._ROWS", 2)
    found = await read_index(f"{stub.name}({stub.url},{with_index(stub)})", OPTIONS)
    assert [(one.id, one.text, one.title) for one in found.passages] == [
        ("k1", "ships sail the sea", ""), ("k2", "quick zebras", "Zebra")
    ]  # fmt: skip


async def test_a_key_that_may_only_search_is_enough(nine: Stub) -> None:
    nine.forbidden = {"", "_aliases", "wiki/_mapping"}
    async with open_retriever(f"elasticsearch({nine.url},{with_index(nine)})", POOL, options=OPTIONS) as retriever:
        ((found,),) = await retriever.retrieve(["ships"], k=3)
    assert found.id == "a"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("elasticsearch", "give the server's address"),
        ("elasticsearch(localhost)", "give the server's address"),
        ("elasticsearch(URL,collection=none)", "there is no collection 'none'. There is: wiki"),
        ("elasticsearch(URL,collection=wiki)", "has no field 'text': name it with text=FIELD. It has: body, meta, na"),
        ("elasticsearch(URL,collection=wiki,text=body,embedder=test/words)", "has no field 'vector'"),
        ("elasticsearch(URL,collection=wiki,embedder=test/words,vector=v)", "of 3 dimensions, and the embedder's"),
        ("elasticsearch(a/b,URL)", "one address or path"),
        ("elasticsearch(URL,depth=2)", "has no option 'depth'"),
        ("elasticsearch(URL,text=body)", "are fields of your own collection"),
        ("opensearch(URL)", r"is not what its name says: write elasticsearch\(…\)"),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_said_in_one_line(
    nine: Stub, name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.retrieval.engine.open_embedder", opening(WordEmbedder()))
    with_index(nine)
    with pytest.raises(UsageError, match=says) as caught:
        async with open_retriever(name.replace("URL", nine.url), POOL, options=OPTIONS):
            pass
    assert "\n" not in str(caught.value)


async def test_a_server_that_refuses_or_is_not_there_is_an_error_of_a_model_call(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ELASTIC_API_KEY", "OPENSEARCH_USER", "OPENSEARCH_PASSWORD"):
        monkeypatch.setenv(variable, "s3cret-key")
    stub.refuse = 401
    with pytest.raises(Unauthorized, match=r"Set the key in (ELASTIC_API_KEY|OPENSEARCH_USER) or ") as caught:
        async with open_retriever(f"{stub.name}({stub.url})", POOL, options=OPTIONS):
            pass
    assert "s3cret-key" not in str(caught.value)
    with pytest.raises(ModelError, match="no connection"):
        async with open_retriever(f"{stub.name}(http://127.0.0.1:9)", POOL, options=ModelOptions(attempts=1)):
            pass
