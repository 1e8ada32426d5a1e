"""The command as a process: it prints its address, streams progress, and ends quietly."""

import json
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import command, environment, one_line, process
from tests.waiting import until_elsewhere

Start = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `ragstone view` and returns the process with the address that it printed."""
    processes: list[subprocess.Popen[str]] = []

    def begin(*arguments: object) -> tuple[subprocess.Popen[str], str]:
        words = command("view", "--port", "0", *arguments)
        server = subprocess.Popen(
            words, cwd=tmp_path, env=environment(tmp_path), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        processes.append(server)
        assert server.stdout is not None
        line = server.stdout.readline()
        assert "http://" in line, (line, server.stderr and server.stderr.read())
        return server, line.partition("http://")[2].split()[0]

    yield begin
    for server in processes:
        server.kill()
        server.communicate()


def get(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}", timeout=60) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_with_open_streams(start: Start, folder: Path, number: signal.Signals) -> None:
    server, address = start(folder)
    assert "sub%2Fa.run" in get(address)
    unfinished = folder / "sub" / "a.run"
    assert unfinished.is_file()
    with urllib.request.urlopen(f"http://{address}events?run=sub/a.run", timeout=60) as stream:
        assert stream.readline().startswith(b"event: progress")
        server.send_signal(number)
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "", "")


def test_a_token_is_made_and_printed_where_others_can_reach_the_address(start: Start, folder: Path) -> None:
    _, address = start(folder, "--host", "0.0.0.0")
    place, _, token = address.partition("/?token=")
    assert len(token) >= 32
    here = place.replace("0.0.0.0", "127.0.0.1")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        get(f"{here}/")
    with pytest.raises(urllib.error.HTTPError, match="421"):
        urllib.request.urlopen(urllib.request.Request(f"http://{here}/", headers={"Host": "evil.example"}), timeout=60)


def test_on_all_addresses_the_machine_is_called_by_its_own_name_and_by_those_allowed(
    start: Start, folder: Path
) -> None:
    _, address = start(folder, "--host", "0.0.0.0", "--allowed-host", "team.example")
    assert address.startswith("team.example:")
    here = f"http://127.0.0.1:{address.partition(':')[2].partition('/')[0]}/"
    for name, status in (("team.example", 401), (socket.gethostname(), 401), ("10.0.0.1", 401), ("evil.example", 421)):
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            urllib.request.urlopen(urllib.request.Request(here, headers={"Host": name}), timeout=60)


def test_a_taken_port_is_one_line(folder: Path, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        told = process("view", folder, "--port", port, folder=tmp_path)
    one_line(told, f"Port {port} of 127.0.0.1 is in use", "--port")


def test_wrong_places_hosts_and_prices_are_one_line(tmp_path: Path) -> None:
    one_line(process("view", "none", folder=tmp_path), "none: no such file or folder")
    one_line(process("view", ".", "--host", "no.such.host.invalid", folder=tmp_path), "cannot be listened at")
    one_line(process("view", ".", "--price", "1", folder=tmp_path), "--price 1")


def test_the_missing_extra_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no', name='uvicorn')\n")
    told = process("view", ".", folder=tmp_path, PYTHONPATH=str(tmp_path))
    one_line(told, "needs uvicorn", "pip install 'ragstone[view]'")


def events(stream: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream, to its end."""
    kind = ""
    for line in stream:
        name, _, value = line.decode().strip().partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


GATED = """
from pathlib import Path
from threading import Event

def ask(question):
    while int(question.split()[2].strip("?")) >= 10 and not Path("go").exists():
        Event().wait(0.02)
    return "It is 7."
"""


def test_the_progress_of_a_running_run_is_streamed_to_its_end(start: Start, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(GATED)
    (tmp_path / "q.csv").write_text("question,reference\n" + "".join(f"What is {n}?,7\n" for n in range(30)))
    words = command("run", "q.csv", "--system", "slow.py:ask", "--run", "r.run", "--quiet", "--concurrency", "1")
    _, address = start(tmp_path, "--price", "1/2")
    with subprocess.Popen(words, cwd=tmp_path, env=environment(tmp_path), stdout=-3, stderr=-3) as running:
        until_elsewhere(lambda: "r.run" in get(address))
        with urllib.request.urlopen(f"http://{address}events?run=r.run", timeout=60) as stream:
            seen = []
            for event in events(stream):
                seen.append(event)
                if event[1].get("done", 0) >= 5:
                    (tmp_path / "go").touch()
        assert running.wait() == 0
    progress = [data for kind, data in seen if kind == "progress"]
    working = [data for data in progress if data["working"]]
    assert working, seen
    assert "<progress" in working[0]["html"]
    assert [data["done"] for data in progress] == sorted(data["done"] for data in progress)
    assert (progress[-1]["done"], progress[-1]["total"], progress[-1]["html"]) == (30, 30, "")
    assert seen[-1] == ("finished", {"run": "r.run"})


def test_a_file_that_holds_no_labels_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    path = tmp_path / "labels.sqlite"
    path.write_text("no labels " * 500)
    one_line(process("view", ".", "--labels", path, "--port", "0", folder=tmp_path), "it is not an SQLite database")
    assert path.read_text() == "no labels " * 500
