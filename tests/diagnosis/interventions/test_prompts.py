"""A prompt that is cut at its length is told from a reader that minds the position, and a guard from a model that
refuses, in English and Chinese."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.diagnosis.interventions.evidence import evidence_of, examined

from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.diagnosis.interventions.evidence import facts_of
from ragstone.diagnosis.interventions.shared import Shared, shared_of
from ragstone.responses.stages import stage_step
from ragstone.types import Passage, Query, Response, Sample, Step

WORLDS: dict[str, dict[str, Any]] = {
    "en": {
        "question": "How much does the Belka pump weigh?", "reference": "317 kg", "other": "450 kg",
        "gold": "The Belka pump weighs 317 kg, as its plate in hall 3 of the north works says.",
        "note": "A note on the doors of hall {n} in the south works, which are painted every {n} years. ",
        "message": "I'm sorry, but I can't help with this request.",
        "lacking": "The documents do not contain the answer.",
        "missing": "I do not know.",
    },
    "zh": {
        "question": "贝卡泵有多重？", "reference": "317公斤", "other": "450公斤",
        "gold": "贝卡泵重317公斤，这是北厂三号车间里的铭牌上写着的。",
        "note": "关于南厂{n}号车间大门的说明：每隔{n}年重新油漆一次，由后勤部门负责。",
        "message": "抱歉，我不能协助处理这一请求。", "lacking": "文档中没有答案。", "missing": "不知道。",
    },
}  # fmt: skip
Reader = Callable[[str, Sequence[Passage]], str]


def examine(language: str, reader: Reader, *, fixed: str = "", steps: Sequence[Step] = (), others: int = 4) -> str:
    """The cause for a reader that gets the gold last, behind long notes, and may be asked with given passages."""
    world = WORLDS[language]
    gold = Passage("gold", world["gold"], relevant=True)
    sample = Sample("q", world["question"], ((world["reference"],),), (gold,), language, {"stand_in": world["other"]})
    notes = [Passage(f"note{n}", world["note"].format(n=n) * 6) for n in range(others)]

    def ask(query: Query) -> Response:
        passages = (*notes, replace(gold, relevant=None)) if query.passages is None else query.passages
        found = (stage_step("fetch", passages),) if query.passages is None else ()
        return Response(reader(query.question, passages), tuple(passages), (*found, *steps))

    return cause_of(examined(sample, ask, "repeat passages", shared=Shared(fixed=frozenset([fixed])))).name


def reads(language: str, passages: Sequence[Passage], limit: int = 100_000) -> str:
    """The value that the beginning of the passages states."""
    text = "\n".join(passage.text for passage in passages)[:limit]
    world = WORLDS[language]
    return str(next((world[name] for name in ("reference", "other") if world[name] in text), world["missing"]))


@pytest.mark.parametrize("language", WORLDS)
def test_a_cut_prompt_is_named_and_a_reader_that_minds_position_or_noise_is_not(language: str) -> None:
    limit = 700 if language == "en" else 400

    def cut(question: str, passages: Sequence[Passage]) -> str:
        return reads(language, passages, limit)

    def trusts_first(question: str, passages: Sequence[Passage]) -> str:
        return reads(language, passages[:1])

    def confused(question: str, passages: Sequence[Passage]) -> str:
        return reads(language, passages) if len(passages) < 2 else WORLDS[language]["other"]

    assert examine(language, cut) == "prompt_cut"
    assert examine(language, trusts_first) == "position"
    assert examine(language, confused) == "noise"


@pytest.mark.parametrize("language", WORLDS)
def test_a_guard_on_the_question_or_on_the_answer_is_named(language: str) -> None:
    world = WORLDS[language]
    message = world["message"].lower()

    def on_question(question: str, passages: Sequence[Passage]) -> str:
        return world["message"] if world["question"] in question else passages[-1].text

    def on_answer(question: str, passages: Sequence[Passage]) -> str:
        return world["message"] if reads(language, passages) == world["reference"] else reads(language, passages)

    assert examine(language, on_question, fixed=message) == "guard"
    assert examine(language, on_answer, fixed=message) == "guard"
    assert examine(language, on_question) == "refused_wrongly"  # one question got this message, and no other


@pytest.mark.parametrize("language", WORLDS)
def test_a_model_that_refuses_is_no_guard_unless_its_recorded_reply_was_right(language: str) -> None:
    world = WORLDS[language]

    def always(question: str, passages: Sequence[Passage]) -> str:
        return str(world["message"])

    def lacking(question: str, passages: Sequence[Passage]) -> str:
        return world["lacking"] if world["question"] in question else passages[-1].text

    assert examine(language, always, fixed=world["message"].lower()) == "refused_wrongly"
    assert examine(language, lacking, fixed=world["lacking"].lower()) == "refused_wrongly"
    said = [Step("model", output=f"It is {world['reference']}.")]
    assert examine(language, always, fixed=world["message"].lower(), steps=said) == "guard"


def test_a_message_is_fixed_that_questions_with_different_references_got() -> None:
    def shared(*answers: str) -> Shared:
        found = []
        for number, answer in enumerate(answers):
            sample = Sample(f"q{number}", f"How much is {number}?", ((f"{number}00 kg",),))
            found.append(examined(sample, lambda _, answer=answer: Response(answer), takes=""))  # type: ignore[misc]
        return shared_of(map(facts_of, found))

    assert shared("Blocked.", "blocked. ", "Blocked.").fixed == {"blocked."}
    assert not shared("Blocked.", "Blocked.", "It is 5.").fixed
    assert not shared("It is 000 kg.", "It is 100 kg.", "It is 200 kg.").fixed


@pytest.mark.parametrize("message", [
    "This reply was withheld by the content filter.", "Your request has been blocked by our safety policy.",
    "该回复已被内容安全策略拦截。", "回答包含敏感信息，无法显示。",
])  # fmt: skip
def test_a_message_that_a_reply_was_withheld_is_a_guard_unless_the_documents_say_it(message: str) -> None:
    answers = dict.fromkeys(("as_is", "again", "gold_only"), message)
    assert cause_of(evidence_of("How much?", ["317 kg"], answers, gold=["It weighs 317 kg."])).name == "guard"
    quoted = evidence_of("How much?", ["317 kg"], answers, gold=[f"It shows: {message} It weighs 317 kg."])
    assert cause_of(quoted).name != "guard"


@pytest.mark.parametrize("answer", [
    "It weighs [***].", "[***]。", "It weighs █████ kg.", "It is [REDACTED].", "<NUMBER_1>",
    "重量为【已脱敏】。", "XXXX", "由某某负责。",
])  # fmt: skip
def test_a_mask_in_place_of_a_value_is_a_guard_unless_the_documents_have_it(answer: str) -> None:
    answers = dict.fromkeys(("as_is", "again", "gold_only"), answer)
    assert cause_of(evidence_of("How much?", ["317 kg"], answers, gold=["It weighs 317 kg."])).name == "guard"
    quoted = evidence_of("How much?", ["317 kg"], answers, gold=[f"{answer} It weighs 317 kg."])
    assert cause_of(quoted).name != "guard"


@pytest.mark.parametrize(
    "answer", ["It weighs **317** pounds.", "It weighs 200 kg [1].", "Rule (2): 200 kg.", "xx is 200 kg."]
)
def test_emphasis_and_citations_are_no_masks(answer: str) -> None:
    answers = dict.fromkeys(("as_is", "again", "gold_only"), answer)
    assert cause_of(evidence_of("How much?", ["317 kg"], answers, gold=["It weighs 317 kg."])).name != "guard"


@pytest.mark.parametrize(("question", "reference", "gold", "answer"), [
    ("How heavy is the pump?", "317 kg", "The pump weighs 317 kg.", "It is a moderate amount, as usual."),
    ("水泵有多重？", "317公斤", "水泵重317公斤。", "数量适中，与惯例相符。"),
])  # fmt: skip
def test_words_that_many_questions_get_and_that_say_nothing_are_an_instruction_and_a_repeated_value_is_not(
    question: str, reference: str, gold: str, answer: str
) -> None:
    def cause(said: str, shared: Shared) -> str:
        answers = {"as_is": said, "again": said, "gold_only": said, "closed_book": said}
        evidence = evidence_of(question, [reference], answers, gold=[gold])
        evidence.shared = shared
        return cause_of(evidence).name

    def shared(said: str) -> Shared:
        every = [(reference,), ("Anna Lind",), ("5 May",)]
        samples = [Sample(f"q{number}", question, (slot,)) for number, slot in enumerate(every)]
        return shared_of(facts_of(examined(sample, lambda _: Response(said), takes="")) for sample in samples)

    assert cause(answer, shared(answer)) == "instruction"
    assert cause(answer, Shared()) != "instruction"
    for value in ("12 kg", "It was Anna Lind."):  # a number, and what another question's reference says
        assert cause(value, shared(value)) != "instruction"


@pytest.mark.parametrize(("headings", "cause"), [
    (("Membership", "Kilns", "Lathe"), "instruction"), (("Membership", "nine kilns", "a lathe"), "reading"),
])  # fmt: skip
def test_answers_that_are_headings_of_their_passages_are_an_instruction(headings: tuple[str, ...], cause: str) -> None:
    golds = ["# Membership\n\nIt costs £34.", "# Kilns\n\nThey are fired at 900 °C.", "# Lathe\n\nIt turns at 40 rpm."]
    references, evidences = ("£34", "900 °C", "40 rpm"), []
    for n, (gold, reference, said) in enumerate(zip(golds, references, headings, strict=True)):
        answers = dict.fromkeys(("as_is", "again", "gold_only", "closed_book"), said)
        evidences.append(evidence_of(f"What is number {n}?", [reference], answers, gold=[gold]))
    shared = shared_of(map(facts_of, evidences))
    evidences[0].shared = shared
    assert cause_of(evidences[0]).name == cause


@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize("language", WORLDS)
def test_who_declines_where_two_versions_stand_in_the_prompt_is_misled_by_the_old_one(
    language: str, careful: bool
) -> None:
    """As is nothing of the old value is said; that only the old version is in the way shows without it, and alone. Who
    declines whatever stands beside the right passage minds other passages."""
    world = WORLDS[language]
    old = Passage("old", world["gold"].replace(world["reference"], world["other"]))
    notes = tuple(Passage(f"note{n}", world["note"].format(n=n)) for n in (3, 4))
    gold = Passage("gold", world["gold"], relevant=True)
    sample = Sample("q", world["question"], ((world["reference"],),), (gold,), language)
    own = (notes[0], old, replace(gold, relevant=None), notes[1])

    def ask(query: Query) -> Response:
        passages = own if query.passages is None else query.passages
        said = [value for value in (world["reference"], world["other"]) if any(value in one.text for one in passages)]
        declines = len(said) != 1 if careful else len(passages) > 1
        steps = (stage_step("fetch", passages),) if query.passages is None else ()
        return Response(world["lacking"] if declines or not said else said[0], tuple(passages), steps)

    cause = cause_of(examined(sample, ask, "repeat passages")).name
    assert cause == ("contradiction" if careful else "noise")
