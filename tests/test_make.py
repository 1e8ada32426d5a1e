"""What `make` and continuous integration do: the Python, the environment, the order of the demo."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("sh", "sed", "bash", "dirname", "grep", "env", "cat", "mkdir")


def program(folder: Path, name: str, code: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{code}\n")
    file.chmod(0o755)


def python(folder: Path, name: str, version: str, *, venv: bool = True) -> None:
    """A program that answers as a Python of this version does, with or without its venv module."""
    new = int(version.split(".")[1]) >= 11
    answer = f"case $2 in *ensurepip*) exit {0 if venv else 1};; *) echo {version}; exit {0 if new else 1};; esac"
    program(folder, name, answer)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder with the tools that scripts use, and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    return folder


def script(*arguments: str, path: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": str(path), **more}
    return subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def found(path: Path, *names: str) -> str:
    done = script("sh", "scripts/find-python.sh", *names, path=path)
    assert (done.returncode, done.stderr) == (0, "")
    return Path(done.stdout.strip()).name


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("name", ["python3", "python{}"])
def test_make_finds_a_python_that_is_alone(path: Path, version: str, name: str) -> None:
    python(path, name.format(version), version)
    assert found(path) == name.format(version)


def test_make_passes_over_a_python_that_is_too_old_or_has_no_venv(path: Path) -> None:
    python(path, "python3", "3.10")
    python(path, "python3.13", "3.13", venv=False)
    python(path, "python3.12", "3.12")
    python(path, "python3.11", "3.11")
    assert found(path) == "python3.12"
    assert found(path, "python3.11") == "python3.11"  # make PYTHON=python3.11


def test_without_a_python_one_line_says_what_to_install(path: Path) -> None:
    python(path, "python3", "3.9")
    done = script("sh", "scripts/find-python.sh", path=path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "No Python 3.11 or later" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr
    python(path, "python3.12", "3.12", venv=False)
    done = script("sh", "scripts/find-python.sh", path=path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "apt-get install python3.12-venv" in done.stderr


def test_continuous_integration_passes_on_what_pip_needs_and_nothing_else(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    program(path, "make", f'echo "$@" >>{log}; env >>{log}')
    kept = {"HOME": "/nowhere", "LANG": "C.UTF-8", "PIP_INDEX_URL": "https://index.example/simple", "https_proxy": "x"}
    hidden = {"PYTHONUNBUFFERED": "1", "TERM": "dumb", "OPENAI_API_KEY": "sk-1", "PYTEST_ADDOPTS": "-k none"}
    done = script("bash", ".ci/run", path=path, **kept, **hidden)
    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines()
    assert [line for line in lines if "=" not in line] == ["test", "test-slow"]
    names = {line.partition("=")[0] for line in lines if "=" in line} - {"PWD", "SHLVL", "_", "OLDPWD"}
    assert names == {"PATH", *kept}
    program(path, "make", "exit 7")
    assert script("bash", ".ci/run", path=path, **kept).returncode == 7


def test_the_demo_shows_a_report_before_it_asks_the_language_model(path: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "scripts" / "demo.sh", tmp_path)
    program(path, "ragstone", 'echo "$@" >>calls; echo "$HANDBOOK_FAULT" >>faults')
    environment = {"PATH": str(path), "HOME": str(tmp_path)}
    subprocess.run(["sh", "demo.sh", str(path)], cwd=tmp_path, env=environment, timeout=60, check=True)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].startswith("bench rgb --model local/extractive")
    assert calls[1].startswith("report demo/rgb.run -o demo/report.html")
    assert "local/smollm2" not in " ".join(calls[:2])
    assert {Path(call.split()[3]).name for call in calls if call.startswith("report ")} == {
        "report.html", "report.zh.html", "niah.html", "niah.zh.html", "diagnosis.zh.html",
    }  # fmt: skip
    faults = (tmp_path / "faults").read_text().splitlines()
    broken = [call for call, fault in zip(calls, faults, strict=True) if fault == "rewriter"]
    assert broken == calls[-2:-1]
    assert broken[0].startswith("diagnose examples/handbook/questions.csv --system examples/handbook/app.py:ask")
    assert broken[0].endswith("--report demo/diagnosis.html")
