"""Writes `constraints.txt` and `docs/licences.md`, `docs/licences.zh-CN.md`: the versions that were tested, and the
licence of each package that ragstone or one of its extras installs. Run it in the environment of the tests:

    .venv/bin/python scripts/dependencies.py
"""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
NOT_OF_USERS = ("dev",)  # extras for work on ragstone itself
# Licences under which anybody may use, change and pass on a package together with other software.
ALLOWED = re.compile(
    r"(the )?(mit(-cmu|-0)?|apache(-| )?(software )?(license)?,?( version)?( ?2(\.0)?)?"
    r"|(new |modified |3-clause |2-clause )?bsd([- ].*)?|isc(l)?|0bsd|psf(-2\.0)?|python software foundation"
    r"|python-2\.0(\.1)?|mpl-2\.0|mozilla public license 2\.0 \(mpl 2\.0\)|zlib|unlicense|cc0-1\.0|hpnd|boost.*"
    r"|bsl-1\.0|(llvm|gcc)-exception.*)( license)?( \(.*\))?",
    re.IGNORECASE,
)
# Packages whose metadata name no licence, or not in words: what their files say. Others may be in an extra only.
STATED = {"psycopg": "LGPL-3.0-only", "psycopg-binary": "LGPL-3.0-only"}
ONLY_IN_EXTRAS = {"psycopg": "pgvector", "psycopg-binary": "pgvector"}

PAGES = (  # ending, title, link to the other language, text, columns, what is not installed
    (
        "",
        "Licences of dependencies",
        "[简体中文](licences.zh-CN.md)",
        "Packages that ragstone or one of its extras installs: the version that was tested, and the licence that its "  # noqa: ISC004
        "metadata state. `scripts/dependencies.py` writes this page, and a test checks each licence against its list.",
        "| package | version | licence | needed by |",
        "not installed in the tests",
    ),
    (
        ".zh-CN",
        "依赖的许可证",
        "[English](licences.md)",
        "ragstone 及其可选依赖会安装的软件包：测试所用的版本，以及其元数据所写的许可证。"  # noqa: ISC003
        + "本页由 `scripts/dependencies.py` 生成，并有测试按清单检查每个许可证。",
        "| 软件包 | 版本 | 许可证 | 用于 |",
        "测试中未安装",
    ),
)


def installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def needed(extras: frozenset[str]) -> dict[str, set[str]]:
    """Package → what it is needed for: "" for ragstone itself, or an extra; with all that these packages need."""
    found: dict[str, set[str]] = {}

    def walk(name: str, asked: frozenset[str], reason: str) -> None:
        package = installed(name)
        for requirement in map(Requirement, (package.requires or []) if package else []):
            marker = requirement.marker
            if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in asked | {""}):
                continue
            key = canonicalize_name(requirement.name)
            if reason not in found.setdefault(key, set()):
                found[key].add(reason)
                walk(key, frozenset(requirement.extras), reason)

    walk("ragstone", frozenset(), "")
    core = set(found)
    for extra in sorted(extras):
        walk("ragstone", frozenset({extra}), extra)
    return {name: {""} if name in core else reasons for name, reasons in found.items()}


def extras_of_users() -> frozenset[str]:
    package = distribution("ragstone")
    return frozenset(package.metadata.get_all("Provides-Extra") or []) - set(NOT_OF_USERS)


def licence_of(name: str) -> str:
    """The licence as its metadata say it; "" where the package is not installed or says nothing."""
    package = installed(name)
    if name in STATED or package is None:
        return STATED.get(name, "")
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


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Name, version, licence and what needs it, of all that users may get; "" for what is not installed here."""
    for name, reasons in sorted(needed(extras_of_users()).items()):
        package = installed(name)
        yield name, package.version if package else "", licence_of(name), ", ".join(sorted(reasons))


def main() -> None:
    table = list(rows())
    pins = [f"{name}=={version}" for name, version, _, _ in table if version]
    head = (
        "# Versions that the tests ran with: pip install -c constraints.txt ragstone. Made by scripts/dependencies.py."
    )
    (ROOT / "constraints.txt").write_text("\n".join([head, *pins, ""]), "utf-8")
    for ending, title, other, text, columns, missing in PAGES:
        lines = [
            f"| {name} | {version or missing} | {licence or '-'} | {reasons or 'ragstone'} |"
            for name, version, licence, reasons in table
        ]
        page = [f"# {title}", "", other, "", text, "", columns, "|---|---|---|---|", *lines, ""]
        (ROOT / "docs" / f"licences{ending}.md").write_text("\n".join(page), "utf-8")


if __name__ == "__main__":
    main()
