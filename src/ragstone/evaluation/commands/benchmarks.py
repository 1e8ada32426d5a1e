"""Commands built from the registered benchmarks: a group with a command for each, and flags from typed fields."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragstone.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from ragstone.benchmarks.options import Field
    from ragstone.benchmarks.plugin import Plugin

F = TypeVar("F", bound=Callable[..., Any])

_PREFIX = "option_"  # of parameter names, so that no field clashes with an option that all benchmarks share


class BenchmarkGroup(click.Group):
    """`command` builds the command of a plugin; `summary` is its line in the list, None if it has no such command."""

    def __init__(
        self,
        *args: Any,
        command: "Callable[[str, Plugin], click.Command]",
        summary: "Callable[[Plugin], str | None]",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._command, self._summary = command, summary

    def _plugins(self) -> "Mapping[str, tuple[Plugin, str]]":
        from ragstone.benchmarks import BENCHMARKS  # noqa: PLC0415

        summaries = {name: (plugin, self._summary(plugin)) for name, plugin in BENCHMARKS}
        return {name: (plugin, summary) for name, (plugin, summary) in summaries.items() if summary is not None}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._plugins())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ragstone.benchmarks import BENCHMARKS  # noqa: PLC0415
        from ragstone.registry import is_place  # noqa: PLC0415

        if is_place(cmd_name):
            return self._command(cmd_name, BENCHMARKS.get(cmd_name))
        plugins = self._plugins()
        return self._command(cmd_name, plugins[cmd_name][0]) if cmd_name in plugins else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise UnknownName("benchmark", args[0], self._plugins(), hint=f"`{ctx.command_path} --help` lists them.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._plugins().items()])


class _Value(click.ParamType[Any]):
    """A value of a field, converted and checked by the field."""

    def __init__(self, field: "Field") -> None:
        self.field = field
        names = {int: "INTEGER", float: "NUMBER", str: "TEXT"}
        plain = "PATH" if field.kind.__name__ == "Path" else names.get(field.kind, "VALUE")
        plain = "[" + "|".join(field.option.choices) + "]" if field.option.choices else plain
        self.name = f"{plain},…" if field.many and not field.option.repeatable else plain

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            converted = self.field.convert(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        # A repeated flag is converted one value at a time.
        return converted[0] if self.field.many and self.field.option.repeatable else converted


def option_flags(options: type[Any]) -> Callable[[F], F]:
    """A decorator: a flag, or an argument, for each field of an options struct."""
    from ragstone.benchmarks.options import fields_of  # noqa: PLC0415

    return with_parameters([_parameter(field) for field in fields_of(options).values()])


def with_parameters(parameters: Sequence[click.Parameter]) -> Callable[[F], F]:
    """A decorator that adds these parameters, like click's own."""

    def decorate(function: F) -> F:
        memo: list[click.Parameter] = getattr(function, "__click_params__", [])
        function.__click_params__ = [*memo, *reversed(parameters)]  # type: ignore[attr-defined]
        return function

    return decorate


def _parameter(field: "Field") -> click.Parameter:
    option, name, kind = field.option, _PREFIX + field.name, _Value(field)
    if option.positional:
        metavar = option.metavar or f"{field.name.upper()}{'...' if field.many else ''}"
        nargs = -1 if field.many else 1
        return click.Argument([name], nargs=nargs, type=_each(kind), metavar=metavar, required=field.required)
    if field.kind is bool:
        return click.Option([field.flag, name], is_flag=True, help=option.help)
    several = field.many and option.repeatable
    default = field.default_text
    note = f"  [default: {default}]" if default and not field.required else ""
    return click.Option(
        [field.flag, name], type=kind, multiple=several, required=field.required, metavar=option.metavar or kind.name,
        help=option.help + note,
    )  # fmt: skip


def _each(kind: _Value) -> click.ParamType[Any]:
    """The type of each of several arguments: a comma may be part of a file name."""
    return click.Path(path_type=kind.field.kind) if kind.field.kind.__name__ == "Path" else kind


def take_options(options: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Takes the flags of an options struct that were used out of `values`, by field name."""
    from ragstone.benchmarks.options import fields_of  # noqa: PLC0415

    chosen = {}
    for name, field in fields_of(options).items():
        value = values.pop(_PREFIX + name)
        if field.kind is bool and value:
            chosen[name] = not field.default
        elif field.kind is not bool and value not in (None, ()):
            chosen[name] = value
    return chosen


def check_flags(command: click.Command, plugin: "Plugin") -> click.Command:
    """Raises UsageError if a benchmark has a flag that all benchmarks share."""
    seen: set[str] = set()
    for parameter in command.params:
        for flag in parameter.opts:
            if flag in seen:
                raise UsageError(f"The benchmark {plugin.name} defines {flag}, which every benchmark has: rename it.")
            seen.add(flag)
    return command
