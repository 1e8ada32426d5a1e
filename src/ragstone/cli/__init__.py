"""The command line: parse, call `ragstone.api`, print. Each command is a module, loaded on demand."""

from ragstone.cli.main import Program, run

__all__ = ["Program", "run"]
