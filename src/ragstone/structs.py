"""The base of the data types, and JSON without loss."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias, TypeVar

import msgspec

JSON: TypeAlias = "dict[str, Any] | list[Any] | str | int | float | bool | None"


Scalar: TypeAlias = "str | int | float | bool"


T = TypeVar("T")


class Frozen(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Base of the data types: immutable, compared by value, serialised without fields that have their default. No cycle
    of references goes through an immutable object, so the collector need not look at them."""


def plain_text(value: Any) -> str:
    """The text that an object of a subclass of str is: msgspec's `enc_hook`. TypeError for other objects."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def plain_data(value: Any) -> Any:
    """A struct or dataclass as plain JSON data: the `default` of `json.dumps`."""
    return msgspec.to_builtins(value, enc_hook=plain_text)


_ENCODER = msgspec.json.Encoder(enc_hook=plain_text)


def to_json(value: Any) -> str:
    """Write a data type or plain JSON data as ASCII JSON. Lone surrogates and NUL survive; NaN raises ValueError. An
    object of a subclass of str (LangChain's `TextAccessor`) is written as the text that it is."""
    try:  # several times as fast, but it writes NaN as null, and not in ASCII alone
        fast = _ENCODER.encode(value)
        if fast.isascii() and b"null" not in fast and b"\x7f" not in fast:
            return fast.decode("ascii")
    except (ValueError, TypeError, RecursionError):
        pass
    return json.dumps(plain_data(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def from_json(text: str | bytes, kind: type[T]) -> T:
    """Read what `to_json` wrote. Raises ValueError (msgspec.ValidationError is one) if it is not a `kind`."""
    try:  # several times as fast, but it does not know lone surrogates
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError):
        return msgspec.convert(json.loads(text), kind)


@cache
def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct as providers want it for replies: without references, each object closed and with all
    its fields required."""
    schema = msgspec.json.schema(kind)
    definitions = schema.get("$defs", {})

    def inline(value: Any) -> Any:
        if isinstance(value, list):
            return [inline(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        if "$ref" in value:
            return inline(definitions[value["$ref"].rpartition("/")[2]])
        found = {key: inline(item) for key, item in value.items() if key not in ("title", "default", "$defs")}
        if found.get("type") == "object" and "properties" in found:
            found |= {"required": list(found["properties"]), "additionalProperties": False}
        return found

    strict: dict[str, Any] = inline(schema)
    return strict


class Itself:
    """A key for what has no hash, such as a list out of JSON: equal only to that of the same object. `lru_cache` keeps
    by it what was read of the object, and the object, so that nothing else gets its identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
