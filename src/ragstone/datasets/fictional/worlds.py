"""The worlds of invented events, drawn from tables in text files: what a cup is called, who wins it, what it costs.

A world file is TOML. A table is drawn line by line, in the order of the file:

    winner = "{person()}"                 an expression in braces; alone in its string, its value keeps its type
    event = "{place} {pick(offices)}"     text with values in it: those of earlier lines, of `constants`, of functions
    hours = ["nine", "eleven"]            one of these, each as likely
    "winner family" = "{foreigner()}"     several names, for the parts of one value
    _town = "{once('town', town())}"      a table: its values are added under their own names where these are free

Names that begin with an underscore serve the file alone and are not part of the world. `series` is what all editions
of an event share, `edition` one of them; a language may have other tables, which are called by their names, as are the
templates of `parts`. `once` remembers a value for the series and its siblings, `yearly` for the series and a year.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, TypeAlias

from ragstone.datasets.fictional.parts import between, chance, pick, sample

Values: TypeAlias = dict[str, Any]


@dataclass
class EventSeries:
    """Something that has editions: a cup, a prize, a company and its years. `values`: the same in all editions;
    `remembered`: drawn by the first edition that needed it; `by_year`: the same, for one year."""

    values: Values
    remembered: dict[str, Any] = field(default_factory=dict)
    by_year: dict[tuple[str, int], Any] = field(default_factory=dict)


class Scope(NamedTuple):
    """What an expression sees."""

    random: Random
    values: Values
    series: EventSeries


Expression: TypeAlias = Callable[[Scope], Any]


class Vocabulary(NamedTuple):
    """The functions that a language's expressions call: `draws` take the source of chance first, `forms` do not."""

    draws: Mapping[str, Callable[..., Any]]
    forms: Mapping[str, Callable[..., Any]]


DRAWS: Mapping[str, Callable[..., Any]] = {
    "between": between, "chance": chance, "pick": pick, "random": Random.random, "sample": sample,
}  # fmt: skip
FORMS: Mapping[str, Callable[..., Any]] = {"fixed": lambda value, places=1: f"{value:.{places}f}", "int": int}
OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Gt: operator.gt,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
BRACES = re.compile(r"\{([^{}]*)\}")


class WorldFile:
    """The tables of one domain. `header`: the values outside of them. Raises ValueError for a broken expression."""

    def __init__(self, document: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        self.header = {name: value for name, value in document.items() if not isinstance(value, dict)}
        tables = {name: value for name, value in document.items() if isinstance(value, dict)}
        self._constants: Mapping[str, Any] = tables.pop("constants", {})
        self._draws = {**DRAWS, **vocabulary.draws}
        self._forms = {**FORMS, **vocabulary.forms}
        parts = tables.pop("parts", {})
        self._functions: dict[str, Expression] = {name: self._table(name) for name in tables}
        self._functions |= {name: self._entry(template) for name, template in parts.items()}
        self._tables = {
            name: [(tuple(key.split()), self._entry(value)) for key, value in table.items()]
            for name, table in tables.items()
        }

    def series(self, random: Random) -> EventSeries:
        """A new series of events."""
        series = EventSeries({})
        series.values |= self._draw("series", Scope(random, {}, series))
        return series

    def sibling(self, random: Random, series: EventSeries) -> EventSeries:
        """Another category of the series, with the values that differ."""
        sibling = EventSeries(dict(series.values), dict(series.remembered))
        sibling.values |= self._draw("sibling", Scope(random, series.values, sibling))
        return sibling

    def edition(self, random: Random, series: EventSeries, **given: Any) -> Values:
        """The world of one edition: its own values and those of the series; numbers are written out."""
        values = {**series.values, **given}
        values |= self._draw("edition", Scope(random, values, series))
        return {
            name: str(value) if isinstance(value, int | float) else value
            for name, value in values.items()
            if name[0] != "_"
        }

    def _table(self, name: str) -> Expression:
        return lambda scope: self._draw(name, scope)

    def _draw(self, table: str, outer: Scope) -> Values:
        scope = outer._replace(values=dict(outer.values))
        drawn: Values = {}
        for names, expression in self._tables[table]:
            value = expression(scope)
            if isinstance(value, Mapping):
                new = {name: part for name, part in value.items() if name not in scope.values}
            else:
                new = dict(zip(names, value if len(names) > 1 else (value,), strict=True))
            scope.values.update(new)
            drawn |= new
        return drawn

    def _entry(self, value: Any) -> Expression:
        """A line of a table: a template, one of several, or a plain value."""
        if isinstance(value, list):
            options = [self._entry(option) for option in value]
            return lambda scope: pick(scope.random, options)(scope)
        if not isinstance(value, str):
            return lambda scope: value
        texts = BRACES.split(value)
        pieces = [self._expression(text) if place % 2 else text for place, text in enumerate(texts) if text]
        if len(pieces) == 1 and callable(pieces[0]):
            return pieces[0]
        return lambda scope: "".join([piece if isinstance(piece, str) else str(piece(scope)) for piece in pieces])

    def _expression(self, source: str) -> Expression:
        try:
            return self._compiled(ast.parse(source.strip(), mode="eval").body)
        except SyntaxError:
            raise ValueError(f"not an expression: {source!r}") from None

    def _compiled(self, node: ast.expr) -> Expression:
        """The node as a function of the scope. It supports a part of Python's expressions, evaluated from left to
        right."""
        match node:
            case ast.Constant(value):
                return lambda scope: value
            case ast.Name(name):
                return lambda scope: scope.values[name] if name in scope.values else self._constants[name]
            case ast.Call(ast.Name(name), arguments):
                return self._call(name, arguments)
            case ast.Attribute(owner, name):
                whole = self._compiled(owner)
                return lambda scope: getattr(whole(scope), name)
            case ast.Subscript(owner, place):
                whole, index = self._compiled(owner), self._compiled(place)
                return lambda scope: whole(scope)[index(scope)]
            case ast.IfExp(test, body, otherwise):
                condition, first, second = map(self._compiled, (test, body, otherwise))
                return lambda scope: first(scope) if condition(scope) else second(scope)
            case ast.BoolOp(ast.And(), [left, right]):
                first, second = self._compiled(left), self._compiled(right)
                return lambda scope: first(scope) and second(scope)
            case ast.BoolOp(ast.Or(), [left, right]):
                first, second = self._compiled(left), self._compiled(right)
                return lambda scope: first(scope) or second(scope)
            case ast.UnaryOp(ast.USub(), operand):
                amount = self._compiled(operand)
                return lambda scope: -amount(scope)
            case ast.BinOp(left, operation, right) | ast.Compare(left, [operation], [right]):
                apply, first, second = OPERATORS[type(operation)], self._compiled(left), self._compiled(right)
                return lambda scope: apply(first(scope), second(scope))
            case _:
                raise ValueError(f"not allowed in a world file: {ast.unparse(node)!r}")

    def _call(self, name: str, nodes: Sequence[ast.expr]) -> Expression:
        arguments = [self._compiled(node) for node in nodes]
        if name == "once":
            key, make = arguments
            return lambda scope: _remembered(scope.series.remembered, key(scope), make, scope)
        if name == "yearly":
            key, year, make = arguments
            return lambda scope: _remembered(scope.series.by_year, (key(scope), year(scope)), make, scope)
        if name in self._functions and not arguments:
            return self._functions[name]
        if name in self._draws:
            draw = self._draws[name]
            return lambda scope: draw(scope.random, *[argument(scope) for argument in arguments])
        if name not in self._forms:
            raise ValueError(f"no function {name!r} for a world file")
        form = self._forms[name]
        return lambda scope: form(*[argument(scope) for argument in arguments])


def _remembered(memory: dict[Any, Any], key: Any, make: Expression, scope: Scope) -> Any:
    """The value made for this key the first time: last year's winner is the same in every edition that names it."""
    if key not in memory:
        memory[key] = make(scope)
    return memory[key]
