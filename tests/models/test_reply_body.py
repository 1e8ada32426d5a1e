"""How a reply's body is read: decoded, bounded in size, without a byte-order mark."""

import gzip
import json
import tracemalloc
import zlib

import pytest
from tests.models.test_client import ask, call
from tests.servers.fake_endpoint import Act, FakeEndpoint, chat_reply

from ragstone.errors import BadReply, ModelError, ReplyTooLarge, ServerFault, UsageError
from ragstone.models import ModelOptions, open_embedder, open_model
from ragstone.models.rerank import open_reranker


def bomb(size: int, form: str) -> bytes:
    """A reply of `size` bytes that is a thousandth of it on the wire."""
    body = json.dumps(chat_reply("x" * size)).encode()
    if form == "gzip":
        return gzip.compress(body)
    squeeze = zlib.compressobj(wbits=15 if form == "deflate" else -15)
    return squeeze.compress(body) + squeeze.flush()


@pytest.mark.parametrize(("form", "header"), [("gzip", "gzip"), ("deflate", "deflate"), ("raw", "deflate")])
@pytest.mark.parametrize(("status", "kind"), [(200, ReplyTooLarge), (500, ServerFault)])
async def test_a_reply_has_a_largest_size_whatever_it_is_on_the_wire(
    form: str, header: str, status: int, kind: type[ModelError]
) -> None:
    act = Act("raw", status=status, raw=bomb(64 << 20, form), headers={"Content-Encoding": header})
    async with FakeEndpoint([act]) as endpoint:
        tracemalloc.start()
        try:
            with pytest.raises(kind) as caught:
                await call(endpoint, ask())
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert most < 45_000_000  # twice the limit, and what the test itself holds
    if status == 200:
        assert "20,000,000 bytes" in str(caught.value)
        assert "RAGSTONE_REPLY_BYTES" in str(caught.value)


async def test_a_reply_that_is_too_large_is_asked_once_and_the_limit_can_be_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    act = Act("body", status=200, body=chat_reply("x" * 3000))
    monkeypatch.setenv("RAGSTONE_REPLY_BYTES", "2000")
    async with FakeEndpoint([act, act]) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with open_model("compat/m", options) as model:
            with pytest.raises(ReplyTooLarge, match="2,000 bytes"):
                await model.generate(ask())
        assert len(endpoint.seen) == 1
        monkeypatch.setenv("RAGSTONE_REPLY_BYTES", "4000")
        async with open_model("compat/m", ModelOptions(base_url=endpoint.base_url)) as model:
            assert len((await model.generate(ask())).text) == 3000
    monkeypatch.setenv("RAGSTONE_REPLY_BYTES", "a lot")
    with pytest.raises(UsageError, match="RAGSTONE_REPLY_BYTES"):
        ModelOptions()


@pytest.mark.parametrize("form", ["gzip", "deflate", "raw"])
async def test_a_compressed_reply_is_read(form: str) -> None:
    header = {"Content-Encoding": "gzip" if form == "gzip" else "deflate"}
    async with FakeEndpoint([Act("raw", status=200, raw=bomb(1000, form), headers=header)]) as endpoint:
        assert (await call(endpoint, ask())).text == "x" * 1000
        assert endpoint.seen[0].headers["Accept-Encoding"] == "gzip, deflate"


@pytest.mark.parametrize(("encoding", "raw"), [("gzip", b"no gzip"), ("zstd", b"{}"), ("deflate", b"\xff\xff\xff")])
async def test_a_reply_that_cannot_be_decoded_is_told_as_that(encoding: str, raw: bytes) -> None:
    act = Act("raw", status=200, raw=raw, headers={"Content-Encoding": encoding})
    async with FakeEndpoint([act]) as endpoint:
        with pytest.raises(BadReply):
            await call(endpoint, ask())


async def test_a_byte_order_mark_before_a_reply_is_skipped() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(chat_reply("Paris")).encode()
    async with FakeEndpoint([Act("raw", status=200, raw=raw)]) as endpoint:
        assert (await call(endpoint, ask())).text == "Paris"
    body = json.dumps({"error": {"message": "it is full", "code": 503}}).encode()
    async with FakeEndpoint([Act("raw", status=200, raw=b"\xef\xbb\xbf" + body)]) as endpoint:
        with pytest.raises(ServerFault, match="it is full"):
            await call(endpoint, ask())


async def test_a_rerankers_reply_and_vectors_have_a_largest_size_too() -> None:
    act = Act("raw", status=200, raw=bomb(30 << 20, "gzip"), headers={"Content-Encoding": "gzip"})
    async with FakeEndpoint([act, act]) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, attempts=1)
        async with open_reranker("rerank/m", options) as reranker:
            with pytest.raises(ReplyTooLarge):
                await reranker.rerank("Who?", ["a", "b"])
        async with open_embedder("compat/m", options) as embedder:
            with pytest.raises(ReplyTooLarge):
                await embedder.embed(["a"], kind="query")
