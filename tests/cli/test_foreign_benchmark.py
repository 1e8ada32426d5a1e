"""A benchmark of somebody else's package is a command like any: CONTRIBUTING's example, offered by an entry point."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.tools import Told, environment
from tests.test_docs import example

ENTRY_POINTS = "[ragstone.benchmarks]\ncapitals = their_capitals:PLUGIN\n"
METADATA = "Metadata-Version: 2.1\nName: their-capitals\nVersion: 1.0\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages that has it, as pip installs it."""
    folder = tmp_path_factory.mktemp("site")
    code = example("benchmark").replace('PLUGINS = {"capitals": CapitalsPlugin()}', "PLUGIN = CapitalsPlugin()")
    (folder / "their_capitals.py").write_text(code.replace('["PLUGINS", ', '["PLUGIN", '), encoding="utf-8")
    told = folder / "their_capitals-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(METADATA)
    (told / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


def ragstone(site: Path | None, work: Path, *arguments: object, **variables: str) -> Told:
    path = {} if site is None else {"PYTHONPATH": str(site)}
    ended = subprocess.run(
        [sys.executable, "-m", "ragstone", *map(str, arguments)], cwd=work, env=environment(work, **path, **variables),
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    return Told(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def test_it_is_listed_with_its_flags_in_the_help(site: Path, work: Path) -> None:
    assert "capitals  Capitals of countries: an example." in ragstone(site, work, "bench", "--help").out
    told = ragstone(site, work, "bench", "capitals", "--help").out
    assert "Capitals of countries, each in a document that states it." in told
    assert "--limit INTEGER" in told
    assert "Use only the first N capitals." in told
    assert "--model PROVIDER/MODEL" in told
    refused = ragstone(None, work, "bench", "capitals", "--model", "local/extractive")
    assert (refused.code, "No benchmark named 'capitals'" in refused.err) == (2, True)


def test_it_runs_grows_and_is_read_like_any_other(site: Path, work: Path) -> None:
    bench = ("bench", "capitals", "--model", "local/extractive", "--run", "a.run", "--quiet", "--json")
    dry = ragstone(site, work, *bench, "--limit", 2, "--dry-run").document
    assert (dry["cases"], dry["requests"]) == (2, 0)
    first = ragstone(site, work, *bench, "--limit", 2).document
    assert (first["asked"], first["complete"]) == (2, True)
    more = ragstone(site, work, *bench, "--report", "a.html").document
    assert (more["asked"], more["done"]) == (1, 3)
    (table,) = more["tables"]
    assert (table["columns"], table["rows"][0]["cells"][1]["scored"]) == (["System", "answer_match"], 3)
    page = (work / "a.html").read_text(encoding="utf-8")
    assert all(word in page for word in ("capitals", "None (an example).", "answer_match", "3/3"))
    rows = [json.loads(line) for line in ragstone(site, work, "export", "a.run", "--format", "jsonl").out.splitlines()]
    assert [row["record"]["case"]["id"] for row in rows] == ["capitals/France", "capitals/Japan", "capitals/Peru"]
    ragstone(site, work, "bench", "capitals", "--model", "local/retrieval", "--run", "b.run", "--quiet")
    compared = ragstone(site, work, "compare", "a.run", "b.run", "--json").document
    assert compared["pairs"] == 3


def test_its_cases_are_printed_as_those_of_any_other(site: Path, work: Path) -> None:
    (line,) = ragstone(site, work, "cases", "capitals", "--limit", 1).out.splitlines()
    case = json.loads(line)
    assert (case["case_id"], case["answers"]) == ("capitals/France", [["Paris"]])
    assert case["messages"][-1]["content"].endswith("What is the capital of France?")
    passage = {"id": "positive:0", "text": "The capital of France is Paris.", "relevant": True}
    assert case["passages"] == [passage]


def test_a_wrong_option_is_one_line(site: Path, work: Path) -> None:
    told = ragstone(site, work, "bench", "capitals", "--model", "local/extractive", "--limit", 0)
    assert told.code == 2
    assert "Invalid value for '--limit': 0 is not in the range x>=1." in told.err


def test_a_file_is_a_benchmark_without_any_package(site: Path, work: Path) -> None:
    place = f"{site / 'their_capitals.py'}:PLUGIN"
    told = ragstone(None, work, "bench", place, "--model", "local/extractive", "--run", "f.run", "--json").document
    assert told["done"] == 3
    exported = ragstone(None, work, "export", "f.run", "--format", "csv", RAGSTONE_TRUST=place)
    assert "What is the capital of Peru?" in exported.out


@pytest.mark.parametrize("command", ["show", "export", "report"])
def test_a_strangers_run_file_executes_no_code_of_its_own(command: str, site: Path, work: Path) -> None:
    evil = work / "evil.py"
    trap = (site / "their_capitals.py").read_text(
        encoding="utf-8"
    ) + "\nfrom pathlib import Path\nPath('ran').touch()\n"
    evil.write_text(trap, encoding="utf-8")
    run = work / f"{command}.run"
    place = f"{evil}:PLUGIN"
    assert ragstone(None, work, "bench", place, "--model", "local/extractive", "--run", run, "--quiet").code == 0
    (work / "ran").unlink()
    options = {"export": ("--format", "csv"), "report": ("-o", "x.html")}
    ended = ragstone(None, work, command, run, *options.get(command, ()))
    assert not (work / "ran").exists()
    assert (ended.code, "RAGSTONE_TRUST=" in ended.err, len(ended.err.splitlines())) == (2, True, 1)
