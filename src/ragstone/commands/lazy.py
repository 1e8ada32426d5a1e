"""A group whose commands are imported when they are called rather than when they are listed."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from ragstone.commands.translation import summary_of, translated
from ragstone.errors import UnknownName


class Lazy(click.Group):
    """`table` is name → (module, or module:attribute where that is not `command`; first line of its help)."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], kind: str = "command", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table, self.kind = table, kind

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute or "command")
        return translated(command, cmd_name, module)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.table:
            raise UnknownName(self.kind, args[0], self.table, hint=f"`{ctx.command_path} --help` lists them.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            rows = [
                (name, summary_of(name, text, place.partition(":")[0])) for name, (place, text) in self.table.items()
            ]
            formatter.write_dl(rows)
