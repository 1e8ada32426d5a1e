"""Which chunks a construction reads: a sample by document and topic, in rounds, which only losses make larger."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.construction.test_questions import changed

from ragstone.construction.build_questions import build_questions
from ragstone.construction.builders.pipeline import State
from ragstone.construction.builders.questions.items import Draft
from ragstone.construction.builders.questions.pipeline import QuestionSettings, questions_pipeline
from ragstone.construction.builders.questions.sample import OrderChunks, document_of
from ragstone.construction.construction import construct
from ragstone.construction.construction_estimate import Expected, expected
from ragstone.engine.execute import RunOptions
from ragstone.models.scripted import Scripted
from ragstone.types import Passage

SINGLE = {"single": 1.0}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])


def name_of(number: int, language: str) -> str:
    letters = "ABCDEFGHIJ" if language == "en" else "甲乙丙丁戊己庚辛壬癸"
    return "".join(letters[int(digit)] for digit in f"{number:05}")


def chunks_of(documents: int, each: int, language: str) -> list[Passage]:
    """Chunks with one fact each, none of which another one states."""
    found = []
    for number in range(documents):
        for place in range(each):
            name, height = name_of(number * each + place, language), 300 + number * each + place
            if language == "en":
                title = f"Tower {name}"
                text = f"The tower of {name} was finished late. It is {height} metres tall, as all maps of {name} say."
            else:
                title = f"{name}塔"
                text = f"{name}塔建成得很晚，周围的居民都还记得当时的情形。塔高{height}米，{name}的地图都这样写。"
            meta = {"document": f"{language}{number}"}
            found.append(Passage(f"{language}{number}#{place}", text, title, meta=meta))
    return found


def built(
    chunks: Sequence[Passage], size: int, run: Path, types: Mapping[str, float] | None = None, **rules: Any
) -> tuple[State, Scripted, Expected]:
    """The state at the end, the model with what it was asked, and what the dry run had estimated."""
    model = changed(**rules)
    models: Any = dict.fromkeys(("writer", "checker"), model)
    pipeline = questions_pipeline(chunks, QuestionSettings(size, types))
    planned = asyncio.run(expected(pipeline, models, run))
    done = asyncio.run(construct(pipeline, models, how=RunOptions(run=run)))
    assert done.complete
    return done.state, model, planned


def heights(shown: Mapping[str, Any], reply: Any) -> Any:
    """What a reader finds who lists all heights of the passages."""
    found = re.findall(r"\d+(?: metres|米)", " ".join(shown["passages"].values()))
    return {"answer": "; ".join(found), "found": bool(found)}


def documents_of(drafts: Sequence[Draft]) -> set[str]:
    return {fact.document for draft in drafts for fact in draft.facts}


def test_five_questions_from_ten_thousand_chunks_take_few_requests_as_the_dry_run_said(tmp_path: Path) -> None:
    chunks = [*chunks_of(2500, 2, "en"), *chunks_of(2500, 2, "zh")]
    state, model, planned = built(chunks, 5, tmp_path / "b.run")
    assert len(state.items) == len(documents_of(state.items)) == 5
    assert {draft.language for draft in state.items} == {"en", "zh"}
    assert len(model.requests) <= 200
    assert planned.total("likely").requests == len(model.requests)  # the replies are those of `local/template`
    assert planned.total("least").requests == planned.passes["facts"].least.requests == 16  # 8 turns of two chunks


@LANGUAGES
@pytest.mark.parametrize("types", [SINGLE, {"single": 0.5, "several": 0.25, "two_in_one": 0.25}], ids=len)
def test_every_document_is_asked_about_where_the_size_allows(
    language: str, types: Mapping[str, float], tmp_path: Path
) -> None:
    chunks = chunks_of(12, 4, language)
    state, _, _ = built(chunks, 12, tmp_path / "b.run", types, read=heights)
    assert len(state.items) == 12
    assert documents_of(state.items) == set(map(document_of, chunks))


@LANGUAGES
def test_losses_are_replaced_and_nothing_is_asked_twice(language: str, tmp_path: Path) -> None:
    def reads(shown: Mapping[str, Any], reply: Any) -> Any:
        """Two of three questions fail, by the last digit of the height."""
        text = " ".join(shown["passages"].values())
        return reply if any(f"{digit}{unit}" in text for digit in "258" for unit in (" metres", "米")) else {
            "answer": "", "found": False,
        }  # fmt: skip

    chunks = chunks_of(300, 1, language)
    whole, model, planned = built(chunks, 10, tmp_path / "b.run", SINGLE, read=reads)
    assert len(whole.items) == 10
    yields = {one.name: one for one in whole.yields}
    assert 16 < yields["sample"].kept < 80  # a first round, and further ones by the measured losses
    assert planned.total("least").requests <= len(model.requests) <= planned.total("most").requests
    asked = Counter(json.dumps([request.schema_name, request.messages[-1].content]) for request in model.requests)
    assert max(asked.values()) == 2  # the repeats of the reader
    again, silent, left = built(chunks, 10, tmp_path / "b.run", SINGLE, read=reads)
    assert silent.requests == []
    assert left.total("most").requests == 0
    assert again == whole


@LANGUAGES
def test_a_larger_set_begins_with_the_smaller_one_and_asks_only_what_is_new(language: str, tmp_path: Path) -> None:
    chunks = chunks_of(100, 2, language)
    small, first, _ = built(chunks, 5, tmp_path / "b.run", SINGLE)
    large, second, _ = built(chunks, 15, tmp_path / "b.run", SINGLE)
    _, fresh, _ = built(chunks, 15, tmp_path / "fresh.run", SINGLE)
    assert [draft.id for draft in large.items][:5] == [draft.id for draft in small.items]
    assert len(large.items) == 15
    assert len(first.requests) + len(second.requests) == len(fresh.requests)


def test_another_seed_draws_another_sample_and_the_order_of_the_documents_does_not_matter(tmp_path: Path) -> None:
    chunks = chunks_of(60, 2, "en")

    def order(seed: int, chunks: Sequence[Passage]) -> list[str]:
        kept, _ = asyncio.run(OrderChunks(seed).finish(chunks, {}, None))  # type: ignore[arg-type]
        return [chunk.id for chunk in kept]

    assert order(0, chunks) == order(0, chunks[::-1])
    assert order(0, chunks)[:5] != order(1, chunks)[:5]
    assert len({name.partition("#")[0] for name in order(0, chunks)[:60]}) == 60  # every document before any twice


TOPICS = {
    "en": (
        "The invoice of customer {number} was refunded to the card after payment in the billing portal.",
        "The antenna of router {number} lost the wireless signal until the firmware update rebooted it.",
    ),
    "zh": (
        "客户{number}的发票已经退款，付款原路退回信用卡账户。",
        "路由器{number}的天线丢失无线信号，固件更新之后恢复正常。",
    ),
}  # fmt: skip


@LANGUAGES
def test_a_rare_topic_is_drawn_as_often_as_a_frequent_one(language: str) -> None:
    frequent, rare = TOPICS[language]
    texts = [(rare if number % 8 == 0 else frequent).format(number=number) for number in range(240)]
    chunks = [Passage(str(number), text) for number, text in enumerate(texts)]
    kept, _ = asyncio.run(OrderChunks().finish(chunks, {}, None))  # type: ignore[arg-type]
    of_rare = sum(int(chunk.id) % 8 == 0 for chunk in kept[:10])
    assert of_rare >= 3  # of all it is one in eight


@LANGUAGES
def test_the_second_value_of_another_document_is_found_by_search(language: str, tmp_path: Path) -> None:
    """Two documents each give the heights of 200 towers: random chunks hardly meet, the nearest ones do."""

    chunks = []
    for chunk in chunks_of(200, 1, language):
        digits = "".join(filter(str.isdigit, chunk.text))
        chunks += [
            Passage(f"{copy}/{chunk.id}", chunk.text.replace(digits, f"{digits}{copy}"), chunk.title,
                    meta={"document": f"{copy}/{document_of(chunk)}"})
            for copy in (1, 2)
        ]  # fmt: skip
    state, _, _ = built(chunks, 5, tmp_path / "b.run", {"contradiction": 1.0}, read=heights)
    assert len(state.items) == 5
    assert all(len({fact.value for fact in draft.facts}) == 2 for draft in state.items)
    assert next(one.kept for one in state.yields if one.name == "sample") == 16


def test_what_is_missing_is_told_with_what_was_tried(tmp_path: Path) -> None:
    documents = Path(__file__).parents[2] / "examples" / "handbook" / "docs" / "en"
    given_up = build_questions(documents, tmp_path / "a", size=2, types={"unanswerable": 1})
    assert "0 of 2 questions passed the gates, of 16 drafts" in "".join(given_up.warnings)
    exhausted = build_questions(documents / "returns.md", tmp_path / "b", size=20, types={"single": 1})
    assert "hold no more of the wanted types" in "".join(exhausted.warnings)
