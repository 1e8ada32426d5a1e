"""Defaults of a command's options from the tables `[run]` and `[diagnose]` of `ragstone.toml`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ragstone.commands.options import both, columns_option, judge_options, language_option, table_options
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
        defaults = self._defaults(settings, path)
        if any(argument.partition("=")[0] in _OTHER_SYSTEM for argument in args):
            system = {parameter.name for parameter in system_options(click.Command("system")).params}
            defaults = {name: value for name, value in defaults.items() if name not in system}
        try:
            return super().make_context(info_name, args, parent, default_map=defaults, **extra)
        except click.BadParameter as error:
            if error.ctx is not None and error.param is not None and _is_default(error.ctx, error.param):
                raise DataError(path, error.message, field=f"run.{_key(error.param)}") from None
            raise

    def _defaults(self, settings: Mapping[str, Any], path: Path, field: str = "run") -> dict[str, Any]:
        from ragstone.engine.project_config import from_folder_of  # noqa: PLC0415

        known = {_key(parameter): parameter for parameter in self.params}
        defaults: dict[str, Any] = {}
        for key, value in settings.items():
            parameter = known.get(key.replace("_", "-"))
            if parameter is None:
                raise DataError(path, str(UnknownName("option", key, known)), field=field)
            values = [f"{name}={item}" for name, item in value.items()] if isinstance(value, dict) else value
            if isinstance(values, str) and (isinstance(parameter.type, click.Path) or ".py:" in values):
                values = from_folder_of(path, values)
            repeated = isinstance(parameter, click.Option) and parameter.multiple
            defaults[parameter.name or ""] = [values] if repeated and not isinstance(values, list) else values
        return defaults


class OfProject(Configured):
    """A command that without QUESTIONS is about those of `[run]`: with their columns, its system and its judge, and
    with the options of `[diagnose]`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        given = click.Command.make_context(self, info_name, [*args], parent, **extra)
        return given if given.params["questions"] else super().make_context(info_name, args, parent, **extra)

    def _defaults(self, settings: Mapping[str, Any], path: Path, field: str = "run") -> dict[str, Any]:
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
