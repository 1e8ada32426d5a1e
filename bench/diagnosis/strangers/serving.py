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


def _options(app: str, address: str) -> list[str]:
    """The options of the command for the service at this address."""
    if app == "http_closed":
        places = ["--answer", "answer", "--contexts", "sources[].snippet", "--ids", "sources[].ref"]
        return ["--system", f"{address}/chat", "--body", '{"question": "{question}"}', *places]
    body = '{"question": "{question}", "passages": "{passages}", "top": "{k}"}'
    places = ["--answer", "data.reply", "--contexts", "data.hits[].snippet", "--ids", "data.hits[].ref"]
    search = f'http({address}/search,body={{"q": "{{query}}", "n": "{{k}}"}},contexts=hits[].snippet,ids=hits[].ref)'
    return ["--system", f"{address}/answer", "--body", body, *places, "--retriever", search]


@contextlib.contextmanager
def service(app: str, settings: Settings) -> Iterator[list[str]]:
    """The service on a free port, as options of the command."""
    wanted = json.dumps(asdict(replace(settings, app=app)))
    command = [sys.executable, "-m", "bench.diagnosis.strangers.apps.http_service", wanted]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield _options(app, f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()
