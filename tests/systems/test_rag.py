"""`rag(…)`: retrieval over the user's documents and a reader, by one name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ragstone.errors import UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.responses.stages import passages_at
from ragstone.systems import open_system, system_settings
from ragstone.systems.rag import RAG_TEMPLATE, RagTarget, rag_target
from ragstone.types import NO_ANSWER, Passage, Query, System


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "returns.md").write_text("# Returns\n\nGoods may be returned within 30 days.", "utf-8")
    (folder / "shipping.md").write_text("# Shipping\n\nShipping to Norway costs 12 euros.", "utf-8")
    (folder / "保修.txt").write_text("云杉手表的保修期是两年。", "utf-8")
    return folder


@asynccontextmanager
async def opened(target: RagTarget) -> AsyncIterator[System]:
    async with open_system(target, template=RAG_TEMPLATE, options=ModelOptions()) as system:
        yield system


@pytest.mark.parametrize(
    ("question", "best", "words"),
    [
        ("What does shipping to Norway cost?", "shipping.md#1", "12 euros"),
        ("云杉手表的保修期是多久？", "保修.txt#1", "两年"),
    ],
)
async def test_it_answers_from_the_documents_and_keeps_its_stages(
    documents: Path, question: str, best: str, words: str
) -> None:
    async with opened(RagTarget(documents, k=2)) as system:
        response = await system.answer(Query(question))
    assert words in response.answer
    assert response.passages[0].id == best
    assert passages_at(response, "fetch") == passages_at(response, "prompt") == response.passages
    assert passages_at(response, "rerank") is None


async def test_passages_that_are_handed_over_are_used_instead(documents: Path) -> None:
    async with opened(RagTarget(documents)) as system:
        response = await system.answer(
            Query("What does shipping to Norway cost?", (Passage("p", "Shipping to Norway costs 99 euros."),))
        )
    assert "99 euros" in response.answer


async def test_a_question_may_ask_for_another_number_of_passages(documents: Path) -> None:
    async with opened(RagTarget(documents, k=1)) as system:
        counts = [len((await system.answer(Query("shipping or goods", k=k))).passages) for k in (None, 2)]
    assert counts == [1, 2]


async def test_a_search_without_an_answer(documents: Path) -> None:
    async with opened(RagTarget(documents, k=2)) as system:
        found = await system.answer(Query("What does shipping to Norway cost?", k=1, retrieve_only=True))
    assert (found.answer, found.finish_reason) == ("", NO_ANSWER)
    assert [passage.id for passage in found.passages] == ["shipping.md#1"]
    assert passages_at(found, "fetch") == found.passages
    assert passages_at(found, "prompt") is None


async def test_rewriting_and_reranking_are_stages_and_a_search_uses_the_question_as_it_stands(
    documents: Path, tmp_path: Path
) -> None:
    script = tmp_path / "replies.jsonl"
    lines = [
        '{"contains": "ranking", "text": "{\\"ranking\\": [2, 1]}"}',
        '{"default": "{\\"query\\": \\"Are goods returned after shipping\\"}"}',
    ]
    script.write_text("\n".join(lines), "utf-8")
    name = f"rerank(rewrite(bm25,scripted/{script}),scripted/{script})"
    question = "shipping to Norway, or goods"
    async with opened(RagTarget(documents, retriever=name, k=1)) as system:
        response = await system.answer(Query(question))
        found = await system.answer(Query(question, retrieve_only=True))
    assert [step.name for step in response.steps] == ["rewrite", "fetch", "rerank", "prompt"]
    usages = {step.name: step.usage for step in response.steps}
    assert all((usages[name] is not None) == (name in ("rewrite", "rerank")) for name in usages)
    assert all(step.seconds is not None and step.seconds >= 0 for step in response.steps[:3])
    assert sum(step.seconds or 0 for step in response.steps) <= (response.seconds or 0)
    assert response.steps[0].output == ["Are goods returned after shipping"]
    fetched = passages_at(response, "fetch")
    assert fetched is not None
    assert fetched[0].id == "returns.md#1"
    assert len(fetched) == 2
    assert passages_at(response, "rerank") == passages_at(response, "prompt") == response.passages
    assert [passage.id for passage in response.passages] == ["shipping.md#1"]
    searched = passages_at(found, "fetch")
    assert searched is not None
    assert searched[0].id == "shipping.md#1"
    assert [step.name for step in found.steps] == ["fetch", "rerank"]


async def test_a_model_reads_what_was_retrieved(documents: Path, tmp_path: Path) -> None:
    script = tmp_path / "replies.jsonl"
    script.write_text('{"contains": "12 euros", "text": "twelve"}\n{"default": "other"}\n', "utf-8")
    async with opened(RagTarget(documents, model=f"scripted/{script}", k=1)) as system:
        assert (await system.answer(Query("What does shipping to Norway cost?"))).answer == "twelve"
        assert system.spec["reader"]["model"].startswith("scripted/")


async def test_changed_documents_are_another_system(documents: Path) -> None:
    async with opened(RagTarget(documents)) as system:
        before = dict(system.spec)
    (documents / "returns.md").write_text("Goods may not be returned.", "utf-8")
    async with opened(RagTarget(documents)) as system:
        assert system.spec["corpus"] != before["corpus"]
        assert {**system.spec, "corpus": ""} == {**before, "corpus": ""}


def test_its_name_is_its_spelling(documents: Path) -> None:
    text = "rag(retriever=hybrid(bm25,local/e5-small), model=openai/gpt-4o-mini, k=3, chunk=110)"
    target = rag_target(text, documents)
    assert target == RagTarget(documents, "hybrid(bm25,local/e5-small)", "openai/gpt-4o-mini", 3, 110)
    assert target.name == text
    assert rag_target(target.name, documents) == target
    assert rag_target("rag()", documents).name == "rag(retriever=bm25, model=local/extractive, k=5)"
    assert system_settings(target) == [text, str(documents)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rag(k=0)", "k should be 1 or more"), ("rag(k=many)", "k should be a whole number"),
        ("rag(chunk=-1)", "chunk should be a whole number"), ("rag(bm25)", "should be rag(NAME=VALUE, …)"),
        ("bm25", "should be rag(NAME=VALUE, …)"), ("rag(k=1", "a parenthesis is not closed"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_are_one_line(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        rag_target(text, ".")
    assert words in str(caught.value)


def test_an_unknown_option_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'retriever'"):
        rag_target("rag(retreiver=bm25)", ".")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"retriever": "bm52"}, "bm52"),
        ({"template": "poem"}, "poem"),
        ({"corpus": "nowhere"}, "no such file or folder"),
    ],
)
async def test_parts_that_do_not_exist_are_told_before_anything_is_asked(
    documents: Path, changes: dict[str, str], words: str
) -> None:
    values = {"corpus": documents, **changes}
    with pytest.raises(UsageError, match=words):
        async with opened(RagTarget(**values)):  # type: ignore[arg-type]
            raise AssertionError("it was opened")
