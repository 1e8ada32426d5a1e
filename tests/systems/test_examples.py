"""The applications of examples/: each is evaluated by one command, offline."""

import contextlib
import os
import re
import runpy
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from bench.peers.environment import environment
from tests.cli.tools import process

import ragstone
from ragstone.responses.stages import passages_at
from ragstone.runs import open_run

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTIONS = EXAMPLES / "handbook" / "questions.csv"


def stages(path: Path, *, empty: str = "") -> set[str]:
    """The stages of the answers of a run, which has all eighty. `empty`: what the application answers where nothing is
    left of what it fetched; no other answer is without passages."""
    with open_run(path) as run:
        responses = [record.response for record in run.records() if record.response is not None]
    assert len(responses) == 80
    bare = [response for response in responses if not response.passages]
    assert bare == [response for response in responses if response.answer == empty]
    for response in bare:
        assert response.empty_retrieval
        assert passages_at(response, "fetch")
        assert passages_at(response, "rerank") == ()
    return {step.name for response in responses for step in response.steps}


def check_scores(document: Any) -> None:
    assert (document["done"], document["failed"]) == (80, 0)
    assert document["scores"]["answer_match"]["mean"] > 0.5


@contextlib.contextmanager
def http_app(fault: str = "") -> Iterator[str]:
    """The address of the application behind HTTP, while it runs."""
    with subprocess.Popen(
        [sys.executable, str(EXAMPLES / "http_app" / "app.py"), "--port", "0"], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "HTTP_APP_FAULT": fault},
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def test_the_application_behind_http(tmp_path: Path) -> None:
    with http_app() as url:
        ended = process("run", QUESTIONS, "--system", url, "--json", "--quiet", "--run", "a.run", folder=tmp_path)
    assert ended.code == 0, ended
    check_scores(ended.document)
    stages(tmp_path / "a.run")


def test_the_application_behind_http_is_diagnosed_by_the_commands_of_its_readme(tmp_path: Path) -> None:
    readme = (EXAMPLES / "http_app" / "README.md").read_text("utf-8")
    shown = re.search(r"ragstone (diagnose .*?)\n```", readme, re.DOTALL)
    table = re.search(r"```toml\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    assert table is not None
    causes = []
    for fault in ("", "retriever"):
        with http_app(fault) as url:
            base = url.removesuffix("/ask")
            command = shown[1].replace("\\\n", " ").replace("http://127.0.0.1:8000", base)
            words = [word.replace("examples/", f"{EXAMPLES}/") for word in shlex.split(command)]
            ended = process(*words, "--json", "--quiet", "--run", f"d{fault}.run", folder=tmp_path)
            (tmp_path / "ragstone.toml").write_text(table[1].replace("http://127.0.0.1:8000", base), "utf-8")
            checked = process("system", "check", "prod", "--json", folder=tmp_path)
        assert ended.code == 0, ended
        found = {name: probe["outcome"] for name, probe in checked.document["interventions"].items()}
        assert found == dict.fromkeys(("passages", "closed_book", "k", "retrieve"), "works")
        causes.append([case["cause"] for case in ended.document["causes"].values()])
    clean, faulty = (counts.count("not_retrieved") for counts in causes)
    assert clean == 0
    assert faulty > 30


@pytest.mark.parametrize(("fault", "cause"), [("rewriter", "rewriting"), ("retriever", "not_retrieved")])
def test_the_fault_that_is_planted_in_the_handbook_is_named(tmp_path: Path, fault: str, cause: str) -> None:
    handbook = EXAMPLES / "handbook"
    causes = []
    for planted in ("", fault):
        ended = process(
            "diagnose", QUESTIONS, "--system", f"{handbook / 'app.py'}:ask", "--retriever",
            f"{handbook / 'app.py'}:search", "--corpus", handbook / "docs", "--json", "--quiet", "--run",
            f"d{planted}.run", folder=tmp_path, HANDBOOK_FAULT=planted,
        )  # fmt: skip
        assert ended.code == 0, ended
        causes.append({name: found["cause"] for name, found in ended.document["causes"].items()})
    clean, faulty = causes
    assert cause not in clean.values()
    broken = [name for name in faulty if clean[name] == "healthy" and faulty[name] != "healthy"]
    assert len(broken) > 10
    assert sum(faulty[name] == cause for name in broken) >= 0.9 * len(broken)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("system", "expected", "empty"),
    [("langchain_app/app.py:chain", {"fetch", "prompt"}, ""),
     # Its postprocessor drops what shares too few words with the question; of some questions that is everything.
     ("llamaindex_app/app.py:engine", {"fetch", "rerank", "prompt"}, "Empty Response")],
)  # fmt: skip
def test_the_applications_of_frameworks(tmp_path: Path, system: str, expected: set[str], empty: str) -> None:
    import json

    import numpy as np

    python, reason = environment("frameworks", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if python is None:
        pytest.skip(reason)
    paths = [Path(ragstone.__file__).parents[1], Path(np.__file__).parents[1]]
    done = subprocess.run(
        [str(python), "-m", "ragstone", "run", str(QUESTIONS), "--system", str(EXAMPLES / system), "--json", "--quiet",
         "--run", "a.run"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path),
             "PATH": "/usr/bin", "RAGSTONE_LANGUAGE": "en", "LANGSMITH_TRACING": "false"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check_scores(json.loads(done.stdout))
    assert stages(tmp_path / "a.run", empty=empty) == expected


def test_the_application_behind_http_lets_as_many_connections_wait_as_a_run_opens() -> None:
    """The standard library lets 5 wait: a diagnosis stood still for two minutes while the others tried again."""
    server_of = runpy.run_path(str(EXAMPLES / "http_app" / "app.py"))["Server"]
    with server_of(("127.0.0.1", 0), None) as server, contextlib.ExitStack() as opened:
        for _ in range(64):  # nobody accepts them
            opened.enter_context(socket.create_connection(server.server_address, timeout=2))
