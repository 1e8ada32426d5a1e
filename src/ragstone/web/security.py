"""What stands before every page: who may ask, from where, how much, and what the answer may load.

Pages show files of strangers, so a browser is told to run only our scripts. Reading needs a known host name, against
addresses of others that lead here (DNS rebinding), and beyond this machine a token. Writing also needs a page of ours.
"""

import hmac
import re
import secrets
from collections.abc import Collection, Iterable, Mapping
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

from ragstone.errors import UsageError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_BODY_BYTES = 2_000_000
_LONGEST_HOST = 253
_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE)
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


def expert_token(token: str, expert: str) -> str:
    """The token of one expert's link, with which nobody labels under another name."""
    return hmac.digest(token.encode(), f"expert:{expert}".encode("utf-8", "surrogatepass"), "sha256").hex()[:40]


def check_host(name: str, option: str) -> None:
    """Raises UsageError for what cannot be a host in an address: browsers would never call a page by it."""
    try:
        ip_address(name)
    except ValueError:
        if len(name) > _LONGEST_HOST or not _HOST_NAME.fullmatch(name):
            raise UsageError(
                f"{option} {name!r} is not the name of a host: leave out http:// and the port, such as box.example."
            ) from None


def is_everywhere(host: str) -> bool:
    """Whether it stands for all addresses of this machine: 0.0.0.0 or ::."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass
class Guard:
    """The application with checks before it. `hosts`: names by which it may be called besides this machine's own, of
    which 0.0.0.0 stands for every address in numbers; `token`: what whoever asks must know ("" for no token). Who came
    by the link of an expert reads and writes as this expert only."""

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
        if not host or not self._is_served(host):
            advice = "Open the address that ragstone view printed, or start it with --allowed-host and this name."
            return PlainTextResponse(f"This host name is not served. {advice}", 421)
        if scope["method"] not in ("GET", "HEAD") and not _from_our_page(headers):
            return PlainTextResponse("Only the pages of this viewer may write.", 403)
        return self._without_token(scope, headers) if self.token else None

    def _is_served(self, host: str) -> bool:
        # A page of another site reaches this machine by a name that leads here, never by an address in numbers.
        return host in {*LOOPBACK, *self.hosts} or (any(map(is_everywhere, self.hosts)) and _is_address(host))

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        fields = dict(query)
        given, expert = fields.get("token", ""), fields.get("expert", "")
        whose = "" if _equal(given, self.token) else expert if _equal(given, expert_token(self.token, expert)) else None
        if given and whose is not None:
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            path = "/" + scope["path"].lstrip("/\\")
            answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            answer.set_cookie(self.cookie, self._signed(whose), httponly=True, samesite="strict", path="/")
            return answer
        session = _cookies(headers).get(self.cookie, "")
        known = _named(session)
        if known is None or not _equal(session, self._signed(known)):
            return PlainTextResponse("Open the address with the token that ragstone view printed.", 401)
        if known:
            scope[EXPERT] = known
            if any(name in _EXPERTS and value.strip() not in ("", known) for name, value in query):
                return PlainTextResponse(f"This link is {known}'s: nobody labels under another name with it.", 403)
        return None

    def _signed(self, expert: str) -> str:
        """The session of an expert, "" for whoever knows the token."""
        name = expert.encode("utf-8", "surrogatepass").hex()
        return f"{name}.{expert_token(self._session, expert)}"


EXPERT = "ragstone.expert"
"""The key of the scope of a request that has the name of the expert whose link was opened."""
_EXPERTS = frozenset({"expert", "by"})  # fields of a form or an address that say who labels


def check_expert(scope: Scope, fields: Iterable[tuple[str, str]]) -> None:
    """Raises HTTPException if the fields of a form name another expert than the one whose link was opened."""
    known = scope.get(EXPERT)
    if known and any(name in _EXPERTS and value.strip() != known for name, value in fields):
        raise HTTPException(403, f"This link is {known}'s: nobody labels under another name with it.")


def _named(session: str) -> str | None:
    """The expert that a session says it is of; None if it is no session."""
    try:
        return bytes.fromhex(session.partition(".")[0]).decode("utf-8", "surrogatepass") if "." in session else None
    except ValueError:
        return None


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


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
