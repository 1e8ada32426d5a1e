"""What OpenInference's instrumentation of LangChain and LlamaIndex recorded of the applications in
tests/systems/apps/frameworks, printed by ConsoleSpanExporter. tests/systems/test_traced_frameworks.py runs them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragstone.datasets.tabular import Item, read_eval_data
from ragstone.responses.stages import passages_at
from ragstone.types import Step, Turn, Usage

RECORDED = Path(__file__).parent / "recorded"


def items(name: str) -> Sequence[Item]:
    data = read_eval_data(RECORDED / name)
    assert data.warnings == ()
    return data.items


def stages(item: Item) -> dict[str, list[str]]:
    assert item.response is not None
    found = {name: passages_at(item.response, name) for name in ("fetch", "rerank", "prompt")}
    return {name: [passage.id for passage in passages] for name, passages in found.items() if passages is not None}


def step(item: Item, name: str) -> Step:
    assert item.response is not None
    return next(step for step in item.response.steps if step.name == name)


def test_langchain_reranking_retriever_and_documents_without_ids() -> None:
    item = items("langchain.txt")[0]
    assert (item.sample.question, item.error) == ("How much is item 5?", "")
    assert stages(item) == {
        "fetch": ["5.md", "6.md", "7.md"],
        "rerank": ["6.md", "5.md"],
        "prompt": ["6.md", "5.md"],
    }
    assert item.response is not None
    assert item.response.answer == "Item 6 costs 106 crowns. 第6号商品的价格是106克朗。"
    assert item.response.usage == Usage(prompt_tokens=10, completion_tokens=3, requests=1)
    assert [passage.id for passage in item.response.passages] == ["6.md", "5.md"]
    assert 0 < (step(item, "fetch").seconds or 0) < (item.response.seconds or 0)
    assert step(item, "generate").usage == item.response.usage


def test_langchain_history_rewritten_query_and_two_of_three_in_the_prompt() -> None:
    item = items("langchain.txt")[1]
    assert item.history == (Turn("user", "hi"), Turn("assistant", "yes"))
    assert step(item, "rewrite").output == ["price: How much is item 6?"]
    assert stages(item) == {"fetch": ["6.md", "7.md", "8.md"], "prompt": ["6.md", "7.md"]}


def test_llamaindex_retrievals_are_counted_once_though_each_has_two_spans() -> None:
    item = items("llamaindex.txt")[0]
    assert stages(item) == {"fetch": ["4.md", "5.md", "6.md"], "prompt": ["5.md", "4.md"]}
    assert item.response is not None
    assert item.response.answer == "Item 5 costs 105 crowns. 第5号商品的价格是105克朗。"
    assert item.response.model == "quoting"
    assert (step(item, "fetch").seconds or 0) < (item.response.seconds or 0) / 2


def test_an_exception_is_the_error_of_its_question() -> None:
    item = items("llamaindex.txt")[1]
    assert (item.response, item.error) == (None, "KeyError: 'no such index'")


@pytest.mark.parametrize("name", ["langchain.txt", "llamaindex.txt"])
def test_the_columns_of_a_root_are_there_to_group_by(name: str) -> None:
    assert all(item.extra["openinference.span.kind"] == "CHAIN" for item in items(name))
