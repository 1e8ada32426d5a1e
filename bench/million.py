"""A run of very many recorded answers: what it adds to their scoring, and what each command on it takes.

    python -m bench.million [--rows 30000] [--keep FOLDER] [--only STEP…]

Makes a file of `--rows` recorded answers (5 passages of 100 words each), scores them with three rule metrics in a bare
loop, then runs `ragstone eval` on the file, the same again (nothing is left to do), a report, the tables, a comparison
with a run of slightly worse answers, a trend of both, exports, a round of labelling and the agreement with labels, the
first pages of `ragstone view` (while nothing is indexed yet), the index of the cases of both runs, and the pages with
that. Each step is a process of its own; its CPU seconds and its peak of memory are the operating system's, those of a
process that it starts included. All steps are taken on the first tenth of the rows, too: "CPU ×" and
"memory ×" say how much more the whole takes, 10 and 1 where time is linear and memory flat.
"""

import argparse
import asyncio
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

METRICS = ("answer_match", "token_f1", "rouge_l")
PASSAGES, WORDS = 5, 100
GOALS = {"ratio": 1.3, "peak_mb": 300.0, "growth": 1.1, "size": 1.2}
PAGES = ("view", "index", "indexed")  # steps that tell the seconds of their parts
EXPORTS = ("csv", "jsonl", "parquet", "xlsx", "junit", "markdown", "latex", "trec")
RAGSTONE = (sys.executable, "-m", "ragstone")
FIRST_PAGES = ("/", "/run?run=a.run", "/cases?run=a.run", "/compare?run=a.run&run=b.run", "/trend?run=a.run&run=b.run")
LATER_PAGES = (
    "/", "/run?run=a.run", "/cases?run=a.run", "/cases?run=b.run&status=wrong&sort=rouge_l",
    "/cases?run=a.run&page=10000", "/cases?run=a.run&q=12345", "/cases?run=a.run&q=eta",
    "/compare?run=a.run&run=b.run", "/compare?run=a.run&run=b.run&cell=lost&page=2", "/trend?run=a.run&run=b.run",
    "/annotate?expert=ann",
)  # fmt: skip


def rows(count: int, *, worse: bool = False) -> Iterator[dict[str, Any]]:
    """Recorded answers whose words are as unevenly frequent as those of a language; `worse`: every tenth is wrong."""
    draw = random.Random(16)
    known = ["".join(draw.choices("etaoinshrdlucmfwypvbgk", k=draw.randint(3, 9))) for _ in range(20_000)]
    pool = draw.choices(known, [1 / (place + 2) for place in range(len(known))], k=1_000_000)

    def text(words: int) -> str:
        start = draw.randrange(len(pool) - words)
        return " ".join(pool[start : start + words])

    for number in range(count):
        reference, question = text(10), f"{text(12)}? {number}"
        passages = [f"{number} {text(WORDS)}" for _ in range(PASSAGES)]
        wrong = text(10)
        answer = f"{text(5)} {wrong if worse and number % 10 == 0 else reference} {text(5)}"
        yield {"id": f"q{number}", "question": question, "answer": answer, "reference": reference, "contexts": passages}


def make(path: Path, count: int, *, worse: bool = False) -> int:
    """Writes the data; returns the bytes of their texts alone."""
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows(count, worse=worse):
            size += sum(len(value) for value in row.values() if isinstance(value, str)) + sum(map(len, row["contexts"]))
            file.write(json.dumps(row) + "\n")
    return size


def score_alone(path: Path) -> dict[str, float]:
    """The metrics called on the rows in a bare loop: only their calls are timed."""
    from ragstone.engine.judge_tools import Judging, open_tools  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415
    from ragstone.types import Case, Passage, Query, Response, Sample  # noqa: PLC0415

    async def opened() -> tuple[Any, ...]:
        async with open_tools(Judging(), METRICS, ModelOptions()) as tools:
            return tuple(tools.metrics)

    metrics, wall, cpu = asyncio.run(opened()), 0.0, 0.0
    with path.open(encoding="utf-8") as file:
        while batch := [json.loads(line) for _, line in zip(range(1000), file, strict=False)]:
            cases = []
            for row in batch:
                sample = Sample(row["id"], row["question"], ((row["reference"],),), language="en")
                passages = tuple(Passage(str(place), text) for place, text in enumerate(row["contexts"]))
                case = Case(row["id"], sample, {}, Query(row["question"], language="en"))
                cases.append((case, Response(row["answer"], passages)))
            started, used = time.perf_counter(), time.process_time()
            for case, response in cases:
                for metric in metrics:
                    metric.score(case, response)
            wall, cpu = wall + time.perf_counter() - started, cpu + time.process_time() - used
    return {"wall": wall, "cpu": cpu}


def first_pages(folder: Path) -> dict[str, float]:
    """The seconds until each first page of the viewer is there, while nothing is known of the runs."""
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        return _taken(folder, FIRST_PAGES, whole=False)


def later_pages(folder: Path) -> dict[str, float]:
    """The seconds until each page is there whole, with what `index` made of the runs."""
    return _taken(folder, LATER_PAGES, whole=True)


def _taken(folder: Path, addresses: Sequence[str], *, whole: bool) -> dict[str, float]:
    """Address → seconds; `whole`: until nothing of the page is still being computed."""
    from starlette.testclient import TestClient  # noqa: PLC0415  (an extra)

    from ragstone.web.app import create_app  # noqa: PLC0415
    from ragstone.web.library import Library  # noqa: PLC0415

    app, taken = create_app(Library([folder / "a.run", folder / "b.run"], folder / "labels.sqlite")), {}
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for address in addresses:
            started = time.perf_counter()
            page = client.get(address)
            while whole and 'hx-trigger="every' in page.text:
                time.sleep(0.1)
                page = client.get(address)
            assert page.status_code == 200, f"{address}: {page.text}"
            taken[address] = time.perf_counter() - started
    app.state.pending.close()
    app.state.cache.close()
    app.state.library.close()
    return taken


def make_indices(folder: Path) -> dict[str, float]:
    """Makes the index of the cases of both runs, as the process of the viewer does; the seconds for each."""
    from ragstone.engine.case_index import open_index  # noqa: PLC0415

    taken = {}
    for name in ("a.run", "b.run"):
        started = time.perf_counter()
        with open_index(folder / name) as index:
            while not index.update(5.0).finished:
                pass
        taken[name] = time.perf_counter() - started
    return taken


def write_labels(folder: Path) -> Path:
    """Labels of two experts for the first 200 questions of the worse run, as a table."""
    path = folder / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "expert", "correct"])
        for number in range(200):
            writer.writerow([f"q{number}", "ann", "no" if number % 10 == 0 else "yes"])
            writer.writerow([f"q{number}", "bob", "no" if number % 9 == 0 else "yes"])
    return path


def measured(command: list[str]) -> dict[str, Any]:
    """Runs a command: wall and CPU seconds, the peak of its memory in MB, and what it printed."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors = process.stderr.read()[-2000:] if process.stderr is not None else ""
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{errors}")
    wall, cpu = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    return {"wall": wall, "cpu": cpu, "peak_mb": usage.ru_maxrss / 1024, "output": output}


def steps(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands, in their order."""

    def evaluate(data: str, run: str) -> list[str]:
        options = ["--metrics", ",".join(METRICS), "--name", "recorded", "--run", str(folder / run)]
        return [*RAGSTONE, "eval", str(folder / data), *options]

    run = str(folder / "a.run")
    inner = [sys.executable, "-m", "bench.million", "--inner"]
    yield "alone", [*inner, "score", str(folder / "a.jsonl")]
    yield "run", evaluate("a.jsonl", "a.run")
    yield "again", evaluate("a.jsonl", "a.run")
    yield "second run", evaluate("b.jsonl", "b.run")
    yield "report", [*RAGSTONE, "report", str(folder / "b.run"), "-o", str(folder / "b.html")]
    yield "show", [*RAGSTONE, "show", run]
    other = str(folder / "b.run")
    yield "compare", [*RAGSTONE, "compare", run, other]
    yield "its report", [*RAGSTONE, "compare", run, other, "--report", str(folder / "ab.html")]
    yield "trend", [*RAGSTONE, "trend", run, other]
    for kind in EXPORTS:
        target = str(folder / f"export.{kind}")
        yield kind, [*RAGSTONE, "export", run, "--format", kind, "-o", target, "--force"]
    labels = ["--labels", str(folder / "labels.sqlite")]
    yield "annotate", [*RAGSTONE, "annotate", other, *labels, "--sample", "200", "--json"]
    yield "agreement", [*RAGSTONE, "agreement", "experts", str(folder / "labels.csv"), "--run", other]
    yield "view", [*inner, "view", str(folder)]
    yield "index", [*inner, "index", str(folder)]
    yield "indexed", [*inner, "indexed", str(folder)]


def measure(count: int, folder: Path, only: list[str]) -> dict[str, Any]:
    """All steps, or those named, on a tenth of the rows and on all; a line for each."""
    print(f"{'step':<12}{'rows':>10}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'CPU ×':>9}{'memory ×':>10}")
    found: dict[str, Any] = {"rows": count, "load": os.getloadavg()[0], "tenth": {}, "whole": {}}
    for part, rows in (("tenth", count // 10), ("whole", count)):
        place = folder / part
        place.mkdir(parents=True, exist_ok=True)
        texts = [make(place / f"{name}.jsonl", rows, worse=name == "b") for name in "ab" if made_of(only)]
        for name, command in steps(place):
            if only and name not in only:
                continue
            if name in ("run", "second run"):
                Path(command[-1]).unlink(missing_ok=True)
            if name == "agreement":
                write_labels(place)
            one = measured(command)
            output = one.pop("output")
            if name == "alone":
                one |= json.loads(output)
            if name in PAGES:
                one["pages"] = json.loads(output)
            print(line(name, rows, one, found["tenth"].get(name) if part == "whole" else None), flush=True)
            found[part][name] = one
        if texts and (run := place / "a.run").exists():
            found["size"] = run.stat().st_size / texts[0]
    return found


def made_of(only: list[str]) -> bool:
    """Whether the data are needed for these steps."""
    return not only or not {"alone", "run", "second run", "again"}.isdisjoint(only)


def line(name: str, rows: int, one: dict[str, Any], tenth: dict[str, Any] | None) -> str:
    """A step in the table; `tenth`: the same on a tenth of the rows."""
    text = f"{name:<12}{rows:>10,}{one['wall']:>9.1f}{one['cpu']:>9.1f}{one['peak_mb']:>9.0f}"
    if tenth is None:
        return text
    return text + f"{one['cpu'] / tenth['cpu']:>9.1f}{one['peak_mb'] / tenth['peak_mb']:>10.2f}"


def conclude(found: dict[str, Any]) -> dict[str, float]:
    """The figures that have goals, printed."""
    whole, tenth = found["whole"], found["tenth"]
    figures = {"size": found["size"]} if "size" in found else {}
    if {"alone", "run"} <= whole.keys():
        figures["ratio"] = whole["run"]["wall"] / whole["alone"]["wall"]
        figures["cpu_ratio"] = whole["run"]["cpu"] / whole["alone"]["cpu"]
    if "run" in whole:
        figures["peak_mb"] = whole["run"]["peak_mb"]
        figures["growth"] = whole["run"]["peak_mb"] / tenth["run"]["peak_mb"]
    labels = {
        "ratio": "run over scoring alone, wall", "cpu_ratio": "run over scoring alone, CPU", "size": "file over texts",
        "peak_mb": "peak of the run, MB", "growth": "that peak over the peak at a tenth",
    }  # fmt: skip
    for name, value in figures.items():
        print(f"{labels[name]:<40}{value:>8.2f}" + (f"   (goal {GOALS[name]})" if name in GOALS else ""))
    for step in PAGES:
        for page, seconds in whole.get(step, {}).get("pages", {}).items():
            before = tenth[step]["pages"][page]
            print(f"{step:<8}{page:<52}{seconds:>8.2f} s   (of a tenth of the rows: {before:.2f} s)")
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--keep", type=Path, help="folder for data and runs, which stay there")
    parser.add_argument("--only", nargs="*", default=[], help="steps to take (needs --keep and what they read)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inner", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inner:
        inner: dict[str, Callable[[Path], dict[str, float]]] = {
            "score": score_alone, "view": first_pages, "index": make_indices, "indexed": later_pages,
        }  # fmt: skip
        print(json.dumps(inner[arguments.inner[0]](Path(arguments.inner[1]))))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # of the index of cases
        found = measure(arguments.rows, folder, arguments.only)
    figures = conclude(found)
    if arguments.json:
        print(json.dumps(found | {"figures": figures}))
    return int(any(figures[name] > goal for name, goal in GOALS.items() if name in figures))


if __name__ == "__main__":
    sys.exit(main())
