"""What a system was told, and what the question asks for: a brief reader, one that converts and one that answers in
another language are named where the request alone rights the answer; where any other words do, nothing is named."""

from collections.abc import Callable

import pytest
from tests.diagnosis.interventions.evidence import examined

from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.responses.stages import stage_step
from ragstone.types import Passage, Query, Response, Sample

# Question, reference, gold, and the answers: right, too short, in another language.
WORLDS = {
    "en": ("How much does the Belka pump weigh, and who says so?", "317 kg, says Anna Lind",
           "The Belka pump weighs 317 kg, says Anna Lind.", "It weighs 317 kg, says Anna Lind.", "317", "重317公斤"),
    "zh": ("贝卡泵有多重？谁说的？", "安娜·林德说重317公斤", "安娜·林德说重317公斤，贝卡泵的铭牌上就是这样写的。",
           "安娜·林德说重317公斤。", "317", "Anna Lind says 317 kg"),
}  # fmt: skip


def cause(language: str, answer: Callable[[Query], str], finish: str = "stop") -> str:
    question, reference, gold, *_ = WORLDS[language]
    sample = Sample("q", question, ((reference,),), (Passage("gold", gold, relevant=True),), language)

    def ask(query: Query) -> Response:
        passages = sample.passages if query.passages is None else query.passages
        steps = (stage_step("fetch", passages),) if query.passages is None else ()
        return Response(answer(query) if passages else "?", tuple(passages), steps, finish_reason=finish)

    return cause_of(examined(sample, ask, "repeat passages")).name


def wants_all(query: Query) -> bool:
    return "full sentences" in query.question or "完整的句子" in query.question


@pytest.mark.parametrize("language", WORLDS)
def test_a_reader_told_to_be_brief_is_named_if_the_request_rights_it(language: str) -> None:
    _, _, _, right, short, _ = WORLDS[language]
    assert cause(language, lambda query: right if wants_all(query) else short) == "instruction"
    assert cause(language, lambda query: short) == "reading"


@pytest.mark.parametrize("language", WORLDS)
def test_nothing_is_named_where_any_other_words_right_the_answer(language: str) -> None:
    question, _, _, right, short, _ = WORLDS[language]
    assert cause(language, lambda query: right if query.question != question else short) == "reading"


@pytest.mark.parametrize("language", WORLDS)
def test_an_answer_in_another_language_is_named_if_it_can_be_asked_for(language: str) -> None:
    _, _, _, right, _, foreign = WORLDS[language]
    assert cause(language, lambda query: right if wants_all(query) else foreign) == "language"


@pytest.mark.parametrize("language", WORLDS)
def test_a_value_converted_wrongly_is_named_if_the_documents_form_can_be_asked_for(language: str) -> None:
    _, _, gold, right, *_ = WORLDS[language]
    assert cause(language, lambda query: right if wants_all(query) else gold.replace("317", "3.17")) == "units"


@pytest.mark.parametrize("language", WORLDS)
def test_an_answer_that_was_cut_at_its_length_is_named_by_what_the_provider_says(language: str) -> None:
    assert cause(language, lambda query: WORLDS[language][4], finish="length") == "integration"


def test_an_answer_that_repeats_the_documents_shows_nothing() -> None:
    question, reference, gold = "How much does the Belka pump weigh?", "317 kg", (
        "The Arvo pump weighs 310 kg. The Belka pump weighs 317 kg. The Cirro pump weighs 324 kg. All stand in hall 3. "
        "Their plates were made in the north works."
    )  # fmt: skip
    sample = Sample("q", question, ((reference,),), (Passage("gold", gold, relevant=True),), "en")

    def ask(query: Query) -> Response:
        answer = gold if wants_all(query) else "It weighs 310 kg."
        return Response(
            answer if query.passages != () else "?", sample.passages, (stage_step("fetch", sample.passages),)
        )

    assert cause_of(examined(sample, ask, "repeat passages")).name == "reading"
