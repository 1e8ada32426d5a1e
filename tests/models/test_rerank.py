"""Rerankers behind an endpoint: every form in use, one score a text, cache, limits and retries as for chat models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.errors import BadReply, MissingKey, Rejected, Unauthorized, UsageError
from ragstone.models import ModelOptions
from ragstone.models.rerank import RERANKERS, is_reranker, open_reranker, read_scores

TEXTS = ["a", "bbb", "cc"]
FAST = ModelOptions(attempts=2)


def _scores(texts: list[str]) -> list[tuple[int, float]]:
    """The longer, the better, and the best first, as servers answer."""
    return sorted(((index, len(text) / 10) for index, text in enumerate(texts)), key=lambda one: -one[1])


def jina(_: int, payload: Any) -> Act:
    results = [{"index": index, "relevance_score": score} for index, score in _scores(payload["documents"])]
    return Act("body", status=200, body={"model": "m", "results": results, "usage": {"total_tokens": 42}})


def cohere(_: int, payload: Any) -> Act:
    results = [{"index": index, "relevance_score": score} for index, score in _scores(payload["documents"])]
    meta = {"billed_units": {"search_units": 1}, "tokens": {"input_tokens": 17, "output_tokens": 1}}
    return Act("body", status=200, body={"id": "x", "results": results, "meta": meta})


def voyage(_: int, payload: Any) -> Act:
    data = [{"index": index, "relevance_score": score} for index, score in _scores(payload["documents"])]
    return Act("body", status=200, body={"object": "list", "data": data, "usage": {"total_tokens": 9}})


def tei(number: int, payload: Any) -> Act:
    """Text Embeddings Inference: its own form alone."""
    if "texts" not in payload:
        told = {"error": "Failed to deserialize the JSON body: missing field `texts`", "error_type": "validation"}
        return Act("status", status=422, body=told)
    if len(payload["texts"]) > 32:
        return Act("status", status=413, body={"error": "batch size 40 > maximum allowed batch size 32"})
    return Act("body", status=200, body=[{"index": at, "score": score} for at, score in _scores(payload["texts"])])


@pytest.mark.parametrize(("server", "tokens"), [(jina, 42), (cohere, 17), (voyage, 9), (tei, 0)])
async def test_the_scores_come_in_the_order_of_the_texts_whatever_form_the_server_has(
    server: Callable[[int, Any], Act], tokens: int
) -> None:
    async with (
        FakeEndpoint(server) as endpoint,
        open_reranker("rerank/some/model", FAST, url=endpoint.base_url) as reranker,
    ):
        assert reranker.id == "rerank/some/model"
        found = await reranker.rerank("which?", TEXTS)
    assert found.scores == (0.1, 0.3, 0.2)
    assert (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.requests) == (tokens, 0, 1)


async def test_a_request_has_the_model_the_query_and_the_texts_and_nothing_that_a_server_may_not_know() -> None:
    async with (
        FakeEndpoint(jina) as endpoint,
        open_reranker("rerank/m", FAST, url=endpoint.base_url) as reranker,
    ):
        await reranker.rerank("which?", ["lone \ud800", "nul \0"])
        assert endpoint.seen[0].body == {"model": "m", "query": "which?", "documents": ["lone \ud800", "nul \0"]}
        assert endpoint.seen[0].path == f"{endpoint.base_url}/rerank"


async def test_the_path_and_the_form_are_found_out_once() -> None:
    server: FakeEndpoint

    def at_root(number: int, payload: Any) -> Act:
        path = server.seen[-1].path
        return tei(number, payload) if path.endswith(f":{server.port}/rerank") else Act("status", status=404, body={})

    async with (
        FakeEndpoint(at_root) as server,
        open_reranker("rerank/m", FAST, url=f"127.0.0.1:{server.port}") as reranker,
    ):
        for query in ("one", "two", "three"):
            assert (await reranker.rerank(query, TEXTS)).scores == (0.1, 0.3, 0.2)
        paths = [seen.path.partition(str(server.port))[2] for seen in server.seen]
        forms = ["texts" if "texts" in seen.body else "documents" for seen in server.seen]
    assert paths == ["/v1/rerank", "/v1/rerank", "/rerank", "/rerank", "/rerank", "/rerank"]
    assert forms == ["documents", "texts", "documents", "texts", "texts", "texts"]


@pytest.mark.parametrize("path", ["/rerank", "/compatible-api/v1/reranks", "/v1/reranking"])
async def test_an_address_that_names_the_operation_is_asked_as_it_is(path: str) -> None:
    async with FakeEndpoint(jina) as endpoint:
        url = f"http://127.0.0.1:{endpoint.port}{path}"
        async with open_reranker("rerank/m", FAST, url=url) as reranker:
            await reranker.rerank("q", TEXTS)
        assert [seen.path for seen in endpoint.seen] == [url]


async def test_a_long_list_goes_in_pieces_to_a_server_that_takes_few_at_once() -> None:
    texts = ["x" * (number % 7) + "." for number in range(70)]
    async with (
        FakeEndpoint(tei) as endpoint,
        open_reranker("rerank/m", FAST, url=f"{endpoint.base_url}/rerank") as reranker,
    ):
        found = await reranker.rerank("q", texts)
        assert [len(seen.body["texts"]) for seen in endpoint.seen if "texts" in seen.body] == [32, 32, 6]
        assert endpoint.seen[-1].body["truncate"] is True
    assert found.scores == tuple(len(text) / 10 for text in texts)
    assert found.usage.requests == 3


async def test_no_text_is_no_request() -> None:
    async with (
        FakeEndpoint(jina) as endpoint,
        open_reranker("rerank/m", FAST, url=endpoint.base_url) as reranker,
    ):
        assert (await reranker.rerank("q", [])).scores == ()
        assert endpoint.counts["asked"] == 0


async def test_what_was_scored_once_is_kept_on_disk(tmp_path: Path) -> None:
    options = ModelOptions(cache=tmp_path)
    async with FakeEndpoint(jina) as endpoint:
        for _ in range(2):
            async with open_reranker("rerank/m", options, url=endpoint.base_url) as reranker:
                found = await reranker.rerank("q", TEXTS)
                assert found.scores == (0.1, 0.3, 0.2)
        assert (found.usage.requests, found.usage.cached) == (0, 1)
        async with open_reranker("rerank/other", options, url=endpoint.base_url) as reranker:
            await reranker.rerank("q", TEXTS)
        assert endpoint.counts["asked"] == 2


async def test_what_failed_for_a_while_is_tried_again_and_a_wrong_key_is_not() -> None:
    plan = [Act("rate_limit", retry_after="0")]

    def server(number: int, payload: Any) -> Act:
        return plan[number] if number < len(plan) else jina(number, payload)

    async with (
        FakeEndpoint(server) as endpoint,
        open_reranker("rerank/m", FAST, url=endpoint.base_url) as reranker,
    ):
        assert (await reranker.rerank("q", TEXTS)).scores == (0.1, 0.3, 0.2)
        plan[:] = [Act("status", status=401)] * 9
        with pytest.raises(Unauthorized, match="RERANK_API_KEY"):
            await reranker.rerank("other", TEXTS)
        assert endpoint.counts["asked"] == 3


async def test_a_server_that_takes_no_form_is_told_by_its_first_word() -> None:
    words = iter(["the model m does not exist", *["?"] * 9])
    async with (
        FakeEndpoint(lambda *_: Act("status", status=404, body={"error": next(words)})) as endpoint,
        open_reranker("rerank/m", FAST, url=endpoint.base_url) as reranker,
    ):
        with pytest.raises(Rejected, match="the model m does not exist"):
            await reranker.rerank("q", TEXTS)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"results": 7}',
        b'{"results": [{"index": 0, "relevance_score": 0.5}]}',
        b'{"results": [{"index": 0, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.5}]}',
        b'{"results": [{"index": 0, "relevance_score": 0.5}, {"index": 2, "relevance_score": 0.5}]}',
        b'{"results": [{"index": 0, "relevance_score": 0.5}, {"index": -1, "relevance_score": 0.5}]}',
        b'{"results": [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": null}]}',
        b'{"results": [{"index": 0, "relevance_score": 0.5}, {"index": 1}]}',
        b'{"results": [{"index": 0, "relevance_score": "high"}, {"index": 1, "relevance_score": 1}]}',
        b'[{"index": 0, "score": 1e999}, {"index": 1, "score": 1}]',
    ],
)
def test_a_reply_without_one_score_for_each_text_is_bad(body: bytes) -> None:
    with pytest.raises(BadReply):
        read_scores(body, 2, "here")


def test_tokens_are_counted_where_they_are_told() -> None:
    body = b'{"results": [{"index": 0, "relevance_score": 1}], "usage": {"prompt_tokens": 5, "total_tokens": 5}}'
    scores, usage = read_scores(body, 1, "here")
    assert scores == [1.0]
    assert (usage.prompt_tokens, usage.completion_tokens) == (5, 0)
    assert read_scores(b'[{"index": 0, "score": -3}]', 1, "here")[1].prompt_tokens == 0


async def test_names_and_addresses_that_cannot_be_are_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    for name in ("openai/gpt", "rerank", "rerank/", "bm25"):
        with pytest.raises(UsageError, match="is not a reranker"):
            async with open_reranker(name):
                pass
    with pytest.raises(UsageError, match="url="):
        async with open_reranker("rerank/m"):
            pass
    # The address of the chat model that is under test is not one for hosted rerankers.
    with pytest.raises(MissingKey, match="JINA_API_KEY"):
        async with open_reranker("jina/m", ModelOptions(base_url="http://localhost:1/v1")):
            pass


async def test_the_address_of_the_options_serves_a_server_of_ones_own() -> None:
    async with (
        FakeEndpoint(jina) as endpoint,
        open_reranker("rerank/m", ModelOptions(base_url=endpoint.base_url)) as reranker,
    ):
        assert (await reranker.rerank("q", TEXTS)).scores == (0.1, 0.3, 0.2)


async def test_a_hosted_reranker_is_asked_with_its_key_and_what_it_takes_besides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JINA_API_KEY", "secret-of-jina")
    async with (
        FakeEndpoint(jina) as endpoint,
        open_reranker("jina/jina-reranker-v2-base-multilingual", FAST, url=endpoint.base_url) as reranker,
    ):
        await reranker.rerank("q", TEXTS)
        assert endpoint.seen[0].headers["Authorization"] == "Bearer secret-of-jina"
        assert endpoint.seen[0].body["return_documents"] is False


def test_only_names_of_rerankers_are_rerankers() -> None:
    assert all(is_reranker(f"{name}/m") for name in RERANKERS)
    assert not is_reranker("openai/gpt-4o-mini")
    assert not is_reranker("rerank")
