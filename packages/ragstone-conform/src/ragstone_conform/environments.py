"""A virtual environment for each library, made once and kept in the user's cache folder."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

from ragstone.errors import UsageError


def environments_folder() -> Path:
    """The folder of the environments."""
    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "libraries"


def environment(
    name: str,
    packages: Sequence[str],
    folder: Path,
    *,
    without_dependencies: Sequence[str] = (),
    making: Callable[[str, Path], None] | None = None,
) -> Path:
    """The Python of an environment with these packages. Making it takes minutes; `making(name, where)` is called
    before. Raises UsageError with pip's reason."""
    wanted = (*packages, *without_dependencies)
    place = folder / f"{name}-{hashlib.sha256(repr(wanted).encode()).hexdigest()[:8]}"
    python, done = place / "bin" / "python", place / "complete"
    if done.exists():
        return python
    if making is not None:
        making(name, place)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True, capture_output=True)
        _install(python, packages)
        if without_dependencies:
            _install(python, ["--no-deps", *without_dependencies])
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.decode("utf-8", "replace").splitlines() if line.startswith("ERROR")]
        shutil.rmtree(place, ignore_errors=True)
        raise UsageError(
            f"{name} cannot be installed ({(lines or ['pip gave no reason'])[-1][:200]}). Install it yourself and give "
            "that environment's Python."
        ) from None
    done.write_text("\n".join(wanted), encoding="utf-8")
    return python


def _install(python: Path, packages: Sequence[str]) -> None:
    options = ("--quiet", "--disable-pip-version-check", "--retries=1")
    subprocess.run([str(python), "-m", "pip", "install", *options, *packages], check=True, capture_output=True)
