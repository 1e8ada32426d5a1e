"""Defaults of a command's options from the tables `[run]` and `[diagnose]` of `ragstone.toml`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from ragstone.commands.gates import Threshold
from ragstone.commands.options import (
    NameList,
    Pairs,
    both,
    columns_option,
    judge_options,
    language_option,
    table_options,
)
from ragstone.errors import DataError, UnknownName
from ragstone.evaluation.commands.systems import system_options
from ragstone.evaluation.commands.trust import with_consent

_OTHER_SYSTEM = ("--system", "--corpus")


class Configured(click.Command):
    """A command whose options and arguments have their defaults in `[run]`, under their long names without dashes:
    `group-by = ["topic"]`, `fail-under = { answer_match = 0.8 }`. A system on the command line replaces the
    configured one with all its options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        from ragstone.engine.project_config import CONFIG, run_settings  # noqa: PLC0415

        path, settings = (CONFIG, {}) if {"-h", "--help"} & {*args} else with_consent(run_settings)
        values = self._defaults(settings, path)
        if any(argument.partition("=")[0] in _OTHER_SYSTEM for argument in args):
            system = {parameter.name for parameter in system_options(click.Command("system")).params}
            values = {name: value for name, value in values.items() if name not in system}
        defaults = {name: value.value for name, value in values.items()}
        try:
            return super().make_context(info_name, args, parent, default_map=defaults, **extra)
        except click.BadParameter as error:
            if error.ctx is not None and error.param is not None and _is_default(error.ctx, error.param):
                value = values[error.param.name or ""]
                raise DataError(value.path, error.message, field=value.field) from None
            raise

    def _defaults(self, settings: Mapping[str, Any], path: Path, table: str = "run") -> "dict[str, _Default]":
        from ragstone.engine.project_config import from_folder_of  # noqa: PLC0415

        known = {_key(parameter): parameter for parameter in self.params}
        defaults: dict[str, _Default] = {}
        for key, value in settings.items():
            parameter, field = known.get(key.replace("_", "-")), f"{table}.{key}"
            if parameter is None:
                raise DataError(path, str(UnknownName("option", key, known)), field=table)
            _check_type(path, field, value, parameter)
            values = [f"{name}={item}" for name, item in value.items()] if isinstance(value, dict) else value
            if isinstance(values, str) and (isinstance(parameter.type, click.Path) or ".py:" in values):
                values = from_folder_of(path, values)
            values = [values] if _is_repeated(parameter) and not isinstance(values, list) else values
            defaults[parameter.name or ""] = _Default(values, path, field)
        return defaults


class _Default(NamedTuple):
    """The value of an option, and where it is written."""

    value: Any
    path: Path
    field: str


def _check_type(path: Path, field: str, value: Any, parameter: click.Parameter) -> None:
    """Raises DataError unless the value is of the type that the option takes: what click makes of others is a guess."""
    from ragstone.engine import config_values as values  # noqa: PLC0415

    kind: Any = parameter.type
    if isinstance(kind, Pairs | Threshold):
        values.check_table(path, field, value)
    elif isinstance(value, list) and (_is_repeated(parameter) or isinstance(kind, NameList)):
        values.check_value(path, field, value, values.TEXTS)
    else:
        numbers = {click.types.IntParamType: values.INTEGER, click.types.FloatParamType: values.NUMBER,
                   click.types.BoolParamType: values.SWITCH}  # fmt: skip
        expected = [name for click_type, name in numbers.items() if isinstance(kind, click_type)]
        values.check_value(path, field, value, [*expected, values.TEXT][0])


def _is_repeated(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.multiple


class OfProject(Configured):
    """A command that without QUESTIONS is about those of `[run]`: with their columns, its system and its judge, and
    with the options of `[diagnose]`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        given = click.Command.make_context(self, info_name, [*args], parent, **extra)
        return given if given.params["questions"] else super().make_context(info_name, args, parent, **extra)

    def _defaults(self, settings: Mapping[str, Any], path: Path, table: str = "run") -> dict[str, _Default]:
        from ragstone.engine.project_config import run_settings  # noqa: PLC0415

        shared = both(system_options, judge_options, language_option, columns_option, table_options)
        keys = {"questions", *(_key(parameter) for parameter in shared(click.Command("shared")).params)}
        of_run = {key: value for key, value in settings.items() if key.replace("_", "-") in keys}
        own_path, own = with_consent(lambda: run_settings(name="diagnose"))
        return super()._defaults(of_run, path) | super()._defaults(own, own_path, "diagnose")


def _key(parameter: click.Parameter) -> str:
    return parameter.opts[0].removeprefix("--")


def _is_default(context: click.Context, parameter: click.Parameter) -> bool:
    return context.get_parameter_source(parameter.name or "") is click.core.ParameterSource.DEFAULT_MAP
