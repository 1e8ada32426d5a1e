"""What the tests of commands use: how a command ended, and real processes."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import click
from tests.servers.threaded import ThreadedServer, serving

ROOT = Path(__file__).parents[2]
RGB_DATA = ROOT.parent / "shared" / "data" / "rgb"
# Data are made as many as are asked for: by default they are a thousand questions, which takes seconds.
SMALL = ("--fictional-size", "2", "--data-language", "en", "--limit", "2", "--noise", "0,0.4")
KEYS = ("OPENAI_API_KEY", "COMPAT_API_KEY", "DASHSCOPE_API_KEY", "DEEPSEEK_API_KEY")


@dataclass(frozen=True)
class Told:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process of its own: folders below `folder`, and nothing that this machine happens to set."""
    passed = ("PATH", "LANG", "COLUMNS", "TMPDIR", "RAGSTONE_TESTS")
    kept = {name: os.environ[name] for name in passed if name in os.environ}
    homes = {name: str(folder / "home" / name) for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "HOME")}
    return (
        kept
        | homes
        | {"PYTHONDONTWRITEBYTECODE": "1", "RAGSTONE_LANGUAGE": "en", "RAGSTONE_TRUST": "ragstone.toml"}
        | more
    )


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ragstone", *(str(argument) for argument in arguments)]


def process(*arguments: object, folder: Path, **more: str) -> Told:
    """Runs the command line in a process of its own, to its end."""
    ended = subprocess.run(
        command(*arguments), cwd=folder, env=environment(folder, **more), capture_output=True, timeout=120, check=False
    )
    return Told(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def one_line(told: Told, *words: str, code: int = 2) -> str:
    """Asserts that the command failed as it should: this code, nothing on standard output, one line with the words."""
    assert told.code == code, told
    assert told.out == ""
    lines = told.err.splitlines()
    assert len(lines) == 1, told.err
    assert "Traceback" not in told.err
    for word in words:
        assert word in told.err, told.err
    return told.err


def commands(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """The command and all below it, each with its path ("bench rgb")."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            below = command.get_command(context, part)
            assert below is not None
            yield from commands(below, f"{name} {part}".strip())


@contextlib.contextmanager
def json_server(reply: Callable[[Any, str | None], Any]) -> Iterator[str]:
    """The address of a server whose answer is what `reply` makes of the JSON body and the header X-Token."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(reply(body, self.headers["X-Token"])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with serving(ThreadedServer(Handler)) as address:
        yield f"{address}/ask"


def untimed(lines: str) -> list[Any]:
    """An export without the times of its answers, which no two runs share."""
    records = [json.loads(line) for line in lines.splitlines()]
    for record in records:
        response = record["record"].get("response") or {}
        for timed in (response, *response.get("steps", ())):
            timed.pop("seconds", None)
        record["record"].pop("system_id", None)
    return records
