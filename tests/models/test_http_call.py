"""Requests to an address of the user's own: what is refused, what is sent, and that keys are told nowhere."""

from typing import Any

import pytest
from aiohttp import web
from tests.systems.test_http import serving

from ragstone.error_text import told, untranslated
from ragstone.errors import Rejected, UsageError
from ragstone.models import ModelOptions
from ragstone.models.http_call import HttpCall, named_call
from ragstone.models.nested_names import parse
from ragstone.systems import open_system
from ragstone.systems.rag import RAG_TEMPLATE

OPTIONS = ModelOptions(attempts=1, deadline=10, timeout=5)


def call(url: str, **changes: Any) -> HttpCall:
    settings: dict[str, Any] = {"method": "POST", "headers": {}, "body": '{"t": "{texts}", "as": "a {kind}"}'}
    return HttpCall(url, OPTIONS, **{**settings, **changes}, names=("texts", "kind"))


async def echo(request: web.Request) -> web.Response:
    token = request.headers.get("Authorization", "")
    if token:
        return web.json_response({"error": f"{token} and {token.partition(' ')[2]}"}, status=400)
    return web.json_response({"method": request.method, "body": await request.json()})


async def test_values_fill_the_body_once() -> None:
    async with serving(echo) as url, call(url) as asked:
        assert asked.uses == {"texts", "kind"}
        reply = await asked.ask({"texts": ["{kind}", 2], "kind": "query"})
    assert reply == {"method": "POST", "body": {"t": ["{kind}", 2], "as": "a query"}}


async def test_the_value_of_a_variable_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_TOKEN", "s3cret-token")
    async with serving(echo) as url, call(url, headers={"Authorization": "Bearer $APP_TOKEN"}) as asked:
        with pytest.raises(Rejected, match="status 400") as caught:
            await asked.ask({"texts": [], "kind": ""})
    assert "s3cret-token" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/x", "http://", "http:///x", "http://a:0/", "http://[::1/x", "ftp://127.0.0.1/x"]
)
async def test_what_is_no_address_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        async with open_system(url, template=RAG_TEMPLATE):
            pass
    assert str(caught.value) == f"{url!r} is not an address. Write it like http://127.0.0.1:8000/ask."
    assert told(str(caught.value), "zh") == f"“{url}”不是地址。请写成 http://127.0.0.1:8000/ask 这样。"


async def test_half_a_character_is_sent_in_a_body_and_refused_in_an_address() -> None:
    async with serving(echo) as url:
        async with call(url) as asked:
            reply = await asked.ask({"texts": ["a\ud83d"], "kind": "茶"})
        async with call(url + "/?t={kind}") as asked:
            with pytest.raises(Rejected) as caught:
                await asked.ask({"texts": [], "kind": "a\ud83d"})
    assert reply["body"] == {"t": ["a\ud83d"], "as": "a 茶"}
    words = "the question has half a character (a lone surrogate), which no address can hold. Correct it in the data."
    assert str(caught.value).endswith(f": {words}")
    assert untranslated(words, "zh") == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"url": "http://user@127.0.0.1/x"}, "must not contain a password or key"),
        ({"url": "http://127.0.0.1/x?token=s3cret99"}, "must not contain a password or key"),
        ({"headers": {"X-Api-Key": "s3cret99"}}, "The header X-Api-Key must not contain a key"),
        ({"headers": {"Cookie": "session=s3cret99"}}, "The header Cookie must not contain a key"),
        ({"headers": {"X-Api-Key": "$NOT_SET_HERE"}}, "NOT_SET_HERE, which is not set"),
        ({"body": "{texts}"}, r'Write it like \{"texts": "\{texts\}"\}'),
    ],
)
def test_a_key_and_a_wrong_body_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        call(**{"url": "http://127.0.0.1:1/x", **changes})
    assert "s3cret99" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("http(a,b)", "http takes one address"),
        ("http(http://127.0.0.1:1,method=DELETE)", "method=DELETE should be POST, GET or PUT"),
        ("http(http://127.0.0.1:1,headers=[1])", "headers should be a JSON object of texts"),
        ('http(http://127.0.0.1:1,headers={"X": 1})', "headers should be a JSON object of texts"),
    ],
)
def test_a_name_that_is_no_request_is_one_line(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        named_call(parse(name), OPTIONS, names=("texts",), body="{}")
    assert "\n" not in str(caught.value)
