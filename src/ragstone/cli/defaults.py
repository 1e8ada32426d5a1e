"""Defaults of a command's options from the table `[run]` of `ragstone.toml`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ragstone.cli.systems import system_options
from ragstone.cli.trust import with_consent
from ragstone.errors import DataError, UnknownName

_OTHER_SYSTEM = ("--system", "--corpus")


class Configured(click.Command):
    """A command whose options and arguments have their defaults in `[run]`, under their long names without dashes:
    `group-by = ["topic"]`, `fail-under = { answer_match = 0.8 }`. A system on the command line replaces the
    configured one with all its options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        from ragstone.api.project_config import CONFIG, run_settings  # noqa: PLC0415

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

    def _defaults(self, settings: Mapping[str, Any], path: Path) -> dict[str, Any]:
        from ragstone.api.project_config import from_folder_of  # noqa: PLC0415

        known = {_key(parameter): parameter for parameter in self.params}
        defaults: dict[str, Any] = {}
        for key, value in settings.items():
            parameter = known.get(key.replace("_", "-"))
            if parameter is None:
                raise DataError(path, str(UnknownName("option", key, known)), field="run")
            values = [f"{name}={item}" for name, item in value.items()] if isinstance(value, dict) else value
            if isinstance(values, str) and (isinstance(parameter.type, click.Path) or ".py:" in values):
                values = from_folder_of(path, values)
            repeated = isinstance(parameter, click.Option) and parameter.multiple
            defaults[parameter.name or ""] = [values] if repeated and not isinstance(values, list) else values
        return defaults


def _key(parameter: click.Parameter) -> str:
    return parameter.opts[0].removeprefix("--")


def _is_default(context: click.Context, parameter: click.Parameter) -> bool:
    return context.get_parameter_source(parameter.name or "") is click.core.ParameterSource.DEFAULT_MAP
