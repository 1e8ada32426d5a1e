"""Base URLs, proxies and certificates: what other tools honour, ragstone honours."""

import base64
import ipaddress
import os
import re
import ssl
import urllib.request
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from ragstone.errors import UsageError
from ragstone.text.redaction import shown_url

__all__ = [
    "certificates",
    "endpoint_url",
    "is_loopback",
    "normal_base_url",
    "proxy_and_headers",
    "proxy_for",
]

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
    """One spelling for an endpoint: with scheme, without a slash at the end, without the operation's path.

    `localhost:8000` becomes `http://localhost:8000/v1`, and `https://host/v1/chat/completions` `https://host/v1`.
    Raises `UsageError` for what is no HTTP URL, for a name or password inside it, and for a lone word, which is
    rather a slip than a host.
    """
    given = text.strip()
    try:
        if "://" not in given:
            bare = urlsplit(f"//{given}")
            host = bare.hostname or ""
            if not (is_loopback(host) or "." in host.strip(".") or ":" in host or bare.port is not None):
                raise UsageError(f"{shown_url(text)!r} is not a base URL: it should look like https://host/v1.")
            given = f"{'http' if is_loopback(host) else 'https'}://{given}"
        parts = urlsplit(given)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"{shown_url(text)!r} is not a base URL.") from None
    if parts.scheme.lower() not in ("http", "https") or not host or any(char.isspace() for char in given):
        raise UsageError(f"{shown_url(text)!r} is not a base URL: it should look like https://host/v1.")
    if parts.username or parts.password:
        raise UsageError("A base URL holds no name or password: put the key into the provider's environment variable.")
    path = _OPERATION.sub("", parts.path)
    return urlunsplit(SplitResult(parts.scheme.lower(), parts.netloc, path or "/v1", parts.query, ""))


def endpoint_url(base_url: str, operation: str) -> str:
    """`base_url` with the path of an operation (`chat/completions`) before its query, if it has one."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{operation}"))


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for `url` (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), with the name
    and password in it, or None. This machine is never asked through a proxy."""
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
            f"The proxy for {host} is of kind {kind}, which is not supported: name an HTTP proxy in HTTPS_PROXY, "
            f"or {host} in NO_PROXY."
        )
    return proxy


def proxy_and_headers(proxy: str) -> tuple[str, dict[str, str]]:
    """The address of a proxy without the name and password in it, and the header that carries them (RFC 7617)."""
    parts = urlsplit(proxy)
    address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if parts.username is None:
        return address, {}
    words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return address, {"Proxy-Authorization": f"Basic {base64.b64encode(words.encode()).decode('ascii')}"}


def certificates() -> ssl.SSLContext:
    """What TLS servers are verified against: the system's authorities, or those of SSL_CERT_FILE (else
    REQUESTS_CA_BUNDLE, else CURL_CA_BUNDLE; a file or a folder) instead, as in other tools."""
    for variable in _CERTIFICATES:
        place = os.environ.get(variable)
        if not place:
            continue
        try:
            if Path(place).is_dir():
                return ssl.create_default_context(capath=place)
            return ssl.create_default_context(cafile=place)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"{variable} names {place}, which holds no certificates ({error}).") from None
    return ssl.create_default_context()
