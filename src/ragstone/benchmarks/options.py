"""Options of a benchmark as typed fields. Each field yields a flag, a keyword of `bench(...)` and its documentation.

    @dataclass(frozen=True, kw_only=True)
    class CapitalsOptions:
        limit: Annotated[int | None, Option("Ask only about the first N capitals.", low=1)] = None

A field is a `bool`, `int`, `float`, `str` or `Path`, a tuple of one of these, or any type whose option has a `parse`
function. A default of None leaves the choice to the benchmark.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from ragstone.errors import UnknownName, UsageError

_COMMAS = re.compile("[,，、]")
_SHOWN = 60  # characters of a value in a message
_PLAIN = (bool, int, float, str, Path)


@dataclass(frozen=True)
class Option:
    """The metadata of an options field.

    `flag`: its flag; by default the field's name, or `--no-…` if the field is True by default. `choices`: the only
    accepted values. `low`, `high`: the inclusive range of a number. `parse`: converts a command-line text or a Python
    value; raises ValueError with the problem. `repeatable`: a tuple is given by repeating the flag instead of by
    commas. `positional`: an argument instead of a flag. `default`: what the help shows for None. `objects`: a name may
    be replaced by a Python object."""

    help: str
    flag: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    parse: Callable[[Any], Any] | None = None
    repeatable: bool = False
    positional: bool = False
    default: str = ""
    objects: bool = False


@dataclass(frozen=True)
class Field:
    """A field of an options struct. `kind`: the type of its value, or of each item of a tuple; `object` otherwise."""

    name: str
    kind: type
    many: bool
    required: bool
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        dashed = self.name.replace("_", "-")
        return self.option.flag or (f"--no-{dashed}" if self.default is True else f"--{dashed}")

    @property
    def default_text(self) -> str:
        """The default as a user would write it; "" if there is none to show."""
        if self.default is None or self.kind is bool:
            return self.option.default
        return ",".join(map(str, self.default)) if self.many else str(self.default)

    def convert(self, value: Any) -> Any:
        """The typed value of a command-line text or a Python value. Raises ValueError with the problem."""
        if value is None:
            return self.default
        if value == "" != self.default and not self.many:
            raise ValueError("'' is empty: name a value, or leave this option out.")
        if self.option.parse is not None:
            return self.option.parse(value)
        if not self.many:
            return self._convert_item(value)
        if isinstance(value, str):
            value = [part.strip() for part in ([value] if self.option.repeatable else _COMMAS.split(value))]
        elif not isinstance(value, Iterable):
            value = [value]
        values = tuple(self._convert_item(part) for part in value if part != "")
        if not values and value:
            what = "name" if self.kind is str else "number"
            raise ValueError(f"expected one {what} or more, separated by commas.{self._range}")
        return values if self.option.positional else tuple(dict.fromkeys(values))

    def _convert_item(self, value: Any) -> Any:
        if self.kind is bool:
            if not isinstance(value, bool):
                raise ValueError(f"{_shown(value)} is neither True nor False.")
            return value
        if self.kind in (int, float):
            return self._number(value)
        if self.option.objects and not isinstance(value, str | Path | int | float | None):
            return value
        if self.kind in (Path, str) and not isinstance(value, str | Path):
            raise ValueError(f"{_shown(value)} is not a string.")
        if self.kind is Path or isinstance(value, Path):
            return self.kind(value)
        if self.option.choices and value not in self.option.choices:
            near = UnknownName("", value, self.option.choices).suggestion
            hint = f" Did you mean {near!r}?" if near else ""
            raise ValueError(f"{_shown(value)} is not one of {', '.join(map(repr, self.option.choices))}.{hint}")
        return value

    @property
    def _range(self) -> str:
        """The range to name in an error, for a field that takes several numbers."""
        low, high = self.option.low, self.option.high
        return "" if not self.many or low is None or high is None else f" Write numbers from {low:,} to {high:,}."

    def _number(self, value: Any) -> Any:
        try:
            number = self.kind(value.strip() if isinstance(value, str) else value)
            odd = isinstance(value, bool) or (isinstance(value, str) and "_" in value)  # which `int` takes
            if odd or (self.kind is int and not isinstance(value, str) and number != value):
                raise ValueError
        except (ValueError, TypeError, OverflowError):
            what = "integer" if self.kind is int else "number"
            raise ValueError(f"{_shown(value)} is not a valid {what}.{self._range}") from None
        if self.kind is float and not math.isfinite(number):
            raise ValueError(f"{value} is not a finite number.{self._range}")
        low, high = self.option.low, self.option.high
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError(f"{_shown(number)} is not in the range {_span(low, high)}.{self._range}")
        return number


def chunk_sizes(value: Any) -> tuple[int, ...]:
    """Parses sizes of chunks in tokens (`Option.parse`)."""
    from ragstone.retrieval.chunkers import parse_sizes  # noqa: PLC0415  (only where chunks are cut)

    return parse_sizes(value)


def endpoint_address(value: Any) -> str:
    """Parses the URL of an endpoint (`Option.parse`)."""
    from ragstone.models.network import normal_base_url  # noqa: PLC0415

    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is not a string.")
    try:
        normal_base_url(value)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return value


def _span(low: float | None, high: float | None) -> str:
    if high is None:
        return f"x>={low:,}"
    return f"x<={high:,}" if low is None else f"{low:,}<=x<={high:,}"


def _shown(value: Any) -> str:
    """A value as a message has it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def fields_of(options: type[Any]) -> dict[str, Field]:
    """The fields of an options struct by name, in order."""
    hints = get_type_hints(options, include_extras=True)
    return {field.name: _field(field, hints[field.name]) for field in dataclasses.fields(options)}


def _field(field: "dataclasses.Field[Any]", hint: Any) -> Field:
    option = next((entry for entry in getattr(hint, "__metadata__", ()) if isinstance(entry, Option)), Option(""))
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    kinds = [part for part in _parts(plain) if part is not NoneType]
    kind = kinds[0] if len(kinds) == 1 else object
    many = get_origin(kind) is tuple
    if many:
        kind = get_args(kind)[0]
    if kind not in _PLAIN:
        kind = object
    required = field.default is dataclasses.MISSING
    return Field(field.name, kind, many, required, None if required else field.default, option)


def _parts(hint: Any) -> Iterator[Any]:
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        yield from get_args(hint)
    else:
        yield hint


def options_from(options: type[Any], keywords: Mapping[str, Any], *, of: str, also: Sequence[str] = ()) -> Any:
    """Build the options struct from keywords. Raises UsageError for an unknown keyword (suggesting the nearest known
    name or one of `also`) or for an invalid value. `of`: the benchmark that the options belong to."""
    known = fields_of(options)
    for name in keywords:
        if name not in known:
            raise UnknownName(f"option of {of}", name, [*known, *also])
    values = {}
    for name, value in keywords.items():
        try:
            values[name] = known[name].convert(value)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None
    return options(**values)
