"""A retriever of the user's own: code by its location in a process of its own, live objects, and HTTP addresses."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.systems.test_http import serving

from ragstone.errors import BadReply, SystemFailed, Unauthorized, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import check_retriever, code_of, named_retrievers, open_retriever, retriever_name
from ragstone.types import Passage

POOL = [Passage("a", "ships sail", "Sea", True), Passage("b", "trains run"), Passage("海", "船在海上")]
OPTIONS = ModelOptions(attempts=1, deadline=10, timeout=5)
CODE = """
print("noise " * 1000)
def search(query, k):
    print("asked", query)
    return [{"id": "b", "text": "other text", "score": 0.5}, {"text": "ships sail", "score": 0.4}, {"text": "new"}][:k]
def by_name(question, *, top_k=1):
    return ["海", ("a", 0.25)][:top_k]
async def wait(query):
    return {"documents": ["trains run", "ships sail"], "took": 3}
class Pool:
    def __init__(self, pool): self.pool = pool
    def __call__(self, query, k): return [(passage.id, 1.0) for passage in self.pool[::-1]][:k]
def make(pool):
    return lambda query, k: [passage.id for passage in pool][:k]
class Batches:
    id = "batches"
    facts = {"bytes": 3}
    async def retrieve(self, queries, /, *, k): return [["a"] for query in queries]
def wrong(query, k):
    return {"none": None, "number": 7, "text": "ships sail", "numbers": [1, 2], "dict": {"a": 1}}[query]
def broken(query, k):
    return 1 / 0
def hangs(query, k):
    import threading; threading.Event().wait(60)
def dies(query, k):
    import os; os._exit(7)
def needs(query, tenant): ...
def takes_nothing(*, k=2): ...
three = 3
"""


@pytest.fixture
def code(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(CODE, "utf-8")
    return str(tmp_path / "mine.py")


async def found(retriever: Any, query: str = "q", k: int = 3, options: ModelOptions = OPTIONS) -> list[tuple[str, Any]]:
    async with open_retriever(retriever, POOL, options=options) as opened:
        (passages,) = await opened.retrieve([query], k=k)
    return [(passage.id, passage.score) for passage in passages]


async def test_a_function_is_found_by_its_file_and_gives_the_pool_s_passages(
    code: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async with open_retriever(f"{code}:search", POOL, options=OPTIONS) as opened:
        first, blank, second = await opened.retrieve(["q", " ", "r"], k=3)
    assert [passage.text for passage in first] == ["trains run", "ships sail", "new"]
    assert (first[0].id, first[1].id, first[1].title, first[1].relevant) == ("b", "a", "Sea", True)
    assert first[2].id.startswith("text-")
    assert (blank, second) == ([], first)
    assert capfd.readouterr().out == ""  # what it printed went elsewhere


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("by_name", ["海", "a"]), ("wait", ["b", "a"]), ("Pool", ["海", "b"]), ("make", ["a", "b"]),
        ("Batches", ["a"]),
    ],
)  # fmt: skip
async def test_every_form_of_code_can_search(code: str, name: str, expected: list[str]) -> None:
    assert [key for key, _ in await found(f"{code}:{name}", k=2)] == expected


async def test_scores_that_do_not_fall_are_replaced_by_one_over_rank() -> None:
    def distances(query: str, k: int) -> list[tuple[str, float]]:
        return [("b", 0.1), ("a", 0.7)]

    assert await found(distances) == [("b", 1.0), ("a", 0.5)]
    assert await found(lambda query, k: [("b", 0.7), ("a", 0.1)]) == [("b", 0.7), ("a", 0.1)]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("none", "returned None instead of a list of passages"),
        ("number", r"returned an int \('7'\) instead of a list"),
        ("text", "returned a str .* instead of a list"),
        ("numbers", "returned a list of int without texts"),
        ("dict", "returned a dict .* instead of a list"),
    ],
)
async def test_what_is_no_list_of_passages_is_one_line(code: str, query: str, says: str) -> None:
    with pytest.raises(SystemFailed, match=says) as caught:
        await found(f"{code}:wrong", query)
    assert "\n" not in str(caught.value)
    assert "mine.py:wrong" in str(caught.value)


async def test_an_exception_a_hang_and_a_crash_are_named(code: str) -> None:
    line = next(number for number, text in enumerate(CODE.splitlines(), 1) if "1 / 0" in text)
    with pytest.raises(SystemFailed, match=rf"mine\.py:broken: ZeroDivisionError: .* \(mine\.py, line {line}, in brok"):
        await found(f"{code}:broken")
    with pytest.raises(SystemFailed, match=r"mine\.py:hangs: No answer within 0\.5 seconds"):
        await found(f"{code}:hangs", options=ModelOptions(deadline=0.5))
    with pytest.raises(SystemFailed, match=r"mine\.py:dies: The retriever's process ended \(exit code 7"):
        await found(f"{code}:dies")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("needs", "needs the parameter 'tenant'"),
        ("takes_nothing", "takes no query"),
        ("three", "is an int, which cannot search"),
        ("serch", "Did you mean 'search'"),
    ],
)
async def test_what_cannot_search_is_refused(code: str, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        await found(f"{code}:{name}")


def test_a_check_loads_no_code_but_misses_a_file(code: str) -> None:
    check_retriever(f"hybrid(bm25,{code}:nothing)", OPTIONS)
    with pytest.raises(UsageError, match=r"there is no file nowhere\.py"):
        check_retriever("hybrid(bm25,nowhere.py:search)", OPTIONS)


async def test_names_compose(code: str) -> None:
    both = await found(f"hybrid({code}:search,{code}:by_name)", k=3)
    assert {key for key, _ in both} >= {"a", "b", "海"} - {"b"}


async def test_live_objects_search_where_they_are() -> None:
    class Mine:
        id = "mine"

        async def retrieve(self, queries: Iterable[str], /, *, k: int) -> list[list[Passage]]:
            return [POOL[:k] for _ in queries]

    async def search(query: str, k: int) -> list[str]:
        return ["海"]

    mine = Mine()
    async with open_retriever(mine, POOL) as opened:
        assert opened is mine
    assert await found(search) == [("海", 1.0)]
    assert [retriever_name(one) for one in (mine, search, " bm25()")] == ["mine", "search", "bm25"]
    with pytest.raises(UsageError, match="Two retrievers are named 'mine'"):
        named_retrievers([mine, Mine()])


def test_changed_code_is_another_retriever(code: str) -> None:
    name = f"rerank(hybrid(bm25,{code}:search),cohere/rerank-v3.5)"
    before = code_of(name)
    assert list(before) == [f"{code}:search"]
    Path(code).write_text(CODE + "# changed\n", "utf-8")
    assert code_of(name) != before
    assert code_of("bm25") == {}


async def served(request: web.Request) -> web.Response:
    if request.headers.get("Authorization", "") == "Bearer wrong-token":
        return web.json_response({"error": "who are you? wrong-token"}, status=401)
    body: Any = await request.json() if request.can_read_body else {"q": request.query.get("q"), "n": 9}
    hits = [{"body": "trains run", "key": "x"}, {"body": "new", "key": 7}][: body.get("n", body.get("k"))]
    return web.json_response({"hits": hits, "rank": [0.9, 0.8][: len(hits)], "q": body.get("q", body.get("query"))})


async def test_an_address_is_asked_with_the_user_s_body_and_paths() -> None:
    async with serving(served) as url:
        name = f'http({url},body={{"q": "{{query}}", "n": "{{k}}"}},contexts=hits[].body,ids=hits[].key,scores=rank)'
        assert await found(name, k=2) == [("b", 0.9), ("7", 0.8)]
        assert await found(f"hybrid(bm25,{name})", "ships", k=3)
        assert await found(f"{url}/search", k=1) == [("b", 1.0)]  # a usual name, and the pool's text
        assert len(await found(f"http({url}/search?q={{query}},contexts=hits,method=GET)", k=2)) == 2


async def test_a_token_comes_from_the_environment_and_is_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_TOKEN", "wrong-token")
    async with serving(served) as url:
        name = f'http({url},headers={{"Authorization": "Bearer $APP_TOKEN"}})'
        with pytest.raises(Unauthorized, match=r"who are you\? \*\*\*.*Check the headers") as caught:
            await found(name)
    assert "wrong-token" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("http(http://u:secret99@127.0.0.1:1/s)", "must not contain a user name or password"),
        ("hybrid(bm25,http(http://u:secret99@127.0.0.1:1/s))", "must not contain a user name or password"),
        ("http(http://127.0.0.1:1/s?api_key=secret99)", "must not contain a password or key"),
        ('http(http://127.0.0.1:1/s,headers={"Authorization": "secret99"})', "Authorization must not contain a key"),
        ("dense(compat/x,url=http://u:secret99@127.0.0.1:1/v1)", "must not contain a user name or password"),
        ("elasticsearch(http://u:secret99@127.0.0.1:9200)", "must not contain a user name or password"),
        ("pgvector(postgresql://u:secret99@127.0.0.1/db,embedder=a/b)", "must not contain a user name or password"),
        ("pgvector(postgresql://127.0.0.1/db?password=secret99,embedder=a/b)", "environment variable PGPASSWORD"),
        ("chroma(http://127.0.0.1:1?token=secret99,embedder=a/b)", "environment variable CHROMA_API_KEY"),
        ("http(http://127.0.0.1:1/s,body={)", "bracket is not closed"),
        ("http(http://127.0.0.1:1/s,body=[1}x)", "body is not JSON"),
        ("http(http://127.0.0.1:1/s,contexts=a..b)", "is not a JMESPath expression"),
        ("http(http://127.0.0.1:1/s,path=a)", "has no option 'path'"),
        ("http(localhost)", "http takes one address"),
    ],
)
async def test_a_password_and_other_wrong_settings_are_refused_before_anything_is_sent(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        check_retriever(name, OPTIONS)
    assert "secret99" not in str(caught.value)
    with pytest.raises(UsageError, match=says):
        await found(name)


async def test_a_reply_without_passages_is_named() -> None:
    async def empty(_: web.Request) -> web.Response:
        return web.json_response({"answer": 3})

    async with serving(empty) as url:
        with pytest.raises(BadReply, match=r"there is no list of passages in the reply: \{\"answer\": 3\}"):
            await found(url)
        with pytest.raises(BadReply, match="there is no list of passages at 'hits'"):
            await found(f"http({url},contexts=hits)")
