"""A benchmark is one folder: what the engine reads of it is declared, and nobody else names it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ragstone
from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.options import fields_of
from ragstone.errors import UsageError
from ragstone.metrics import METRICS
from ragstone.types import Benchmark

SOURCE = Path(ragstone.__file__).parent
OF_BENCHMARKS = re.compile(
    r"benchmarks/(rgb|mirage|niah)/|datasets/|metrics/(rgb_|mirage_|needle)"
    r"|construction/(builders/(rgb|mirage)/|(commands/)?build_(rgb|mirage)\.)"  # constructions of their data
)
NAMED = re.compile(r"(?<![a-z])(rgb|mirage|niah)(?![a-z])", re.IGNORECASE)
# Files that name a format of data, a published size, or a command as an example.
FORMATS = {
    "__init__.py": "functions that construct the data of a benchmark",
    "api/__init__.py": "the same",
    "evaluation/data_check.py": "what a problem of a file is; it is kept beside the reader of RGB's format",
    "benchmarks/plugin.py": "the same",
    "construction/commands/build.py": "formats of the files that are written",
    "cli/doctor.py": "a command to begin with",
    "retrieval/chunkers.py": "sizes of chunks in the papers",
    "retrieval/trec_reader.py": "formats of the files that are read",
}
ENGINE = ("engine", "evaluation", "commands", "cli", "report", "analysis", "runs")
MEMBERS = {name for name in vars(Benchmark) if not name.startswith("_")}


def sources(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not folders or name.startswith(tuple(f"{folder}/" for folder in folders)):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def words_of(module: ast.Module) -> Iterator[str]:
    """Names and texts of a module, but for what stands alone: its docstrings."""
    told = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in told:
                yield text
            case ast.Name(id=text) | ast.Attribute(attr=text):
                yield text
            case ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text) | ast.ClassDef(name=text):
                yield text
            case ast.ImportFrom(module=str(text)):
                yield text


def test_no_benchmark_is_named_outside_its_own_folder() -> None:
    found = {
        name: word
        for name, module in sources()
        if not OF_BENCHMARKS.match(name) and name not in FORMATS
        for word in words_of(module)
        if NAMED.search(word.replace("_", " "))
    }
    assert found == {}


def test_every_exception_is_still_one() -> None:
    modules = dict(sources())
    assert [name for name in FORMATS if not any(map(NAMED.search, words_of(modules[name])))] == []


def test_the_engine_finds_no_member_of_a_benchmark_by_chance() -> None:
    """`hasattr(made, "window")` would make a member that nobody declared."""
    found = [
        (name, node.lineno)
        for name, module in sources(*ENGINE)
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr")
        and len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value in MEMBERS - {"name"}
    ]  # fmt: skip
    assert found == []


def test_the_base_has_a_default_for_all_that_a_small_benchmark_leaves_out() -> None:
    written = {"name", "version", "license", "citation", "template", "metrics", "cases"}
    assert {name for name in MEMBERS - written if not hasattr(BaseBenchmark, name)} == set()


@pytest.mark.parametrize("name", BENCHMARKS.names())
def test_a_plugin_is_named_as_it_is_registered_and_says_what_it_is(name: str) -> None:
    plugin = BENCHMARKS.get(name)
    assert plugin.name == name
    assert plugin.summary.endswith(".")
    assert (plugin.__doc__ or "").strip()
    assert {*plugin.judged, *plugin.own_metrics} <= set(METRICS.names())
    meta = {"question": {"benchmark": name}, "options": {}}
    if name == "ragchecker":  # it reads another program's verdicts, and no run file is its own
        with pytest.raises(UsageError, match="makes no run files"):
            plugin.from_meta(meta)
        return
    assert plugin.from_meta(meta).name == name


@pytest.mark.parametrize("name", [name for name, plugin in BENCHMARKS if plugin.Options is not None])
def test_every_option_has_help_and_a_default_that_it_takes(name: str) -> None:
    options = BENCHMARKS.get(name).Options
    assert options is not None
    for field in fields_of(options).values():
        assert field.option.help.endswith((".", "….", "…", ")")), field.name
        assert field.convert(field.default) == field.default
        if not field.option.default:
            assert field.convert(field.default_text or None) in (field.default, field.default_text)
