"""What ragstone adds to a run: wall time over the floor, CPU a request, and memory.

    python bench/overhead.py [--cases 3000] [--large 30000] [--in-flight 64] [--delay 0.05] [--rounds 5]

A local server, in a process of its own, answers every chat request after `--delay` seconds. ragstone asks it `--cases`
cases through its whole path: cases, template, client, scores, run file with a commit before each case counts as
done. The floor is requests / in flight x delay: what a client that costs nothing would take. Memory is the peak of
a process that runs `--cases` and of another that runs `--large`.

Goals: at most 1.15 times the floor, at most 0.6 ms of CPU a request, memory that does not grow with the cases, and at
most 1.02 times the wall time and twice the CPU of a bare aiohttp client that posts the same bodies to the same server,
and reads and decodes its replies; its bodies are made before its clock starts, ragstone's are not. The two take turns
(`--rounds`), and the figures are medians: other programs slow single runs down by a half.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from ragstone.models import ModelOptions, open_model
from ragstone.runs import RunFile, run_cases
from ragstone.systems.reader import Reader
from ragstone.systems.template import PAPER
from ragstone.types import Case, Need, Passage, Query, Response, Sample, Score

__all__ = ["main"]

PASSAGE = (
    "The harvest festival of the valley drew visitors from every village, and the mayor spoke of the weather. " * 8
)
PASSES = 2  # a run goes through its cases once to plan and once to ask
GOALS = {"wall": 1.15, "cpu_ms": 0.6, "memory": 1.1, "bare_wall": 1.02, "bare_cpu": 2.0}


REPLY = json.dumps({
    "id": "1", "object": "chat.completion", "model": "slow-1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is 7."}}],
    "usage": {"prompt_tokens": 900, "completion_tokens": 5, "total_tokens": 905},
})  # fmt: skip
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Endpoint(asyncio.Protocol):
    """As little of HTTP as it takes, so that the server's own time does not count as ragstone's."""

    def __init__(self, delay: float, reply: bytes) -> None:
        self.delay, self.reply, self.received, self.missing = delay, HEAD % len(reply) + reply, b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.missing:
            self.missing -= len(data)
        else:
            self.received += data
            head, end, body = self.received.partition(b"\r\n\r\n")
            if not end:
                return
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            self.received, self.missing = b"", length - len(body)
        if self.missing == 0:
            asyncio.get_running_loop().call_later(self.delay, self.transport.write, self.reply)


async def serve(delay: float, reply: bytes) -> None:
    """The endpoint: prints its port, and answers every request after `delay` until its standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Endpoint(delay, reply), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


@dataclass(frozen=True)
class Contains:
    """A metric as light as metrics come."""

    name: str = "contains"
    version: int = 1
    needs: frozenset[Need] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        found = response.answer.find(case.sample.references[0][0])
        return Score.of(float(found >= 0), evidence={"spans": [[found, found + 1]]})


def cases(count: int) -> Iterator[Case]:
    for number in range(count):
        passages = tuple(Passage(f"negative:{place}", f"{number} {PASSAGE}", relevant=False) for place in range(5))
        sample = Sample(f"en:{number}", f"Question {number}?", references=(("7",),), language="en")
        condition: dict[str, str | int | float | bool] = {"ability": "noise", "noise_ratio": 0.2, "language": "en"}
        yield Case(f"noise/en/0.2/{number:06d}", sample, condition, Query(sample.question, passages, language="en"))


async def measure(url: str, count: int, in_flight: int, path: Path) -> dict[str, Any]:
    """One run against the endpoint at `url`: seconds, CPU seconds and peak memory of this process."""
    async with open_model("compat/slow-1", ModelOptions(base_url=url, in_flight=in_flight)) as model:
        system = Reader(model, PAPER)
        with RunFile.create_or_open(path, question={"bench": count}, info={}, systems={system.id: system.spec}) as file:
            wall, cpu = time.perf_counter(), time.process_time()
            outcome = await run_cases(
                file, lambda: cases(count), systems=[system], metrics=[Contains()], concurrency=in_flight
            )
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert outcome.done == count, outcome
    making = time.process_time()
    for _ in range(PASSES):
        assert sum(1 for _ in cases(count)) == count
    cpu -= time.process_time() - making
    return {"wall": wall, "cpu": cpu, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


async def measure_bare(url: str, count: int, in_flight: int) -> dict[str, Any]:
    """The same bodies, posted by a bare aiohttp client that only parses the replies."""
    import aiohttp  # noqa: PLC0415

    bodies = iter([
        json.dumps({
            "model": "slow-1", "temperature": 0,
            "messages": [{"role": turn.role, "content": turn.content} for turn in PAPER.messages(case.query)],
        }).encode()
        for case in cases(count)
    ])  # fmt: skip
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

        async def post() -> None:
            for body in bodies:
                async with session.post(f"{url}/chat/completions", data=body) as reply:
                    json.loads(await reply.read())

        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(post() for _ in range(in_flight)))
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--large", type=int, default=30000, help="cases of the second run, for memory (0: none)")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds until the endpoint answers")
    parser.add_argument("--rounds", type=int, default=5, help="runs of --cases and of the bare client, in turns")
    parser.add_argument("--directory", default=None, help="where the run file goes; a temporary folder by default")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--reply", default=REPLY, help=argparse.SUPPRESS)
    parser.add_argument("--url", default=None, help=argparse.SUPPRESS)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.delay, args.reply.encode()))
        return 0
    if args.url and args.bare:
        print(json.dumps(asyncio.run(measure_bare(args.url, args.cases, args.in_flight))))
        return 0
    if args.url:
        found = asyncio.run(measure(args.url, args.cases, args.in_flight, Path(args.directory) / f"{args.cases}.run"))
        print(json.dumps(found))
        return 0
    return report(args)


def run_inner(command: list[str], url: str, count: int, *options: str) -> dict[str, float]:
    """The figures of one measured process."""
    inner = [*command, "--url", url, "--cases", str(count), *options]
    figures: dict[str, float] = json.loads(subprocess.run(inner, check=True, capture_output=True, text=True).stdout)
    return figures


def report(args: argparse.Namespace) -> int:
    """Runs the server and the measured processes; prints the ratios; 1 where a goal is missed."""
    command = [sys.executable, __file__, "--delay", str(args.delay), "--in-flight", str(args.in_flight)]
    with subprocess.Popen([*command, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        with tempfile.TemporaryDirectory(dir=args.directory) as folder:
            own, bare = [], []
            for number in range(args.rounds):
                place = Path(folder) / str(number)
                place.mkdir()
                own.append(run_inner(command, url, args.cases, "--directory", str(place)))
                bare.append(run_inner(command, url, args.cases, "--bare"))
            first = {name: median(run[name] for run in own) for name in own[0]}
            runs = {args.cases: first}
            if args.large:
                runs[args.large] = run_inner(command, url, args.large, "--directory", folder)
        server.communicate("")
    floor = args.cases / args.in_flight * args.delay
    found = {"wall": first["wall"] / floor, "cpu_ms": first["cpu"] / args.cases * 1000}
    for name in ("wall", "cpu"):
        found[f"bare_{name}"] = median(run[name] / other[name] for run, other in zip(own, bare, strict=True))
    if args.large:
        found["memory"] = runs[args.large]["peak_mib"] / first["peak_mib"]
    if args.json:
        print(json.dumps({"ratios": found, "runs": runs, "goals": GOALS}))
    else:
        print(f"{args.cases} cases, {args.in_flight} in flight, answers after {args.delay * 1000:.0f} ms")
        print(
            f"wall    {first['wall']:.2f} s = {found['wall']:.3f} x the floor of {floor:.2f} s   (goal {GOALS['wall']})"
        )
        print(f"CPU     {found['cpu_ms']:.3f} ms a request   (goal {GOALS['cpu_ms']})")
        print(f"wall    {found['bare_wall']:.3f} x a bare aiohttp client's, same bodies   (goal {GOALS['bare_wall']})")
        bare_ms, load = median(run["cpu"] for run in bare) / args.cases * 1000, os.getloadavg()[0]
        print(f"CPU     {found['bare_cpu']:.2f} x that client's {bare_ms:.3f} ms   (goal {GOALS['bare_cpu']})")
        print(f"load    {load:.0f}")
        for count, run in runs.items():
            print(f"memory  {run['peak_mib']:.0f} MiB at the peak of {count} cases ({run['wall']:.1f} s)")
    return int(any(value > GOALS[name] for name, value in found.items()))


if __name__ == "__main__":
    sys.exit(main())
