"""`--cluster` with real Ray: nodes on this machine in a network namespace, the command and its workers killed."""

import asyncio
import contextlib
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragstone import bench, diagnose, evaluate
from ragstone import run as ask
from ragstone.cluster import cluster_reach
from ragstone.cluster.cluster import Cluster, _RayPool
from ragstone.cluster.cluster_keys import keys_for, keys_of
from ragstone.cluster.cluster_limits import LimitKeeper, limited_by
from ragstone.cluster.cluster_reach import Watch, check_reachable
from ragstone.cluster.cluster_serve import serving
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.execute import RunOptions, Shell
from ragstone.engine.judge_tools import Judging
from ragstone.engine.systems_and_metrics import Workload
from ragstone.errors import AllowanceSpent, EndpointRefused, MissingExtra, Unfinished, UsageError
from ragstone.evaluation.questions import plan_questions, run_questions
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RAG_TEMPLATE, RagTarget
from ragstone.systems.with_retriever import SystemTarget
from ragstone.types import Query, Response, Usage

ROOT = Path(__file__).parents[2]
COUNT = 120


class _Reference:
    """What Ray gives for a call: `future`."""

    def __init__(self, value: Any) -> None:
        self._value = asyncio.ensure_future(value) if asyncio.iscoroutine(value) else value

    def future(self) -> Any:
        import concurrent.futures

        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        if isinstance(self._value, asyncio.Task):
            self._value.add_done_callback(
                lambda task: future.set_exception(task.exception()) if task.exception() else
                future.set_result(task.result())
            )  # fmt: skip
        else:
            future.set_result(self._value)
        return future


class _Method:
    def __init__(self, method: Any) -> None:
        self._method = method

    def remote(self, *arguments: Any) -> _Reference:
        return _Reference(self._method(*arguments))


class NearActor:
    """An actor that is in this process."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> _Method:
        return _Method(getattr(self._target, name))


async def test_workers_share_a_limit_on_requests_and_cost() -> None:
    allowance = Allowance(requests=5)
    keeper = NearActor(LimitKeeper(None, None, allowance))
    first, second = (limited_by(keeper, ModelOptions(allowance=allowance)).allowance for _ in range(2))
    assert first is not None
    assert second is not None
    for worker in (first, second, first, second, first):
        await worker.acquire()
    for worker in (first, second):
        with pytest.raises(AllowanceSpent, match="of 5 requests"):
            await worker.acquire()
    first.pay(Usage(10, 2))
    assert (await asyncio.wrap_future(keeper.spent.remote().future()))[0] == 5


async def test_workers_share_the_requests_of_a_minute() -> None:
    keeper = NearActor(LimitKeeper(4, None, None))
    options = [limited_by(keeper, ModelOptions(requests_per_minute=4)) for _ in range(2)]
    limiters = [each.limiter(8, lambda: None) for each in options if each.limiter is not None]
    for limiter in (*limiters, *limiters):
        await limiter.admit(lambda: 1.0)
    waiting = [asyncio.ensure_future(limiter.admit(lambda: 1.0)) for limiter in limiters]
    await asyncio.wait(waiting, timeout=0.05)
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()


@pytest.mark.parametrize("error", [AllowanceSpent("of 5 requests"), EndpointRefused("Wrong key.", 5, answered=True)])
def test_a_refusal_comes_home_from_a_worker_as_it_was(error: EndpointRefused) -> None:
    import pickle

    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), back.answered, back.exit_code) == (
        type(error), str(error), error.answered, error.exit_code
    )  # fmt: skip


def test_the_keys_of_all_that_workers_open_travel_and_no_other_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "OPENAI_API_KEY": "a", "JINA_API_KEY": "b", "QDRANT_API_KEY": "c", "ELASTIC_PASSWORD": "d", "MY_TOKEN": "e",
        "MY_SEARCH": "f", "MY_VECTORS": "g", "MY_OTHER": "no",
    }  # fmt: skip
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    asked = HttpTarget("http://127.0.0.1:9/ask", headers={"Authorization": "Bearer $MY_TOKEN"})
    target = SystemTarget(asked, 'http(http://127.0.0.1:9,headers={"X-Key": "$MY_SEARCH"})')
    judging = Judging("openai/m", embedder='http(http://127.0.0.1:9,headers={"X-Key": "${MY_VECTORS}"})')
    systems = [target, "openai/m", RagTarget("docs", "rerank(bm25,jina/m)")]
    workload = Workload("x", systems, (), (), judging, ModelOptions(), RAG_TEMPLATE, {})
    assert keys_of(workload) == {name: value for name, value in secrets.items() if value != "no"}
    assert "MY_VECTORS" not in keys_for(["openai/m"])


class Locked:
    """A system that no other process can have."""

    id = "my/locked"

    def __init__(self) -> None:
        self.lock = threading.Lock()

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "locked"}

    async def answer(self, query: Query, /) -> Response:
        return Response("7")


async def asked_on_a_cluster(system: Any, path: Path, **options: Any) -> None:
    plan = plan_questions(
        read_data([{"question": "What is 7?", "reference": "7"}]), system, ["answer_match"], Judging()
    )
    shell = Shell(cluster=Cluster("127.0.0.1:1"))
    await run_questions(plan, RunOptions(run=path, model_options=ModelOptions(**options), shell=shell))


async def test_a_system_that_cannot_be_sent_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        await asked_on_a_cluster(Locked(), tmp_path / "a.run")
    assert str(caught.value).startswith(
        "The system 'my/locked' cannot be sent to the workers of a cluster (cannot pickle"
    )
    assert "give it by name (app.py:ask)" in str(caught.value)


async def test_an_address_where_nothing_answers_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--cluster 127\.0\.0\.1:1: nothing answers there"):
        await asked_on_a_cluster("http://127.0.0.1:9/ask", tmp_path / "a.run")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"workers": 2}, "`workers` needs a `cluster`."),
        ({"cluster": "everywhere"}, "`cluster` 'everywhere': expected auto, local or ray://HOST:PORT."),
        ({"cluster": "local", "workers": 0}, "`workers` 0: expected 1 or more."),
        ({"cluster": "127.0.0.1:1"}, "nothing answers there"),
    ],
)
def test_a_wrong_cluster_from_python_is_one_line_with_keywords(
    tmp_path: Path, words: dict[str, Any], line: str
) -> None:
    rows = [{"question": "What is 7?", "answer": "7", "reference": "7"}]
    for call in (
        lambda: evaluate(rows, ["answer_match"], run=tmp_path / "a.run", **words),
        lambda: ask(rows, "http://127.0.0.1:9/ask", ["answer_match"], run=tmp_path / "b.run", **words),
        lambda: diagnose(rows, "http://127.0.0.1:9/ask", run=tmp_path / "c.run", **words),
        lambda: bench("rgb", model="local/extractive", fictional_size=2, limit=1, run=tmp_path / "d.run", **words),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert line in str(caught.value)


class StillWorker:
    """A worker that notes what it is told."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.dead = False

    async def start(self, errand: Any, keeper: Any) -> str:
        if self.dead:
            raise FakeRay.exceptions.RayActorError
        self.started.append(errand)
        return ""


class FakeRay:
    """As much of Ray as a pool of workers needs, in this process."""

    class exceptions:  # noqa: N801
        class RayActorError(Exception):
            """The actor died."""

    def __init__(self) -> None:
        self.made: list[NearActor] = []
        self.killed: list[NearActor] = []

    def is_initialized(self) -> bool:
        return True

    def remote(self, **options: Any) -> Any:
        return lambda kind: SimpleNamespace(remote=self.hire)

    def hire(self) -> NearActor:
        self.made.append(NearActor(StillWorker()))
        return self.made[-1]

    def kill(self, worker: NearActor) -> None:
        self.killed.append(worker)


async def used(ray: Any, cluster: Cluster, errand: str) -> None:
    """A run of two workers, as far as its pool goes."""
    pool = _RayPool(ray, cluster, errand, None, Path(), 2, 1)
    await pool.begin()
    await asyncio.gather(*pool._starting)
    await asyncio.gather(*pool._starting)  # who replaces one that did not start
    await pool.close()


async def test_workers_stay_for_all_runs_of_a_command_and_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setattr("ragstone.cluster.cluster._ray", lambda: ray)
    cluster = Cluster("auto", 2)
    with cluster.staying():
        for errand in ("first", "second", "third"):
            with cluster.staying():  # a part of the command
                await used(ray, cluster, errand)
        assert (len(ray.made), ray.killed) == (2, [])
    assert [sorted(worker._target.started) for worker in ray.made] == [["first", "second", "third"]] * 2
    assert sorted(map(id, ray.killed)) == sorted(map(id, ray.made))


async def test_workers_of_a_single_run_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setattr("ragstone.cluster.cluster._ray", lambda: ray)
    for errand in ("first", "second"):
        await used(ray, Cluster("auto", 2), errand)
    assert (len(ray.made), len(ray.killed)) == (4, 4)


async def test_a_worker_that_died_between_two_runs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setattr("ragstone.cluster.cluster._ray", lambda: ray)
    cluster = Cluster("auto", 2)
    with cluster.staying():
        await used(ray, cluster, "first")
        ray.made[0]._target.dead = True
        await used(ray, cluster, "second")
    assert [worker._target.started for worker in ray.made] == [["first"], ["first", "second"], ["second"]]


class FakeServe:
    """Ray Serve and its LLM API, as far as they are called: what they are told."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def start(self, **options: Any) -> None:
        self.calls.append(("start", options))

    def run(self, app: Any, **options: Any) -> None:
        self.calls.append(("run", app, options))

    def delete(self, name: str) -> None:
        self.calls.append(("delete", name))

    def LLMConfig(self, **config: Any) -> Any:  # noqa: N802
        return config

    def build_openai_app(self, arguments: Any) -> Any:
        return arguments

    def cluster_resources(self) -> dict[str, float]:
        return {"GPU": 4.0}


async def test_vllm_models_are_served_once_and_taken_down_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeServe()
    for name in ("ray.serve", "ray.serve.llm"):
        monkeypatch.setitem(sys.modules, name, fake)
    with pytest.raises(RuntimeError, match="the run failed"):
        async with serving(fake, ["vllm/qwen", "openai/gpt-4o-mini", "vllm/qwen", object(), "vllm/glm"]):
            raise RuntimeError("the run failed")
    start, run, delete = fake.calls
    assert start[1] == {"proxy_location": "EveryNode", "http_options": {"host": "127.0.0.1", "port": 8000}}
    assert [config["model_loading_config"]["model_id"] for config in run[1]["llm_configs"]] == ["qwen", "glm"]
    assert run[1]["llm_configs"][0]["deployment_config"]["autoscaling_config"] == {"min_replicas": 1, "max_replicas": 2}
    assert delete == ("delete", "ragstone")
    with pytest.raises(UsageError, match="--serve-vllm has nothing to serve"):
        async with serving(fake, ["openai/gpt-4o-mini"]):
            pass
    monkeypatch.setitem(sys.modules, "ray.serve.llm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'ray\[serve,llm\]'"):
        async with serving(fake, ["vllm/qwen"]):
            pass


@contextlib.contextmanager
def guarded_cluster(token: str) -> Iterator[str]:
    """The address of a server that refuses whoever does not show this token, as the head of a cluster does."""
    grpc = pytest.importorskip("grpc")

    def call(request: bytes, context: Any) -> bytes:
        if dict(context.invocation_metadata()).get("authorization") != f"Bearer {token}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
        return b""

    handler = SimpleNamespace(service=lambda details: grpc.unary_unary_rpc_method_handler(call))
    server = grpc.server(ThreadPoolExecutor(2), handlers=[handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None)


@pytest.mark.parametrize("scheme", ["ray://", ""])
def test_a_cluster_that_wants_a_token_says_so_at_once(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    advice = "Set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token of its head, then run this again."
    with guarded_cluster("right") as address:
        for settings, problem in (
            ({}, "wants a token"),
            ({"RAY_AUTH_TOKEN": "right"}, "wants a token"),  # Ray shows it in this mode only
            ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "other"}, "wants another token"),
        ):
            for name, value in settings.items():
                monkeypatch.setenv(name, value)
            with pytest.raises(UsageError) as caught:
                check_reachable(f"{scheme}{address}")
            assert str(caught.value) == f"--cluster {scheme}{address}: the cluster {problem}. {advice}"
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("right\n")
        monkeypatch.delenv("RAY_AUTH_TOKEN")
        check_reachable(f"{scheme}{address}")


async def test_a_head_that_is_gone_ends_what_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster_reach.LOOKS * (cluster_reach.PAUSE_SECONDS + cluster_reach.LOOK_SECONDS) <= 15
    monkeypatch.setattr(cluster_reach, "PAUSE_SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as head:
        watch = Watch("ray://head:1", head.getsockname())
        assert await watch.value(StillWorker().start("an errand", None)) == ""
    with pytest.raises(Unfinished, match=r"its head does not answer any more.*run the same command again"):
        await watch.value(asyncio.Event().wait())
    assert watch.lost


async def test_a_head_that_answers_no_question_is_gone_though_its_address_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_reach, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(cluster_reach, "LOOK_SECONDS", 0.05)
    never = threading.Event()
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)  # takes every connection
    async with server:
        watch = Watch("ray://head:1", server.sockets[0].getsockname(), never.wait)
        with pytest.raises(Unfinished):
            await asyncio.wait_for(watch.value(asyncio.Event().wait()), 30)
    never.set()


def seen_by(folder: Path, *scenes: str) -> Any:
    """What these scenes of tests/cluster/cluster_scenes.py saw."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("a network namespace needs Linux")
    folder = Path("/tmp") / f"rs-{folder.parent.name[-9:]}-{len(scenes)}"  # short: Ray makes sockets in it
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    inside = f"ip link set lo up && exec {sys.executable} -m tests.cluster.cluster_scenes {folder} {' '.join(scenes)}"
    try:
        done = subprocess.run(
            ["unshare", "-n", "sh", "-c", inside], cwd=ROOT, capture_output=True, text=True, check=False, timeout=290
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs and kills."""
    names = ("own_code", "limits", "apart", "driver", "kills", "merges", "embedding", "embedding_limits")
    return seen_by(tmp_path_factory.mktemp("scenes"), *names)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The other commands."""
    return seen_by(tmp_path_factory.mktemp("commands"), "scored", "diagnosed", "built", "gpus")


@pytest.mark.slow
def test_more_answers_than_are_kept_in_memory_are_scored_by_workers(tmp_path_factory: pytest.TempPathFactory) -> None:
    seen = seen_by(tmp_path_factory.mktemp("many"), "many")["many"]
    assert seen["codes"] == [0, 0], seen["err"]
    assert (seen["records"], seen["same"], seen["left"]) == (3 * 1024, True, 0)


@pytest.mark.slow
def test_a_cluster_with_a_token_is_used_by_ray_client_and_its_death_is_told(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    seen = seen_by(tmp_path_factory.mktemp("client"), "client")["client"]
    assert (seen["without"][0], seen["right"][0]) == (2, 0), seen
    assert "the cluster wants a token. Set RAY_AUTH_MODE=token" in seen["without"][1]
    code, line = seen["killed"]
    assert seen["seconds killed"] < 25  # 15 until it gives up, on a machine that does other things, too
    assert code == 3
    assert "its head does not answer any more" in line
    assert len(line.splitlines()) == 1


@pytest.mark.slow
def test_a_users_own_code_answers_on_the_workers_as_on_one_machine(scenes: Any) -> None:
    seen = scenes["own_code"]
    assert (seen["code"], seen["one"], seen["complete"], seen["same"]) == (0, 0, True, True), seen["err"]


@pytest.mark.slow
def test_a_limit_holds_for_all_workers_together(scenes: Any) -> None:
    seen = scenes["limits"]
    assert (seen["code"], seen["requests"]) == (3, 37)
    assert "The limit of 37 requests (--max-requests) is reached" in seen["err"]


@pytest.mark.slow
def test_a_command_and_workers_and_a_node_that_die_cost_what_was_in_flight(scenes: Any) -> None:
    driver, kills = scenes["driver"], scenes["kills"]
    assert driver["left"] == 1
    assert (kills["code"], kills["done"], kills["same"]) == (0, COUNT, True), kills["err"]
    assert kills["files"] == ["a.run"]
    in_flight = 2 * 3 * 4  # of three workers with four questions each: when the command died, and workers and the node
    assert COUNT <= 37 + driver["requests"] + kills["requests"] <= COUNT + in_flight


@pytest.mark.slow
def test_a_command_that_is_killed_in_merges_leaves_its_run_alone_and_loses_nothing(scenes: Any) -> None:
    seen = scenes["merges"]
    assert seen["codes"] == [-signal.SIGKILL] * 3
    assert (seen["code"], seen["same"], seen["files"]) == (0, True, ["m.run"]), seen["err"]
    cases, in_flight = 4 * 100, 3 * 4  # of three workers with four questions each
    assert cases <= seen["requests"] <= cases + 3 * in_flight


@pytest.mark.slow
def test_workers_without_a_shared_disk_send_their_files_and_a_death_costs_its_shards(scenes: Any) -> None:
    seen = scenes["apart"]
    assert (seen["said"], seen["same"], seen["outside"]) == ("0 a.run", True, 0), seen["err"]
    assert COUNT <= seen["requests"] <= COUNT + 2 * 10  # two shards of the worker that died


@pytest.mark.slow
def test_a_pool_that_workers_embed_has_the_vectors_of_one_machine(scenes: Any) -> None:
    assert {name: scenes["embedding"][name] for name in ("same", "shape", "asked")} == {
        "same": True, "shape": [700, 3], "asked": 1
    }  # fmt: skip


@pytest.mark.slow
def test_workers_that_embed_keep_the_limit_of_the_command_and_a_refusal_comes_home(scenes: Any) -> None:
    seen = scenes["embedding_limits"]
    assert seen["wrong"] == "Unauthorized: compat/e: not allowed (401: Who are you?). Check COMPAT_API_KEY."
    assert seen["few"].startswith("AllowanceSpent: The limit of 3 requests (--max-requests) is reached")
    assert seen["few_requests"] == seen["few_counted"] == 3
    assert (seen["enough"], seen["enough_requests"]) == (700, seen["enough_counted"])


@pytest.mark.slow
def test_each_worker_gets_the_share_of_a_gpu_that_it_asks_for(commands: Any) -> None:
    """The nodes only say that they have one: no GPU is used."""
    seen = commands["gpus"]
    assert (seen["code"], seen["answers"]) == (0, {"GPU 0": COUNT}), seen["err"]
    assert seen["embedded"] == [pytest.approx(3 / 5)]


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "records"), [("scored", 48), ("diagnosed", 100), ("built", 20)])
def test_what_workers_score_diagnose_and_build_is_what_one_machine_does(
    commands: Any, scene: str, records: int
) -> None:
    seen = commands[scene]
    assert seen["codes"] == [0, 0], seen["err"]
    assert (seen["same"], seen["left"]) == (True, 0)
    assert seen["records"] >= records
    assert (seen.get("questions", 4), seen.get("python", 48)) == (4, 48)


@pytest.mark.slow
def test_a_shard_that_a_cluster_asks_is_a_part_of_one_machines_run(commands: Any) -> None:
    assert commands["scored"]["parts"]
    assert 0 < commands["scored"]["part"] < 48


@pytest.mark.slow
def test_the_key_travels_to_the_workers_and_is_in_no_file(scenes: Any) -> None:
    assert scenes["limits"]["strangers"] == 0
    assert scenes["secrets"]["found"] == []
    assert scenes["secrets"]["seen"] > 100
