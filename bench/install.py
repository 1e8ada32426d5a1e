"""What the core of ragstone installs: how many distributions, and how many MiB of site-packages.

    python bench/install.py [--extras local,report] [--json]

A fresh virtual environment in a temporary folder gets this checkout with pip, whatever index pip is configured for.
Every distribution counts, ragstone itself too; what the environment came with (pip, setuptools) does not, neither as a
distribution nor in the size. A file counts with its own bytes, compiled bytecode included, as pip leaves it.

Goals, for the core: at most 25 distributions and 130 MiB. Extras have none; their figures are printed without.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
GOALS = {"distributions": 25, "mib": 130.0}
BROUGHT = {"pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack"}
MIB = 2**20
LARGEST = 6


def install(folder: Path, extras: str) -> Path:
    """A fresh environment with ragstone in it; returns its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = f"{ROOT}[{extras}]" if extras else str(ROOT)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return python


def distributions(python: Path) -> list[str]:
    """Names of the installed distributions, without those that the environment came with."""
    command = [str(python), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    listed: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return sorted(one["name"] for one in listed if one["name"] not in BROUGHT)


def sizes(python: Path) -> dict[str, int]:
    """Bytes of each entry of site-packages, without those that the environment came with."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    where = Path(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())
    return {
        entry.name: sum(file.lstat().st_size for file in [entry, *entry.rglob("*")] if not file.is_dir())
        for entry in where.iterdir()
        if entry.name.partition("-")[0].removesuffix(".pth") not in BROUGHT
    }


def main() -> int:
    """Installs and prints; 1 where a goal of the core is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--extras", default="", help="extras to install too, such as local,report")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragstone-install-") as folder:
        python = install(Path(folder) / "venv", args.extras)
        names, entries = distributions(python), sizes(python)
    found = {"distributions": len(names), "mib": sum(entries.values()) / MIB}
    goals = {} if args.extras else GOALS
    if args.json:
        print(json.dumps({"found": found, "goals": goals, "names": names, "bytes": entries}))
    else:
        for key, unit in (("distributions", "distributions"), ("mib", "MiB of site-packages")):
            print(f"{found[key]:6.4g} {unit}" + (f"   (goal {goals[key]:.0f})" if goals else ""))
        print("names:", ", ".join(names))
        largest = sorted(entries, key=entries.__getitem__, reverse=True)[:LARGEST]
        print("largest:", ", ".join(f"{name} {entries[name] / MIB:.1f} MiB" for name in largest))
    return int(any(found[key] > goal for key, goal in goals.items()))


if __name__ == "__main__":
    sys.exit(main())
