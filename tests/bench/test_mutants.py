"""The mutants: what is changed and what is not, and that a tiny tree is measured as one does by hand."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from bench.mutating import mutant, normalised, sites

from bench import mutants

MODULE = '''
"""Docstring: 1 < 2 is not touched."""

from dataclasses import dataclass

__all__ = ["Deep", "f"]
TABLE = {"a": 1, "b": (2, True)}
LIMIT: int = 3


@dataclass(frozen=True)
class Deep:
    size: int = 4

    def inner(self) -> bool:
        return self.size > LIMIT and not self.size == 9


def f(n: int, label: str = "5") -> str:
    if n:
        print(n)
    for _ in range(n - 1):
        continue
    return label + " items"
'''


def changes(source: str) -> set[tuple[str, str]]:
    tree = ast.parse(source)
    path = Path("src/m.py")
    return {(found.function, found.changed[1]) for site in sites(tree, path) for found in [mutant(tree, site)]}


def test_what_behaves_is_changed_one_place_at_a_time_and_data_and_texts_are_not() -> None:
    assert changes(MODULE) == {
        ("<module>", "+ LIMIT: int = 4"),
        ("Deep", "+ size: int = 5"),
        ("Deep.inner", "+ return self.size >= LIMIT and (not self.size == 9)"),
        ("Deep.inner", "+ return self.size > LIMIT or not self.size == 9"),
        ("Deep.inner", "+ return self.size > LIMIT and self.size == 9"),
        ("Deep.inner", "+ return self.size > LIMIT and (not self.size != 9)"),
        ("Deep.inner", "+ return self.size > LIMIT and (not self.size == 10)"),
        ("Deep.inner", "+ return None"),
        ("f", "+ if not n:"),
        ("f", "+ pass"),
        ("f", "+ for _ in range(n + 1):"),
        ("f", "+ for _ in range(n - 2):"),
        ("f", "+ break"),
        ("f", "+ return None"),
    }


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("a <= b", "a < b"), ("a is None", "a is not None"), ("a in b", "a not in b"), ("a // b", "a * b"),
        ("a % 7", "a // 7"), ("-a", "a"), ("[x for x in a if x]", "[x for x in a if not x]"), ("0.5", "1.5"),
        ("a if b else c", "a if not b else c"), ("a | b", "a & b"), ("f(a)", "pass"), ("a -= b", "a += b"),
    ],
)  # fmt: skip
def test_each_kind_of_change(code: str, changed: str) -> None:
    assert f"+ {changed}" in {text for _, text in changes(code)}


def test_a_tree_is_as_before_after_a_mutant_was_made_of_it() -> None:
    tree = ast.parse(MODULE)
    made = [mutant(tree, site) for site in sites(tree, Path("src/m.py"))]
    assert ast.unparse(tree) + "\n" == normalised(MODULE)
    assert all(one.source != normalised(MODULE) for one in made)


CONFIG = """
[areas.small]
modules = ["src/small"]
tests = ["tests/test_small.py"]

[[equivalents]]
path = "src/small/__init__.py"
function = "largest"
changed = ["- return a if a > b else b", "+ return a if a >= b else b"]
reason = "of two that are equal either is the larger"
"""
SMALL = """
def older(a, b):
    return a > b

def largest(a, b):
    return a if a > b else b

def uncalled(a):
    return -a
"""
TESTS = """
from small import older

def test_older():
    assert older(2, 1)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in (
        ("bench/mutants.toml", CONFIG),
        ("src/small/__init__.py", SMALL),
        ("tests/test_small.py", TESTS),
    ):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path / "tree"


def run(tree: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(mutants.HERE / "mutants.py"), "--root", str(tree), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_killed_survived_and_equivalent_are_told_apart(tree: Path) -> None:
    report = tree / "report.json"
    done = run(tree, "--sample", "50", "--json", str(report))
    assert done.returncode == 0, done.stderr
    found = {(one["function"], one["changed"][1]): one for one in json.loads(report.read_text())}
    assert {key: (one["outcome"], one["reason"]) for key, one in found.items()} == {
        ("older", "+ return a >= b"): ("survived", "1 tests call it"),
        ("older", "+ return None"): ("killed", ""),
        ("largest", "+ return a if a >= b else b"): ("equivalent", "of two that are equal either is the larger"),
        ("largest", "+ return a if not a > b else b"): ("survived", "no test calls it"),
        ("largest", "+ return None"): ("survived", "no test calls it"),
        ("uncalled", "+ return a"): ("survived", "no test calls it"),
        ("uncalled", "+ return None"): ("survived", "no test calls it"),
    }
    out = done.stdout
    assert "survived: src/small/__init__.py:2 older (1 tests call it)\n    - return a > b\n    + return a >= b\n" in out
    assert out.endswith("small: 1 of 6 mutants killed (17%), 1 equivalents drawn\n")
    assert (tree / "src" / "small" / "__init__.py").read_text() == SMALL


def test_a_seed_draws_the_same_mutants_and_another_one_others(tree: Path, tmp_path: Path) -> None:
    area = mutants.read_areas(tree / "bench" / "mutants.toml")[0]["small"]
    copy = mutants.Copy.make(tree, tmp_path / "copy", area)
    first, again, other = ([one.key for one in mutants.drawn(copy, seed)] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)


@pytest.mark.slow
def test_an_area_far_below_the_goal_fails(tree: Path) -> None:
    """And a loop that never ends is killed by the time limit."""
    many = "\n".join(f"def f{n}(a):\n    return a + 1" for n in range(8))
    endless = "def endless(a):\n    while a:\n        a = False\n    return a\n"
    (tree / "src/small/__init__.py").write_text(f"{many}\n{endless}")
    (tree / "tests/test_small.py").write_text(
        "from small import endless\ndef test_it():\n    assert endless(1) is False\n"
    )
    done = run(tree, "--sample", "50", "--patience", "4")
    assert done.returncode == 1
    assert done.stdout.endswith("small: 3 of 27 mutants killed (11%), 0 equivalents drawn\n")


def test_a_name_that_stands_for_nothing_is_told(tree: Path) -> None:
    config = tree / "bench" / "mutants.toml"
    config.write_text(CONFIG.replace("tests/test_small.py", "tests/test_big.py"))
    with pytest.raises(SystemExit, match=r"area 'small': tests/test_big.py is not there"):
        mutants.main(["--root", str(tree)])


def test_the_areas_of_ragstone_name_files_that_are_there() -> None:
    areas, equivalents = mutants.read_areas(mutants.HERE / "mutants.toml")
    assert len(areas) == 14
    for area in areas.values():
        assert area.files(mutants.HERE.parent, area.modules, "*.py")
        assert area.files(mutants.HERE.parent, area.tests, "test_*.py")
    assert all(equivalents.values())


def test_the_equivalents_stand_in_functions_that_are_there() -> None:
    for known in tomllib.loads((Path(mutants.__file__).parent / "mutants.toml").read_text("utf-8"))["equivalents"]:
        tree = ast.parse((Path(mutants.__file__).parents[1] / known["path"]).read_text("utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert known["function"].rpartition(".")[2] in functions | {"<module>"}, known["path"]
