"""A reranker of the user's own: code by its location in a process of its own, and HTTP addresses."""

from pathlib import Path

import pytest
from aiohttp import web
from tests.systems.test_http import serving

from ragstone.errors import BadReply, UsageError
from ragstone.models import ModelOptions
from ragstone.models.rerank_own import scores_of
from ragstone.retrieval import check_retriever, open_retriever
from ragstone.types import Passage

POOL = [Passage("a", "ships sail the sea"), Passage("b", "ships"), Passage("c", "ships and trains run")]
OPTIONS = ModelOptions(attempts=1, deadline=10, timeout=5)
CODE = """
print("noise")
from ragstone.types import Completion
def score(query, texts):
    print("asked")
    return [len(text) for text in texts]
async def ordered(query, texts):
    return sorted(texts, key=len)[:2]
class CrossEncoder:
    def predict(self, pairs): return [-float(len(text)) for _, text in pairs]
class Ours:
    id = "ours"
    async def rerank(self, query, texts):
        from ragstone.models.rerank import Reranking
        return Reranking(tuple(float(-len(text)) for text in texts))
class Chat:
    id = "ours/chat"
    async def generate(self, request, /): return Completion('{"ranking": [3, 2, 1]}')
def broken(query, texts):
    return 1 / 0
def nothing(query, texts): return None
def short(query, texts): return [1.0]
def nan(query, texts): return [float("nan") for _ in texts]
def other(query, texts): return ["another text"]
two = 2
"""


@pytest.fixture
def code(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(CODE)
    return str(tmp_path / "mine.py")


async def order(name: str) -> str:
    async with open_retriever(name, POOL, options=OPTIONS) as opened:
        (found,) = await opened.retrieve(["ships"], k=3)
    assert [passage.score for passage in found] == sorted((passage.score or 0.0 for passage in found), reverse=True)
    return "".join(passage.id for passage in found)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("score", "cab"), ("ordered", "bac"), ("CrossEncoder", "bac"), ("Ours", "bac")],
)
async def test_every_form_of_code_reranks(
    code: str, name: str, expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert await order(f"rerank(bm25,{code}:{name})") == expected
    assert capfd.readouterr().out == ""


async def test_a_chat_model_at_a_location_still_ranks_lists(code: str) -> None:
    async with open_retriever("bm25", POOL) as opened:
        (first,) = await opened.retrieve(["ships"], k=3)
    expected = "".join(passage.id for passage in first)[::-1]
    assert await order(f"rerank(bm25,{code}:Chat)") == expected
    assert await order(f"rerank(bm25,{code}:Chat,method=listwise)") == expected


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("broken", r"mine\.py:broken: ZeroDivisionError: .* \(mine\.py, line 20, in broken\)"),
        ("nothing", "it should return a number for each text, and returned None"),
        ("short", "it should return 3 finite numbers"),
        ("nan", "it should return 3 finite numbers"),
        ("other", "it returned a text that it was not given"),
    ],
)
async def test_what_goes_wrong_is_one_line(code: str, name: str, says: str) -> None:
    with pytest.raises(BadReply, match=says) as caught:
        await order(f"rerank(bm25,{code}:{name})")
    assert "\n" not in str(caught.value)


async def test_what_cannot_rerank_is_refused(code: str) -> None:
    with pytest.raises(UsageError, match="is an int, which cannot rerank"):
        await order(f"rerank(bm25,{code}:two)")
    with pytest.raises(UsageError, match="must not contain a password or key"):
        check_retriever("rerank(bm25,http(http://127.0.0.1:1/r?token=secret99))", OPTIONS)
    with pytest.raises(UsageError, match="method, window and tokens are for chat models"):
        check_retriever("rerank(bm25,http(http://127.0.0.1:1/r),method=pointwise)", OPTIONS)


async def ranks(request: web.Request) -> web.Response:
    body = await request.json()
    texts = body.get("docs", body.get("texts"))
    return web.json_response(
        {"results": [{"value": len(text)} for text in texts], "scores": [-len(text) for text in texts]}
    )


async def test_an_address_reranks() -> None:
    async with serving(ranks) as url:
        body = '{"q": "{query}", "docs": "{texts}"}'
        assert await order(f"rerank(bm25,http({url},body={body},scores=results[].value),depth=3)") == "cab"
        assert await order(f"rerank(bm25,{url}/rank)") == "bac"
        with pytest.raises(BadReply, match="there is no list of scores at 'none'"):
            await order(f"rerank(bm25,http({url},scores=none))")


def test_positions_with_scores_that_do_not_fall_are_an_order() -> None:
    assert scores_of({2: 0.9, 0: 0.5}, ["a", "b", "c"], "r") == (0.5, -1.5, 0.9)
    assert scores_of({2: None, 0: None}, ["a", "b", "c"], "r") == (0.5, -1.5, 1.0)
    assert scores_of({2: 0.1, 0: 0.5}, ["a", "b", "c"], "r")[2] == 1.0
