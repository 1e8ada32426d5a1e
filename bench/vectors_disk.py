"""Vectors on disk: recall@5 against exact search, time and memory, of `dense(…,index=disk)` and of LanceDB.

    python bench/vectors_disk.py --sample items.npy --queries queries.npy [--vectors 0] [--kinds disk,lancedb]

`items.npy` and `queries.npy` are unit vectors of an embedder, for example of `local/e5-small` (`--embed DIR` makes them
of MIRAGE's questions). With `--vectors 1000k` so many are made around them: each lies between two of the sample, nearer
to one, with noise. Queries are made of other pairs in the same way. Each kind runs in a process of its own; `anon_mb`
is the most memory that is not a mapped file, looked at ten times a second; `peak_mb` counts what is mapped, too.
"""

import argparse
import asyncio
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

__all__ = ["main"]

Array = np.ndarray[Any, Any]
BLOCK = 50_000
QUERIES = 1_000
K = 5


def unit(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def between(rows: Array, others: Array, n: int, seed: int) -> Array:
    """`n` vectors, each between one of `rows` and one of `others`, nearer to the first, with noise."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.5, 1.0, (n, 1)).astype(np.float32)
    made = share * rows[rng.integers(0, len(rows), n)] + (1 - share) * others[rng.integers(0, len(others), n)]
    noise = rng.standard_normal(made.shape, dtype=np.float32) * (0.1 / np.sqrt(rows.shape[1]))
    return unit(made + noise)


def write(args: argparse.Namespace) -> dict[str, Any]:
    """The vectors and queries as files, and the exact neighbours."""
    from ragstone.retrieval.nearest import Exact  # noqa: PLC0415

    folder, sample, asked = Path(args.folder), np.load(args.sample), np.load(args.queries)
    with (folder / "rows.f32").open("wb") as stream:
        for seed, start in enumerate(range(0, args.vectors, BLOCK)):
            stream.write(between(sample, sample, min(BLOCK, args.vectors - start), seed).tobytes())
        if not args.vectors:
            stream.write(sample.astype("<f4").tobytes())
    queries = between(asked, sample, QUERIES, 1_000_000) if args.vectors else asked[:QUERIES]
    np.save(folder / "queries.npy", queries)
    clock = time.process_time()
    rows, scores = Exact(mapped(folder, sample.shape[1])).search(queries, K)
    np.save(folder / "exact.npy", rows)
    return {
        "vectors": args.vectors or len(sample), "dimensions": sample.shape[1], "queries": len(queries),
        "exact_cpu": round(time.process_time() - clock, 1), "mean_scores": scores.mean(axis=0).round(3).tolist(),
    }  # fmt: skip


def mapped(folder: Path, dimensions: int) -> Array:
    return np.memmap(folder / "rows.f32", dtype="<f4", mode="r").reshape(-1, dimensions)


class Memory:
    """The most memory of this process that is not a mapped file."""

    def __init__(self) -> None:
        self.anonymous, self._done = 0, threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            status = Path("/proc/self/status").read_text(encoding="ascii")
            found = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            self.anonymous = max(self.anonymous, int(found.split()[1]))

    def facts(self) -> dict[str, int]:
        self._done.set()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"anon_mb": round(self.anonymous / 1e3), "peak_mb": round(peak / 1e3)}


def disk(args: argparse.Namespace) -> dict[str, Any]:
    from ragstone.retrieval.nearest_disk import OnDisk, build_on_disk  # noqa: PLC0415

    folder, queries = Path(args.folder), np.load(Path(args.folder) / "queries.npy")
    rows, place, memory = mapped(folder, queries.shape[1]), folder / "disk", Memory()

    async def blocks() -> AsyncIterator[Array]:
        for start in range(0, len(rows), BLOCK):
            yield np.array(rows[start : start + BLOCK])

    clock, wall = time.process_time(), time.perf_counter()
    place.mkdir()
    asyncio.run(build_on_disk(place, blocks()))
    built = {"build_cpu": round(time.process_time() - clock, 1), "build": round(time.perf_counter() - wall, 1)}

    def opened(probes: int) -> Callable[[Array], list[int]]:
        index = OnDisk(place, probes=probes)
        return lambda query: [int(row) for row in index.search(query[None], K)[0][0]]

    return built | asked(args, opened) | memory.facts() | {
        "recall_for_rows": round(OnDisk(place).recall(), 3), "bytes_a_vector": round(OnDisk(place).nbytes / len(rows)),
    }  # fmt: skip


def lancedb(args: argparse.Namespace) -> dict[str, Any]:
    """LanceDB's IVF_SQ, ranked by the vectors themselves (refine)."""
    library: Any = importlib.import_module("lancedb")
    import pyarrow as pa  # noqa: PLC0415

    from ragstone.retrieval.nearest_disk import lists_for  # noqa: PLC0415

    folder, queries = Path(args.folder), np.load(Path(args.folder) / "queries.npy")
    rows, memory = mapped(folder, queries.shape[1]), Memory()
    kind = pa.schema([("place", pa.int64()), ("vector", pa.list_(pa.float32(), queries.shape[1]))])

    def batches() -> Iterator[Any]:
        for start in range(0, len(rows), BLOCK):
            part = np.array(rows[start : start + BLOCK])
            flat = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), part.shape[1])
            yield pa.record_batch([pa.array(range(start, start + len(part))), flat], schema=kind)

    clock, wall = time.process_time(), time.perf_counter()
    table = library.connect(folder / "lance").create_table("rows", batches(), schema=kind)
    lists = lists_for(len(rows))
    table.create_index(metric="dot", index_type="IVF_SQ", num_partitions=lists, vector_column_name="vector")
    built = {"build_cpu": round(time.process_time() - clock, 1), "build": round(time.perf_counter() - wall, 1)}

    def opened(probes: int) -> Callable[[Array], list[int]]:
        def search(query: Array) -> list[int]:
            found = (
                table.search(query)
                .metric("dot")
                .nprobes(probes)
                .refine_factor(5)
                .limit(K)
                .select(["place", "_distance"])
            )
            return [row["place"] for row in found.to_list()]

        return search

    size = sum(file.stat().st_size for file in (folder / "lance").rglob("*") if file.is_file())
    return built | asked(args, opened) | memory.facts() | {"bytes_a_vector": round(size / len(rows))}


def asked(args: argparse.Namespace, opened: Callable[[int], Callable[[Array], list[int]]]) -> dict[str, Any]:
    """Recall@5 and milliseconds a query for each number of probes; one query at a time."""
    queries, right = np.load(Path(args.folder) / "queries.npy"), np.load(Path(args.folder) / "exact.npy").tolist()
    found: dict[str, Any] = {}
    for probes in map(int, args.probes.split(",")):
        search = opened(probes)
        clock = time.process_time()
        recall = [len({*search(query)} & {*its}) / len(its) for query, its in zip(queries, right, strict=True)]
        spent = (time.process_time() - clock) / len(queries) * 1000
        found[f"probes={probes}"] = {"recall@5": round(sum(recall) / len(recall), 4), "cpu_ms": round(spent, 2)}
    return found


def embed(args: argparse.Namespace) -> dict[str, Any]:
    """Vectors of MIRAGE's questions, 5,000 as items and 1,000 as queries, by local/e5-small."""
    from ragstone.models import ModelOptions, open_embedder  # noqa: PLC0415
    from ragstone.retrieval.embedders import embed_all  # noqa: PLC0415

    folder = Path(args.embed)
    texts = [row["query"] for row in json.loads(args.dataset.read_text(encoding="utf-8"))]

    async def run() -> None:
        async with open_embedder("local/e5-small", ModelOptions(cache=folder)) as embedder:
            np.save(folder / "items.npy", await embed_all(embedder, texts[:5_000], kind="passage"))
            np.save(folder / "queries.npy", await embed_all(embedder, texts[5_000:6_000], kind="query"))

    asyncio.run(run())
    return {"items": str(folder / "items.npy"), "queries": str(folder / "queries.npy")}


INNER = {"write": write, "disk": disk, "lancedb": lancedb}


def _inside(args: argparse.Namespace, part: str, folder: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--inside", part, "--folder", folder, "--vectors", str(args.vectors)]
    command += ["--sample", args.sample, "--queries", args.queries, "--probes", args.probes]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{part} failed; see above.")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _number(text: str) -> int:
    return int(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", default="", help="vectors of an embedder (.npy)")
    parser.add_argument("--queries", default="", help="vectors of questions (.npy)")
    parser.add_argument("--vectors", type=_number, default=0, help="how many to make; 0: the sample as it is")
    parser.add_argument("--kinds", default="disk,lancedb")
    parser.add_argument("--probes", default="16,64,256")
    parser.add_argument("--embed", default="", help="instead: make vectors in this folder")
    parser.add_argument(
        "--dataset", type=Path, default=ROOT.parent / "shared" / "data" / "mirage" / "dataset.json",
        help="MIRAGE's dataset.json",
    )  # fmt: skip
    parser.add_argument("--folder", default="", help="where the vectors and indexes are for the time")
    parser.add_argument("--inside", choices=list(INNER), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.embed:
        print(json.dumps(embed(args)))
        return 0
    if args.inside:
        print(json.dumps(INNER[args.inside](args)))
        return 0
    with tempfile.TemporaryDirectory(dir=args.folder or None) as folder:
        print(json.dumps(_inside(args, "write", folder)), flush=True)
        for kind in args.kinds.split(","):
            load = round(os.getloadavg()[0], 1)
            print(json.dumps({"kind": kind, "load_before": load, **_inside(args, kind, folder)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
