"""What the tests of the viewer share: a folder of runs, and clients of its pages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.cli.tools import SMALL, process

from ragstone.web.app import create_app
from ragstone.web.library import Library

HERE = "http://127.0.0.1:8720"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of two systems. Tests read it only."""
    folder = tmp_path_factory.mktemp("runs")
    script = folder / "model.jsonl"
    script.write_text('{"default": "It is 7, the report says."}\n')
    models = ("--model", "local/extractive", "--model", f"scripted/{script}")
    done = process("bench", "rgb", *models, *SMALL, "--run", folder / "sub" / "a.run", "--quiet", folder=folder)
    assert done.code == 0, done.err
    return folder


Browse = Callable[..., TestClient]


@pytest.fixture
def browse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Browse]:
    """A client of the pages of some places: browse(folder, token="…")."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    clients: list[TestClient] = []

    def start(*places: Path, labels: Path | None = None, **options: Any) -> TestClient:
        app = create_app(Library(places, labels), **options)
        clients.append(TestClient(app, base_url=HERE, raise_server_exceptions=False))
        return clients[-1].__enter__()

    yield start
    for client in clients:
        client.__exit__()
