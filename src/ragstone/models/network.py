"""Base URLs, proxies and certificates, with the same environment variables as other tools."""

import base64
import ipaddress
import os
import re
import ssl
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from ragstone.errors import UsageError
from ragstone.models.reply_body import ENCODINGS
from ragstone.text.redaction import shown_url

if TYPE_CHECKING:
    import aiohttp

# Many servers drop an idle connection after 5 s; using one at that moment loses the request.
KEEP_ALIVE_SECONDS = 4.0
CONNECT_SECONDS = 15.0

_OPERATION = re.compile(r"(?:/+|/(?:chat/)?completions|/embeddings)+\Z")
_CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def normal_base_url(text: str) -> str:
    """The normal form of a base URL: with scheme, without a final slash, without the operation's path.

    `localhost:8000` becomes `http://localhost:8000/v1`, and `https://host/v1/chat/completions` `https://host/v1`.
    Raises `UsageError` for anything but an HTTP URL, for a user name or password in it, and for a single word, which is
    more likely a typing error than a host.
    """
    url = text.strip()
    try:
        if "://" not in url:
            bare = urlsplit(f"//{url}")
            host = bare.hostname or ""
            if not (is_loopback(host) or "." in host.strip(".") or ":" in host or bare.port is not None):
                raise UsageError(f"{shown_url(text)!r} is not a base URL: it should look like https://host/v1.")
            url = f"{'http' if is_loopback(host) else 'https'}://{url}"
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"{shown_url(text)!r} is not a base URL.") from None
    if parts.scheme.lower() not in ("http", "https") or not host or any(char.isspace() for char in url):
        raise UsageError(f"{shown_url(text)!r} is not a base URL: it should look like https://host/v1.")
    if parts.username or parts.password:
        raise UsageError(
            "A base URL must not contain a user name or password: put the key into the provider's environment variable."
        )
    path = _OPERATION.sub("", parts.path)
    return urlunsplit(SplitResult(parts.scheme.lower(), parts.netloc, path or "/v1", parts.query, ""))


def endpoint_url(base_url: str, operation: str) -> str:
    """`base_url` with the path of an operation (`chat/completions`) before its query, if it has one."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{operation}"))


def proxy_for(url: str) -> str | None:
    """The proxy that the environment sets for `url` (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), with its user name
    and password, or None. No proxy is used for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or urllib.request.proxy_bypass(parts.netloc):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        kind = urlsplit(proxy).scheme
        raise UsageError(
            f"The proxy for {host} is of kind {kind}, which is not supported: set HTTPS_PROXY to an HTTP proxy, "
            f"or add {host} to NO_PROXY."
        )
    return proxy


def proxy_and_headers(proxy: str) -> tuple[str, dict[str, str]]:
    """The address of a proxy without its user name and password, and the header that has them (RFC 7617)."""
    parts = urlsplit(proxy)
    address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if parts.username is None:
        return address, {}
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return address, {"Proxy-Authorization": f"Basic {base64.b64encode(credentials.encode()).decode('ascii')}"}


def certificates() -> ssl.SSLContext:
    """The authorities for TLS servers: the system's, or those of SSL_CERT_FILE (else REQUESTS_CA_BUNDLE, else
    CURL_CA_BUNDLE; a file or a folder), as in other tools."""
    for variable in _CERTIFICATES:
        place = os.environ.get(variable)
        if not place:
            continue
        try:
            if Path(place).is_dir():
                return ssl.create_default_context(capath=place)
            return ssl.create_default_context(cafile=place)
        except (OSError, ssl.SSLError) as error:
            reason = f"{variable} is {place}, which has no certificates ({error})"
            raise UsageError(f"{reason}. Set it to a file or folder of certificates.") from None
    return ssl.create_default_context()


def open_session(
    url: str, key: str, *, connections: int, timeout: float | None, headers: Mapping[str, str] | None = None
) -> tuple["aiohttp.ClientSession", dict[str, Any]]:
    """A session for the server of `url`, to be closed by the caller, and the options that each of its requests needs.

    It authenticates with `key` ("" for none), sends `headers` with every request, keeps no cookies, follows no
    redirects, and leaves bodies compressed: `read_body` limits their size. `timeout` is in seconds, for a whole
    request; None: the caller limits it."""
    import aiohttp  # noqa: PLC0415  (heavy, so it is loaded only for a call)

    secure = url.startswith("https:")
    options: dict[str, Any] = {"allow_redirects": False, "ssl": certificates() if secure else True}
    if proxy := proxy_for(url):
        address, headers_for_proxy = proxy_and_headers(proxy)
        options["proxy"] = address
        # For a tunnel they are sent with CONNECT; otherwise with the request, and the proxy removes them.
        options["proxy_headers" if secure else "headers"] = headers_for_proxy
    every = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "ragstone"}
    every |= {"Accept-Encoding": ENCODINGS, **(headers or {})}
    if key:
        every["Authorization"] = f"Bearer {key}"
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=KEEP_ALIVE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=every,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS),
    )
    return session, options
