"""Writes `constraints.txt` and `docs/licences.md`, `docs/licences.zh-CN.md`: the versions that were tested, and the
licence of each package that ragstone or one of its extras installs. Run it in the environment of the tests:

    .venv/bin/python scripts/dependencies.py

The tests do without the databases of some extras. What these install is kept in `scripts/not_installed.json`, as its
metadata have it. To renew that, install it beside (`python -m pip install --target FOLDER 'ragstone[chroma,milvus]'`,
with all such extras) and run the script with the folder as its argument.
"""

import argparse
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
RECORDED = Path(__file__).with_name("not_installed.json")
NOT_OF_USERS = ("dev",)  # extras for work on ragstone itself
# Licences under which anybody may use, change and pass on a package together with other software.
ALLOWED = re.compile(
    r"(the )?(mit(-cmu|-0)?|apache(-| )?(software )?(license)?,?( version)?( ?2(\.0)?)?"
    r"|(new |modified |3-clause |2-clause )?bsd([- ].*)?|isc(l)?|0bsd|psf(-2\.0)?|python software foundation"
    r"|python-2\.0(\.1)?|mpl-2\.0|mozilla public license 2\.0 \(mpl 2\.0\)|zlib|unlicense|cc0-1\.0|hpnd|boost.*"
    r"|bsl-1\.0|(llvm|gcc)-exception.*)( license)?( \(.*\))?",
    re.IGNORECASE,
)
# Others may be in an extra only.
ONLY_IN_EXTRAS = {"psycopg": "pgvector", "psycopg-binary": "pgvector"}

PAGES = (  # ending, title, link to the other language, text, columns, of what is not installed
    (
        "",
        "Licences of dependencies",
        "[简体中文](licences.zh-CN.md)",
        "Packages that ragstone or one of its extras installs, and what these need in turn: the version, and the "  # noqa: ISC004
        "licence that its metadata state. The tests run with these versions, except where the line says that they do "
        "without the package. `scripts/dependencies.py` writes this page, and a test checks each licence against its "
        "list.",
        "| package | version | licence | needed by |",
        "not installed in the tests; metadata from {}",
    ),
    (
        ".zh-CN",
        "依赖的许可证",
        "[English](licences.md)",
        "ragstone 及其可选依赖会安装的软件包，以及这些软件包各自的依赖：版本，以及其元数据所写的许可证。"  # noqa: ISC003
        + "除注明测试中未安装的以外，测试所用的就是这些版本。"
        + "本页由 `scripts/dependencies.py` 生成，并有测试按清单检查每个许可证。",
        "| 软件包 | 版本 | 许可证 | 用于 |",
        "测试中未安装，元数据来自 {}",
    ),
)


@dataclass(frozen=True)
class Package:
    """What the metadata of a package say; `source` is "" if it is installed where the tests run."""

    version: str
    licence: str
    requires: tuple[str, ...]
    source: str = ""


@functools.cache
def package_of(name: str) -> Package | None:
    """The package as installed, else as recorded; None if neither is known."""
    try:
        return read(distribution(name))
    except PackageNotFoundError:
        return recorded().get(name)


@functools.cache
def recorded() -> dict[str, Package]:
    table: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
    return {name: Package(**(fields | {"requires": tuple(fields["requires"])})) for name, fields in table.items()}


def read(found: Distribution, source: str = "") -> Package:
    return Package(found.version, licence_in(found), tuple(found.requires or ()), source)


def needed(extras: frozenset[str]) -> dict[str, set[str]]:
    """Package → what it is needed for: "" for ragstone itself, or an extra; with all that these packages need."""
    found: dict[str, set[str]] = {}
    walked: set[tuple[str, str, str]] = set()

    def walk(name: str, extras: frozenset[str], reason: str) -> None:
        package = package_of(name)
        for requirement in map(Requirement, package.requires if package else ()):
            marker = requirement.marker
            if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
                continue
            key = canonicalize_name(requirement.name)
            found.setdefault(key, set()).add(reason)
            new = {(key, extra, reason) for extra in requirement.extras | {""}} - walked
            walked.update(new)
            if new:
                walk(key, frozenset(requirement.extras), reason)

    walk("ragstone", frozenset(), "")
    core = set(found)
    for extra in sorted(extras):
        walk("ragstone", frozenset({extra}), extra)
    return {name: {""} if name in core else reasons for name, reasons in found.items()}


def extras_of_users() -> frozenset[str]:
    package = distribution("ragstone")
    return frozenset(package.metadata.get_all("Provides-Extra") or []) - set(NOT_OF_USERS)


def licence_in(package: Distribution) -> str:
    """The licence as the metadata say it; "" if they say nothing."""
    meta = package.metadata
    classifiers = [
        line.rpartition(" :: ")[2] for line in meta.get_all("Classifier") or [] if line.startswith("License")
    ]
    named = [line for line in classifiers if line != "OSI Approved"]
    first = (meta.get("License") or "").strip().splitlines()[:1]
    return meta.get("License-Expression") or "; ".join(named) or " ".join(first)


def is_allowed(licence: str) -> bool:
    """Whether every part of the licence is on the list; of alternatives one is enough."""
    return bool(licence) and all(
        any(ALLOWED.fullmatch(choice.removeprefix("(").strip()) for choice in part.split(" OR "))
        for part in re.split(r" AND |; | WITH ", licence.strip())
    )


@dataclass(frozen=True)
class Row:
    name: str
    package: Package | None
    reasons: str  # extras, "" for ragstone itself


def rows() -> Iterator[Row]:
    """All that users may get; the package is None if it is neither installed nor recorded."""
    for name, reasons in sorted(needed(extras_of_users()).items()):
        yield Row(name, package_of(name), ", ".join(sorted(reasons)))


def constraints() -> str:
    """The versions that are installed where the tests run, of all that users may get."""
    pins = [f"{row.name}=={row.package.version}" for row in rows() if row.package and not row.package.source]
    head = "# Versions that the tests run with: `make` installs them. Made by scripts/dependencies.py."
    return "\n".join([head, *pins, ""])


def page(title: str, other: str, text: str, columns: str, source: str) -> str:
    lines = []
    for row in rows():
        if row.package is None:
            raise SystemExit(
                f"{row.name} ({row.reasons}) is neither installed nor in {RECORDED.name}: see the docstring."
            )
        origin = f" ({source.format(row.package.source)})" if row.package.source else ""
        cells = (row.name, row.package.version + origin, row.package.licence or "-", row.reasons or "ragstone")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([f"# {title}", "", other, "", text, "", columns, "|---|---|---|---|", *lines, ""])


def record(folder: Path) -> None:
    """Keeps what the metadata of the packages in the folder say of those that are not installed."""
    beside = {canonicalize_name(found.metadata["Name"]): found for found in distributions(path=[str(folder)])}
    table = {name: read(found, "PyPI") for name, found in beside.items() if not is_installed(name)}
    while True:  # what one of these needs may have been installed into the environment meanwhile, or be needed no more
        RECORDED.write_text(json.dumps({name: asdict(table[name]) for name in sorted(table)}, indent=1) + "\n", "utf-8")
        recorded.cache_clear()
        package_of.cache_clear()
        kept = {name: package for name, package in table.items() if name in needed(extras_of_users())}
        if kept == table:
            return
        table = kept


def is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def main() -> None:
    options = argparse.ArgumentParser(description="Writes constraints.txt and docs/licences.md.")
    options.add_argument("folder", type=Path, nargs="?", help="packages that are not installed, to record them")
    if (folder := options.parse_args().folder) is not None:
        record(folder)
    (ROOT / "constraints.txt").write_text(constraints(), "utf-8")
    for ending, *texts in PAGES:
        (ROOT / "docs" / f"licences{ending}.md").write_text(page(*texts), "utf-8")


if __name__ == "__main__":
    main()
