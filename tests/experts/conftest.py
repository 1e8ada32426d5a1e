"""What the tests of this capability share with those of other commands."""

from tests.cli.conftest import own_folders, ragstone, run_file, script

__all__ = ["own_folders", "ragstone", "run_file", "script"]
