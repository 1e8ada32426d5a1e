"""BM25 on disk beside BM25 in memory: time, memory, the same results, and a corpus that is never in memory.

    python bench/bm25_disk.py [--sizes 20k,50k,100k] [--language en] [--questions 500]
    python bench/bm25_disk.py --corpus 1000k [--folder DIR]

Each measurement runs in a process of its own. Memory is the peak beyond what the process had with the pool made; for a
corpus it is the whole process. Texts are fictional, with five words of a vocabulary of two million added to each chunk,
so that the vocabulary grows as that of real texts does. `overlap` is the share of the ten best passages in common with
the index in memory; `alone` is that of tantivy's own ranking. 1 is returned where a goal is missed.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

__all__ = ["main"]

SHARD = 20_000  # chunks of one seed, and of one file
WORDS = 2_000_000
MOST = 2_000_000_000  # bytes of memory for a corpus
K = 10


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def shards(chunks: int, language: str) -> Iterator[tuple[list[dict[str, str]], list[str]]]:
    """Rows of so many chunks at a time, and the questions about them."""
    from ragstone.datasets.fictional.pools import fictional_pool  # noqa: PLC0415

    rng = random.Random(0)
    for seed, start in enumerate(range(0, chunks, SHARD)):
        made = fictional_pool(min(SHARD, chunks - start) // 5, seed=seed, language=language)
        rows = []
        for passage in made.passages:
            # Zipf's law: the logarithm of the rank is uniform.
            rare = " ".join(f"w{int(WORDS ** rng.random())}" for _ in range(5))
            rows.append({"id": f"{seed}-{passage.id}", "title": passage.title, "text": f"{passage.text} {rare}"})
        yield rows, [question.text for question in made.questions]


def one_size(args: argparse.Namespace) -> dict[str, Any]:
    """An index of a pool in memory, by `args.kind`."""
    from ragstone.models import ModelOptions  # noqa: PLC0415
    from ragstone.retrieval import open_retriever  # noqa: PLC0415
    from ragstone.types import Passage  # noqa: PLC0415

    pool, asked = list[Passage](), list[str]()
    for rows, questions in shards(args.chunks, args.language):
        pool += [Passage(row["id"], row["text"], title=row["title"]) for row in rows]
        asked += questions
    asked = asked[:: max(1, len(asked) // args.questions)][: args.questions]
    bare, clock, wall = peak(), time.process_time(), time.perf_counter()

    async def run() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as cache:
            options = ModelOptions(cache=Path(cache) if args.cached else None)
            async with open_retriever(f"bm25(index={args.kind})", pool, options=options) as retriever:
                built, built_wall = time.process_time(), time.perf_counter()
                lists = await retriever.retrieve(asked, k=K)
                searched = time.process_time()
                alone = _alone(retriever, asked) if args.kind == "disk" else []
                facts: Any = getattr(retriever, "facts", {})
        return {
            "build_cpu": round(built - clock, 1), "build": round(built_wall - wall, 1),
            "search_ms": round((searched - built) / len(asked) * 1000, 2),
            "peak_mb": round((peak() - bare) / 1e6), "index_mb": round(facts["index_bytes"] / 1e6),
            "lists": [[passage.id for passage in passages] for passages in lists],
            "alone": [[pool[place].id for place in places] for places in alone],
        }  # fmt: skip

    return asyncio.run(run())


def _alone(retriever: Any, asked: Sequence[str]) -> list[list[int]]:
    """The places of the ten best passages by tantivy's own scores."""
    query, occur, searcher = retriever._query, retriever._occur, retriever._searcher
    places = []
    for text in asked:
        terms = [(occur.Should, retriever._term(term)) for term in retriever._terms(text)]
        hits = searcher.search(query.boolean_query(terms), K, count=False).hits
        places.append(searcher.fast_field_values("place", [address for _, address in hits]))
    return places


def sizes(args: argparse.Namespace) -> list[str]:
    """A table of sizes; what is missed."""
    missed = []
    print("| chunks | index | build CPU s | build s | CPU ms a question | memory MB | index MB | overlap@10 |")
    print("|---|---|---|---|---|---|---|---|")
    for size in args.sizes.split(","):
        chunks = _number(size)
        found = {kind: _inside(args, "size", "--chunks", str(chunks), "--kind", kind) for kind in ("memory", "disk")}
        right = found["memory"]["lists"]
        same = _overlap(right, found["disk"]["lists"])
        for kind, name in (("memory", "bm25s"), ("disk", "tantivy")):
            its = found[kind]
            overlap = f"{same:.4f} (alone {_overlap(right, its['alone']):.4f})" if kind == "disk" else ""
            keys = ("build_cpu", "build", "search_ms", "peak_mb", "index_mb")
            print("|", " | ".join([f"{chunks:,}", name, *(str(its[key]) for key in keys), overlap]), "|", flush=True)
        missed += [f"{chunks:,}: overlap@10 of {same:.4f}"] if same < 0.999 else []
    return missed


def _overlap(right: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    shares = [len({*one} & {*other}) / len(one) for one, other in zip(right, found, strict=True) if one]
    return sum(shares) / len(shares)


def corpus(args: argparse.Namespace) -> list[str]:
    """A corpus in files, indexed and asked, then asked again by another process; what is missed."""
    chunks, missed = _number(args.corpus), []
    with tempfile.TemporaryDirectory(dir=args.folder or None) as folder:
        written = _inside(args, "write", "--chunks", str(chunks), "--folder", folder)
        print(json.dumps({"chunks": chunks, **written}), flush=True)
        for turn in ("first", "again"):
            load = round(os.getloadavg()[0], 1)
            found = _inside(args, "asked", "--folder", folder)
            print(json.dumps({"run": turn, "load_before": load, **found}), flush=True)
            if found["peak_mb"] * 1e6 > MOST:
                missed.append(f"{turn}: {found['peak_mb']} MB of memory")
    return missed


def write(args: argparse.Namespace) -> dict[str, Any]:
    """Writes the files, and questions beside them."""
    folder, asked, size = Path(args.folder), list[str](), 0
    (folder / "docs").mkdir()
    for number, (rows, questions) in enumerate(shards(args.chunks, args.language)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        size += (folder / "docs" / f"{number:03}.jsonl").write_text(text, encoding="utf-8")
        asked += questions[:: max(1, len(questions) * args.chunks // SHARD // args.questions)]
    (folder / "questions.json").write_text(json.dumps(asked[: args.questions]))
    return {"characters": size, "questions": min(len(asked), args.questions)}


def asked(args: argparse.Namespace) -> dict[str, Any]:
    """Opens the retriever over the files, with its cache beside them, and asks."""
    from ragstone.models import ModelOptions  # noqa: PLC0415
    from ragstone.retrieval import facts_of, open_retriever  # noqa: PLC0415

    folder = Path(args.folder)
    questions = json.loads((folder / "questions.json").read_text())
    bare, clock, wall = peak(), time.process_time(), time.perf_counter()

    async def run() -> dict[str, Any]:
        name, options = f"bm25(corpus={folder / 'docs'},chunk=0)", ModelOptions(cache=folder / "cache")
        async with open_retriever(name, [], options=options) as retriever:
            built, built_wall, build_peak = time.process_time(), time.perf_counter(), peak()
            for question in questions:
                await retriever.retrieve([question], k=K)
            done, done_wall = time.process_time(), time.perf_counter()
            return {
                "open_cpu": round(built - clock, 1), "open": round(built_wall - wall, 1),
                "ms_a_question": round((done_wall - built_wall) / len(questions) * 1000, 1),
                "cpu_ms_a_question": round((done - built) / len(questions) * 1000, 1), "bare_mb": round(bare / 1e6),
                "open_peak_mb": round(build_peak / 1e6), "peak_mb": round(peak() / 1e6),
                "index_mb": round(facts_of(retriever)["index_bytes"] / 1e6),
            }  # fmt: skip

    return asyncio.run(run())


INNER = {"size": one_size, "write": write, "asked": asked}


def _number(text: str) -> int:
    return int(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)


def _inside(args: argparse.Namespace, part: str, *more: str) -> Any:
    command = [sys.executable, __file__, "--inside", part, "--language", args.language]
    command += ["--questions", str(args.questions), *(["--cached"] if args.cached else []), *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{part} failed; see above.")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="20k,50k,100k", help="chunks of the pools")
    parser.add_argument("--corpus", default="", help="instead: chunks of a corpus in files")
    parser.add_argument("--language", default="en", choices=["en", "zh"])
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--cached", action="store_true", help="with a cache folder")
    parser.add_argument("--folder", default="", help="where the corpus and its index are for the time")
    parser.add_argument("--chunks", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--kind", default="", help=argparse.SUPPRESS)
    parser.add_argument("--inside", choices=list(INNER), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        print(json.dumps(INNER[args.inside](args)))
        return 0
    missed = corpus(args) if args.corpus else sizes(args)
    for goal in missed:
        print(f"MISSED {goal}", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
