"""What stands before every page: who may ask, from where, how much, and what the answer may load.

Pages show files of strangers, so a browser is told to run only our scripts. Reading needs a known host name, against
addresses of others that lead here (DNS rebinding), and beyond this machine a token. Writing also needs a page of ours.
"""

import hmac
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_BODY_BYTES = 2_000_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass
class Guard:
    """The application with checks before it. `hosts`: names by which it may be called besides this machine's own;
    `token`: what whoever asks must know ("" for no token)."""

    app: ASGIApp
    hosts: Collection[str] = ()
    token: str = ""
    cookie: str = field(init=False)

    def __post_init__(self) -> None:
        digest = sha256(self.token.encode()).hexdigest()
        # Cookies do not know ports: two viewers on one machine need two names.
        self.cookie, self._session = f"ragstone-{digest[:8]}", digest[8:]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        await (self._refusal(scope) or self.app)(scope, _limited(receive), guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass, None for one that may."""
        headers = Headers(scope=scope)
        host = _host(headers.get("host", ""))
        if not host or host not in {*LOOPBACK, *self.hosts}:
            return PlainTextResponse("This host name is not served. Open the address that ragstone view printed.", 421)
        if scope["method"] not in ("GET", "HEAD") and not _from_our_page(headers):
            return PlainTextResponse("Only the pages of this viewer may write.", 403)
        return self._without_token(scope, headers) if self.token else None

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and hmac.compare_digest(given[-1].encode(), self.token.encode()):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            path = "/" + scope["path"].lstrip("/\\")
            answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            answer.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", path="/")
            return answer
        if hmac.compare_digest(_cookies(headers).get(self.cookie, "").encode(), self._session.encode()):
            return None
        return PlainTextResponse("Open the address with the token that ragstone view printed.", 401)


def _host(header: str) -> str:
    """The host of a Host header, without port and brackets, in lower case; "" if it is none."""
    try:
        return (urlsplit(f"//{header}").hostname or "") if "@" not in header and "/" not in header else ""
    except ValueError:
        return ""


def _cookies(headers: Mapping[str, str]) -> Mapping[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _from_our_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of this very address asks."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    if origin is None or origin == "null":
        return site == "same-origin"
    return urlsplit(origin).netloc == headers.get("host", "")


def _limited(receive: Receive) -> Receive:
    left = _BODY_BYTES

    async def limited() -> Any:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, "The request is too large.")
        return message

    return limited
