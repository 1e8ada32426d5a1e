"""A system behind an address: what is sent, what is read, and what its failures are called. The server is real."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from tests.waiting import turns

from ragstone.error_text import told
from ragstone.errors import BadReply, Rejected, ServerFault, SystemFailed, Unauthorized, UsageError
from ragstone.models.options import ModelOptions
from ragstone.responses.outputs import response_of
from ragstone.responses.stages import passages_at
from ragstone.systems import accepts_of, open_system
from ragstone.systems.http import HttpSystem, HttpTarget
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.systems.with_retriever import SystemTarget
from ragstone.types import NO_ANSWER, Passage, Query, Response, Turn, Usage

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
OPTIONS = ModelOptions(attempts=1, deadline=10, timeout=5)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application(client_max_size=50_000_000)
    app.router.add_route("*", "/{tail:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def ask(handler: Handler, query: Query | None = None, options: ModelOptions = OPTIONS, **target: Any) -> Response:
    async with serving(handler) as url, HttpSystem(HttpTarget(url + "/ask", **target), options) as system:
        return await system.answer(query or Query("why?"))


def replying(value: Any, status: int = 200) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response(value, status=status)

    return handler


async def echo(request: web.Request) -> web.Response:
    body = await request.json() if request.can_read_body else None
    return web.json_response(
        {"answer": json.dumps({"body": body, "query": dict(request.query), "method": request.method,
                               "token": request.headers.get("Authorization", "")}, ensure_ascii=False)}
    )  # fmt: skip


async def echoed(query: Query | None = None, **target: Any) -> Any:
    return json.loads((await ask(echo, query, **target)).answer)


async def test_the_question_is_in_the_body() -> None:
    assert await echoed() == {"body": {"question": "why?"}, "query": {}, "method": "POST", "token": ""}


async def test_the_body_is_a_template_filled_once() -> None:
    body = '{"q": "Q: {question}", "docs": "{passages}", "past": "{history}", "n": [1, {"lang": "{language}"}]}'
    query = Query('a "quote" {passages} 问', (Passage("p", "given"),), (Turn("user", "before"),), language="zh")
    assert (await echoed(query, body=body))["body"] == {
        "q": 'Q: a "quote" {passages} 问', "docs": ["given"], "past": [{"role": "user", "content": "before"}],
        "n": [1, {"lang": "zh"}],
    }  # fmt: skip


async def test_what_a_question_has_none_of_is_left_out() -> None:
    body = '{"q": "{question}", "docs": "{passages}", "n": "{k}", "only": "{retrieve_only}", "x": ["{k}", "k={k}"]}'
    assert (await echoed(body=body))["body"] == {"q": "why?", "only": False, "x": ["k="]}
    full = await echoed(Query("why?", (), k=3), body=body)
    assert full["body"] == {"q": "why?", "docs": [], "n": 3, "only": False, "x": [3, "k=3"]}


async def test_parameters_of_the_address_are_left_out_too() -> None:
    async with serving(echo) as url:
        target = HttpTarget(url + "/ask?k={k}&q={question}&only={retrieve_only}", method="GET")
        async with HttpSystem(target, OPTIONS) as system:
            assert system.accepts == {"k", "retrieve"}
            replies = [
                json.loads((await system.answer(query)).answer)["query"] for query in (Query("a"), Query("a", k=2))
            ]
    assert replies == [{"q": "a", "only": "false"}, {"k": "2", "q": "a", "only": "false"}]


async def searching(request: web.Request) -> web.Response:
    body = await request.json()
    if not body.get("only", True):
        return web.json_response({"answer": "It is so."})
    return web.json_response({"hits": [{"text": f"{body['q']} {number}"} for number in range(body.get("n", 2))]})


@pytest.mark.parametrize("contexts", ["hits", "hits[].text"])
async def test_a_search_without_an_answer_is_asked_of_the_system(contexts: str) -> None:
    body = '{"q": "{question}", "n": "{k}", "only": "{retrieve_only}"}'
    found = await ask(searching, Query("why", k=3, retrieve_only=True), body=body, contexts=contexts)
    assert [passage.text for passage in found.passages] == ["why 0", "why 1", "why 2"]
    assert (found.answer, found.finish_reason) == ("", NO_ANSWER)
    assert passages_at(found, "fetch") == found.passages
    assert (await ask(searching, Query("why"), body=body)).answer == "It is so."


async def test_a_retriever_at_an_address_of_its_own_gets_the_searches() -> None:
    async with serving(replying({"answer": "It is so."})) as asked, serving(searching) as searched:
        target = SystemTarget(
            HttpTarget(asked), f'http({searched},body={{"q": "{{query}}", "n": "{{k}}"}},contexts=hits)'
        )
        async with open_system(target, template=RAG_TEMPLATE, options=OPTIONS) as system:
            assert accepts_of(system) == {"retrieve"}
            assert (await system.answer(Query("why"))).answer == "It is so."
            for k, texts in ((2, ["why 0", "why 1"]), (None, [f"why {number}" for number in range(5)])):
                found = await system.answer(Query("why", k=k, retrieve_only=True))
                assert [passage.text for passage in found.passages] == texts
                assert passages_at(found, "fetch") == found.passages


async def test_get_puts_the_question_into_the_address() -> None:
    async with serving(echo) as url:
        target = HttpTarget(url + "/ask?q={question}", method="GET")
        async with HttpSystem(target, OPTIONS) as system:
            response = await system.answer(Query("a&b 你"))
    assert json.loads(response.answer)["query"] == {"q": "a&b 你"}


async def test_a_header_is_read_from_the_environment_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_TOKEN", "secret-token-123")
    headers = {"Authorization": "Bearer $APP_TOKEN"}
    assert (await echoed(headers=headers))["token"] == "Bearer secret-token-123"
    async with serving(echo) as url, HttpSystem(HttpTarget(url, headers=headers), OPTIONS) as system:
        assert "secret" not in json.dumps(dict(system.spec))
        assert system.spec["headers"] == headers


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APP_TOKEN", raising=False)
    with pytest.raises(UsageError, match="environment variable APP_TOKEN, which is not set"):
        HttpSystem(HttpTarget("http://127.0.0.1:1", headers={"X": "${APP_TOKEN}"}), OPTIONS)


async def test_paths_say_where_answer_passages_ids_and_usage_are() -> None:
    reply = {"data": {"text": "yes", "hits": [{"body": "b1", "key": "k1"}, {"body": "b2", "key": "k2"}]},
             "tokens": {"prompt_tokens": 5, "completion_tokens": 6}}  # fmt: skip
    response = await ask(
        replying(reply), answer="data.text", contexts="data.hits[].body", ids="data.hits[].key", usage="tokens"
    )
    assert response.answer == "yes"
    assert [(passage.id, passage.text) for passage in response.passages] == [("k1", "b1"), ("k2", "b2")]
    assert response.usage == Usage(5, 6, requests=1)
    assert [step.name for step in response.steps] == ["fetch"]
    assert response.seconds is not None


async def test_ids_that_are_no_list_are_an_error_and_not_left_out() -> None:
    with pytest.raises(SystemFailed) as caught:
        await ask(replying({"answer": "yes", "h": ["a", "b"], "i": 5}), contexts="h", ids="i")
    assert str(caught.value) == "The reply has int instead of a list of ids at 'i'. Check the --ids."
    assert "回复在“i”处是" in told(str(caught.value), "zh")
    response = await ask(replying({"answer": "yes", "h": ["a", "b"]}), contexts="h", ids="i")
    assert len(response.passages) == 2


@pytest.mark.parametrize("ids", [["1"], ["1", "2", "3"], [], None])
async def test_ids_of_another_number_than_the_passages_are_told_and_the_answer_is_kept(
    ids: list[str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    response = await ask(replying({"answer": "yes", "h": ["a", "b"], "i": ids}), contexts="h", ids="i")
    assert [passage.text for passage in response.passages] == ["a", "b"]
    assert response.answer == "yes"
    (message,) = caplog.messages
    name, _, rest = message.partition(": a reply has another number of ids ")
    assert rest == (
        f"at 'i' ({len(ids or ())}) than of passages at 'h' (2), which stay without ids of their own. Check the --ids "
        "and --contexts."
    )
    assert told(message, "zh") == (
        f"{name}：有回复在“i”处有 {len(ids or ())} 个编号，而在“h”处有 2 个段落，因此这些段落没有自己的编号。"
        "请检查 --ids 和 --contexts。"
    )


async def test_given_texts_that_a_reply_repeats_need_no_ids(caplog: pytest.LogCaptureFixture) -> None:
    await ask(replying({"answer": "yes", "h": ["a", "b"]}), contexts="h[].text", ids="h[].id")
    assert caplog.messages == []


@pytest.mark.parametrize(("found", "warned"), [([], False), (["a"], False), (None, True)])
async def test_a_contexts_path_that_no_reply_has_is_told_with_the_keys_that_it_has(
    found: list[str] | None, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty list is a search that found nothing."""
    replies = iter([{"answer": "yes", "docs": 1}, {"answer": "yes", "docs": ["a"], "hits": found}])

    async def handler(_: web.Request) -> web.Response:
        return web.json_response(next(replies))

    async with serving(handler) as url, HttpSystem(HttpTarget(url + "/ask", contexts="hits"), OPTIONS) as system:
        for _ in range(2):
            await system.answer(Query("why?"))
    if not warned:
        assert caplog.messages == []
        return
    (message,) = caplog.messages
    name = system.id
    assert message == f"No reply of {name} has anything at --contexts 'hits'. The last one has: answer, docs, hits."
    chinese = f"{name} 的回复在 --contexts “hits”处都没有内容。最后一条回复中有：answer, docs, hits。"
    assert told(message, "zh") == chinese


async def test_usual_names_need_no_paths() -> None:
    response = await ask(replying({"answer": "yes", "sources": [{"text": "b1", "id": "k1"}]}))
    assert (response.answer, response.passages[0].id) == ("yes", "k1")


async def test_passages_that_are_echoed_as_texts_are_read_where_objects_are_usual() -> None:
    reply = {"answer": "yes", "sources": ["b1", "b2"]}
    assert [one.text for one in (await ask(replying(reply), contexts="sources[].text")).passages] == ["b1", "b2"]
    mixed = {"answer": "yes", "sources": ["b1", {"text": "b2"}]}
    assert [one.text for one in (await ask(replying(mixed), contexts="sources[].text")).passages] == ["b2"]
    other = await ask(replying({"answer": "yes", "sources": []}), contexts="sources[].text")
    assert other.passages == ()
    assert other.empty_retrieval


async def test_passages_at_a_path_go_with_an_answer_under_its_usual_name() -> None:
    response = await ask(replying({"output": "yes", "deep": {"list": ["b1"]}}), contexts="deep.list")
    assert (response.answer, response.passages[0].text) == ("yes", "b1")


@pytest.mark.parametrize("paths", [{}, {"answer": "answer", "contexts": "contexts"}])
async def test_the_stages_of_a_reply_are_kept(paths: dict[str, Any]) -> None:
    """What was fetched was taken from the passages of the answer, so that a reranker's loss was one of the search."""
    stages = {"query": "because", "fetch": ["b1", "why it is"], "rerank": ["b1"], "prompt": "b1\n\nwhy?"}
    reply = replying({"answer": "yes", "contexts": ["b1"], "stages": stages})
    response = await ask(reply, **paths)
    assert [step.name for step in response.steps] == ["rewrite", "fetch", "rerank", "prompt"]
    found = {name: [one.text for one in passages_at(response, name) or ()] for name in ("fetch", "rerank", "prompt")}
    assert found == {"fetch": ["b1", "why it is"], "rerank": ["b1"], "prompt": ["b1"]}
    given = await ask(
        reply, Query("why?", (Passage("a", "b1"),)), body='{"q": "{question}", "p": "{passages}"}', **paths
    )
    assert passages_at(given, "fetch") is None
    assert [one.text for one in passages_at(given, "prompt") or ()] == ["b1"]


@pytest.mark.parametrize("paths", [{}, {"answer": "answer", "contexts": "contexts"}])
async def test_an_error_beside_an_empty_answer_is_not_a_wrong_answer(paths: dict[str, Any]) -> None:
    with pytest.raises(SystemFailed, match=r"^The system reported an error: boom$") as caught:
        await ask(replying({"answer": "", "error": "boom", "contexts": []}), **paths)
    assert caught.value.kind == "raised"


async def test_a_hit_without_a_text_is_no_passage() -> None:
    reply = replying({"answer": "x", "hits": [{"text": "a"}, {"document": {"page_content": "b"}}]})
    with pytest.raises(SystemFailed, match=r"`contexts\[1\]` as dict .*which is no passage"):
        await ask(reply, contexts="hits")
    response = await ask(replying({"answer": "x", "hit": {"text": "a"}}), contexts="hit")
    assert [one.text for one in response.passages] == ["a"]


CONTEXTS: list[tuple[Any, list[str], bool]] = [
    (None, [], False), ({}, [], False), ("", [], False), ([], [], True), ("one", ["one"], False),
    (["a"], ["a"], False), ([{"text": "a"}], ["a"], False), (["", "a"], ["a"], False),
    ({"text": "a"}, ["a"], False), ({"documents": ["a", "b"]}, ["a", "b"], False), ({"documents": []}, [], True),
    ({"documents": [], "chunks": [{"content": "a"}]}, ["a"], False),
]  # fmt: skip


@pytest.mark.parametrize(("contexts", "texts", "empty"), CONTEXTS)
@pytest.mark.parametrize("given", [False, True])
async def test_contexts_of_every_kind_are_read_by_one_rule(
    contexts: Any, texts: list[str], empty: bool, given: bool
) -> None:
    """Those that a function returns, those of a reply, and those that a target finds in a reply."""
    document = {"answer": "x", "contexts": contexts}
    at: dict[str, Any] = {"answer": "answer", "contexts": "contexts"} if given else {}
    for response in (response_of(document), await ask(replying(document), **at)):
        assert ([one.text for one in response.passages], response.empty_retrieval) == (texts, empty)


async def test_a_reply_that_is_plain_text_is_the_answer() -> None:
    async def text(_: web.Request) -> web.Response:
        return web.Response(text="just text")

    assert (await ask(text)).answer == "just text"


def streaming(kind: str, lines: list[str]) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"Content-Type": kind})
        await reply.prepare(request)
        for line in lines:
            await reply.write(line.encode())
            await turns()
        return reply

    return handler


END = 'data: {"sources": ["c"]}'


@pytest.mark.parametrize(
    ("kind", "lines", "paths"),
    [
        (
            "text/event-stream",
            ['data: {"delta": "a "}\n\n', f'data: {{"delta": "b"}}\n\n{END}\n\n', "data: [DONE]\n\n"],
            {},
        ),
        ("text/event-stream; charset=utf-8", [": ping\n\nevent: x\ndata: a \n\nda", "ta: b\n\n", END], {}),
        ("application/x-ndjson", ['{"token": "a "}\n{"to', 'ken": "b"}\n', '{"sources": ["c"]}\n'], {}),
        (
            "text/event-stream",
            ['data: {"choices": [{"delta": {"content": "a "}}]}\n\n',
             'data: {"choices": [{"delta": {"content": "b"}}], "sources": ["c"]}\n\n'],
            {},
        ),
        (
            "text/event-stream",
            ['data: {"o": {"t": "a "}}\n\n', 'data: {"o": {"t": "b"}, "hits": [{"x": "c"}]}\n\n'],
            {"answer": "o.t", "contexts": "hits[].x"},
        ),
    ],
)  # fmt: skip
async def test_a_stream_is_joined_and_the_time_to_its_first_piece_kept(kind: str, lines: list[str], paths: Any) -> None:
    response = await ask(streaming(kind, lines), **paths)
    assert response.answer == "a b"
    assert [passage.text for passage in response.passages] == ["c"]
    first = next(step for step in response.steps if step.name == "first token")
    assert first.seconds is not None
    assert response.seconds is not None
    assert 0 < first.seconds < response.seconds


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, Unauthorized, "not allowed (401"), (403, Unauthorized, "Check the --header with the key"),
        (404, Rejected, "status 404"), (422, Rejected, "status 422"), (500, ServerFault, "status 500"),
        (302, Rejected, "status 302"),
    ],
)  # fmt: skip
async def test_statuses_have_their_errors(status: int, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        await ask(replying({"detail": "no"}, status))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_key_in_an_error_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_TOKEN", "secret-token-123")
    with pytest.raises(Rejected) as caught:
        await ask(replying({"detail": "bad key secret-token-123"}, 422), headers={"X-Key": "$APP_TOKEN"})
    assert "secret" not in str(caught.value)


async def test_transient_failures_are_retried() -> None:
    calls = 0

    async def flaky(_: web.Request) -> web.Response:
        nonlocal calls
        calls += 1
        return web.json_response({"answer": "yes"} if calls == 3 else {}, status=200 if calls == 3 else 503)

    assert (await ask(flaky, options=ModelOptions(attempts=4, deadline=30))).answer == "yes"
    assert calls == 3


@pytest.mark.parametrize(
    ("reply", "paths", "words"),
    [
        ({"answer": None}, {}, "without an answer (fields: answer)"),
        ([1, 2], {}, "returned list without an answer"),
        ({"a": 1}, {"answer": "b.c"}, "no text at 'b.c': its keys are a."),
        ({"a": 1}, {"answer": "a"}, "no text at 'a'"),
        (5, {}, "returned int 5"),
    ],
)
async def test_a_reply_without_an_answer_is_named(reply: Any, paths: dict[str, Any], words: str) -> None:
    with pytest.raises(SystemFailed) as caught:
        await ask(replying(reply), **paths)
    assert caught.value.kind == "no_answer"
    assert words in str(caught.value)


async def test_a_web_page_is_no_answer() -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<!DOCTYPE html><html></html>")

    with pytest.raises(BadReply, match="the reply is a web page"):
        await ask(page)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"body": "{question}"}, "--body is not JSON"),
        ({"answer": "a["}, "'a[' is not a JMESPath expression"),
        ({"url": "http://user:secret@127.0.0.1/ask"}, "must not contain a password"),
        ({"url": "http://127.0.0.1/ask?api_key=secret123456789"}, "must not contain a password or key"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_sent(target: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        HttpSystem(HttpTarget(**{"url": "http://127.0.0.1/ask", **target}), OPTIONS)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_passages_that_a_benchmark_hands_over_need_a_place_in_the_body() -> None:
    query = Query("why", (Passage("p", "given"),))
    with pytest.raises(SystemFailed, match=r"Put \{passages\} into the --body") as caught:
        await ask(echo, query)
    assert caught.value.kind == "takes_no_passages"
    assert (await echoed(query, body='{"p": "{passages}"}'))["body"] == {"p": ["given"]}


async def test_it_is_named_by_its_address_or_by_the_user() -> None:
    assert HttpSystem(HttpTarget("http://127.0.0.1:1/ask"), OPTIONS).id == "http://127.0.0.1:1/ask"
    assert HttpSystem(HttpTarget("http://127.0.0.1:1/ask", name="prod"), OPTIONS).id == "prod"


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["data: a\ndata: b\n\n", "data: \ndata: \n\n", "data: c\n\n"], "a\nb\nc"),  # a line feed is two data lines
        (["data: a\n\n", "data:  \n\n", "data: b\n\n"], "a b"),  # a blank is a piece, too
        (['data: {"delta":\r\ndata: "ab"}\r\n\r\n'], "ab"),
        (['data: {"delta":\rdata: "ab"}\r\r', 'data: {"delta": "c"}\r\rdata: {"delta": "d"}\r\r'], "abcd"),  # CR alone
        (["data: a\r", "\ndata: b\r", "\n\r", "\ndata: c\r\r"], "a\nbc"),  # CRLF in two pieces
        (['data: {"delta": "a"}\ndata: {"delta": "b"}\ndata: [DONE]\n'], "ab"),  # no empty lines between events
    ],
)
async def test_the_data_lines_of_one_event_belong_together(lines: list[str], answer: str) -> None:
    assert (await ask(streaming("text/event-stream", lines))).answer == answer


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("application/x-ndjson", ['{"delta": "a"}\n', '{"error": {"message": "overloaded"}}\n']),
        ("text/event-stream", ['data: {"delta": "a"}\n\n', 'data: {"error": "overloaded"}\n\n']),
        ("text/event-stream", ['data: {"delta": "a"}\n\n', "event: error\ndata: overloaded\n\n"]),
    ],
)
async def test_an_error_within_a_stream_is_no_answer(kind: str, lines: list[str]) -> None:
    with pytest.raises(ServerFault, match=r"the stream ended with an error .*overloaded"):
        await ask(streaming(kind, lines))


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"", "is empty"), (b'{"answer": "\xff"}', "is no valid JSON"), (b'{"answer"', "no valid JSON"),
     (b"\xff\xfe\x00garbage\x80", "is neither JSON nor text in UTF-8"), (b"Caf\xe9", "neither JSON nor text in UTF-8")],
)  # fmt: skip
async def test_a_damaged_reply_is_no_answer(body: bytes, words: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    with pytest.raises(BadReply, match=words):
        await ask(handler)


async def test_a_stream_in_another_encoding_is_no_answer() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write("data: 茶\n\n".encode("gbk"))
        return response

    with pytest.raises(BadReply, match=r"is neither JSON nor text in UTF-8\."):
        await ask(handler)


async def test_every_status_of_success_has_an_answer() -> None:
    assert (await ask(replying({"answer": "made"}, status=201))).answer == "made"
