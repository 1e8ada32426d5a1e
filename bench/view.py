"""How fast the viewer is with a run of very many records, and how much memory it takes.

    python bench/view.py [--records 100000] [--keep FOLDER]

Makes a run file with as many records, two systems, questions in English and Chinese; builds the index of its cases;
then asks for cases in many ways, with and without a search that was made before, and for the pages of the viewer. Goals
for 1,000,000 records: every kind of query and page below 0.3 s at the 95th percentile, and memory that does not grow
while asking. Wall times mean something on an idle machine only; the seconds of CPU stand beside them.
"""

import argparse
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_plus

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index import CaseIndex
from ragstone.engine.case_index import open_index
from ragstone.runs.entries import CaseResult, CaseRow, ScoreRow, write_cases, write_results
from ragstone.runs.schema import LAYOUT
from ragstone.storage import connect
from ragstone.structs import Scalar, to_json
from ragstone.types import Case, Passage, Query, Response, Sample, Score, Usage

GOAL_SECONDS = 0.3
GOAL_GROWTH = 200.0  # MB while asking
SYSTEMS = ("http/assistant-a", "http/assistant-b")
REPEATS = 15
_BATCH = 2_000
# The most frequent words.
_ENGLISH = "the of plum harvest began in which year company merger revenue policy leave days river museum opened"
_CHINESE = "公司 年假 收购 李子 丰收 博物馆 开放 时间 政策 报销 流程 员工 手册 河流 会议 合同 的 是 在 了"


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident() -> float:
    """The memory that this process has now, in MB."""
    fields = Path("/proc/self/statm").read_text("ascii").split()
    return int(fields[1]) * resource.getpagesize() / 2**20


def vocabulary(draw: random.Random) -> tuple[list[str], list[str]]:
    """English and Chinese words, the most frequent first."""
    english = ["".join(draw.choices("etaoinshrdlucmfwypvbgk", k=draw.randint(3, 9))) for _ in range(20_000)]
    chinese = ["".join(chr(draw.randint(0x4E00, 0x8000)) for _ in range(2)) for _ in range(8_000)]
    return [*_ENGLISH.split(), *english], [*_CHINESE.split(), *chinese]


class Texts:
    """Texts whose words are as unevenly frequent as those of a language."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        words = vocabulary(self._draw)
        self._pools = [
            (self._draw.choices(known, [1 / (n + 2) for n in range(len(known))], k=200_000), space)
            for known, space in zip(words, (" ", ""), strict=True)
        ]

    def text(self, chinese: bool, words: int) -> str:
        pool, space = self._pools[chinese]
        start = self._draw.randrange(len(pool) - words)
        return space.join(pool[start : start + words])


def cases(count: int) -> Iterator[tuple[Case, random.Random, Texts]]:
    texts, draw = Texts(7), random.Random(11)
    pools = [[Passage(f"doc-{n}#{n % 9}", texts.text(zh, 60), meta={}) for n in range(500)] for zh in (False, True)]
    for number in range(count):
        zh = number % 5 < 2
        sample = Sample(
            f"q{number}", texts.text(zh, 12) + f"? {number}", ((texts.text(zh, 2),),), language="zh" if zh else "en",
            meta={"columns": {
                "type": draw.choice(["why", "who", "when", "how many"]), "difficulty": draw.randint(1, 5),
                "document": f"doc-{draw.randrange(500)}",
            }},
        )  # fmt: skip
        passages = tuple(draw.sample(pools[zh], 3))
        query = Query(sample.question, passages, language=sample.language)
        condition: dict[str, Scalar] = {
            "k": draw.choice([3, 5, 10]),
            "retriever": draw.choice(["bm25", "dense", "hybrid"]),
        }
        yield Case(f"{number:07d}", sample, condition, query), draw, texts


def result(system: str, case: Case, draw: random.Random, texts: Texts) -> CaseResult:
    if draw.random() < 0.01:
        return CaseResult(system, case.id, error=to_json("timed_out: no complete reply in 60 s"))
    answer = texts.text(case.sample.language == "zh", 25)
    usage = Usage(draw.randint(500, 3_000), draw.randint(20, 200), 0, 1, 0)
    response = Response(answer, (), usage=usage, seconds=round(draw.expovariate(0.5), 3), model="m-1")
    correct = draw.random() < 0.7
    scores = {
        "faithfulness": round(draw.betavariate(5, 2), 2), "answer_correctness": 1.0 if correct else draw.random() / 2,
        "token_f1": round(draw.random(), 3), "context_recall": float(draw.randint(0, 1)),
    }  # fmt: skip
    rows = [ScoreRow(name, 1, "scored", to_json(Score.of(value)), []) for name, value in scores.items()]
    return CaseResult(system, case.id, to_json(response), scores=rows)


def make_run(path: Path, records: int) -> None:
    """Writes a run file of this many records."""
    meta = {
        "question": {"benchmark": "run"}, "file_id": "bench", "options": {}, "gates": {"answer_correctness": 0.6},
        "metrics": dict.fromkeys(("faithfulness", "answer_correctness", "token_f1", "context_recall"), 1),
    }  # fmt: skip
    with closing(connect(path, LAYOUT)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-200000")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [(key, to_json(value)) for key, value in meta.items()])
        connection.executemany("INSERT INTO systems VALUES (?, '{}')", [(system,) for system in SYSTEMS])
        rows: list[CaseRow] = []
        results: list[CaseResult] = []

        def flush() -> None:
            connection.execute("BEGIN")
            write_cases(connection, rows)
            write_results(connection, results)
            planned = [(item.system_key, item.key, 1, item.key) for item in results]
            connection.executemany("INSERT INTO planned VALUES (?, ?, ?, ?)", planned)
            connection.execute("COMMIT")
            rows.clear()
            results.clear()

        connection.execute("INSERT INTO cells VALUES (1, '{}')")
        for case, draw, texts in cases(records // len(SYSTEMS)):
            rows.append(CaseRow(case.id, to_json(case)))
            results.extend(result(system, case, draw, texts) for system in SYSTEMS)
            if len(rows) >= _BATCH:
                flush()
        flush()


FILTERS = {
    "all, worst first": CaseFilter(),
    "all, by id": CaseFilter(sort="id"),
    "all, by a metric": CaseFilter(sort="-faithfulness"),
    "wrong": CaseFilter(status=("wrong",)),
    "wrong of a system and language": CaseFilter(systems=SYSTEMS[:1], status=("wrong",), languages=("zh",)),
    "condition and column": CaseFilter(conditions={"k": ("5",)}, labels={"type": ("who",), "difficulty": ("1", "2")}),
    "rare value of a column": CaseFilter(labels={"document": ("doc-7",)}),
    "range of two metrics": CaseFilter(metrics={"faithfulness": (None, 0.3), "token_f1": (0.5, 0.9)}),
    "text, an id": CaseFilter(text="0012345"),
    "text, rare": CaseFilter(text="plum museum harvest"),
    "text, frequent": CaseFilter(text="harvest"),
    "text, very frequent": CaseFilter(text="the"),
    "text, Chinese": CaseFilter(text="博物馆"),
    "text, two Chinese characters": CaseFilter(text="丰收"),
    "text, one frequent Chinese character": CaseFilter(text="的"),
    "text, two letters": CaseFilter(text="pl"),
    "text, absent": CaseFilter(text="zzzzqqqq"),
    "text and wrong and a range": CaseFilter(text="revenue", status=("wrong",), metrics={"token_f1": (0.5, None)}),
}


Times = tuple[float, float, float]


def timed(call: Callable[[], Any]) -> Times:
    """The median and the 95th percentile of the seconds that a call takes, and that percentile of the CPU's."""
    walls, cpus = [], []
    call()  # imports, and what is read from the disk once
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    place = round(0.95 * (REPEATS - 1))
    return sorted(walls)[REPEATS // 2], sorted(walls)[place], sorted(cpus)[place]


def _anew(index: CaseIndex, chosen: CaseFilter) -> None:
    """A page of a search that was not made before: a range that every case is in makes it another one."""
    index.page(replace(chosen, metrics={**chosen.metrics, "token_f1": (-random.random(), None)}))


def queries(index: CaseIndex) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every kind of query, by name."""
    total = index.progress().done
    for name, chosen in FILTERS.items():
        yield f"page: {name}", partial(index.page, chosen)
        if chosen.text:
            yield f"page, searched anew: {name}", partial(_anew, index, chosen)
        yield f"facets: {name}", partial(index.facets, chosen)
        row = next(iter(index.page(chosen, size=20).rows[::-1]), None)
        if row is not None:
            key = (row.system_id, row.case_id)
            yield f"neighbours: {name}", partial(index.neighbours, chosen, key)
    yield "page: deep", lambda: index.page(CaseFilter(), offset=total // 2)
    yield "record", lambda: index.record(SYSTEMS[1], f"{total // 5:07d}")
    yield "update: nothing new", lambda: index.update(0.1)


def pages(run: Path, system: str, case: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every page of the viewer about this run, by its address."""
    from starlette.testclient import TestClient  # noqa: PLC0415  (an extra)

    from ragstone.web.app import create_app  # noqa: PLC0415
    from ragstone.web.library import Library  # noqa: PLC0415

    app = create_app(Library([run]))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        queries = [f"/cases?run={run.name}&{chosen.query()}" for chosen in FILTERS.values()]
        case_page = f"/case?run={run.name}&system={quote(system)}&id={case}"
        for address in ("/", f"/run?run={run.name}", *queries, case_page):
            yield f"GET {unquote_plus(address)}", partial(_get, client, address)
    app.state.cache.close()
    app.state.library.close()


def _get(client: Any, address: str) -> None:
    reply = client.get(address)
    assert reply.status_code == 200, f"{address}: {reply.status_code}"


def build(index: CaseIndex) -> list[dict[str, Any]]:
    """Builds the index; how long each part took."""
    start, parts = time.perf_counter(), []
    progress = index.progress()
    while progress.done < progress.total:
        progress = index.update(2)
    parts.append({"part": "filters", "seconds": round(time.perf_counter() - start, 1), "peak_mb": round(peak())})
    start = time.perf_counter()
    while not index.update(2).finished:
        pass
    parts.append({"part": "text and rest", "seconds": round(time.perf_counter() - start, 1), "peak_mb": round(peak())})
    return parts


def measure(records: int, folder: Path) -> dict[str, Any]:
    """Everything, as one JSON object."""
    run = folder / f"{records}.run"
    if not run.exists():
        make_run(run, records)
    before = resident()
    with open_index(run, language="en") as index:
        parts = build(index)
        size = index.path.stat().st_size
    times: dict[str, Times] = {}
    with open_index(run, language="en") as index:
        start = resident()
        for name, call in chain(queries(index), pages(run, SYSTEMS[1], f"{records // 5:07d}")):
            times[name] = timed(call)
            print(f"{times[name][0]:8.3f} {times[name][1]:8.3f} {times[name][2]:8.3f}  {name}", flush=True)
        growth = resident() - start
    slowest = max(p95 for _, p95, _ in times.values())
    return {
        "records": records, "run_mb": round(run.stat().st_size / 2**20), "index_mb": round(size / 2**20),
        "build": parts,
        "mb_before": round(before), "mb_more_after_asking": round(growth), "slowest_p95": round(slowest, 3),
        "slowest_cpu_p95": round(max(cpu for _, _, cpu in times.values()), 3),
        "reached": slowest <= GOAL_SECONDS and growth <= GOAL_GROWTH,
        "seconds": {name: [round(value, 4) for value in triple] for name, triple in times.items()},
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="folder for the run and the index, which are made once")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # of the indices and of what pages keep
        report = measure(arguments.records, folder)
    print(json.dumps(report))
    return 0 if report["reached"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
