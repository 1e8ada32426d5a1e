"""From what a user names to a library that can be run: its file, and a Python that has it."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from ragstone.errors import UsageError
from ragstone.registry import is_place
from ragstone_conform.environments import environment, environments_folder
from ragstone_conform.libraries import LIBRARIES
from ragstone_conform.running import Target

_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+]{0,40}")


def target_of(
    name: str, *, version: str = "", python: Path | None = None, making: Callable[[str, Path], None] | None = None
) -> Target:
    """The library `name`: one of `LIBRARIES`, a file like theirs, or a location `mine:function`. Its environment is
    made where it does not exist yet, after `making(what, where)`. Raises UsageError."""
    if version and not _VERSION.fullmatch(version):
        raise UsageError(f"--version {version[:60]!r} is no version: write it as in 0.4.3.")
    if python is not None and not python.is_file():
        raise UsageError(f"--python {python}: there is no such file. Give an environment's bin/python.")
    own = name.endswith(".py") and Path(name).is_file()
    if own or is_place(name):
        if version:
            raise UsageError(f"--version is for the libraries that ragstone installs; {name} is yours. Use --python.")
        return Target(name, str(Path(name).resolve()) if own else name, python or Path(sys.executable))
    module = LIBRARIES.get(name)
    packages = packages_of(module, version)
    if not packages and version:
        raise UsageError(
            f"--version is for the libraries that ragstone installs; {name} is what runs this. Leave it out."
        )
    if python is None and packages:
        alone = [package for package in packages if package.partition("==")[0] in getattr(module, "ALONE", ())]
        python = environment(
            name, [package for package in packages if package not in alone], environments_folder(),
            without_dependencies=alone, making=making,
        )  # fmt: skip
    return Target(name, str(module.__file__), python or Path(sys.executable))


def packages_of(module: ModuleType, version: str = "") -> tuple[str, ...]:
    """Packages of a library, the first with its version; nothing for one that needs no environment."""
    packages: tuple[str, ...] = getattr(module, "PACKAGES", ())
    if not packages:
        return ()
    same = [package for package in packages[1:] if not package.endswith("==")]
    follow = [f"{package}{version or module.VERSION}" for package in packages[1:] if package.endswith("==")]
    return (f"{packages[0]}=={version or module.VERSION}", *follow, *same)
