"""The HTTP service in a process of its own, and how a user tells the tool about it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.diagnosis.strangers.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
_OPEN = """
[systems.service]
url = "http://127.0.0.1:{port}/answer"
body = '{{"question": "{{question}}", "passages": "{{passages}}", "top": "{{k}}"}}'
answer = "data.reply"
contexts = "data.hits[].snippet"
ids = "data.hits[].ref"
retrieve.url = "http://127.0.0.1:{port}/search"
retrieve.body = '{{"q": "{{query}}", "n": "{{k}}"}}'
retrieve.contexts = "hits[].snippet"
"""
_CLOSED = """
[systems.service]
url = "http://127.0.0.1:{port}/chat"
body = '{{"question": "{{question}}"}}'
answer = "answer"
contexts = "sources[].snippet"
ids = "sources[].ref"
"""


@contextlib.contextmanager
def service(app: str, settings: Settings, folder: Path) -> Iterator[str]:
    """The service on a free port; its name in `ragstone.toml` of the folder, which is made the current one."""
    wanted = json.dumps(asdict(replace(settings, app=app)))
    command = [sys.executable, "-m", "bench.diagnosis.strangers.apps.http_service", wanted]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            table = _OPEN if app == "http_open" else _CLOSED
            (folder / "ragstone.toml").write_text(table.format(port=port), encoding="utf-8")
            with contextlib.chdir(folder):
                yield "service"
        finally:
            process.terminate()
