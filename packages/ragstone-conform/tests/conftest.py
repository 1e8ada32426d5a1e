"""What the tests of the package share: folders of their own, and the command in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told

from ragstone.cli import run
from ragstone_conform.command import PROGRAM


@pytest.fixture
def conform(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Told]:
    """Runs `ragstone-conform` in an empty folder; nothing of the user's is read or written."""
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "en")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Told:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments], PROGRAM)
        out, err = capsys.readouterr()
        return Told(code, out, err)

    return call
