"""A condition took effect if what was given is seen in the prompt or in what came back, whatever its format."""

import pytest

from ragstone.diagnosis.interventions.effect import Effect, effect_of
from ragstone.responses.stages import stage_step
from ragstone.types import NO_ANSWER, Case, Passage, Query, Record, Response, Sample

TEXTS = {
    "en": ("The Arvo pump was built in 1931. It weighs 310 kg and stands in the north hall, beside the old boiler.",
           "The Belka pump was repaired in 1987. Its motor is the second that was delivered from the works in Turin."),
    "zh": ("阿沃泵建于1931年，重310公斤，安放在北厅的旧锅炉旁边，每年春季由维修组检查一次，并记录在案。",
           "贝卡泵于1987年大修，它的电机是从都灵工厂运来的第二台，平时由夜班人员负责看管和日常保养。"),
}  # fmt: skip
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])


def passages(language: str) -> tuple[Passage, Passage]:
    gold, other = TEXTS[language]
    return Passage("gold", gold, relevant=True), Passage("other", other)


def record(language: str, given: tuple[Passage, ...], response: Response, stand_in: str = "") -> Record:
    gold = passages(language)[0]
    sample = Sample("q", "How heavy?", (("310",),), (gold,), language, {"stand_in": stand_in})
    return Record("s", Case("0/x", sample, {}, Query("How heavy?", given)), response)


def prompted(text: str) -> Response:
    """An adapter saw this prompt, and could not tell a passage in it."""
    return Response("?", (), (stage_step("fetch", ()), stage_step("prompt", (), query=text)))


FORMATS = {
    "as it is": lambda text: text,
    "numbered, in lines": lambda text: "[1] " + text.replace(" ", "\n").replace("，", "，\n"),
    "cut after two thirds": lambda text: text[: 2 * len(text) // 3] + "…",
    "in two chunks, the other way round": lambda text: text[len(text) // 2 :] + "\n---\n" + text[: len(text) // 2],
}


@LANGUAGES
@pytest.mark.parametrize("form", FORMATS)
def test_given_passages_are_found_in_any_format(form: str, language: str) -> None:
    gold, other = passages(language)
    shown = record(language, (gold,), prompted("Context:\n" + FORMATS[form](gold.text)))
    assert effect_of("gold_only", shown, Response("", (other,))) == Effect("yes", "prompt")


@LANGUAGES
def test_passages_that_are_not_in_the_prompt_had_no_effect(language: str) -> None:
    gold, other = passages(language)
    as_is = Response("", (other,))
    empty = record(language, (gold,), prompted("Context:\n\nQuestion: How heavy?"))
    assert effect_of("gold_only", empty, as_is) == Effect("no", "not_in_prompt")
    both = record(language, (gold,), prompted(f"Context:\n{other.text}\n{gold.text}"))
    assert effect_of("gold_only", both, as_is) == Effect("no", "own_passages")
    closed = record(language, (), prompted(f"Context:\n{other.text}"))
    assert effect_of("closed_book", closed, as_is) == Effect("no", "own_passages")
    assert effect_of("closed_book", record(language, (), prompted("Context:")), as_is) == Effect("yes", "prompt")


@LANGUAGES
def test_the_order_counts_where_a_condition_is_about_it(language: str) -> None:
    gold, other = passages(language)
    as_is = Response("", (other, gold))
    kept = record(language, (gold, other), Response("", (gold, other)))
    turned = record(language, (gold, other), Response("", (other, gold)))
    assert effect_of("gold_first", kept, as_is) == Effect("yes", "returned")
    assert effect_of("gold_first", turned, as_is) == Effect("no", "other_order")
    assert effect_of("duplicated", turned, as_is).took == "yes"


def test_a_changed_text_is_not_taken_for_the_one_that_it_was_made_of() -> None:
    gold, other = passages("en")
    changed = Passage("gold", gold.text.replace("310", "444"))
    old = record("en", (changed,), prompted(gold.text), stand_in="444")
    assert effect_of("counterfactual", old, Response("", (other,))) == Effect("no", "not_in_prompt")
    new = record("en", (changed,), prompted(changed.text), stand_in="444")
    assert effect_of("counterfactual", new, Response("", (other,))) == Effect("yes", "prompt")


def test_what_an_adapter_gave_to_a_retriever_shows_nothing() -> None:
    gold, other = passages("en")
    fetched = record("en", (gold,), Response("?", (gold,), (stage_step("fetch", (gold,)),)))
    assert effect_of("gold_only", fetched, Response("", (other,))) == Effect("unknown", "nothing")
    assert effect_of("gold_only", record("en", (gold,), Response("310")), Response("5")).took == "unknown"


def test_more_passages_and_searches_are_counted() -> None:
    gold, other = passages("en")
    as_is = Response("", (gold,))
    assert effect_of("k2", record("en", (), Response("", (gold, other))), as_is) == Effect("yes", "more")
    assert effect_of("k2", record("en", (), Response("", (gold,))), as_is) == Effect("no", "no_more")
    assert effect_of("k2", record("en", (), Response("310")), Response("5")).took == "unknown"
    found = Response("", (other,), finish_reason=NO_ANSWER)
    assert effect_of("search_asked", record("en", (), found), as_is) == Effect("yes", "searched")
    assert effect_of("search_asked", record("en", (), Response("310", (gold,))), as_is) == Effect("no", "answered")
    nothing = Response("", finish_reason=NO_ANSWER)
    assert effect_of("search_asked", record("en", (), nothing), as_is) == Effect("no", "found_nothing")
