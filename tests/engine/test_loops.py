"""The blocking form where it is called for real: in the cell of a notebook, in a script under uvloop, in a server.

A kernel and uvloop are no dependencies of ragstone's: they run in an environment of their own, made at the first run.
"""

import html
import json
import re
import subprocess
from pathlib import Path

import platformdirs
import pytest
from bench.peers.environment import environment

import ragstone

pytestmark = pytest.mark.slow

ROWS = '[{"question": "How tall?", "answer": "It is 5 m.", "contexts": ["It is 5 m."], "reference": "5 m"}]'

# Runs the cell (standard input) in a kernel and prints what it prints and displays, or the error that it ends with.
NOTEBOOK = """
import json, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    client.execute(sys.stdin.read())
    while True:
        message = client.get_iopub_msg(timeout=60)
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and content["name"] == "stdout":
            print(content["text"], end="")
        if kind in ("display_data", "execute_result"):
            print(json.dumps(content["data"]))
        if kind == "error":
            sys.exit("\\n".join(content["traceback"]))
        if kind == "status" and content["execution_state"] == "idle":
            break
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""

# The same for several cells (a JSON list): a line for each, with what it displays.
CELLS = """
import json, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    for cell in json.load(sys.stdin):
        client.execute(cell)
        displayed = []
        while True:
            message = client.get_iopub_msg(timeout=300)
            kind, content = message["msg_type"], message["content"]
            if kind in ("display_data", "execute_result"):
                displayed.append(content["data"])
            if kind == "error":
                sys.exit("\\n".join(content["traceback"]))
            if kind == "status" and content["execution_state"] == "idle":
                break
        print(json.dumps(displayed))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""

CELL = f"""
import asyncio, ragstone
ticks = []
async def tick():
    while True:
        ticks.append(1)
        await asyncio.sleep(0)
beside = asyncio.create_task(tick())
loop, run_once = asyncio.get_running_loop(), asyncio.BaseEventLoop._run_once
blocking = ragstone.evaluate({ROWS}, "token_f1", run="a.run")
awaited = await ragstone.evaluate_async({ROWS}, "token_f1", run="a.run")
try:
    ragstone.evaluate({ROWS}, "no_such_metric", run="b.run")
except ragstone.errors.UsageError as error:
    print(type(error).__name__)
print(blocking.outcome.asked, awaited.outcome.asked, blocking.summary == awaited.summary)
print(asyncio.get_running_loop() is loop, asyncio.BaseEventLoop._run_once is run_once, beside.done())
"""

UVLOOP = f"""
import asyncio, uvloop, ragstone

async def server():
    result = await ragstone.evaluate_async({ROWS}, "token_f1", run="a.run")
    try:
        ragstone.evaluate({ROWS}, "token_f1", run="a.run")
    except ragstone.errors.UsageError as error:
        print(error)
    return result.outcome.asked, type(asyncio.get_running_loop()).__module__

print(*uvloop.run(server()))
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
print(ragstone.evaluate({ROWS}, "token_f1", run="b.run").outcome.asked)
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python that has a kernel, uvloop, and this ragstone with what it needs."""
    found, reason = environment("loops", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if found is None:
        pytest.skip(reason)
    return found


def ran(python: Path, folder: Path, program: str, told: str = "") -> list[str]:
    """The lines that a program prints, which sees this ragstone and the packages of this environment."""
    import numpy as np

    paths = [Path(ragstone.__file__).parents[1], Path(np.__file__).parents[1], Path(__file__).parents[2]]
    done = subprocess.run(
        [str(python), "-W", "error::RuntimeWarning", "-c", program], input=told, cwd=folder, capture_output=True,
        text=True, check=False, env={"PYTHONPATH": ":".join(map(str, paths)), "HOME": str(folder), "PATH": "/usr/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_in_a_real_notebook_both_forms_work_and_nothing_is_patched(python: Path, tmp_path: Path) -> None:
    lines = ran(python, tmp_path, NOTEBOOK, CELL)
    assert lines == ["UnknownName", "1 0 True", "True True False"]


# A run of 40 questions, which fails where the topic is refunds, another of the same questions, and two halves of one.
SETUP = """
import ragstone
from pathlib import Path
from ragstone.api import agreement_of_experts, check_gates, read_run
from tests.construction.test_mirage import changed, supporting, written_dump, written_popqa
from tests.construction.test_rgb import ENGLISH, articles
rows = [{"id": f"q{n}", "question": f"How tall is {n}?", "answer": "5 m" if n % 4 else "4", "reference": "5 m",
         "region": "north" if n % 4 else "south"} for n in range(80)]
for name, some in (("whole", rows), ("other", [{**row, "answer": "5 m"} for row in rows])):
    ragstone.evaluate(some, "answer_match", run=f"{name}.run")
for part in (1, 2):
    ragstone.bench("rgb", model="local/extractive", limit=2, fictional_size=2, data_languages="en",
                   shard=f"{part}/2", run=f"{part}.run")
writer, reader = changed(read=ENGLISH.knowing), changed(answering=supporting)
news, dump, popqa = articles(Path(), ENGLISH), written_dump(Path()), written_popqa(Path())
folder = Path("docs"); folder.mkdir()
for name in ("leave", "travel"):
    text = f"The form for {name} is number 17. It is signed by two managers. The office for {name} opens at 9 o'clock. "
    (folder / f"{name}.txt").write_text(text * 3)
labels = [{"id": f"q{n}", "expert": expert, "correct": "yes" if n % 4 else "no"} for n in range(12) for expert in "ab"]
"""
SHOWN = {
    "bench": ('ragstone.bench("rgb", model="local/extractive", limit=2, fictional_size=2, run="b.run")', "extractive"),
    "build_mirage": ('ragstone.build_mirage(popqa, dump, "m", reader, run="m.run")', "Run file: m.run"),
    "build_questions": ('ragstone.build_questions("docs", "q", run="q.run")', "Run file: q.run"),
    "build_rgb": ('ragstone.build_rgb(news, "r", writer, retriever="bm25", run="r.run")', "Run file: r.run"),
    "compare": ('ragstone.compare("whole.run", "other.run")', "answer_match rose"),
    "diagnose": ('ragstone.diagnose(rows[:9], lambda question: "5 m", run="d.run")', "rightly"),
    "evaluate": ('ragstone.evaluate(rows, "answer_match", run="e.run")', "60 of 80 answers are right"),
    "merge": ('ragstone.merge(["1.run", "2.run"], "merged.run")', "Run file: merged.run"),
    "run": ('ragstone.run(rows, lambda question: "5 m", "answer_match", run="u.run")', "80 of 80 answers are right"),
    "slices": ('ragstone.slices("whole.run")', "fails most where"),
    "trend": ('ragstone.trend(["whole.run", "other.run"])', "answer_match rose"),
    "check_gates": ('check_gates("whole.run", {"answer_match": 0.9})', "failed: answer_match ≥ 0.9"),
    "agreement_of_experts": ("agreement_of_experts(labels)", "experts"),
    "read_run": ('read_run("whole.run")', "60 of 80 answers are right"),
}


@pytest.fixture(scope="module")
def displayed(python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, str]]]:
    """What a notebook displays of the result of each public function: the outputs of its cell."""
    folder = tmp_path_factory.mktemp("notebook")
    cells = [SETUP, *(cell for cell, _ in SHOWN.values())]
    first, *others = (json.loads(line) for line in ran(python, folder, CELLS, json.dumps(cells)))
    assert first == []
    return dict(zip(SHOWN, others, strict=True))


@pytest.mark.parametrize("function", SHOWN)
def test_each_public_result_is_one_output_in_a_notebook_and_no_dump(
    displayed: dict[str, list[dict[str, str]]], function: str
) -> None:
    (shown,) = displayed[function]
    assert set(shown) == {"text/plain", "text/html"}
    opening = SHOWN[function][1]
    for text in shown.values():
        assert re.sub("<[^>]+>", "", html.unescape(text)).find(opening) >= 0
        assert not re.search(r"\b[A-Z]\w+\(\w+=|<ragstone|object at 0x", text)
    assert shown["text/html"].startswith(("<p>", "<table>"))


def test_every_public_function_is_among_them() -> None:
    public = {name for name in ragstone.__all__ if not name.endswith(("_async", "__"))}
    assert set(SHOWN) == public | {"check_gates", "agreement_of_experts", "read_run"}


@pytest.mark.parametrize(
    "cell",
    [
        f'ragstone.evaluate({ROWS}, "answer_match", run="a.run")',
        f'ragstone.run({ROWS}, lambda question: "5 m", "answer_match", run="a.run")',
        f'read_run(ragstone.evaluate({ROWS}, "answer_match", run="a.run").run)',
        f'ragstone.diagnose({ROWS}, lambda question: "6 m", run="a.run")',
    ],
)
def test_a_result_in_a_notebook_is_one_output_with_verdict_picture_and_table(
    python: Path, tmp_path: Path, cell: str
) -> None:
    (line,) = ran(python, tmp_path, NOTEBOOK, f"import ragstone\nfrom ragstone.api import read_run\n{cell}")
    shown = json.loads(line)
    assert set(shown) == {"text/plain", "text/html"}
    assert "1 of 1 answers are right" in shown["text/plain"] or "of 1 questions rightly" in shown["text/plain"]
    assert shown["text/html"].startswith("<p><strong>")
    assert "<pre>" in shown["text/html"]
    assert ("<table>" in shown["text/html"]) == ("Scores" in shown["text/plain"])
    assert "Run file: a.run" in shown["text/plain"]


def test_under_uvloop_both_forms_work_and_inside_a_server_the_blocking_one_says_what_to_do(
    python: Path, tmp_path: Path
) -> None:
    advice, awaited, blocking = ran(python, tmp_path, UVLOOP)
    assert "await ragstone.evaluate_async(…)" in advice
    assert awaited == "1 uvloop"
    assert blocking == "1"
