"""Removes secrets from texts with URLs and keys. Error messages, command lines, names of retrievers and descriptions
of systems go through `redact` before they are printed or stored.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

HIDDEN = "***"
_SCHEME = "http://"
_ENDS = "\\s\"'<>"  # characters that end an address in a text
# Chinese follows an address without a space: what was redacted before ends there.
_GOES_ON = r"(?!(?<=\*\*\*)[：，。；、）])"
_URL = re.compile(
    rf"(?P<scheme>\bhttps?:/+|\b[a-z][a-z0-9+.-]*://)(?:[^\s/?#]*@)?(?P<place>[^?#{_ENDS}]*)"
    rf"(?P<query>\?(?:{_GOES_ON}[^#,){_ENDS}])*)?(?P<fragment>#(?:{_GOES_ON}[^,){_ENDS}])*)?",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?<=[?&;])(?:(?P<name>[^=&;]+=)[^&;]*|[^=&;]+)")
# Keys of known providers, in case an endpoint quotes part of one.
_LIKE_A_KEY = re.compile(r"\b(?:sk|gsk|AIza|hf|xai|pplx)[-_][A-Za-z0-9*_\-]{6,}|\bAIza[A-Za-z0-9_\-]{10,}")
# Parameters that hold a secret. The values of others (a version, a deployment) may legitimately occur in a reply.
_SECRET_NAMES = re.compile(r"key|token|secret|sig|pass|pwd|auth|cred|code", re.IGNORECASE)
_SHORTEST = 6  # characters; a shorter value would also match inside unrelated words


def _without_values(match: re.Match[str]) -> str:
    values = (match["query"] or "").rstrip(".:")  # punctuation after the address is not part of it
    query = _VALUE.sub(lambda value: f"{value['name'] or ''}{HIDDEN}", values) + (match["query"] or "")[len(values) :]
    fragment = f"#{HIDDEN}" if len(match["fragment"] or "") > 1 else ""
    return f"{match['scheme']}{match['place']}{query}{fragment}"


def redact(text: str, secrets: Iterable[str] = (), *, keys: bool = False) -> str:
    """`text` without the user information, the query's values and the fragment of any address in it, and without
    `secrets`. `keys`: also without what looks like a provider's key."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    if ":/" in text:  # one slash, because an address may have been treated as a path
        text = _URL.sub(_without_values, text)
    return _LIKE_A_KEY.sub(HIDDEN, text) if keys else text


def redact_all(value: Any) -> Any:
    """`value` (mappings, lists, texts) with every text redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: redact_all(inner) for name, inner in value.items()}
    return [redact_all(inner) for inner in value] if isinstance(value, list | tuple) else value


def shown_url(address: str) -> str:
    """An address with its secrets redacted; its scheme may be missing (`host/v1?key=…`)."""
    bare = "://" not in address
    return redact(f"{_SCHEME}{address}").removeprefix(_SCHEME) if bare else redact(address)


def secrets_of(address: str) -> tuple[str, ...]:
    """The secrets in an address, raw and decoded: a password, and the values of parameters named like a secret (`key`,
    `token`, `sig`…)."""
    try:
        parts = urlsplit(address)
        secrets = [value for name, value in parse_qsl(parts.query) if _SECRET_NAMES.search(name)]
        secrets += re.findall(rf"(?:{_SECRET_NAMES.pattern})[^=&;]*=([^&;]+)", parts.query, re.IGNORECASE)
        secrets += [parts.password, unquote(parts.password)] if parts.password else []
        secrets += [parts.query] if parts.query and "=" not in parts.query else []
    except ValueError:
        return ()
    return tuple(sorted({value for value in secrets if len(value) >= _SHORTEST}, key=len, reverse=True))
