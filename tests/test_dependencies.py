"""The licence of every package that users get lets them use it, and the lists of the repository name each."""

import contextlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("dependencies", ROOT / "scripts" / "dependencies.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_dependency_has_a_licence_that_lets_users_use_it() -> None:
    dependencies = script()
    rows = {row.name: row for row in dependencies.rows()}
    unknown = [f"{name} of {row.reasons}: run scripts/dependencies.py" for name, row in rows.items() if not row.package]
    assert unknown == []
    refused = {name: row for name, row in rows.items() if not dependencies.is_allowed(row.package.licence)}
    assert {name: row.reasons for name, row in refused.items()} == dependencies.ONLY_IN_EXTRAS
    core = {name for name, row in rows.items() if not row.reasons}
    assert {"aiohttp", "numpy", "click"} <= core
    assert core.isdisjoint(dependencies.ONLY_IN_EXTRAS)


def test_each_extra_is_walked_to_the_end_whether_it_is_installed_or_not() -> None:
    dependencies = script()
    rows = {row.name: row for row in dependencies.rows()}
    # A package of each, two or more steps away, that nothing but this extra needs.
    for name, extra in (
        ("kubernetes", "chroma"),
        ("milvus-lite", "milvus"),
        ("hpack", "qdrant"),
        ("psycopg", "pgvector"),
    ):
        assert extra in rows[name].reasons
    for extra in dependencies.extras_of_users():
        assert any(extra in row.reasons.split(", ") or not row.reasons for row in rows.values()), extra
    assert {row.package.source for row in rows.values()} <= {"", "PyPI"}
    recorded = dependencies.recorded()
    needed = [name for name, row in rows.items() if row.package.source]
    assert [name for name in needed if not (recorded[name].version and recorded[name].licence)] == []
    assert recorded.keys() - rows.keys() == set()


def test_what_is_recorded_of_a_package_fits_what_pyproject_asks_for() -> None:
    recorded = script().recorded()
    asked = [Requirement(line) for line in importlib.metadata.requires("ragstone") or ()]
    checked = [(one.name, recorded[one.name].version, one.specifier) for one in asked if one.name in recorded]
    assert len(checked) >= 4
    assert [(name, version) for name, version, specifier in checked if version not in specifier] == []


def test_a_dependency_that_nothing_is_known_of_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    dependencies = script()
    monkeypatch.setattr(dependencies, "recorded", dict)
    assert {row.name for row in dependencies.rows() if row.package is None} >= {"chromadb", "pymilvus", "qdrant-client"}
    with pytest.raises(SystemExit, match=r"chromadb \(chroma\) is neither installed nor in not_installed\.json"):
        dependencies.page("", "", "", "", "{}")


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True), ("Apache-2.0 AND BSD-3-Clause", True), ("GPL-3.0 OR MIT", True), ("BSD License", True),
        ("", False), ("LGPL-3.0-only", False), ("GPL-3.0-or-later", False), ("AGPL-3.0", False), ("Proprietary", False),
        ("MIT AND GPL-2.0-only", False), ("GNU General Public License v3 (GPLv3)", False),
    ],
)  # fmt: skip
def test_a_licence_is_read_by_its_parts(licence: str, allowed: bool) -> None:
    assert script().is_allowed(licence) is allowed


@pytest.mark.parametrize(
    ("page", "source"), [("docs/licences.md", "not installed in the tests"), ("docs/licences.zh-CN.md", "测试中未安装")]
)
def test_the_list_names_every_package_its_licence_and_where_that_is_from(page: str, source: str) -> None:
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in (ROOT / page).read_text("utf-8").splitlines()}
    wrong = []
    for row in script().rows():
        cells = (row.package.licence, source) if row.package.source else (row.package.version, row.package.licence)
        if not all(f"{cell}" in lines.get(row.name, "") for cell in cells):
            wrong.append(row.name)
    assert wrong == []


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()[1:]
    found = dict(line.split("==") for line in lines)
    assert len(found) == len(lines)
    return found


def test_the_constraints_are_the_versions_that_these_tests_run_with() -> None:
    """`make` installs what the file says; after an upgrade scripts/dependencies.py writes it anew."""
    differing = {}
    for name, version in pinned().items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # of another system or Python
            if (installed := importlib.metadata.version(name)) != version:
                differing[name] = (version, installed)
    assert differing == {}


def test_the_constraints_pin_every_package_that_users_get_and_the_tests_have() -> None:
    if sys.platform != "linux":
        pytest.skip("the file was made on Linux: other systems need a few other packages")
    pins = pinned()
    installed = {row.name for row in script().rows() if row.package and not row.package.source}
    assert installed - pins.keys() == set()
    assert {"aiohttp", "numpy", "ray", "jinja2"} <= installed
