"""Typed errors for failed calls: by status, by the endpoint's own code, by exception. Keys are never shown."""

import email.utils
import os
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ragstone.errors import (
    BadReply,
    ContentBlocked,
    Dropped,
    ModelError,
    RateLimited,
    Rejected,
    ServerFault,
    TimedOut,
    Unauthorized,
    Unreachable,
)
from ragstone.models.providers import Provider
from ragstone.models.structured import RefusedForm
from ragstone.text.redaction import redact

Refusable: TypeAlias = Literal["", "clearly", "vaguely"]

_TRANSIENT = (Unreachable, TimedOut, RateLimited, ServerFault, BadReply)
# What endpoints reply that do not support a way of asking for a form, and with which status (llama.cpp: 500 for a
# schema that it cannot turn into a grammar).
_MENTIONS_FORM = re.compile(
    r"response[ _]?format|output[ _](?:config|format)|schema|json[ _](?:object|mode)|structured[ _]output|guided_"
    r"|grammar|tool_choice"
    r"|(?<![a-z])tools?(?![a-z])|function[ _-]?call|结构化输出|工具调用|函数调用|响应格式|返回格式|输出格式",
    re.IGNORECASE,
)
_FORM_STATUSES = (400, 404, 415, 422, 501)
_UNINFORMATIVE = re.compile(
    r"|(?:(?:http )?4\d\d:? ?)?(?:bad request|(?:\w+ ){0,3}invalid (?:request|argument|parameter)s?"
    r"|unprocessable (?:entity|content)|validation error|not supported|unsupported)[.!]?",
    re.IGNORECASE,
)
# How Anthropic's models refuse a parameter: by the message alone. Of two that exclude each other the second goes.
_REFUSED_SAMPLING = re.compile(
    r"`?\b(?P<name>temperature|top_p)`?(?: and `?(?P<second>top_p)`? cannot both be specified"
    r"| is (?:deprecated|not supported) (?:for|by|with) this model)"
)
_SHOWN = 300  # characters of an endpoint's message
# Words for a refusal by content inspection that the gateways of other providers may pass on.
_BLOCKED = ("content_filter", "data_inspection_failed", "DataInspectionFailed")


def one_line(text: str, secrets: Sequence[str] = (), limit: int = _SHOWN) -> str:
    """A foreign text as one printable line, redacted and truncated."""
    # Redact far more than is shown, so that a key at the cut is found, but not a whole page of 10 MB.
    line = " ".join(redact(text[: limit * 20], secrets, keys=True).split())
    line = "".join(char if char.isprintable() else "�" for char in line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def is_transient(error: BaseException) -> bool:
    """Whether a retry may help. An untrusted certificate stays untrusted, but a web page may come from a gateway that
    restarts."""
    return isinstance(error, _TRANSIENT) and (not error.permanent or isinstance(error, BadReply))


def retry_after_seconds(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """The `Retry-After` of a reply in seconds from `now` (RFC 9110 §10.2.3: seconds or a date), also as
    `retry-after-ms`; None if there is no valid one."""
    for name, scale in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        text = headers.get(name, "").strip()
        try:
            seconds = float(text) * scale
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        date = email.utils.parsedate_to_datetime(headers.get("Retry-After", "").strip())
        return max(0.0, date.timestamp() - now())
    except (ValueError, TypeError, OverflowError):
        return None


def _error_fields(body: Any) -> tuple[str, str, list[str]]:
    """(message, parameter, codes) of an error, in any of the shapes that endpoints use."""
    if isinstance(body, list) and body:  # Gemini wraps its error in a list
        body = body[0]
    if not isinstance(body, dict):
        return ("", "", [])
    error = body.get("error", body)
    if isinstance(error, str):
        return (error, "", [str(body.get("code", ""))])
    if not isinstance(error, dict):
        return ("", "", [])
    codes = [str(error[name]) for name in ("code", "type", "status") if error.get(name) is not None]
    if isinstance(details := error.get("details"), dict) and details.get("error_code"):  # Anthropic
        codes.append(str(details["error_code"]))
    message = error.get("message") or body.get("message") or ""
    if not message and isinstance(body.get("detail"), str):  # FastAPI
        message = body["detail"]
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):  # OpenRouter: the message of the provider behind it
        message = f"{message}: {metadata['raw']}"
    return (str(message), str(error.get("param") or ""), codes)


class RefusedParameter(Rejected):
    """The model does not support `parameter`; the same request without it may succeed."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


def _refuses_the_form(status: int, message: str, refusable: Refusable) -> bool:
    """Whether an error is about how a form was requested or, if "vaguely", may be because it says nothing else."""
    if not refusable or not (status in _FORM_STATUSES or status == 500):
        return False
    if _MENTIONS_FORM.search(message):
        return True
    return refusable == "vaguely" and status in (400, 422) and bool(_UNINFORMATIVE.fullmatch(message.strip()))


def status_error(
    provider: Provider,
    model: str,
    *,
    status: int,
    headers: Mapping[str, str],
    body: Any,
    text: str,
    secrets: Sequence[str],
    refusable: Refusable = "",
) -> ModelError:
    """The typed error for a failed reply. Status 200: a reply that reports an error without its status.

    `body` is the reply parsed as JSON, None if it is not JSON; `text` is its beginning as text. `refusable`: the
    request asked for a form in a way that the endpoint may not support ("clearly": only if it says so).
    """
    message, parameter, codes = _error_fields(body)
    reason = one_line(message or text, secrets) or "no reason given"
    where = f"{provider.name}/{model}"
    if any(mark in codes or (mark and mark in message) for mark in (*provider.blocked, *_BLOCKED)):
        return ContentBlocked(f"{where}: content inspection refused ({reason}).")
    if status == 402 or any(mark in codes or mark in message for mark in provider.out_of_credit):
        return out_of_credit(where, reason)
    if any(code in provider.bad_generation for code in codes):
        return BadReply(f"{where}: the model did not produce the promised form ({reason}).")
    if _refuses_the_form(status, message or text, refusable):
        return RefusedForm(f"{where}: rejected ({status}: {reason}).")
    if status == 429:
        return RateLimited(f"{where}: too many requests ({reason}).", retry_after_seconds(headers))
    if status in (408, 409, 425):  # not really 4xx: the same request may succeed later
        return ServerFault(f"{where}: status {status} ({reason}).", retry_after_seconds(headers))
    if status == 200 or status >= 500:
        problem = "the reply reports an error" if status == 200 else f"the endpoint failed with status {status}"
        return ServerFault(f"{where}: {problem} ({reason}).", retry_after_seconds(headers))
    if status in (401, 403):
        region = f" A key of another region needs --base-url {provider.regions[0]}." if provider.regions else ""
        return Unauthorized(f"{where}: not allowed ({status}: {reason}). Check {provider.key}.{region}")
    if 300 <= status < 400:
        return _refusing_all(
            Rejected(
                f"{where}: the endpoint redirects elsewhere ({status}), which is not followed. "
                "Name the final --base-url (of a judge, --judge-base-url)."
            )
        )
    if status == 400 and (refused := _REFUSED_SAMPLING.search(message)):
        parameter = refused["second"] or refused["name"]
        return RefusedParameter(f"{where}: rejected ({status}: {reason}).", parameter)
    if parameter and {"unsupported_value", "unsupported_parameter"} & set(codes):
        return RefusedParameter(f"{where}: rejected ({status}: {reason}).", parameter)
    if status == 404:
        return _refusing_all(
            Rejected(
                f"{where}: no such model or path ({reason}). Check the model's name and --base-url (of a judge, "
                "--judge-base-url)."
            )
        )
    return Rejected(f"{where}: rejected ({status}: {reason}).")


def out_of_credit(where: str, reason: str) -> ModelError:
    """Waiting does not bring it back, and neither does a second request."""
    error = Unauthorized(
        f"{where}: the account's credit or quota is used up ({reason}). Top it up, or use another key."
    )
    error.refuses_for_good = True
    return error


def _refusing_all(error: ModelError) -> ModelError:
    """Marks `error` as one that every request to this endpoint would meet."""
    error.refuses_all = True
    return error


def reason_of(error: BaseException) -> str:
    """Why a connection failed, in the words of the operating system or our own. The HTTP library's messages are never
    shown, because they may contain the whole address."""
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return one_line(getattr(inner, "verify_message", "") or "it cannot be verified")
    if isinstance(inner, ssl.SSLError):
        return one_line((inner.reason or "TLS failed").replace("_", " ").lower())
    if isinstance(inner, OSError) and (number := inner.errno) is not None:
        return os.strerror(number) if number > 0 else one_line(inner.strerror or "it failed")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Error").removesuffix("Exception"))
    return words.lower().removeprefix("client ")


def unknown_name(where: str) -> ModelError:
    """The error for a host that nobody knows."""
    return Unreachable(f"{where}: its name cannot be looked up. Without a network, local/smollm2 works.")


def transport_error(where: str, error: BaseException) -> ModelError:
    """The typed error for an exception below HTTP, from aiohttp, the operating system or TLS."""
    import aiohttp  # noqa: PLC0415  (already loaded if there is such an error)

    reason = reason_of(error)
    if isinstance(error, aiohttp.InvalidURL):
        return Rejected(f"{where}: this is not an address. Check --base-url.")
    if isinstance(error, TimeoutError):
        return TimedOut(f"{where}: no complete reply in time.")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        untrusted = Unreachable(
            f"{where}: the certificate is not trusted ({reason}). Set SSL_CERT_FILE to the certificate of its "
            "authority."
        )
        untrusted.permanent = True
        return _refusing_all(untrusted)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return unknown_name(where)
    if isinstance(error, aiohttp.ClientPayloadError):
        return BadReply(f"{where}: the reply broke off.")
    if isinstance(error, aiohttp.ClientResponseError) and not isinstance(error, aiohttp.ClientProxyConnectionError):
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return Unreachable(f"{where}: the proxy refused (status {error.status}).")
        return BadReply(f"{where}: the reply is not HTTP.")
    dropped = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionResetError, BrokenPipeError)
    if isinstance(error, dropped) and not isinstance(error, aiohttp.ClientConnectorError):
        return Dropped(f"{where}: the connection ended before a reply came ({reason}).")
    return Unreachable(f"{where}: no connection ({reason}). Check that it runs at this address.")
