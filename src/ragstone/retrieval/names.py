"""The names of retrievers, which compose: `bm25`, `local/e5-small`, `hybrid(bm25,local/e5-small)`,
`rerank(bm25,openai/gpt-4o-mini,depth=50)`, `run:FILE`.

    name     = leaf | function "(" part { "," part } ")"
    part     = name | option "=" text
    leaf     = function | provider "/" model | "run:" file | module ":" name | file ".py:" name

A comma or a parenthesis within a part is kept where its parentheses are balanced; a file's name may hold neither.
"""

import math
import re

import msgspec

from ragstone.errors import UsageError
from ragstone.registry import is_place
from ragstone.text.redaction import redact
from ragstone.types import Frozen

__all__ = ["Spec", "parse"]

_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_OPTION = re.compile(r"([a-z][a-z0-9_]*)=(.*)", re.DOTALL)
PLACE = "file.py:NAME"  # the function of a name that is a place of the user's own, as lists show it
_EXAMPLES = "bm25, local/e5-small, hybrid(bm25,local/e5-small)"
_DEEPEST = 20  # parentheses within each other: names are read, and retrievers opened, by functions that call themselves
_SHOWN = 80  # characters of a name that a message repeats


class Spec(Frozen, frozen=True):
    """A parsed name. `arguments` are inner names (of retrievers or models) or a file; `options` what was given as
    `name=text`."""

    function: str
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name, as a user writes it, but without what an address in it may hold of passwords and keys. Where it
        holds none, `parse(spec.name) == spec`."""
        if self.function == "run":
            return f"run:{self.arguments[0]}"
        if self.function == PLACE and len(self.arguments) == 1:
            return self.arguments[0]
        if self.function == "dense" and len(self.arguments) == 1 and not self.options:
            return self.arguments[0]
        inside = ",".join([*self.arguments, *(f"{name}={value}" for name, value in self.options.items())])
        return redact(f"{self.function}({inside})") if inside else self.function

    def only(self, *known: str) -> "Spec":
        """The spec itself; UsageError for an option that is not among `known`."""
        for name in self.options:
            if name not in known:
                accepted = f"It takes {', '.join(known)}." if known else "It takes none."
                raise UsageError(f"The retriever {self.function} has no option {name!r}. {accepted}")
        return self

    def number(self, name: str, default: float, *, least: float, most: float = float("inf")) -> float:
        """An option that is a number in [least, most]. Raises UsageError."""
        text = self.options.get(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = float("nan")
        if not (least <= value <= most and math.isfinite(value)):
            upto = f" to {most:g}" if most < float("inf") else " or more"
            raise UsageError(f"The retriever {self.function}: {name}={text} should be a number of {least:g}{upto}.")
        return value

    def count(self, name: str, default: int, *, least: int = 1) -> int:
        """An option that is a whole number of at least `least`. Raises UsageError."""
        value = self.number(name, default, least=least)
        if value != int(value):
            raise UsageError(f"The retriever {self.function}: {name}={self.options[name]} should be a whole number.")
        return int(value)


def parse(name: str) -> Spec:
    """What a name says. `provider/model` is the function `dense`. Raises UsageError, in one line."""
    text, shown = name.strip(), _shortened(name)
    if not text:
        raise UsageError(f"A retriever has no name. Write, for example: {_EXAMPLES}.")
    if text.startswith("run:"):
        if not text[4:].strip():
            raise UsageError("run: names no file. Write run:FILE, for example run:bm25.trec.")
        return Spec("run", (text[4:].strip(),))
    if is_place(text):
        return Spec(PLACE, (text,))
    head, bracket, rest = text.partition("(")
    if bracket:
        if not rest.endswith(")"):
            raise UsageError(f"The retriever {shown!r}: a parenthesis is not closed.")
        return _call(name, head.strip(), rest[:-1])
    if ")" in text or "," in text:
        raise UsageError(f"The retriever {shown!r} cannot be read. Write, for example: {_EXAMPLES}.")
    if "/" in text:
        provider, _, model = text.partition("/")
        if not provider or not model:
            raise UsageError(f"The retriever {shown!r} names no embedder. Write PROVIDER/MODEL: local/e5-small.")
        return Spec("dense", (text,))
    if not _FUNCTION.fullmatch(text):
        raise UsageError(f"The retriever {shown!r} cannot be read. Write, for example: {_EXAMPLES}.")
    return Spec(text)


def _shortened(name: str) -> str:
    """A name for a message, cut short where it is long."""
    shown = redact(name)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _call(name: str, function: str, inside: str) -> Spec:
    shown = _shortened(name)
    if not _FUNCTION.fullmatch(function):
        raise UsageError(f"The retriever {shown!r} cannot be read. Write, for example: {_EXAMPLES}.")
    arguments: list[str] = []
    options: dict[str, str] = {}
    for part in _parts(name, inside):
        if (option := _OPTION.fullmatch(part)) is None:
            arguments.append(part)
            continue
        key, value = option.groups()
        if key in options:
            raise UsageError(f"The retriever {shown!r} has the option {key!r} twice.")
        options[key] = value.strip()
    return Spec(function, tuple(arguments), options)


def _parts(name: str, inside: str) -> list[str]:
    """The parts between commas that stand in no inner parentheses."""
    if not inside.strip():
        return []
    parts, depth, start, shown = [], 0, 0, _shortened(name)
    for at, character in enumerate(inside):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            raise UsageError(f"The retriever {shown!r}: a parenthesis is closed that was not opened.")
        if depth >= _DEEPEST:
            raise UsageError(f"The retriever {shown!r} nests too deep: at most {_DEEPEST} within each other.")
        if character == "," and depth == 0:
            parts.append(inside[start:at])
            start = at + 1
    if depth:
        raise UsageError(f"The retriever {shown!r}: a parenthesis is not closed.")
    parts = [part.strip() for part in (*parts, inside[start:])]
    if not all(parts):
        raise UsageError(f"The retriever {shown!r} has an empty place between its commas.")
    return parts
