"""`ragstone annotate`: the round is made, and experts label at the address that is printed."""

import json
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from tests.cli.tools import command, environment
from tests.web.rounds import standing


def test_the_command_makes_the_round_and_serves_its_labels_and_no_run(tmp_path: Path) -> None:
    rows = [{"id": f"q{n}", "question": f"What is {n}?", "answer": f"{n}", "reference": f"{n}"} for n in range(2)]
    (tmp_path / "a.run").write_text("")
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = command("annotate", "data.jsonl", "--port", "0", "--experts", "Ida,Bo", "--as", "Ida")
    environ = environment(tmp_path)
    with subprocess.Popen(
        words, cwd=tmp_path, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line.startswith("Experts label at http://127.0.0.1:"), (line, server.stderr and server.stderr.read())
            address = line.split()[3]
            assert address.endswith("/annotate?expert=Ida")
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert "Is the answer correct?" in answer.read().decode()
            base = address.removesuffix("?expert=Ida")
            asked = urllib.request.Request(
                f"{base}/next", b"expert=Ida&task=correct", {"sec-fetch-site": "same-origin"}
            )
            with urllib.request.urlopen(asked, timeout=60) as answer:
                fields = f"expert=Ida&task=correct&value=yes&item={answer.url.partition('item=')[2]}"
            asked = urllib.request.Request(f"{base}/label", fields.encode(), {"sec-fetch-site": "same-origin"})
            with urllib.request.urlopen(asked, timeout=60) as answer:
                assert "done=1" in answer.url  # Bo has the other item
            with urllib.request.urlopen(base.removesuffix("annotate"), timeout=60) as answer:
                assert "a.run" not in answer.read().decode()
            server.send_signal(signal.SIGINT)
            out, err = server.communicate(timeout=60)
            assert (server.returncode, out, err) == (0, "", "")
        finally:
            server.kill()
    ((expert, task, _), value) = next(iter(standing(tmp_path / "labels.sqlite").items()))
    assert (expert, task, value) == ("Ida", "correct", "yes")


def test_a_team_gets_a_link_each_with_which_nobody_labels_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"id": "q", "question": "What is 1?", "answer": "1", "reference": "1"}\n')
    words = command("annotate", "data.jsonl", "--port", "0", "--host", "0.0.0.0", "--allowed-host", "team.example",
                    "--experts", "Ida,Bo")  # fmt: skip
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment(tmp_path), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            assert "http://team.example:" in server.stdout.readline()
            links = dict(server.stdout.readline().strip().split(": ", 1) for _ in range(2))
            assert set(links) == {"Ida", "Bo"}
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            ida, bo = (urllib.parse.urlsplit(links[name]) for name in ("Ida", "Bo"))
            assert (ida.hostname, bo.hostname) == ("team.example", "team.example")
            port, own = ida.port, ida.query

            def opened(query: str) -> str:
                with browser.open(f"http://127.0.0.1:{port}/annotate?{query}", timeout=60) as answer:
                    return str(answer.read().decode())

            assert "Is the answer correct?" in opened(own)
            with pytest.raises(urllib.error.HTTPError, match="403"):
                opened("expert=Bo")
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/annotate?{own.replace('Ida', 'Bo')}", timeout=60)
        finally:
            server.kill()
