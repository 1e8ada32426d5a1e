"""What retrieval and its scores cost, beside the libraries that do the same.

    python bench/retrieval.py [--only PART]... [--threads 2] [--repeat 5] [--passages 400] [--chunks 20k,50k,100k]

Each part runs in a process of its own and prints a line of JSON. A ratio is the median of pairs that were measured one
after the other; goals are about CPU seconds, which other work on the machine disturbs least, and wall times stand
beside them. 1 is returned where a goal is missed.

| part | what | goal |
|---|---|---|
| nearest | the best 5 of 37,800 x 384 for 7,560 queries, beside FAISS's flat index with as many threads | no slower |
| bm25 | 37,800 x 200 words indexed and searched, beside bm25s alone | at most 1.2 times its time |
| rank | 13 measures over 10,000 lists of 100 with many ties, beside pytrec_eval | equal to six digits, no slower |
| pool | fictional pools made, indexed, searched and scored | time grows with the chunks, memory is bounded |
| resume | embedding by local/e5-small, killed and started again | nothing is embedded twice |
| mirage | `ragstone score mirage`: 7,560 x 3 settings, and 3 retrievers | less than 3 s of CPU |
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import operator
import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.peers.retrieval_data import SETTINGS, official_files, tied_lists, unit_vectors, word_texts

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
# "No slower": two runs of the same program differ by so much on a machine that does other work besides.
SAME = 1.05
BM25_TIMES = 1.2
DIGITS = 5e-7
MIRAGE_CPU = 3.0
# A pool's time may grow so much faster than its chunks: larger ones find less in the processor's cache.
LINEAR = 1.3
POOL_KB = 16.0
CHUNKS, DIMENSIONS, QUERIES = 37_800, 384, 7_560
MEASURES = {
    "map": "map", "ndcg": "ndcg", "mrr": "recip_rank", "precision@5": "P_5", "precision@10": "P_10",
    "recall@5": "recall_5", "recall@10": "recall_10", "ndcg@5": "ndcg_cut_5", "ndcg@10": "ndcg_cut_10",
    "map@5": "map_cut_5", "map@10": "map_cut_10", "hit@1": "success_1", "hit@5": "success_5",
}  # fmt: skip
"""Our names, and those of pytrec_eval's results."""


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_turn(repeat: int, what: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Median wall and CPU seconds of each, one after the other in an order that turns; `ratio`: the median of the first
    one's CPU seconds divided by those of each other at its side."""
    wall: dict[str, list[float]] = {name: [] for name in what}
    cpu: dict[str, list[float]] = {name: [] for name in what}
    names = list(what)
    for number in range(repeat):
        for name in names if number % 2 else reversed(names):
            start, clock = time.perf_counter(), time.process_time()
            what[name]()
            cpu[name].append(time.process_time() - clock)
            wall[name].append(time.perf_counter() - start)

    def ratios(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
        ours = times[names[0]]
        return {
            name: round(statistics.median(map(operator.truediv, ours, times[name])), 3) for name in names[1:]
        }  # fmt: skip

    return {
        "wall": {name: round(statistics.median(found), 3) for name, found in wall.items()},
        "cpu": {name: round(statistics.median(found), 3) for name, found in cpu.items()},
        "ratio": ratios(cpu), "wall_ratio": ratios(wall),
    }  # fmt: skip


# --- parts: each gives its figures, and its goals with whether they were reached -------------------------------------


def nearest(args: argparse.Namespace) -> dict[str, Any]:
    """With one thread, and with as many as there are cores."""
    found = {
        f"threads={threads}": _inside(args, "one-nearest", threads=threads) for threads in sorted({1, args.threads})
    }
    goals = {}
    for threads, figures in found.items():
        goals[f"{threads}: at most {SAME} times FAISS's time"] = figures["ours"]["ratio"]["faiss"] <= SAME
        goals[f"{threads}: numpy gives the same rows and scores"] = figures.pop("equal")
    return {**found, "goals": goals}


def one_nearest(args: argparse.Namespace) -> dict[str, Any]:
    """The index that `dense` takes for a pool of this size (`index=auto`) and the one of numpy, beside FAISS alone."""
    import faiss  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    from ragstone.retrieval.nearest import Exact, Faiss  # noqa: PLC0415

    faiss.omp_set_num_threads(args.threads)
    rows, queries = unit_vectors(CHUNKS, DIMENSIONS, 0), unit_vectors(QUERIES, DIMENSIONS, 1)
    alone = faiss.IndexFlatIP(DIMENSIONS)
    alone.add(rows)
    exact, ours = Exact(rows), Faiss(rows)
    found, other = ours.search(queries, 5), exact.search(queries, 5)
    return {
        "ours": in_turn(
            args.repeat, {"ours": lambda: ours.search(queries, 5), "faiss": lambda: alone.search(queries, 5)}
        ),
        "numpy": in_turn(
            args.repeat, {"numpy": lambda: exact.search(queries, 5), "faiss": lambda: alone.search(queries, 5)}
        ),
        "equal": all(map(np.array_equal, found, other)),
    }  # fmt: skip


def bm25(args: argparse.Namespace) -> dict[str, Any]:
    """Once with texts parted at spaces by both, and once with stems, each by its own means."""
    import bm25s  # noqa: PLC0415
    import Stemmer  # noqa: PLC0415

    from ragstone.retrieval.bm25 import terms_of  # noqa: PLC0415

    stemmer = Stemmer.Stemmer("english")

    def parted(some: Sequence[str]) -> Any:
        return [text.split() for text in some]

    def stems(some: Sequence[str]) -> Any:
        return bm25s.tokenize(list(some), stopwords=None, stemmer=stemmer, show_progress=False)

    texts, asked = word_texts(CHUNKS, 200, 0), word_texts(2_000, 10, 1)
    found = {
        "parted": _beside_bm25s(args.repeat, texts, asked, str.split, parted),
        "stems": _beside_bm25s(args.repeat, texts, asked, terms_of(), stems),
    }
    goals = {}
    for kind, figures in found.items():
        # Two sums of the same numbers in another order, in single precision.
        goals[f"{kind}: scores as bm25s has them"] = figures["scores_differ_by"] < 1e-4
        for step in ("index", "search"):
            times = figures[step]["ratio"]["bm25s"]
            goals[f"{kind}: {step} at most {BM25_TIMES} times bm25s's time"] = times <= BM25_TIMES
    return {**found, "goals": goals}


def _beside_bm25s(
    repeat: int, texts: Sequence[str], asked: Sequence[str], terms: Callable[[str], list[str]],
    tokens: Callable[[Sequence[str]], Any],
) -> dict[str, Any]:  # fmt: skip
    import bm25s  # noqa: PLC0415

    from ragstone.retrieval.bm25 import Bm25  # noqa: PLC0415
    from ragstone.types import Passage  # noqa: PLC0415

    passages = [Passage(str(number), text) for number, text in enumerate(texts)]

    def ours() -> Bm25:
        return Bm25("ours", passages, terms)

    def theirs() -> Any:
        index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
        index.index(tokens(texts), show_progress=False)
        return index

    one, other = ours(), theirs()

    def search_ours() -> list[list[Passage]]:
        return asyncio.run(one.retrieve(asked, k=5))

    def search_theirs() -> Any:
        return other.retrieve(tokens(asked), k=5, show_progress=False)

    off = [
        abs((mine.score or 0.0) - its)
        for found, scores in zip(search_ours(), search_theirs()[1].tolist(), strict=True)
        for mine, its in zip(found, scores, strict=False)
    ]
    return {
        "index": in_turn(repeat, {"ours": ours, "bm25s": theirs}),
        "search": in_turn(repeat, {"ours": search_ours, "bm25s": search_theirs}),
        "scores_differ_by": max(off),
    }  # fmt: skip


def rank(args: argparse.Namespace) -> dict[str, Any]:
    """Lists with 21 different scores, so that nearly every document has an equal."""
    import pytrec_eval  # noqa: PLC0415

    from ragstone.metrics import Tools, make_metrics  # noqa: PLC0415
    from ragstone.metrics.rank import scored_lists  # noqa: PLC0415
    from ragstone.types import Case, Passage, Query, Response, Sample  # noqa: PLC0415

    run, labels = tied_lists(10_000)
    asked = {"map", "ndcg", "recip_rank", "P.5,10", "recall.5,10", "ndcg_cut.5,10", "map_cut.5,10", "success.1,5"}
    cases = []
    for query, scored in run.items():
        gold = tuple(
            Passage(one, "", relevant=grade > 0, meta={"grade": grade}) for one, grade in labels[query].items()
        )
        best = [one for _, one in sorted(((score, one) for one, score in scored.items()), reverse=True)]
        case = Case(query, Sample(query, "q", passages=gold), {}, Query("q"))
        cases.append((case, Response("", tuple(Passage(one, "", score=scored[one]) for one in best))))
    metrics = make_metrics(list(MEASURES), Tools())
    ours, theirs = (
        scored_lists(run, labels, list(MEASURES)),
        pytrec_eval.RelevanceEvaluator(labels, asked).evaluate(run),
    )
    off = max(abs(ours[query][mine] - theirs[query][its]) for query in theirs for mine, its in MEASURES.items())
    singly = max(
        abs(float(getattr(metric.score(*case), "value")) - ours[case[0].id][metric.name])  # noqa: B009
        for case in cases[::10]
        for metric in metrics
    )
    times = in_turn(
        args.repeat,
        {
            "ours": lambda: scored_lists(run, labels, list(MEASURES)),
            "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(labels, asked).evaluate(run),
            "a case at a time": lambda: [metric.score(*case) for case in cases for metric in metrics],
        },
    )
    return {
        "lists": len(run), **times, "differ_by": max(off, singly),
        "goals": {
            "equal to pytrec_eval's to six digits, ties included": max(off, singly) < DIGITS,
            f"at most {SAME} times pytrec_eval's time": times["ratio"]["pytrec_eval"] <= SAME,
        },
    }  # fmt: skip


def pool(args: argparse.Namespace) -> dict[str, Any]:
    """Pools of some sizes, each in a process of its own."""
    sizes = [int(size.removesuffix("k")) * (1000 if size.endswith("k") else 1) for size in args.chunks.split(",")]
    found = [_inside(args, "one-pool", "--chunks", str(size)) for size in sizes]
    small, large = found[0], found[-1]
    grown = large["chunks"] / small["chunks"]
    steps = ("make", "index", "search")
    for one in found:
        one["ms_a_query"] = round(one["search"] / one["asked"] * 1000, 3)
    times = {
        "make": round(large["make"] / small["make"] / grown, 2),
        "index": round(large["index"] / small["index"] / grown, 2),
        "search": round(large["ms_a_query"] / small["ms_a_query"] / grown, 2),
    }
    most = max((one["peak_mb"] - one["bare_mb"]) * 1000 / one["chunks"] for one in found)
    return {
        "pools": found, "grows_beside_chunks": times, "kb_a_chunk": round(most, 1), "peak_mb": large["peak_mb"],
        "goals": {
            **{f"{step}: at most {LINEAR} times as much time a chunk": times[step] <= LINEAR for step in steps},
            f"at most {POOL_KB:g} KB of memory a chunk": most <= POOL_KB,
        },
    }  # fmt: skip


def one_pool(args: argparse.Namespace) -> dict[str, Any]:
    """CPU seconds of each step, and the peak. As many questions are searched for in each pool, so that the work grows
    with the chunks alone."""
    from ragstone.benchmarks.mirage.official import retrieval_scores  # noqa: PLC0415
    from ragstone.datasets.fictional.pools import fictional_pool  # noqa: PLC0415
    from ragstone.retrieval.bm25 import Bm25, terms_of  # noqa: PLC0415

    bare, clock = peak(), [time.process_time()]
    made = fictional_pool(int(args.chunks) // 5)
    clock.append(time.process_time())
    index = Bm25("bm25", made.passages, terms_of())
    clock.append(time.process_time())
    asked = made.questions[:: max(1, len(made.questions) // 2_000)][:2_000]
    lists = asyncio.run(index.retrieve([question.text for question in asked], k=5))
    found = {
        question.id: [passage.id in question.gold for passage in its]
        for question, its in zip(asked, lists, strict=True)
    }
    scores = retrieval_scores(found, {question.id: len(question.gold) for question in asked}, 5)
    clock.append(time.process_time())
    make, build, search = (round(end - start, 2) for start, end in itertools.pairwise(clock))
    return {
        "chunks": len(made.passages), "asked": len(asked), "make": make, "index": build, "search": search,
        "bare_mb": round(bare / 1e6), "peak_mb": round(peak() / 1e6), "recall@5": round(scores["recall"], 3),
        "index_mb": round(index.facts["index_bytes"] / 1e6),
    }  # fmt: skip


def resume(args: argparse.Namespace) -> dict[str, Any]:
    """Killed with SIGKILL when half of the vectors are on the disk; then the same again, and once more."""
    with tempfile.TemporaryDirectory() as folder:
        book, kept = Path(folder) / "embedded.jsonl", Path(folder) / "vectors-2.sqlite"
        command = [*_command(args, "one-embedding"), "--folder", folder]
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        while (held := _rows(kept)) < args.passages / 2:
            if child.poll() is not None:
                raise SystemExit("resume: the embedding ended before it could be killed; see above.")
            time.sleep(0.2)
        child.send_signal(signal.SIGKILL)
        child.wait()
        first = time.perf_counter() - start
        before = book.read_text(encoding="utf-8").splitlines()
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        second = time.perf_counter() - start
        after = book.read_text(encoding="utf-8").splitlines()
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        again = len(book.read_text(encoding="utf-8").splitlines()) - len(after)
    twice = len(after) - len(set(after))
    return {
        "passages": args.passages, "kept_when_killed": held, "embedded_before": len(before),
        "embedded_after": len(after) - len(before), "twice": twice, "third_run_embeds": again,
        "seconds": round(first + second, 1), "passages_a_second": round(len(after) / (first + second), 2),
        "goals": {
            "nothing is embedded twice": not twice and len(set(after)) == args.passages,
            "a run of what is there embeds nothing": not again,
        },
    }  # fmt: skip


def one_embedding(args: argparse.Namespace) -> dict[str, Any]:
    """Opens the retriever, and writes a line for each text that the model has embedded."""
    from ragstone.datasets.fictional.pools import fictional_pool  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415
    from ragstone.models.embedder_cached import CachedEmbedder  # noqa: PLC0415
    from ragstone.retrieval import open_retriever  # noqa: PLC0415

    folder = Path(args.folder)
    passages = fictional_pool(-(-args.passages // 5)).passages[: args.passages]
    ask = CachedEmbedder._ask

    async def noted(self: CachedEmbedder, missing: Any, kind: Literal["query", "passage"]) -> Any:
        rows = await ask(self, missing, kind)
        with (folder / "embedded.jsonl").open("a", encoding="utf-8") as book:
            book.writelines(json.dumps(text) + "\n" for text in missing.values())
        return rows

    CachedEmbedder._ask = noted  # type: ignore[method-assign]

    async def run() -> None:
        async with open_retriever("local/e5-small", passages, options=ModelOptions(cache=folder)):
            pass

    asyncio.run(run())
    return {}


def _rows(path: Path) -> int:
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db,
    ):
        return int(db.execute("SELECT COUNT(*) FROM vectors").fetchone()[0])
    return 0


def mirage(args: argparse.Namespace) -> dict[str, Any]:
    """The commands as a user gives them: the starts of four processes and the reading of all files count."""
    if not args.dataset.exists():
        return {"skipped": f"{args.dataset} is not there: ragstone data pull mirage, then --dataset FILE", "goals": {}}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        questions = official_files(args.dataset, folder)
        score = [sys.executable, "-m", "ragstone", "score", "mirage"]
        said = [part for name in SETTINGS for part in (f"--{name}", str(folder / f"{name}.json"))]
        commands = [[*score, "--dataset", str(args.dataset), *said, "--json"]] + [
            [*score, "--pool", str(folder / "doc_pool.json"), "--retrieval", str(folder / f"found-{n}.json"), "--json"]
            for n in range(3)
        ]
        costs, told = [], []
        for command in commands:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                raise SystemExit(f"{' '.join(command[2:5])} failed: {done.stderr[-500:]}")
            costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            told.append(json.loads(done.stdout))
        megabytes = sum(one.stat().st_size for one in folder.iterdir()) / 1e6
    return {
        "questions": questions, "megabytes": round(megabytes), "answers_cpu": round(costs[0], 2),
        "retrievers_cpu": [round(one, 2) for one in costs[1:]], "cpu_seconds": round(sum(costs), 2),
        "goals": {
            f"less than {MIRAGE_CPU:g} s of CPU": sum(costs) < MIRAGE_CPU,
            "every question is scored": told[0]["n"] == questions,
        },
    }  # fmt: skip


# --- processes -------------------------------------------------------------------------------------------------------

PARTS = {"nearest": nearest, "bm25": bm25, "rank": rank, "pool": pool, "resume": resume, "mirage": mirage}
INNER = {"one-nearest": one_nearest, "one-pool": one_pool, "one-embedding": one_embedding}


def _command(args: argparse.Namespace, part: str, *more: str, threads: int = 0) -> list[str]:
    return [
        sys.executable, str(ROOT / "bench" / "retrieval.py"), "--inside", part, "--repeat", str(args.repeat),
        "--threads", str(threads or args.threads), "--passages", str(args.passages), "--dataset", str(args.dataset),
        *more,
    ]  # fmt: skip


def _inside(args: argparse.Namespace, part: str, *more: str, threads: int = 0) -> Any:
    """What a part gives, in a process whose libraries take so many threads."""
    limits = {f"{name}_NUM_THREADS": str(threads or args.threads) for name in ("OPENBLAS", "OMP", "MKL")}
    command = _command(args, part, *more, threads=threads)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT, env=os.environ | limits)
    if done.returncode:
        raise SystemExit(f"{part} failed; see above.")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part alone; may be repeated")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeat", type=int, default=5, help="pairs of measurements")
    parser.add_argument("--passages", type=int, default=400, help="passages that are embedded")
    parser.add_argument("--chunks", default="20k,50k,100k", help="sizes of the fictional pools")
    parser.add_argument(
        "--dataset", type=Path, default=ROOT.parent / "shared" / "data" / "mirage" / "dataset.json",
        help="MIRAGE's dataset.json",
    )  # fmt: skip
    parser.add_argument("--inside", choices=[*PARTS, *INNER], help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.dataset = args.dataset.resolve()
    if args.inside:
        print(json.dumps((PARTS | INNER)[args.inside](args)))
        return 0
    missed = []
    for part in args.only or PARTS:
        load = round(os.getloadavg()[0], 1)
        found = _inside(args, part, "--chunks", args.chunks)
        print(json.dumps({"part": part, "load_before": load, **found}), flush=True)
        missed += [f"{part}: {goal}" for goal, reached in found["goals"].items() if not reached]
    for goal in missed:
        print(f"MISSED {goal}", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
