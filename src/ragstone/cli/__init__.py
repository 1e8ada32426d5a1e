"""The command line. Thin: parse, call `ragstone.api`, print. Each command is a module, loaded when it is asked for."""

from ragstone.cli.main import run

__all__ = ["run"]
