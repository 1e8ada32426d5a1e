"""What the tests of this capability share with those of other commands."""

from tests.cli.conftest import own_folders, ragstone, run_file, script
from tests.report.conftest import opened

__all__ = ["opened", "own_folders", "ragstone", "run_file", "script"]
