"""Whether the tests fail when the code breaks: sampled mutants of each area, run against the area's own tests.

    python bench/mutants.py [--area report --area needle] [--sample 25] [--seed 0] [--json FILE]

`bench/mutants.toml` names the areas: their modules, their test files, and the mutants that no test could tell from the
code ("equivalents"), each with its reason. The mutants of an area are drawn with the seed from all that
`bench/mutating.py` makes. Each is written into a copy of the tree, and the tests that call the changed function run
there, the quickest first, until one fails; then all tests of their files, and the files that `always` names (they start
processes, into which the record of who calls what does not see). What no test calls has survived. An endless loop ends
by a time limit and counts as killed.

Own code, since no tool at hand fits 10,000 tests and 2 cores: cosmic-ray and mutatest run one test command for every
mutant (and mutatest asks for coverage < 6); mutmut 3 picks tests by function, as this does, but draws no sample, wants
the whole suite run first, and puts a trampoline in place of each function, so that signatures are not what click,
msgspec and our contract tests read.

Ends with 1 where an area of at least 20 mutants is below the goal of 85%.
"""

import argparse
import ast
import contextlib
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.mutating import MODULE, Mutant, mutant, normalised, sites  # noqa: E402

__all__ = ["Area", "Copy", "drawn", "main", "read_areas"]

GOAL, FEWEST = 0.85, 20
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".mutants", "__pycache__", ".*_cache", ".hypothesis", "*.run", "demo"
)
QUIET = "ignore::pytest.PytestAssertRewriteWarning"  # of plug-ins that are loaded before the fork
OPTIONS = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", QUIET]
LOADED = (
    "aiohttp",
    "click",
    "hypothesis",
    "jinja2",
    "matplotlib.figure",
    "msgspec",
    "numpy",
    "openpyxl",
    "pandas",
    "rich",
)


@dataclass(frozen=True)
class Area:
    """Modules and the tests that hold them, relative to the root; folders stand for all their files."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    always: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def files(self, root: Path, which: Sequence[str], pattern: str) -> list[Path]:
        """Files below `root` in order, `without` left out. A name that stands for nothing is an error."""
        found: set[Path] = set()
        for name in which:
            matches = [
                path for place in root.glob(name) for path in (place.rglob(pattern) if place.is_dir() else [place])
            ]
            if not matches:
                raise SystemExit(f"bench/mutants.toml: area {self.name!r}: {name} is not there; correct the name")
            found.update(matches)
        dropped = {path for name in self.without for path in root.glob(name)}
        return sorted(path for path in found if not dropped & {path, *path.parents})


@dataclass
class Verdict:
    """What became of one mutant."""

    area: str
    path: str
    line: int
    function: str
    changed: list[str]
    outcome: Literal["killed", "survived", "equivalent"]
    reason: str = ""


@dataclass
class Copy:
    """A copy of the tree in which the modules of the area are written as `ast.unparse` writes them."""

    root: Path
    area: Area
    modules: list[Path] = field(default_factory=list)
    clock: int = 2_000_000_000

    @classmethod
    def make(cls, tree: Path, target: Path, area: Area) -> "Copy":
        shutil.copytree(tree, target, ignore=LEFT_OUT, symlinks=True)
        made = cls(target, area)
        made.modules = area.files(target, area.modules, "*.py")
        for path in made.modules:
            made.write(path, normalised(path.read_text("utf-8")))
        return made

    def write(self, path: Path, text: str) -> None:
        """Each version with a time of its own: Python must not take the other one's bytecode."""
        path.write_text(text, "utf-8")
        self.clock += 2
        os.utime(path, (self.clock, self.clock))

    def listed(self, names: Iterable[str]) -> str:
        """The argument that stands for these tests: there are too many for a command line."""
        path = self.root / ".mutant-tests"
        path.write_text("\n".join(names), "utf-8")
        return f"@{path}"

    def pytest(self, *arguments: str, seconds: float, **more: str) -> int | None:
        """The exit code of a pytest of its own, or None where the time was up. It is forked from this process, which
        has the libraries loaded and nothing of the tree: half of the time of a small test file is their import."""
        process = get_context("fork").Process(target=self._child, args=(arguments, more))
        process.start()
        process.join(seconds)
        try:
            return process.exitcode
        finally:
            if process.exitcode is None and process.pid is not None:
                os.killpg(process.pid, signal.SIGKILL)
                process.join()

    def _child(self, arguments: Sequence[str], more: Mapping[str, str]) -> None:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        source = str(self.root / "src")
        paths = [source, str(self.root), str(HERE.parent)]
        os.environ.update({"PYTHONPATH": os.pathsep.join(paths), "MUTANTS_SOURCE": source}, **more)
        os.chdir(self.root)
        sys.path[:0] = paths
        os._exit(int(pytest.main([*OPTIONS, *arguments])))


@dataclass
class Record:
    """Which test calls which function, and how long it takes."""

    tests: dict[str, Any]

    @classmethod
    def make(cls, copy: Copy, cache: Path) -> "Record":
        """Each test file in a process of its own, so that what one has cached is not missing in another's record."""
        cache.mkdir(parents=True, exist_ok=True)
        state = hashlib.sha256()
        for path in [*copy.modules, *(p for p in sorted((copy.root / "tests").rglob("*")) if not p.match("test_*.py"))]:
            if path.is_file() and path.suffix != ".pyc":
                state.update(path.read_bytes())
        tests: dict[str, Any] = {}
        for path in copy.area.files(copy.root, copy.area.tests, "test_*.py"):
            name = path.relative_to(copy.root).as_posix()
            mark = hashlib.sha256(state.digest() + name.encode() + path.read_bytes()).hexdigest()
            kept = cache / f"{mark}.json"
            if not kept.exists():
                code = copy.pytest(
                    "-p", "bench.mutants_record", name, "--maxfail=1000", seconds=900, MUTANTS_RECORD=str(kept)
                )
                if code not in (0, 5):
                    print(f"{name}: some tests fail without any mutant (exit {code}); left out", file=sys.stderr)
            tests |= json.loads(kept.read_text("utf-8")) if kept.exists() else {}
        alone = cls({name: found for name, found in tests.items() if found["passed"]})
        kept = cache / f"{hashlib.sha256(json.dumps(alone.tests).encode()).hexdigest()}.together.json"
        if not kept.exists():
            options = ("-p", "bench.mutants_record", copy.listed(alone.tests), "--maxfail=100000")
            copy.pytest(*options, seconds=600 + alone.seconds(alone.tests), MUTANTS_RECORD=str(kept), MUTANTS_SOURCE="")
        together = json.loads(kept.read_text("utf-8"))
        for name in sorted(name for name in alone.tests if not together.get(name, {}).get("passed")):
            print(f"{name}: fails beside the other tests, without any mutant; left out", file=sys.stderr)
            del alone.tests[name]
        return alone

    def calling(self, path: str, function: str) -> list[str]:
        """Node ids, the quickest first. What a module or class does when it is made concerns all who call into it."""
        prefix = f"{path}::" if function == MODULE else f"{path}::{function}."

        def calls(names: list[str]) -> bool:
            return f"{path}::{function}" in names or any(name.startswith(prefix) for name in names)

        found = [name for name, test in self.tests.items() if calls(test["functions"])]
        return sorted(found, key=lambda name: float(self.tests[name]["seconds"]))

    def seconds(self, names: Iterable[str]) -> float:
        """Five times as long as they took, at first and on a quiet machine or not; a file of `always` a minute."""
        return 5 * sum(float(self.tests[name]["seconds"]) if name in self.tests else 60 for name in names)


def read_areas(path: Path) -> tuple[dict[str, Area], dict[tuple[str, str, str], str]]:
    """The areas, and the equivalents with their reasons."""
    document = tomllib.loads(path.read_text("utf-8"))
    areas = {
        name: Area(name, **{key: tuple(values) for key, values in found.items()})
        for name, found in document["areas"].items()
    }
    equivalents = {
        (found["path"], found["function"], "\n".join(found["changed"])): found["reason"]
        for found in document.get("equivalents", [])
    }
    return areas, equivalents


def drawn(copy: Copy, seed: int) -> Iterator[Mutant]:
    """All mutants of the area in the order of the seed; the same ones whatever the size of the sample."""
    places = []
    for path in copy.modules:
        tree = ast.parse(path.read_text("utf-8"))
        places += [(tree, site) for site in sites(tree, path.relative_to(copy.root))]
    random.Random(f"{seed}:{copy.area.name}").shuffle(places)
    for tree, site in places:
        yield mutant(tree, site)


def outcome(copy: Copy, record: Record, changed: Mutant, patience: float) -> tuple[Literal["killed", "survived"], str]:
    """Runs the tests in the copy with this mutant, and takes it out again."""
    source = changed.path.relative_to("src").as_posix()
    names = record.calling(source, changed.function)
    files = {name.split("::")[0] for name in names}
    others = sorted(name for name in record.tests if name.split("::")[0] in files and name not in set(names))
    path = copy.root / changed.path
    original = path.read_text("utf-8")
    copy.write(path, changed.source)
    try:
        for chosen in (names, [*others, *copy.area.always]):
            code = copy.pytest(copy.listed(chosen), seconds=patience + record.seconds(chosen)) if chosen else 0
            if code not in (0, 5):
                return "killed", "time was up" if code is None else ""
    finally:
        copy.write(path, original)
    return "survived", f"{len(names)} tests call it" if names else "no test calls it"


def measure(tree: Path, area: Area, equivalents: dict[tuple[str, str, str], str], args: Any) -> Iterator[Verdict]:
    """The verdicts of one area, `sample` of them besides the equivalents that were drawn."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy.make(tree, Path(folder) / "tree", area)
        record = Record.make(copy, tree / ".mutants")
        count = 0
        for changed in drawn(copy, args.seed):
            if count == args.sample:
                return
            found = (area.name, changed.path.as_posix(), changed.line, changed.function, list(changed.changed))
            if reason := equivalents.get(changed.key):
                yield Verdict(*found, "equivalent", reason)
                continue
            count += 1
            yield Verdict(*found, *outcome(copy, record, changed, args.patience))


def summary(verdicts: Sequence[Verdict]) -> tuple[int, int, int]:
    """How many mutants but equivalents, how many of them killed, and how many equivalents."""
    outcomes = [verdict.outcome for verdict in verdicts]
    return len(outcomes) - outcomes.count("equivalent"), outcomes.count("killed"), outcomes.count("equivalent")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints each survivor and a line an area; 1 where one is below the goal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--area", action="append", help="this area only (repeatable)")
    parser.add_argument("--sample", type=int, default=25, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patience", type=float, default=60, help="seconds a mutant may take beyond its tests")
    parser.add_argument("--json", type=Path, help="write all verdicts to this file")
    parser.add_argument(
        "--root", type=Path, default=HERE.parent, help="the tree, with src, tests and bench/mutants.toml"
    )
    args = parser.parse_args(arguments)
    for module in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    areas, equivalents = read_areas(args.root / "bench" / "mutants.toml")
    if unknown := set(args.area or ()) - set(areas):
        parser.error(f"--area {unknown.pop()}: there are {', '.join(areas)}")
    missed, everything = False, []
    for name in args.area or areas:
        verdicts = []
        for verdict in measure(args.root, areas[name], equivalents, args):
            verdicts.append(verdict)
            if verdict.outcome == "survived":
                place = f"{verdict.path}:{verdict.line} {verdict.function}"
                print("\n    ".join((f"survived: {place} ({verdict.reason})", *verdict.changed)), flush=True)
        count, killed, equal = summary(verdicts)
        share = killed / count if count else 1.0
        missed |= count >= FEWEST and share < GOAL
        print(f"{name}: {killed} of {count} mutants killed ({share:.0%}), {equal} equivalents drawn", flush=True)
        everything += verdicts
    if args.json:
        args.json.write_text(
            json.dumps([asdict(verdict) for verdict in everything], indent=1, ensure_ascii=False), "utf-8"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
