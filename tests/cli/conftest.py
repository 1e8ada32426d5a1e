"""What the tests of commands share: folders of their own, a recorded model, a run file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import KEYS, SMALL, Told, process

from ragstone.cli import run


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's is read or written, and no key is set."""
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ragstone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Runs the command line in this process, and under its own name: reports show the command."""

    def call(*arguments: object) -> Told:
        capsys.readouterr()
        words = [str(argument) for argument in arguments]
        monkeypatch.setattr("sys.argv", ["ragstone", *words])
        code = run(words)
        out, err = capsys.readouterr()
        return Told(code, out, err)

    return call


@pytest.fixture(scope="session")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded model that gives everybody the same answer."""
    path = tmp_path_factory.mktemp("script") / "model.jsonl"
    path.write_text('{"default": "It is 7, the report says."}\n')
    return path


@pytest.fixture(scope="session")
def run_file(tmp_path_factory: pytest.TempPathFactory, script: Path) -> Path:
    """A finished run of two systems. Tests read it only."""
    folder = tmp_path_factory.mktemp("run")
    path = folder / "a.run"
    models = ("--model", "local/extractive", "--model", f"scripted/{script}")
    done = process("bench", "rgb", *models, *SMALL, "--run", path, "--quiet", folder=folder)
    assert done.code == 0, done.err
    return path
