"""The licence of every package that users get lets them use it, and the lists of the repository name each."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

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
    rows = list(dependencies.rows())
    refused = [
        (name, licence) for name, version, licence, _ in rows if version and not dependencies.is_allowed(licence)
    ]
    assert [name for name, _ in refused if name not in dependencies.ONLY_IN_EXTRAS] == []
    core = {name for name, _, _, reasons in rows if not reasons}
    assert {"aiohttp", "numpy", "click"} <= core
    assert core.isdisjoint(dependencies.ONLY_IN_EXTRAS)
    named = {name: reasons for name, _, _, reasons in rows}
    assert named["psycopg"] == "pgvector"


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


@pytest.mark.parametrize("page", ["docs/licences.md", "docs/licences.zh-CN.md"])
def test_the_list_names_every_package(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert [name for name in script().needed(script().extras_of_users()) if f"| {name} |" not in text] == []


def test_the_constraints_have_one_version_of_each_package_that_was_tested() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()[1:]
    pinned = dict(line.split("==") for line in lines)
    assert len(pinned) == len(lines) > 50
    listed = (ROOT / "docs" / "licences.md").read_text("utf-8")
    assert [name for name, version in pinned.items() if f"| {name} | {version} |" not in listed] == []
