"""Names of retrievers, which can be nested: `bm25`, `local/e5-small`, `hybrid(bm25,local/e5-small)`,
`rerank(bm25,openai/gpt-4o-mini,depth=50)`, `run:FILE`. Embedders and rerankers behind a user's own address use the same
grammar: `http(URL,body={"texts": "{texts}"})`.

    name     = leaf | function "(" part { "," part } ")"
    part     = name | option "=" text
    leaf     = function | provider "/" model | "run:" file | module ":" name | file ".py:" name | address

A part may contain commas, parentheses and other brackets if they are balanced; a file's name may contain none.
"""

import math
import re
from collections.abc import Sequence

import msgspec

from ragstone.errors import UsageError
from ragstone.registry import is_place
from ragstone.structs import Frozen
from ragstone.text.redaction import redact

_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_OPTION = re.compile(r"([a-z][a-z0-9_]*)=(.*)", re.DOTALL)
PLACE = "file.py:NAME"
"""The function for code of the user's own, as lists show it."""
HTTP = "http"
"""The function for an address of the user's own."""
_EXAMPLES = "bm25, local/e5-small, hybrid(bm25,local/e5-small)"
_DEEPEST = 20  # levels of parentheses: names are parsed, and retrievers opened, recursively
_SHOWN = 80  # characters of a name that an error message quotes


class Spec(Frozen, frozen=True):
    """A parsed name. `arguments`: inner names (of retrievers or models) or a file. `options`: the parts `name=text`."""

    function: str
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name as a user writes it, with passwords and keys in addresses redacted. If nothing was redacted,
        `parse(spec.name) == spec`."""
        if self.function == "run":
            return f"run:{self.arguments[0]}"
        if self.function == PLACE and len(self.arguments) == 1:
            return self.arguments[0]
        if self.function == "dense" and len(self.arguments) == 1 and not self.options and _is_model(self.arguments[0]):
            return self.arguments[0]
        inside = ",".join([*self.arguments, *(f"{name}={value}" for name, value in self.options.items())])
        return redact(f"{self.function}({inside})") if inside else self.function

    def only(self, *known: str) -> "Spec":
        """Returns the spec itself. Raises UsageError for an option that is not in `known`."""
        for name in self.options:
            if name not in known:
                accepted = f"It takes {', '.join(known)}." if known else "It takes none."
                raise UsageError(f"{self.function} has no option {name!r}. {accepted}")
        return self

    def number(self, name: str, default: float, *, least: float, most: float = float("inf")) -> float:
        """An option that is a number in [least, most]. Raises UsageError."""
        text = self.options.get(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = float("nan")
        if not (least <= value <= most and math.isfinite(value)):
            limits = f"from {least:g} to {most:g}" if most < float("inf") else f"of {least:g} or more"
            raise UsageError(f"{self.function}: {name}={text} should be a number {limits}.")
        return value

    def count(self, name: str, default: int, *, least: int = 1) -> int:
        """An option that is a whole number of at least `least`. Raises UsageError."""
        value = self.number(name, default, least=least)
        if value != int(value):
            raise UsageError(f"{self.function}: {name}={self.options[name]} should be a whole number.")
        return int(value)

    def flag(self, name: str, default: str = "no") -> bool:
        """An option that is yes or no. Raises UsageError."""
        value = self.options.get(name, default)
        if value not in ("yes", "no"):
            raise UsageError(f"{self.name}: {name}={value} should be yes or no.")
        return value == "yes"

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        """An option that is one of these, the first by default. Raises UsageError."""
        value = self.options.get(name, choices[0])
        if value not in choices:
            raise UsageError(f"{self.name}: {name}={value} should be one of {', '.join(choices)}.")
        return value


def parse(name: str) -> Spec:
    """Parses a name; `provider/model` is short for `dense(provider/model)`. Raises UsageError for an invalid one."""
    text, shown = name.strip(), _shortened(name)
    if not text:
        raise UsageError(f"A retriever has no name. Write, for example: {_EXAMPLES}.")
    if text.startswith("run:"):
        if not text[4:].strip():
            raise UsageError("run: needs a file. Write run:FILE, for example run:bm25.trec.")
        return Spec("run", (text[4:].strip(),))
    if is_address(text) and "(" not in text and "," not in text:
        return Spec(HTTP, (text,))
    if is_place(text):
        return Spec(PLACE, (text,))
    head, bracket, rest = text.partition("(")
    if bracket:
        if not rest.endswith(")"):
            raise UsageError(f"{shown!r}: a parenthesis is not closed.")
        return _call(name, head.strip(), rest[:-1])
    if ")" in text or "," in text:
        raise UsageError(f"The retriever {shown!r} cannot be parsed. Write, for example: {_EXAMPLES}.")
    if "/" in text:
        provider, _, model = text.partition("/")
        if not provider or not model:
            raise UsageError(
                f"The retriever {shown!r} lacks a provider or model. Write PROVIDER/MODEL, as local/e5-small."
            )
        return Spec("dense", (text,))
    if not _FUNCTION.fullmatch(text):
        raise UsageError(f"The retriever {shown!r} cannot be parsed. Write, for example: {_EXAMPLES}.")
    return Spec(text)


def is_address(name: str) -> bool:
    """Whether a name is an HTTP address."""
    return name.startswith(("http://", "https://"))


def is_http(name: str) -> bool:
    """Whether a name is an address of the user's own, alone or as `http(…)`."""
    return is_address(name) or name.startswith(f"{HTTP}(")


def _is_model(name: str) -> bool:
    """Whether a name is PROVIDER/MODEL, which is short for a dense retriever."""
    return "/" in name and "(" not in name and not is_place(name) and not is_address(name)


def _shortened(name: str) -> str:
    """A name for an error message, truncated and redacted."""
    shown = redact(name)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _call(name: str, function: str, inside: str) -> Spec:
    shown = _shortened(name)
    if not _FUNCTION.fullmatch(function):
        raise UsageError(f"The retriever {shown!r} cannot be parsed. Write, for example: {_EXAMPLES}.")
    arguments: list[str] = []
    options: dict[str, str] = {}
    for part in _parts(name, inside):
        if (option := _OPTION.fullmatch(part)) is None:
            arguments.append(part)
            continue
        key, value = option.groups()
        if key in options:
            raise UsageError(f"{shown!r} has the option {key!r} twice.")
        options[key] = value.strip()
    return Spec(function, tuple(arguments), options)


def _parts(name: str, inside: str) -> list[str]:
    """The parts between top-level commas."""
    if not inside.strip():
        return []
    parts, depth, start, shown = [], 0, 0, _shortened(name)
    brackets = 0  # of JSON and JMESPath
    for at, character in enumerate(inside):
        depth += (character == "(") - (character == ")")
        brackets += (character in "[{") - (character in "]}")
        if depth < 0:
            raise UsageError(f"{shown!r}: a closing parenthesis has no opening one.")
        if depth >= _DEEPEST:
            raise UsageError(f"{shown!r} is nested too deeply: at most {_DEEPEST} levels.")
        if character == "," and depth == 0 and brackets == 0:
            parts.append(inside[start:at])
            start = at + 1
    if depth or brackets:
        raise UsageError(f"{shown!r}: a {'parenthesis' if depth else 'bracket'} is not closed.")
    parts = [part.strip() for part in (*parts, inside[start:])]
    if not all(parts):
        raise UsageError(f"{shown!r} has an empty part between commas.")
    return parts
