"""Requests to an HTTP endpoint of the user's own: a body template, headers from the environment, JMESPath expressions.

The texts of the body (JSON) may contain `{name}`; a text that is just `{name}` becomes the value, such as a list.
"""

import json
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote, urlsplit

from ragstone.errors import BadReply, ModelError, RateLimited, Rejected, ServerFault, Unauthorized, UsageError
from ragstone.models.endpoint import limiter_for, patience_for
from ragstone.models.http_errors import one_line, out_of_credit, retry_after_seconds, transport_error
from ragstone.models.nested_names import Spec, is_address
from ragstone.models.network import open_session
from ragstone.models.options import ModelOptions
from ragstone.models.refusals import Refusals
from ragstone.models.reply_body import read_body
from ragstone.models.retry import retrying
from ragstone.models.wire import encode
from ragstone.text.redaction import secrets_of, shown_url

T = TypeVar("T")

if TYPE_CHECKING:
    import aiohttp

    Read: TypeAlias = "Callable[[aiohttp.ClientResponse, float], Awaitable[T]]"

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_SECRET_HEADER = re.compile(r"authorization|cookie|key|token|secret|password|credential", re.IGNORECASE)
HEADER_OPTION = "--header 'Authorization=Bearer $NAME'"


class HttpCall:
    """One endpoint, asked with the retries, limits and timeouts of a model. Use as an asynchronous context manager.

    names: the values that `url` and `body` can contain, as `{name}`; `uses` are those that they do. A JSON entry or URL
    parameter that is just a name is left out where its value is None. headers: values may
    name environment variables (`Bearer $TOKEN`), which are read now. body_option, header_option: how the user spells
    them, for errors. Raises UsageError for an address or header with a password, a body that is not JSON, or a variable
    that is not set."""

    def __init__(
        self, url: str, options: ModelOptions, *, method: str, headers: Mapping[str, str], body: str,
        names: Sequence[str], body_option: str = "--body", header_option: str = HEADER_OPTION,
    ) -> None:  # fmt: skip
        check_address(url, header_option)
        self.where = shown_url(url)
        self._url, self._method, self._options, self._header_option = url, method, options, header_option
        self._field = re.compile(rf"\{{({'|'.join(names)})\}}")
        self._body = body_template(body, body_option, names[0])
        text = url + (body if method != "GET" else "")
        self.uses = frozenset(name for name in names if f"{{{name}}}" in text)
        self._headers = {name: _header(name, value, header_option) for name, value in headers.items()}
        variables = (name for value in headers.values() for name in variables_in(value))
        self._secrets = (*self._headers.values(), *(os.environ[name] for name in variables))
        self._refusals = Refusals()
        self._limiter, self._patience = limiter_for(options, self._refusals), patience_for(options, self._refusals)
        self._session: aiohttp.ClientSession | None = None
        self._request_options: dict[str, Any] = {}

    async def __aenter__(self) -> "HttpCall":
        self._session, self._request_options = open_session(
            self._url, "", connections=self._options.in_flight, timeout=self._options.deadline
        )
        self._session.headers.update(
            {"Accept": "application/json, text/event-stream, application/x-ndjson", "Accept-Encoding": "identity"}
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, values: Mapping[str, Any], read: "Read[T]") -> T:
        """What `read` makes of a successful reply and the time when it was sent. Raises the errors of a model call."""

        async def before_retry() -> None:
            await self._limiter.admit(lambda: 0.0)

        async with self._limiter.places:
            await self._limiter.admit(lambda: 0.0)
            return await self._refusals.guard(
                retrying, lambda: self._attempt(values, read), self._patience, where=self.where,
                before_retry=before_retry,
            )  # fmt: skip

    async def ask(self, values: Mapping[str, Any]) -> Any:
        """The JSON document (or text) of the reply."""
        return await self.send(values, self.document)

    async def document(self, reply: "aiohttp.ClientResponse", started: float = 0.0) -> Any:
        """The JSON document in a reply, or its text. Raises BadReply for an empty or damaged one, and a web page."""
        return _parsed(await read_body(reply, self._options.reply_bytes, self.where), self.where)

    async def _attempt(self, values: Mapping[str, Any], read: "Read[T]") -> T:
        import aiohttp  # noqa: PLC0415

        if self._session is None:
            raise RuntimeError("An HttpCall is used inside `async with`.")
        url = self._address(values)
        options = {**self._request_options, "headers": {**self._request_options.get("headers", {}), **self._headers}}
        if self._method != "GET":
            options["data"] = encode(self._filled(self._body, values))
        started = time.perf_counter()
        try:
            async with self._session.request(self._method, url, **options) as reply:
                if 200 <= reply.status < 300:
                    return await read(reply, started)
                body = await read_body(reply, self._options.reply_bytes, self.where)
                raise self._status_error(reply.status, reply.headers, body)
        except aiohttp.InvalidURL:
            raise Rejected(f"{self.where}: this is not an address. Check the address.") from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise transport_error(self.where, error) from None

    def _address(self, values: Mapping[str, Any]) -> str:
        """The address with the values in place of their names, without parameters that are just a missing value."""
        start, mark, parameters = self._url.partition("?")
        kept = [part for part in parameters.split("&") if not self._is_missing(part.partition("=")[2], values)]
        template = start + (mark if kept else "") + "&".join(kept)
        try:
            return self._field.sub(lambda match: quote(_inserted(values[match[1]]), safe=""), template)
        except UnicodeEncodeError:
            raise Rejected(
                f"{self.where}: the question has half a character (a lone surrogate), which no address can hold. "
                "Correct it in the data."
            ) from None

    def _filled(self, template: Any, values: Mapping[str, Any]) -> Any:
        """The template with the values in place of their names, in one pass: a value that contains a name stays.
        Entries that are just a missing value (None) are left out."""
        if isinstance(template, dict):
            entries = {key: item for key, item in template.items() if not self._is_missing(item, values)}
            return {key: self._filled(item, values) for key, item in entries.items()}
        if isinstance(template, list):
            return [self._filled(item, values) for item in template if not self._is_missing(item, values)]
        if not isinstance(template, str):
            return template
        if match := self._field.fullmatch(template):
            return values[match[1]]
        return self._field.sub(lambda match: _inserted(values[match[1]]), template)

    def _is_missing(self, template: Any, values: Mapping[str, Any]) -> bool:
        match = self._field.fullmatch(template) if isinstance(template, str) else None
        return match is not None and values[match[1]] is None

    def _status_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        where = self.where
        reason = one_line(body[:4000].decode("utf-8", "replace"), self._secrets) or "no reason given"
        if status == 402 or (status == 429 and "insufficient_quota" in reason):
            return out_of_credit(where, reason)
        if status == 429:
            return RateLimited(f"{where}: too many requests ({reason}).", retry_after_seconds(headers))
        if status >= 500 or status in (408, 409, 425):
            return ServerFault(f"{where}: status {status} ({reason}).", retry_after_seconds(headers))
        error: ModelError = Rejected(f"{where}: status {status} ({reason}).")
        if status in (401, 403):
            option = self._header_option.partition(" ")[0].partition("=")[0]
            error = Unauthorized(f"{where}: not allowed ({status}: {reason}). Check the {option} with the key.")
        if status in (301, 302, 303, 307, 308, 404, 405):
            error.refuses_all = True
        return error


def body_template(body: str, option: str, name: str) -> Any:
    """The value of a JSON template. `option`: how the user spells it, `name`: what it should contain. Raises UsageError
    for a text that is not JSON."""
    try:
        return json.loads(body)
    except ValueError as error:
        example = '{"question": "{question}"}'.replace("question", name)
        raise UsageError(f"{option} is not JSON ({error}). Write it like {example}.") from None


def _inserted(value: Any) -> str:
    """A value as part of a longer text."""
    return "" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)


def named_call(spec: Spec, options: ModelOptions, *, names: Sequence[str], body: str) -> HttpCall:
    """The call of a name such as `http(URL,body={"query": "{query}"},headers={"Authorization": "Bearer $NAME"})`.
    `body`: the default. Raises UsageError."""
    example = 'headers={"Authorization": "Bearer $NAME"}'
    if len(spec.arguments) != 1 or not is_address(spec.arguments[0]):
        raise UsageError(f"{spec.name}: http takes one address, for example http(http://localhost:8000/search).")
    method = spec.options.get("method", "POST")
    if method not in ("POST", "GET", "PUT"):
        raise UsageError(f"{spec.name}: method={method} should be POST, GET or PUT.")
    try:
        headers = json.loads(spec.options.get("headers", "{}"))
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise UsageError(f"{shown_url(spec.arguments[0])}: headers should be a JSON object of texts: {example}.")
    return HttpCall(
        spec.arguments[0], options, method=method, headers=headers, body=spec.options.get("body", body), names=names,
        body_option="body", header_option=example,
    )  # fmt: skip


def no_address(url: str) -> UsageError:
    """The error for a text in place of an address."""
    return UsageError(f"{shown_url(url)!r} is not an address. Write it like http://127.0.0.1:8000/ask.")


def check_address(url: str, advice: str) -> None:
    """Raises UsageError for an address without a host or with an impossible port, and for one with a user name,
    password or key. `advice`: where a key belongs."""
    try:
        parts = urlsplit(url)
        if not parts.hostname or parts.port == 0:
            raise ValueError
        secret = bool(parts.password or parts.username or secrets_of(url))
    except ValueError:
        raise no_address(url) from None
    if secret:
        raise UsageError(
            f"{shown_url(url)}: an address must not contain a password or key. Put it into an environment variable and "
            f"name that: {advice}."
        )


def compiled_path(text: str) -> Callable[[Any], Any]:
    """What finds the value of a JMESPath expression; None where there is none. Raises UsageError for another text."""
    import jmespath  # noqa: PLC0415
    import jmespath.exceptions  # noqa: PLC0415

    if not text:
        return lambda _: None
    try:
        compiled = jmespath.compile(text)
    except jmespath.exceptions.JMESPathError as error:
        reason = one_line(str(error)).rstrip(".")
        raise UsageError(
            f"{text!r} is not a JMESPath expression ({reason}). Write a path such as data.answer."
        ) from None

    def search(value: Any) -> Any:
        try:
            return compiled.search(value)
        except jmespath.exceptions.JMESPathError:
            return None

    return search


def variables_in(text: str) -> list[str]:
    """The environment variables that a header names."""
    return [match[1] or match[2] for match in _VARIABLE.finditer(text)]


def _header(name: str, text: str, advice: str) -> str:
    """The value of a header, with its variables."""
    if _SECRET_HEADER.search(name) and _VARIABLE.search(text) is None:
        raise UsageError(
            f"The header {name} must not contain a key. Put it into an environment variable and name that: {advice}."
        )

    def value(match: re.Match[str]) -> str:
        variable = match[1] or match[2]
        if not os.environ.get(variable):
            raise UsageError(f"A header needs the environment variable {variable}, which is not set.")
        return os.environ[variable]

    return _VARIABLE.sub(value, text)


def _parsed(body: bytes, where: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        text = body.decode("utf-8", "replace")
        if not text.strip():
            raise BadReply(f"{where}: the reply is empty.") from None
        if text.lstrip().lower().startswith(("<!doctype", "<html")):
            raise BadReply(f"{where}: the reply is a web page. Check the address.") from None
        if text.lstrip().startswith("{"):
            raise BadReply(f"{where}: the reply is no valid JSON ({one_line(str(error))}).") from None
        if text.encode() != body:
            raise BadReply(f"{where}: the reply is neither JSON nor text in UTF-8.") from None
        return text
