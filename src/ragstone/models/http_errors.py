"""What went wrong, as one of the typed errors: by status, by the endpoint's own code, by exception. Keys never show."""

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

__all__ = [
    "Refusable",
    "RefusedParameter",
    "is_transient",
    "one_line",
    "reason_of",
    "retry_after_seconds",
    "status_error",
    "transport_error",
]

Refusable: TypeAlias = Literal["", "clearly", "vaguely"]

_TRANSIENT = (Unreachable, TimedOut, RateLimited, ServerFault, BadReply)
# What endpoints say who do not take a way of asking for a form, and with which status (llama.cpp: 500 for a schema
# that it can make no grammar of).
_ABOUT_THE_FORM = re.compile(
    r"response[ _]?format|schema|json[ _](?:object|mode)|structured[ _]output|guided_|grammar|tool_choice"
    r"|(?<![a-z])tools?(?![a-z])|function[ _-]?call|结构化输出|工具调用|函数调用|响应格式|返回格式|输出格式",
    re.IGNORECASE,
)
_FORM_STATUSES = (400, 404, 415, 422, 501)
_SAYS_NOTHING = re.compile(
    r"|(?:(?:http )?4\d\d:? ?)?(?:bad request|(?:\w+ ){0,3}invalid (?:request|argument|parameter)s?"
    r"|unprocessable (?:entity|content)|validation error|not supported|unsupported)[.!]?",
    re.IGNORECASE,
)
_SHOWN = 300  # characters of an endpoint's message
# Every provider's words for a refusal by content inspection that another provider's gateway may pass on.
_BLOCKED = ("content_filter", "data_inspection_failed", "DataInspectionFailed")


def one_line(text: str, secrets: Sequence[str] = (), limit: int = _SHOWN) -> str:
    """A foreign text as one printable line, redacted and cut."""
    # Far more than is shown, so that a key at the cut is still found; far less than a page of 10 MB.
    line = " ".join(redact(text[: limit * 20], secrets, keys=True).split())
    line = "".join(char if char.isprintable() else "�" for char in line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def is_transient(error: BaseException) -> bool:
    """Whether trying again at once may help. A certificate that does not verify will not verify the next time; a web
    page may come from a gateway that restarts."""
    return isinstance(error, _TRANSIENT) and (not error.permanent or isinstance(error, BadReply))


def retry_after_seconds(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """The `Retry-After` of a reply in seconds from `now` (RFC 9110 §10.2.3: seconds or a date), also as
    `retry-after-ms`; None where there is none that makes sense."""
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


def _told(body: Any) -> tuple[str, str, list[str]]:
    """(message, param, codes) from the several shapes that endpoints give their errors."""
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
    message = error.get("message") or body.get("message") or ""
    if not message and isinstance(body.get("detail"), str):  # FastAPI
        message = body["detail"]
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):  # OpenRouter: what the provider behind it said
        message = f"{message}: {metadata['raw']}"
    return (str(message), str(error.get("param") or ""), codes)


class RefusedParameter(Rejected):
    """The model does not take `parameter`; the same request without it is worth sending."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


def _refuses_the_form(status: int, told: str, refusable: Refusable) -> bool:
    """Whether an error is about how a form was asked for, or, "vaguely", may be: it says nothing else."""
    if not refusable or not (status in _FORM_STATUSES or status == 500):
        return False
    if _ABOUT_THE_FORM.search(told):
        return True
    return refusable == "vaguely" and status in (400, 422) and bool(_SAYS_NOTHING.fullmatch(told.strip()))


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
    """The typed error for a reply that carries no value.

    `body` is the reply as JSON where it is JSON, `text` its beginning as text. `refusable`: the request asked for a
    form in a way that the endpoint may not take ("clearly": only where it says so).
    """
    message, parameter, codes = _told(body)
    told = one_line(message or text, secrets) or "no reason given"
    where = f"{provider.name}/{model}"
    if any(mark in codes or (mark and mark in message) for mark in (*provider.blocked, *_BLOCKED)):
        return ContentBlocked(f"{where}: content inspection refused ({told}).")
    if any(code in provider.out_of_credit for code in codes) or status == 402:
        return Unauthorized(f"{where}: the account's credit or quota is used up ({told}).")
    if any(code in provider.bad_generation for code in codes):
        return BadReply(f"{where}: the model did not produce the promised form ({told}).")
    if _refuses_the_form(status, message or text, refusable):
        return RefusedForm(f"{where}: rejected ({status}: {told}).")
    if status == 429:
        return RateLimited(f"{where}: too many requests ({told}).", retry_after_seconds(headers))
    if status in (408, 409, 425):  # not 4xx in meaning: the same request may go well later
        return ServerFault(f"{where}: status {status} ({told}).", retry_after_seconds(headers))
    if status >= 500:
        return ServerFault(f"{where}: the endpoint failed with status {status} ({told}).", retry_after_seconds(headers))
    if status in (401, 403):
        other = f" A key of another region needs --base-url {provider.regions[0]}." if provider.regions else ""
        return Unauthorized(f"{where}: not allowed ({status}: {told}). Check {provider.key}.{other}")
    if 300 <= status < 400:
        return _refusing(
            Rejected(
                f"{where}: the endpoint redirects elsewhere ({status}), which is not followed. "
                "Name the final --base-url."
            )
        )
    if parameter and {"unsupported_value", "unsupported_parameter"} & set(codes):
        return RefusedParameter(f"{where}: rejected ({status}: {told}).", parameter)
    if status == 404:
        return _refusing(Rejected(f"{where}: no such model or path ({told}). Check the model's name and --base-url."))
    return Rejected(f"{where}: rejected ({status}: {told}).")


def _refusing(error: ModelError) -> ModelError:
    """`error` as one that every request to this endpoint would meet."""
    error.refuses_all = True
    return error


def reason_of(error: BaseException) -> str:
    """Why a connection failed, in words of the operating system's or our own. What the HTTP library says of its errors
    may hold the address with all that is in it, and is never shown."""
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return one_line(getattr(inner, "verify_message", "") or "it cannot be verified")
    if isinstance(inner, ssl.SSLError):
        return one_line((inner.reason or "TLS failed").replace("_", " ").lower())
    if isinstance(inner, OSError) and (number := inner.errno) is not None:
        return os.strerror(number) if number > 0 else one_line(inner.strerror or "it failed")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Error").removesuffix("Exception"))
    return words.lower().removeprefix("client ")


def transport_error(where: str, error: BaseException) -> ModelError:
    """The typed error for an exception below HTTP: aiohttp's, the operating system's, TLS."""
    import aiohttp  # noqa: PLC0415  (loaded already whenever there is such an error)

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
        return _refusing(untrusted)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Unreachable(f"{where}: its name cannot be looked up. Without a network, local/smollm2 works.")
    if isinstance(error, aiohttp.ClientPayloadError):
        return BadReply(f"{where}: the reply broke off.")
    if isinstance(error, aiohttp.ClientResponseError) and not isinstance(error, aiohttp.ClientProxyConnectionError):
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return Unreachable(f"{where}: the proxy refused (status {error.status}).")
        return BadReply(f"{where}: the reply is not HTTP.")
    return Unreachable(f"{where}: no connection ({reason}).")
