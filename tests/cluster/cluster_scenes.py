"""Scenes with a real Ray cluster, for test_cluster.py beside it: nodes on this machine, commands that use them, kills.

    unshare -n sh -c 'ip link set lo up && python -m tests.cluster.cluster_scenes FOLDER [SCENE…]'

Prints what each scene saw as one JSON document. No test of its own.
"""

import asyncio
import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.cluster import nodes, workers_of
from tests.cli.tools import command, environment, untimed
from tests.construction.test_questions import documents
from tests.evaluation.test_eval import judging
from tests.evaluation.test_evaluate import rows
from tests.servers.threaded import ThreadedServer, serving

from ragstone.cluster.cluster import Cluster
from ragstone.errors import RagstoneError
from ragstone.evaluation.evaluate import evaluate
from ragstone.models import ModelOptions, open_embedder
from ragstone.models.allowance import Allowance
from ragstone.retrieval.embedders import embed_all

# Embeds by the number in a text.
EMBEDDER = """
def embed(texts):
    return [[float(text.split()[-1]), 1.0, 2.0] for text in texts]
"""
# Embeds by the length of a text.
LENGTHS = """
def embed(texts):
    return [[float(len(text)), 1.0 + text.count(" "), 2.0] for text in texts]
"""
# Answers with the GPU that Ray gave this worker, and embeds by it.
GPU = """
import os
def ask(question):
    return "GPU " + os.environ.get("CUDA_VISIBLE_DEVICES", "")
def embed(texts):
    return [[3.0 if os.environ.get("CUDA_VISIBLE_DEVICES") == "0" else 1.0, 4.0] for _ in texts]
"""
FRUITS = ("plum", "pear", "apple", "quince")
KEY = "sk-cluster-0123456789abcdefghijkl"
COUNT = 120
GIVE_UP = 90.0  # seconds


class Endpoint(BaseHTTPRequestHandler):
    """Answers those who know the key, and counts the questions. `gate`: answers wait for it after so many requests."""

    protocol_version = "HTTP/1.1"
    asked: Counter[str] = Counter()  # noqa: RUF012
    strangers = 0
    gate = threading.Event()
    free = COUNT

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, reply = 200, chat("It is 7.")
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            type(self).strangers += 1
            status, reply = 401, b'{"error": {"message": "Who are you?"}}'
        elif self.path.endswith("/embeddings"):
            self.asked[body["input"][0]] += 1
            reply = vectors(body["input"])
        else:
            self.asked[body["messages"][-1]["content"]] += 1
            if body["model"] == "judge":
                verdict: Any = judging(body)  # a text, or all of a reply
                reply = chat(verdict if isinstance(verdict, str) else json.dumps(verdict))
            if self.asked.total() > self.free:
                self.gate.wait(GIVE_UP)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        with contextlib.suppress(OSError):  # who asked was killed
            self.wfile.write(reply)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, *_: Any) -> None: ...

    @classmethod
    def begin(cls, free: int = COUNT) -> None:
        """A new scene: the first so many requests are answered at once, the others when `gate` is set."""
        cls.asked.clear()
        cls.strangers, cls.free = 0, free
        cls.gate.clear()


def chat(text: str) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    ).encode()


def vectors(texts: list[str]) -> bytes:
    data = [{"index": at, "embedding": [float(len(text)), 1.0, 2.0]} for at, text in enumerate(texts)]
    return json.dumps({"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 9}}).encode()


def until(condition: Callable[[], Any], what: str) -> None:
    """Waits for a condition; fails the scene after `GIVE_UP`."""
    give_up = time.monotonic() + GIVE_UP
    while not condition():
        if time.monotonic() > give_up:
            raise TimeoutError(what)
        threading.Event().wait(0.02)


def listens(port: int) -> bool:
    """Whether anybody takes connections there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class SmallCluster(Cluster):
    """A cluster that embeds fewer texts than are worth it."""

    least = 100
    asked = 0

    async def embed(self, *arguments: Any) -> Any:
        type(self).asked += 1
        return await super().embed(*arguments)


class Scenes:
    """Commands in a folder, with a cluster at `address`."""

    def __init__(self, folder: Path, cluster: Any, url: str) -> None:
        self.folder, self.cluster, self.url = folder, cluster, url
        rows = "".join(f"q{at},What is number {at}?,7\n" for at in range(COUNT))
        (folder / "q.csv").write_text(f"id,question,reference\n{rows}")
        (folder / "app.py").write_text("def ask(question):\n    return 'It is ' + question[-3:]\n")
        self.model = ("bench", "rgb", "--model", "compat/m", "--base-url", url, "--fictional-size", "60",
                      "--limit", "30", "--data-language", "en", "--ability", "noise", "--noise", "0,0.2,0.4,0.6",
                      "--no-cache", "--concurrency", "4", "--quiet", "--json")  # fmt: skip
        self.on_cluster = ("--cluster", cluster.address, "--workers", "3")

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command(*arguments), cwd=self.folder, env=environment(self.folder, COMPAT_API_KEY=KEY), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=2 * GIVE_UP)
        return process.returncode, out, err

    def exported(self, run: str) -> str:
        return self.run("export", run, "--format", "jsonl")[1]

    def own_code(self) -> dict[str, Any]:
        """The user's own code as the system, by name."""
        words = ("run", "q.csv", "--system", "app.py:ask", "--metrics", "answer_match", "--quiet", "--json")
        code, out, err = self.run(*words, "--run", "own.run", *self.on_cluster)
        one = self.run(*words, "--run", "one.run")
        return {
            "code": code, "err": err, "complete": json.loads(out)["complete"], "one": one[0],
            "same": untimed(self.exported("own.run")) == untimed(self.exported("one.run")),
        }  # fmt: skip

    def limits(self) -> dict[str, Any]:
        """A limit on requests holds for all workers together."""
        Endpoint.begin()
        code, _, err = self.run(*self.model, "--run", "a.run", "--max-requests", "37", *self.on_cluster)
        return {"code": code, "err": err, "requests": Endpoint.asked.total(), "strangers": Endpoint.strangers}

    def driver(self) -> dict[str, Any]:
        """The same command without the limit is killed while answers are on their way."""
        Endpoint.begin(free=20)
        process = self.start(*self.model, "--run", "a.run", *self.on_cluster)
        until(lambda: Endpoint.asked.total() >= 20 + 4, "the run has begun")
        process.kill()
        process.communicate()
        Endpoint.gate.set()
        return {"left": len([*self.folder.glob("a.run-shards-*")]), "requests": Endpoint.asked.total()}

    def kills(self) -> dict[str, Any]:
        """The same command again, and now a worker and then a whole node die."""
        Endpoint.begin(free=20)
        process = self.start(*self.model, "--run", "a.run", *self.on_cluster)
        until(lambda: Endpoint.asked.total() >= 20 + 4, "the run has begun")
        node, other = sorted(self.cluster.worker_nodes, key=lambda each: -len(workers_of(each)))
        os.kill(workers_of(node)[0], signal.SIGKILL)
        workers_there = len(workers_of(other))
        self.cluster.remove_node(other, allow_graceful=False)
        Endpoint.gate.set()
        out, err = process.communicate(timeout=2 * GIVE_UP)
        one = self.run(*self.model, "--run", "b.run")
        return {"code": process.returncode, "err": err, "done": json.loads(out)["done"], "workers": workers_there,
                "requests": Endpoint.asked.total() - json.loads(one[1])["asked"],
                "files": sorted(path.name for path in self.folder.glob("a.run*")),
                "same": untimed(self.exported("a.run")) == untimed(self.exported("b.run"))}  # fmt: skip

    def merges(self) -> dict[str, Any]:
        """The command is killed while it merges what came home, each time some statements later."""
        Endpoint.begin(free=10**6)
        words = [*self.model[:-1], "--run", "m.run"]
        words[words.index("--limit") + 1] = words[words.index("--fictional-size") + 1] = "100"
        codes = []
        for statements in (1, 12, 23):
            dying = [sys.executable, "-m", "tests.engine.dying_command", str(statements), *words, *self.on_cluster]
            done = subprocess.run(
                dying, cwd=self.folder, env=environment(self.folder, COMPAT_API_KEY=KEY, PYTHONPATH=str(Path.cwd())),
                capture_output=True, timeout=2 * GIVE_UP, check=False,
            )  # fmt: skip
            codes.append(done.returncode)
        files = {path.name for path in self.folder.glob("m.run*") if not path.name.startswith("m.run-shards-")}
        code, _, err = self.run(*words, *self.on_cluster)
        requests = Endpoint.asked.total()
        words[words.index("m.run")] = "w.run"
        self.run(*words)
        return {"codes": codes, "code": code, "err": err, "between": sorted(files), "requests": requests,
                "files": sorted(path.name for path in self.folder.glob("m.run*")),
                "same": untimed(self.exported("m.run")) == untimed(self.exported("w.run"))}  # fmt: skip

    def apart(self) -> dict[str, Any]:
        """The command's folder is on a disk that the workers do not see; one of them dies."""
        (self.folder / "apart").mkdir()
        run = shlex.join(command(*self.model, "--run", "a.run", *self.on_cluster))
        export = shlex.join(command("export", "a.run", "--format", "jsonl"))
        inside = f"mount -t tmpfs none apart && cd apart && {run} >&2; echo $? $(ls -x); {export}"
        Endpoint.begin(free=20)
        process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", inside], cwd=self.folder, text=True, stdout=subprocess.PIPE,
            env=environment(self.folder, COMPAT_API_KEY=KEY), stderr=subprocess.PIPE,
        )  # fmt: skip
        until(lambda: Endpoint.asked.total() >= 20 + 4, "the run has begun")
        os.kill(next(pid for node in self.cluster.worker_nodes for pid in workers_of(node)), signal.SIGKILL)
        Endpoint.gate.set()
        out, err = process.communicate(timeout=2 * GIVE_UP)
        said, _, exported = out.partition("\n")
        requests = Endpoint.asked.total()
        self.run(*self.model, "--run", "here.run")
        return {"said": said, "err": err, "requests": requests, "outside": len([*(self.folder / "apart").iterdir()]),
                "same": untimed(exported) == untimed(self.exported("here.run"))}  # fmt: skip

    def embedding(self) -> dict[str, Any]:
        """A pool that workers embed, and the same here."""
        (self.folder / "embedder.py").write_text(EMBEDDER)
        name, texts = f"{self.folder / 'embedder.py'}:embed", [f"plum {at % 500}" for at in range(700)]
        cluster = SmallCluster(self.cluster.address, 2)
        options = ModelOptions(spread=cluster)

        async def embedded(options: ModelOptions) -> Any:
            async with open_embedder(name, options) as embedder:
                return await embed_all(embedder, texts, kind="passage")

        there, here = asyncio.run(embedded(options)), asyncio.run(embedded(ModelOptions()))
        return {"same": bool((there == here).all()), "shape": list(there.shape), "asked": cluster.asked}

    def embedding_limits(self) -> dict[str, Any]:
        """Workers that embed at an endpoint: the limit of the command holds for all, and a refusal comes home."""
        texts = [f"plum number {at}" for at in range(700)]
        seen: dict[str, Any] = {}

        async def embedded(**more: Any) -> Any:
            options = ModelOptions(base_url=self.url, spread=SmallCluster(self.cluster.address, 2), **more)
            async with open_embedder("compat/e", options) as embedder:
                return await embed_all(embedder, texts, kind="passage")

        for name, key, allowance in (("wrong", "sk-wrong", None), ("few", KEY, Allowance(requests=3)),
                                     ("enough", KEY, Allowance(requests=700))):  # fmt: skip
            Endpoint.begin(free=10**6)
            os.environ["COMPAT_API_KEY"] = key
            try:
                seen[name] = len(asyncio.run(embedded(allowance=allowance)))
            except RagstoneError as error:
                seen[name] = f"{type(error).__name__}: {error}"
            seen[f"{name}_requests"] = Endpoint.asked.total()
            seen[f"{name}_counted"] = allowance and allowance.spent.requests
        return seen

    def gpus(self) -> dict[str, Any]:
        """Workers that take half of a GPU each. The nodes only say that they have some."""
        (self.folder / "gpu.py").write_text(GPU)
        code, _, err = self.run(
            "run", "q.csv", "--system", "gpu.py:ask", "--metrics", "answer_match", "--quiet", "--json", "--run",
            "gpu.run", "--cluster", self.cluster.address, "--workers", "4", "--gpus-per-worker", "0.5",
        )  # fmt: skip

        async def embedded(gpus: float) -> Any:
            options = ModelOptions(spread=SmallCluster(self.cluster.address, 2, gpus))
            async with open_embedder(f"{self.folder / 'gpu.py'}:embed", options) as embedder:
                return await embed_all(embedder, [f"plum {at}" for at in range(300)], kind="passage")

        matrix = asyncio.run(embedded(0.5))
        answers = Counter(record["record"]["response"]["answer"]
                          for record in map(json.loads, self.exported("gpu.run").splitlines()))  # fmt: skip
        return {"code": code, "err": err, "answers": answers, "embedded": sorted(set(matrix[:, 0].round(3).tolist()))}

    def both(self, name: str, *words: str) -> dict[str, Any]:
        """The same command on the cluster and on one machine, each into a run file of its own."""
        there = self.run(*words, "--quiet", "--json", "--run", f"{name}-there.run", *self.on_cluster)
        here = self.run(*words, "--quiet", "--json", "--run", f"{name}-here.run")
        exports = [untimed(self.exported(f"{name}-{place}.run")) for place in ("there", "here")]
        return {"codes": [there[0], here[0]], "err": there[2] + here[2], "records": len(exports[0]),
                "same": exports[0] == exports[1], "left": len([*self.folder.glob("*-shards-*")])}  # fmt: skip

    def scored(self) -> dict[str, Any]:
        """Recorded answers, with a judge behind an endpoint and the user's own embedder."""
        Endpoint.begin(free=10**6)
        (self.folder / "lengths.py").write_text(LENGTHS)
        data = [row | {"id": f"{at}-{copy}"} for copy in range(8) for at, row in enumerate(rows())]
        (self.folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
        metrics = "faithfulness,answer_relevancy,answer_correctness,context_recall,token_f1"
        done = evaluate(data, ["token_f1"], run=self.folder / "py.run", cluster=self.cluster.address, workers=2)
        with done.open() as run:
            seen = {"python": len([*run.run.records()])}
        judge = ("--judge", "compat/judge", "--judge-base-url", self.url, "--no-cache")
        words = ("answers.jsonl", "--metrics", metrics, "--embedder", "lengths.py:embed", *judge)
        seen |= self.both("eval", "eval", *words)
        for part, where in ((1, self.on_cluster), (2, ())):
            self.run("eval", *words, "--quiet", "--shard", f"{part}/2", "--run", f"part-{part}.run", *where)
        self.run("merge", "part-1.run", "part-2.run", "-o", "parts.run")
        whole, parts = (untimed(self.exported(name)) for name in ("eval-here.run", "parts.run"))
        return seen | {"parts": parts == whole, "part": len(untimed(self.exported("part-1.run")))}

    def many(self) -> dict[str, Any]:
        """More recorded answers than are kept in memory."""
        data = ({"id": f"hr-{at}", "question": f"Which is {at}?", "answer": str(at), "reference": str(at - at % 2)}
                for at in range(3 * 1024))  # fmt: skip
        (self.folder / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
        return self.both("many", "eval", "many.jsonl", "--metrics", "token_f1,exact_match")

    def diagnosed(self) -> dict[str, Any]:
        """A system over documents, under every condition."""
        documents = self.folder / "docs"
        documents.mkdir()
        asked = ["id,question,reference,document"]
        for at in range(12):
            text = f"The {FRUITS[at % 4]} orchard number {at} was founded in the year {1800 + at} by its neighbours."
            (documents / f"d{at}.txt").write_text(text)
            asked.append(f"q{at},When was orchard number {at} founded?,{1800 + at},d{at}.txt")
        (self.folder / "gold.csv").write_text("\n".join(asked))
        return self.both("diagnose", "diagnose", "gold.csv", "--corpus", "docs", "--plan", "full")

    def built(self) -> dict[str, Any]:
        """Questions made from the documents."""
        (self.folder / "texts").mkdir()
        for passage in documents(8):
            (self.folder / "texts" / f"{passage.meta['document']}.md").write_text(
                f"# {passage.title}\n\n{passage.text}"
            )
        seen = self.both("build", "build", "questions", "texts", "-o", "made", "--model", "local/template",
                         "--size", "4", "--type", "single=1")  # fmt: skip
        return seen | {"questions": len((self.folder / "made" / "questions.jsonl").read_text().splitlines())}

    def client(self) -> dict[str, Any]:
        """A cluster of its own, with a token, that is used by `ray://`; its head dies."""
        psutil: Any = import_module("psutil")
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "secret-token-0123456789"}
        ray = ["ray.scripts.scripts", "start", "--head", "--block", "--port", "6399", "--ray-client-server-port",
               "25001", "--num-cpus", "4", "--include-dashboard", "false", "--disable-usage-stats", "--temp-dir",
               str(self.folder / "own"), "--object-store-memory", str(200 * 2**20)]  # fmt: skip
        # A first server on a cold disk takes longer than 30.
        patient = {"RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120"}
        head = subprocess.Popen([sys.executable, "-m", *ray], env=environment(self.folder, **token, **patient),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        (self.folder / "slow.py").write_text(
            "import threading\ndef ask(question):\n    threading.Event().wait(0.5)\n    return '7'\n"
        )
        words = (
            "run",
            "q.csv",
            "--quiet",
            "--cluster",
            "ray://127.0.0.1:25001",
            "--workers",
            "1",
            "--concurrency",
            "1",
        )
        seen: dict[str, Any] = {}
        try:
            until(lambda: listens(25001), "the head takes clients")
            code, _, err = self.run(*words, "--system", "app.py:ask", "--run", "c.run")
            seen["without"] = code, err
            os.environ.update(token)
            given = environment(self.folder, **token)
            for name, system in (("right", "app.py:ask"), ("killed", "slow.py:ask")):
                process = subprocess.Popen(
                    command(*words, "--system", system, "--run", f"{name}.run"), cwd=self.folder, env=given, text=True,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                )  # fmt: skip
                if name == "killed":
                    until(lambda: [*self.folder.glob("killed.run-shards-*/*.run")], "the run has begun")
                    for child in psutil.Process(head.pid).children(recursive=True):
                        child.kill()
                started = time.monotonic()
                seen[name] = process.communicate(timeout=2 * GIVE_UP)[1], process.returncode
                seen[name] = seen[name][::-1]
                seen[f"seconds {name}"] = time.monotonic() - started
        finally:
            for child in psutil.Process(head.pid).children(recursive=True):
                child.kill()
            head.kill()
            head.wait()
        return seen

    def secrets(self, places: list[Path]) -> dict[str, Any]:
        """The files that hold the key: of Ray's session and of the runs."""
        found, seen = [], 0
        for path in (path for place in places for path in place.rglob("*")):
            if path.is_file() and not path.is_symlink():
                seen += 1
                found += [str(path)] if KEY.encode() in path.read_bytes() else []
        return {"found": found, "seen": seen}


def main() -> int:
    folder = Path(sys.argv[1])
    seen: dict[str, Any] = {}
    with serving(ThreadedServer(Endpoint)) as address, nodes(2, 2, folder, gpus=1) as cluster:
        scenes = Scenes(folder, cluster, f"{address}/v1")
        for scene in (scenes.own_code, scenes.limits, scenes.apart, scenes.driver, scenes.kills, scenes.merges,
                      scenes.embedding, scenes.embedding_limits, scenes.gpus, scenes.scored, scenes.many,
                      scenes.diagnosed, scenes.built, scenes.client):  # fmt: skip
            if sys.argv[2:] and scene.__name__ not in sys.argv[2:]:
                continue
            started = time.monotonic()
            seen[scene.__name__] = scene() | {"seconds": round(time.monotonic() - started, 1)}
            print(json.dumps(seen[scene.__name__]), file=sys.stderr, flush=True)
        seen["secrets"] = scenes.secrets([folder])
    print(json.dumps(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
