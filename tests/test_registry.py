"""Things are found by name, and a name that is wrong gets the nearest right one."""

import sys
from pathlib import Path

import pytest

from ragstone.errors import UnknownName, UsageError
from ragstone.registry import Registry


def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, **modules: str) -> str:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_adding_one_is_adding_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(
        tmp_path, monkeypatch, "kinds_a", one="PLUGINS = {'alpha': 1}", two="PLUGINS = {'beta': 2}", three=""
    )
    registry: Registry[int] = Registry("kind", name, "ragstone.test_none")
    assert registry.names() == ("alpha", "beta")
    assert registry.get("beta") == 2
    assert dict(registry) == {"alpha": 1, "beta": 2}
    assert "alpha" in registry


def test_nothing_is_imported_before_the_first_look_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_b", one="PLUGINS = {'alpha': 1}", _own="raise RuntimeError")
    registry: Registry[int] = Registry("kind", name, "ragstone.test_none")
    assert f"{name}.one" not in sys.modules
    assert registry.get("alpha") == 1
    assert f"{name}.one" in sys.modules


def test_a_wrong_name_gets_the_nearest_right_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_c", one="PLUGINS = {'recall': 1, 'precision': 2}")
    registry: Registry[int] = Registry("metric", name, "ragstone.test_none", hint="`ragstone metrics` lists them.")
    with pytest.raises(UnknownName) as caught:
        registry.get("recal")
    assert str(caught.value) == "No metric named 'recal'. Did you mean 'recall'? `ragstone metrics` lists them."
    assert caught.value.suggestion == "recall"


def test_two_things_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_d", one="PLUGINS = {'a': 1}", two="PLUGINS = {'a': 2}")
    with pytest.raises(UsageError, match="Two kinds are named 'a'"):
        Registry[int]("kind", name, "ragstone.test_none").names()


def test_a_broken_plugin_of_somebody_else_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(tmp_path, monkeypatch, "kinds_e", one="PLUGINS = {'a': 1}")
    (tmp_path / "theirs.py").write_text("import nothing_of_this_name\n")
    told = tmp_path / "theirs-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[ragstone.test_broken]\nb = theirs:thing\n")
    with pytest.raises(UsageError, match=r"The kind 'b' of theirs cannot be loaded from theirs:thing \(ModuleNotFound"):
        Registry[int]("kind", name, "ragstone.test_broken").names()
