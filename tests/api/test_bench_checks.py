"""What `bench` refuses before anything is asked, on a dry run too: options without effect, impossible values."""

from pathlib import Path
from typing import Any

import pytest
from tests.examples import naming

from ragstone import bench
from ragstone.benchmarks import BENCHMARKS
from ragstone.cli import run as cli
from ragstone.errors import MissingKey, UsageError
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
