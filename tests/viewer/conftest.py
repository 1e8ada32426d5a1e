"""The tests of pages share their folder of runs with those of the frame."""

from tests.web.conftest import browse, folder

__all__ = ["browse", "folder"]
