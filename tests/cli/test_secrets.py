"""A key planted in every place of an address shows up in nothing that a command prints or writes."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiohttp import web
from tests.cli.tools import SMALL, Told
from tests.evaluation.test_eval import judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone import bench
from ragstone.cli import run
from ragstone.engine.open_run import read_run
from ragstone.errors import UsageError
from ragstone.models.network import normal_base_url
from ragstone.types import Query, Response

SECRET = "Pl4nt3dS3cr3t"


def _all_files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()


def assert_clean(told: Told, folder: Path) -> None:
    """Nothing printed has the key, and no file in `folder` but what the test itself put there as `given.*`."""
    assert SECRET not in told.out + told.err, told
    leaks = [path for path, content in _all_files(folder) if SECRET.encode() in content and path.stem != "given"]
    assert not leaks


def export(run_file: Path) -> None:
    """Writes the report and the exports of a run beside it."""
    with read_run(run_file) as opened:
        opened.write_report(run_file.with_name("r.html"))
    for form in ("csv", "jsonl", "markdown", "junit"):
        assert run(["export", str(run_file), "--format", form, "-o", str(run_file.with_name(f"out.{form}"))]) == 0


ADDRESSES = ["{}?key=" + SECRET, "{}?api-version=2&sig=" + SECRET, "{}?" + SECRET]
ANSWERS = ["ok", "status", "not_http", "redirect", "echo"]


@pytest.mark.parametrize(("address", "kind"), list(zip(ADDRESSES * 2, ANSWERS, strict=False)))
async def test_the_key_in_a_models_address_is_kept_nowhere(tmp_path: Path, address: str, kind: str) -> None:
    def plan(number: int, payload: Any) -> Act:
        if kind == "echo":
            return Act("body", status=400, body={"error": {"message": f"bad: /v1/chat?key={SECRET}"}})
        return Act(kind, status=403)

    async with FakeEndpoint(plan) as endpoint:
        url = address.format(endpoint.base_url)
        told = await ran(
            tmp_path,
            "bench",
            "rgb",
            "--model",
            "compat/m",
            "--base-url",
            url,
            *SMALL,
            "--run",
            "a.run",
            "--deadline",
            3,
        )
        assert all(SECRET in seen.path for seen in endpoint.seen)
    assert told.code in (0, 2, 3)
    assert "Traceback" not in told.err
    export(tmp_path / "a.run")
    assert_clean(told, tmp_path)


@pytest.mark.parametrize("kind", ["ok", "status"])
async def test_the_key_in_a_judges_or_an_embedders_address_is_kept_nowhere(tmp_path: Path, kind: str) -> None:
    data = tmp_path / "answers.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    async with FakeEndpoint(lambda *_: Act(kind, status=401), answer=judging) as endpoint:
        url = f"{endpoint.base_url}?key={SECRET}"
        told = await ran(
            tmp_path, "eval", data, "--judge", "compat/j", f"--judge-base-url={url}", "--embedder", "compat/e",
            "--embedder-base-url", url, "--metrics", "faithfulness,semantic_similarity", "--run", "a.run",
            "--deadline", 3,
        )  # fmt: skip
        assert endpoint.seen
    export(tmp_path / "a.run")
    assert_clean(told, tmp_path)


@pytest.mark.parametrize(
    ("benchmark", "name"),
    [
        ("niah", "dense(compat/e,url={base}?key={secret})"),
        ("mirage", "dense(compat/e,url={base}?key={secret})"),
        ("mirage", "rerank(bm25,rerank/m,url={base}?key={secret})"),
        ("mirage", "elasticsearch(http://elastic:{secret}@127.0.0.1:{port},collection=wiki)"),
        ("mirage", "qdrant(http://127.0.0.1:{port}?api_key={secret},embedder=compat/e)"),
        ("mirage", "nonsense(url={base}?key={secret})"),
    ],
)
async def test_the_key_in_the_name_of_a_retriever_is_kept_nowhere(tmp_path: Path, benchmark: str, name: str) -> None:
    def plan(number: int, payload: Any) -> Act:
        if isinstance(payload, dict) and "documents" in payload:
            scores = [{"index": place, "relevance_score": 1.0} for place in range(len(payload["documents"]))]
            return Act("body", status=200, body={"results": scores})
        return Act()

    small = {
        "mirage": ("--fictional-size", 4, "--limit", 2),
        "niah": ("--lengths", "1000", "--depths", "50", "--data-language", "en", "--needle", "number"),
    }[benchmark]
    async with FakeEndpoint(plan) as endpoint:
        given = name.format(base=endpoint.base_url, secret=SECRET, port=endpoint.port)
        told = await ran(
            tmp_path, "bench", benchmark, "--model", "local/extractive", *small, "--retriever", given, "--run", "a.run"
        )
        if told.code == 0:
            assert any(SECRET in seen.path for seen in endpoint.seen)
    assert "Traceback" not in told.err
    if name.startswith(("dense(compat/e,url={base}", "rerank")):
        assert told.code == 0, told.err
        export(tmp_path / "a.run")
        with sqlite3.connect(tmp_path / "a.run") as file:
            assert "?key=***" in "".join(str(row) for row in file.execute("SELECT * FROM meta"))
    assert_clean(told, tmp_path)


@pytest.mark.parametrize("tail", ["?token={}", "/files.zip?token={}", "/with/{}@x?{}"])
async def test_the_key_in_the_address_of_a_mirror_is_told_nowhere(tmp_path: Path, tail: str) -> None:
    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        assert SECRET in str(request.url) or "Authorization" in request.headers
        return web.Response(status=404 if "zip" in request.path else 403)

    runner = web.ServerRunner(web.Server(refuse))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port = runner.addresses[0][1]
        base = f"http://user:{SECRET}@127.0.0.1:{port}" + ("" if "@" in tail else tail.format(SECRET))
        told = await ran(tmp_path, "data", "pull", "rgb", "--from", base, "--to", "here")
    finally:
        await runner.cleanup()
    assert told.code == 2, told
    assert "127.0.0.1" in told.err
    assert_clean(told, tmp_path)


@pytest.mark.parametrize("command", [("report",), ("eval",), ("data", "check"), ("prompts", "check")])
def test_an_address_in_the_place_of_a_file_is_told_without_its_key(
    tmp_path: Path, ragstone: Callable[..., Told], command: tuple[str, ...]
) -> None:
    told = ragstone(*command, f"http://u:{SECRET}@h.example/x?key={SECRET}")
    assert told.code == 2
    assert_clean(told, tmp_path)


class Own:
    """A system of a user's, with an address in its description and in its errors."""

    id = "own"
    spec: ClassVar[dict[str, str]] = {"kind": "own", "url": f"https://u:{SECRET}@h.example/v1?key={SECRET}"}

    async def answer(self, query: Query) -> Response:
        raise RuntimeError(f"404 for url https://h.example/v1?key={SECRET}")


def test_the_key_in_a_users_own_system_is_kept_nowhere(
    tmp_path: Path, ragstone: Callable[..., Told], capsys: pytest.CaptureFixture[str]
) -> None:
    result = bench(
        "rgb",
        model=Own(),
        data_languages=("en",),
        limit=1,
        fictional_size=1,
        noise_ratios=(0.0,),
        run=tmp_path / "a.run",
    )
    assert result.outcome.failed
    told = ragstone("report", tmp_path / "a.run", "-o", tmp_path / "r.html")
    assert told.code == 0
    assert_clean(told, tmp_path)
    assert b"https://h.example/v1?key=***" in (tmp_path / "a.run").read_bytes()


def test_what_is_no_address_is_refused_without_the_key(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    told = ragstone("bench", "rgb", "--model", "compat/m", "--base-url", f"htp://h?key={SECRET}", *SMALL)
    assert told.code == 2
    assert_clean(told, tmp_path)
    for address in (f"word?key={SECRET}", f"http://[x?key={SECRET}", f"u:{SECRET}@h.example"):
        with pytest.raises(UsageError) as refused:
            normal_base_url(address)
        assert SECRET not in str(refused.value)
