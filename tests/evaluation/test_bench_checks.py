"""What `bench` refuses before anything is asked, on a dry run too: options without effect, impossible values."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import json_server
from tests.examples import naming

from ragstone import bench
from ragstone.benchmarks import BENCHMARKS
from ragstone.cli import run as cli
from ragstone.engine.judge_tools import Judging
from ragstone.errors import MissingKey, Unreachable, UsageError
from ragstone.evaluation.reachable import addresses, check_reachable
from ragstone.models import ModelOptions
from ragstone.runs import open_run

SMALL: dict[str, Any] = {"fictional_size": 1, "abilities": "noise", "data_languages": "en"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"template": 5}, "template: 5 is not a template: pass paper, official, or an object with `messages`."),
        ({"template": ""}, "template: '' is empty: name a value, or leave this option out."),
        ({"template": "papers"}, "No template named 'papers'. Did you mean 'paper'?"),
        ({"dataset": ""}, "dataset: '' is empty: name a value, or leave this option out."),
    ],
)
def test_a_value_that_is_no_template_is_one_clear_line(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        bench("rgb", model="local/extractive", run=tmp_path / "a.run", **options)
    assert str(error.value) == message


@pytest.mark.parametrize("option", ["embedder", "embedder_base_url"])
def test_an_embedder_that_no_metric_uses_is_refused(option: str, tmp_path: Path) -> None:
    value = {"embedder": "local/e5-small", "embedder_base_url": "http://127.0.0.1:1/v1"}[option]
    with pytest.raises(UsageError, match=r"has no effect: .*answer_relevancy.*semantic_similarity") as error:
        bench("rgb", model="local/extractive", run=tmp_path / "a.run", **SMALL | {option: value})
    assert str(error.value).startswith(f"`{option}` ")
    assert not (tmp_path / "a.run").exists()


@pytest.mark.parametrize(
    "named",
    [{"model": "openai/m"}, {"model": "local/extractive", "judge": "openai/m"}],
)
def test_a_missing_key_is_told_before_any_data_are_made(
    named: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def made(*_: Any) -> None:
        raise AssertionError("data were made")

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(type(BENCHMARKS.get("rgb")), "make", made)
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        bench("rgb", **named, run=tmp_path / "a.run", **SMALL)


@pytest.mark.parametrize(
    ("retriever", "variable"),
    [
        ("openai/text-embedding-3-small", "OPENAI_API_KEY"),
        ("hybrid(bm25,openai/text-embedding-3-small)", "OPENAI_API_KEY"),
        ("rerank(bm25,openai/gpt-4o-mini)", "OPENAI_API_KEY"),
        ("rerank(dense(openai/text-embedding-3-small),local/smollm2)", "OPENAI_API_KEY"),
        ("rerank(bm25,cohere/rerank-v3.5)", "COHERE_API_KEY"),
    ],
)
@pytest.mark.parametrize("name", ["mirage", "niah"])
def test_a_key_that_a_retriever_lacks_is_told_before_any_data_are_made(
    name: str, retriever: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: Any, **__: Any) -> None:
        raise AssertionError("data were made")

    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("ragstone.benchmarks.mirage.data.load_pool", made)
    monkeypatch.setattr("ragstone.benchmarks.niah.make.NIAH", made)
    with pytest.raises(MissingKey, match=variable):
        bench(name, model="local/extractive", retrievers=retriever, run=tmp_path / "a.run")
    assert list(tmp_path.iterdir()) == []


ROW = '{"id": "a", "question": "Which day?", "answer": "Monday", "reference": "Monday"}\n'
APP = "def ask(question):\n    raise SystemExit('asked')\n"
USELESS = {
    "embedder": (["--embedder", "foo/bar"], "--embedder has no effect: no chosen metric uses an embedder.",
                 "--embedder 不起作用"),
    "embedder-base-url": (["--embedder-base-url", "http://127.0.0.1:1"], "--embedder-base-url has no effect:",
                          "--embedder-base-url 不起作用"),
    "combine": (["--combine", "majority"], "--combine has no effect: it needs several judges.", "--combine 不起作用"),
    "one judge": (["--combine", "each", "--judge", "local/smollm2"], "--combine has no effect:", "--combine 不起作用"),
}  # fmt: skip


@pytest.mark.parametrize("useless", USELESS)
@pytest.mark.parametrize("command", ["run", "eval", "diagnose"])
def test_an_option_of_judges_that_has_no_effect_is_refused_before_anything_is_asked(
    command: str, useless: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(ROW)
    Path("app.py").write_text(APP)
    options, english, chinese = USELESS[useless]
    asked = [] if command == "eval" else ["--system", "app.py:ask"]
    for language, words in (("en", english), ("zh", chinese)):
        monkeypatch.setenv("RAGSTONE_LANGUAGE", language)
        assert cli([command, "rows.jsonl", *asked, "--metrics", "answer_match", *options, "--run", "a.run"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line
    assert not Path("a.run").exists()


@pytest.mark.parametrize("settings", ['embedder = "local/e5-small"', 'combine = "majority"'])
def test_what_a_settings_file_says_for_all_runs_may_be_of_no_use_to_one(
    settings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGSTONE_TRUST", "ragstone.toml")
    Path("rows.jsonl").write_text(ROW)
    Path("app.py").write_text("def ask(question):\n    return 'Monday'\n")
    Path("ragstone.toml").write_text(f"[run]\n{settings}\n")
    assert cli(["run", "rows.jsonl", "--system", "app.py:ask", "--metrics", "answer_match", "--run", "a.run"]) == 0


def test_a_price_needs_no_limit_and_prices_the_answers(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    small = ("--fictional-size", "1", "--ability", "noise", "--data-language", "en", "--limit", "1")
    assert cli(["bench", "rgb", "--model", "local/extractive", *small, "--price", "1/2", "--run", str(path)]) == 0
    with open_run(path) as run:
        assert run.meta["system_price"] == "1/2"


RETRIEVERS = {
    "nope/x": "No model provider named 'nope'.",
    "hybrid(bm25,nope/x)": "No model provider named 'nope'.",
    "local/nope": "No local embedder named 'nope'.",
    "compat/x": "compat/x needs an address: url=http://… in the name of the retriever, or --retriever-base-url.",
    "dense(compat/x,url=foo)": "'foo' is not a base URL",
    "rewrite(bm25,compat/m)": "compat/m needs an address:",
    "rerank(bm25,local/nope)": "No local model named 'nope'.",
    "rerank(bm25,rerank/m)": "rerank/m needs the address of its endpoint",
    "rerank(local/nope,openai/m)": "No local embedder named 'nope'.",
}
NAMES = {
    "mirage": ["--fictional-size", "2"],
    "niah": ["--lengths", "600", "--depths", "50"],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_dry_run_refuses_the_retrievers_that_a_run_would(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for retriever, message in RETRIEVERS.items():
        with naming(retriever):
            assert cli(["bench", name, "--retriever", retriever, *NAMES[name], "--dry-run"]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert message in line
    for retriever in (
        "openai/text-embedding-3-small",
        "rerank(bm25,openai/gpt-4o-mini)",
        "hybrid(bm25,local/e5-small)",
    ):
        with naming(retriever):  # no key is needed to know what a run would take
            assert cli(["bench", name, "--retriever", retriever, *NAMES[name], "--dry-run"]) == 0
    capsys.readouterr()
    assert cli(["bench", name, "--retriever", "bm25", "--retriever-base-url", "foo", "--dry-run"]) == 2
    assert "--retriever-base-url" in capsys.readouterr().err


@pytest.fixture
def closed_port() -> str:
    """An address of this machine where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


NOBODY = {
    "model": ["--model", "compat/m", "--base-url", "http://{}/v1"],
    "replicas": ["--model", "compat/m", "--base-url", "http://{}/v1", "--base-url", "http://{}/v2"],
    "judge": ["--model", "local/extractive", "--judge", "compat/m", "--judge-base-url", "{}"],
    "embedder": ["--model", "local/extractive", "--judge", "local/smollm2", "--metrics", "answer_relevancy",
                 "--embedder", "compat/e", "--embedder-base-url", "http://{}/v1"],
    "system": ["--system", "http://{}/ask", "--body", '{{"q": "{{question}}", "p": "{{passages}}"}}'],
    "header": ["--system", "http://{}/ask", "--body", '{{"p": "{{passages}}"}}', "--header", "X=1"],
}  # fmt: skip


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making data is an error."""

    async def made(*_: Any) -> None:
        raise AssertionError("data were made")

    monkeypatch.setattr(type(BENCHMARKS.get("rgb")), "make", made)


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("place", NOBODY)
def test_an_address_where_nobody_listens_is_told_before_any_data_are_made(
    place: str, language: str, closed_port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = cli(["bench", "rgb", *(word.format(closed_port) for word in NOBODY[place]), "--language", language])
    (line,) = capsys.readouterr().err.splitlines()
    assert code == 2
    assert closed_port in line
    remedy = {"en": "no connection (Connection refused). Check that it runs at this address.", "zh": "连接不上"}
    assert remedy[language] in line
    assert list(tmp_path.glob("*.run")) == []


@pytest.mark.usefixtures("no_data")
def test_a_host_that_nobody_knows_is_told_before_any_data_are_made(tmp_path: Path) -> None:
    options: Any = {"model_options": ModelOptions(base_url="http://no-such-host.invalid/v1")}
    with pytest.raises(Unreachable, match="its name cannot be looked up"):
        bench("rgb", model="compat/m", run=tmp_path / "a.run", **options, **SMALL)


def test_the_check_sends_nothing_and_one_replica_that_listens_is_enough(closed_port: str, tmp_path: Path) -> None:
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_port = f"127.0.0.1:{server.getsockname()[1]}"
        calling = ModelOptions(base_url=[f"http://{closed_port}/v1", f"http://{open_port}/v1"])
        asyncio.run(check_reachable(["compat/m"], Judging(), calling, run=tmp_path / "a.run", name="rgb"))
        connection, _ = server.accept()
        with connection:
            received.append(connection.recv(1))
    assert received == [b""]


def test_a_run_whose_answers_are_kept_needs_nobody(
    closed_port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--fictional-size", "1", "--ability", "noise", "--data-language", "en", "--limit", "1", "--run", "a.run"]
    with json_server(lambda _, __: {"choices": [{"message": {"role": "assistant", "content": "7"}}]}) as address:
        words = ["bench", "rgb", "--model", "compat/m", "--base-url", f"{address}/v1", *small]
        assert cli(words) == 0
    capsys.readouterr()
    assert cli(words) == 0
    err = capsys.readouterr().err
    assert "no connection (Connection refused)" in err
    assert "Traceback" not in err


def test_what_an_own_endpoint_of_a_provider_on_this_machine_is_is_checked_and_that_of_others_is_not() -> None:
    """Naming a provider names its address; a server far away is left to the first request."""
    near = [list(addresses(name, None)) for name in ("ollama/llama3.2", "vllm/m")]
    assert near == [[("http://localhost:11434/v1",)], [("http://localhost:8000/v1",)]]
    for name in ("openai/m", "local/extractive", "scripted/a.jsonl", "app.py:ask", None, object()):
        with naming(str(name)):
            assert list(addresses(name, None)) == []
