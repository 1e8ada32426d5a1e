"""Base URLs, proxies, certificates: pure parts, and a real TLS server and a real proxy on this machine."""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.fake_endpoint import FakeEndpoint

from ragstone.errors import Unreachable, UsageError
from ragstone.models import ModelOptions, open_model
from ragstone.models.network import endpoint_url, is_loopback, normal_base_url, proxy_for
from ragstone.text.redaction import shown_url
from ragstone.types import Request, Turn

REQUEST = Request(messages=(Turn("user", "Who?"),))
_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
              "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # fmt: skip


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/embeddings/", "https://api.openai.com/v1"),
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("HTTPS://api.openai.com/", "https://api.openai.com/v1"),
        ("localhost:8000", "http://localhost:8000/v1"),
        ("localhost", "http://localhost/v1"),
        ("ollama:11434", "https://ollama:11434/v1"),
        ("http://ollama", "http://ollama/v1"),
        ("127.0.0.1:8000/api", "http://127.0.0.1:8000/api"),
        ("[::1]:8000", "http://[::1]:8000/v1"),
        ("gateway.example.org/llm", "https://gateway.example.org/llm"),
        (" https://h/v1 ", "https://h/v1"),
        ("https://h/openai/deployments/d?api-version=1", "https://h/openai/deployments/d?api-version=1"),
        ("https://h/v1#top", "https://h/v1"),
    ],
)
def test_one_endpoint_has_one_spelling(given: str, expected: str) -> None:
    assert normal_base_url(given) == expected
    assert normal_base_url(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://h/v1",
        "https://",
        "https://h:port/v1",
        "http://[::1",
        "a b",
        "https:///v1",
        "zzz",
        "zzz/v1",
        "zzz.",
        ".",
    ],
)
def test_what_is_no_url_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="is not a base URL") as caught:
        normal_base_url(text)
    assert "\n" not in str(caught.value)


def test_a_password_in_a_base_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        normal_base_url("https://me:geheim@h/v1")
    assert "geheim" not in str(caught.value)


def test_the_query_of_a_base_url_goes_to_the_endpoint_and_into_no_message() -> None:
    base = "https://h/d?api-key=geheim"
    assert endpoint_url(base, "chat/completions") == "https://h/d/chat/completions?api-key=geheim"
    assert shown_url(base) == "https://h/d?api-key=***"


@given(st.text())
def test_any_text_is_a_base_url_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert normal_base_url(normal_base_url(text)) == normal_base_url(text)


def test_this_machine_is_known_by_its_names() -> None:
    assert all(is_loopback(host) for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1", "a.localhost"))
    assert not any(is_loopback(host) for host in ("10.0.0.1", "example.org", "localhost.example.org", "0.0.0.0"))


def test_the_proxy_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_for("https://h.example/v1") is None
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    assert proxy_for("https://h.example/v1") == "http://proxy.example:3128"
    monkeypatch.setenv("HTTPS_PROXY", "http://u:p@secure.example:3128")
    assert proxy_for("https://h.example/v1") == "http://u:p@secure.example:3128"
    assert proxy_for("http://h.example/v1") == "http://proxy.example:3128"
    assert proxy_for("http://localhost:8000/v1") is None
    monkeypatch.setenv("NO_PROXY", "h.example")
    assert proxy_for("https://h.example/v1") is None


def test_a_kind_of_proxy_that_does_not_work_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://u:geheim@proxy.example:1080")
    with pytest.raises(UsageError, match=r"socks5.*HTTPS_PROXY") as caught:
        proxy_for("https://h.example/v1")
    assert "geheim" not in str(caught.value)


# --- TLS ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@contextlib.asynccontextmanager
async def secure_endpoint(authority: trustme.CA) -> AsyncIterator[FakeEndpoint]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    async with FakeEndpoint(tls=context) as endpoint:
        yield endpoint


async def say(endpoint: FakeEndpoint, **more: object) -> str:
    options = ModelOptions(base_url=endpoint.base_url, attempts=1)
    async with open_model("compat/m", options) as model:
        return (await model.generate(REQUEST)).text


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
async def test_a_private_authority_is_trusted_where_the_environment_names_it(
    authority: trustme.CA, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv(variable, str(file))
    async with secure_endpoint(authority) as endpoint:
        assert (await say(endpoint)).startswith("answer ")


async def test_an_unknown_authority_is_refused_once_and_says_what_to_set(authority: trustme.CA) -> None:
    async with secure_endpoint(authority) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with open_model("compat/m", options) as model:
            with pytest.raises(Unreachable, match="SSL_CERT_FILE"):
                await model.generate(REQUEST)
        assert endpoint.counts["asked"] == 0


async def test_a_variable_that_names_no_certificates_is_told_before_anything_is_sent(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    async with secure_endpoint(authority) as endpoint:
        with pytest.raises(UsageError, match="SSL_CERT_FILE"):
            await say(endpoint)


# --- a proxy --------------------------------------------------------------------------------------------------------


@dataclass
class Proxy:
    """An HTTP proxy that takes every name for the endpoint at `target`."""

    target: int
    port: int = 0
    heads: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode("latin-1"))
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            line, rest = head.split(b"\r\n", 1)
            method, url, version = line.split(b" ")
            path = b"/" + url.split(b"/", 3)[3]
            there_writer.write(b" ".join([method, path, version]) + b"\r\n" + rest)
        await asyncio.gather(_pour(reader, there_writer), _pour(there_reader, writer))


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    async with server:
        proxy.port = server.sockets[0].getsockname()[1]
        yield proxy


async def test_a_call_goes_through_the_proxy_with_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeEndpoint() as endpoint, proxy_to(endpoint.port) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:p%40ss@127.0.0.1:{proxy.port}")
        async with open_model("compat/m", ModelOptions(base_url="http://llm.invalid/v1", attempts=1)) as model:
            assert (await model.generate(REQUEST)).text.startswith("answer ")
    assert proxy.heads[0].startswith("POST http://llm.invalid/v1/chat/completions ")
    assert f"Basic {base64.b64encode(b'me:p@ss').decode()}" in proxy.heads[0]
    assert "Proxy-Authorization" not in endpoint.seen[0].path


async def test_a_secure_call_goes_through_the_proxy_as_a_tunnel(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("llm.invalid").configure_cert(context)
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with FakeEndpoint(tls=context) as endpoint, proxy_to(endpoint.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        async with open_model("compat/m", ModelOptions(base_url="https://llm.invalid/v1", attempts=1)) as model:
            assert (await model.generate(REQUEST)).text.startswith("answer ")
    assert proxy.heads[0].startswith("CONNECT llm.invalid:443 ")
    assert "Who?" not in "".join(proxy.heads)


async def test_a_proxy_that_is_not_there_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeEndpoint() as endpoint:
        gone = endpoint.port
    monkeypatch.setenv("HTTP_PROXY", f"http://me:geheim@127.0.0.1:{gone}")
    async with open_model("compat/m", ModelOptions(base_url="http://llm.invalid/v1", attempts=1)) as model:
        with pytest.raises(Unreachable) as caught:
            await model.generate(REQUEST)
    assert "geheim" not in str(caught.value)
