"""Answers of two parts, references that the documents contradict, and the sign of money, in English and Chinese."""

import pytest
from tests.diagnosis.interventions.evidence import evidence_of

from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.diagnosis.interventions.shared import Shared
from ragstone.diagnosis.interventions.wordings import parts_of
from ragstone.text.measures import same_in_other_form


def cause(question: str, reference: str, answer: str, gold: str) -> str:
    """The cause of this answer, given from the gold alone, too."""
    answers = {"as_is": answer, "again": answer, "gold_only": answer, "closed_book": "?"}
    return cause_of(evidence_of(question, [reference], answers, gold=[gold])).name


LEAVE = (
    "For how long is leave paid, and when must it be requested?",
    "Leave is paid for 16 weeks. Leave must be requested 10 weeks ahead. Lunch costs 9 EUR.",
)
LEAVE_ZH = ("育儿假发放多久，须提前多久申请？", "育儿假发放16周。育儿假须提前10周申请。午餐9元。")


@pytest.mark.parametrize(("world", "reference", "answer", "name"), [
    (LEAVE, "16 weeks and 10 weeks", "16 weeks.", "integration"),
    (LEAVE, "16 weeks and 10 weeks", "It is 16 weeks, and 12 weeks ahead.", "integration"),
    (LEAVE, "16 weeks and 10 weeks", "It is 18 weeks and 12 weeks.", "reading"),
    (LEAVE, "16 weeks and 10 weeks", "It is 16 months and 10 weeks.", "units"),
    (LEAVE, "18 weeks and 12 weeks", "It is 16 weeks and 10 weeks.", "reference_in_doubt"),
    (LEAVE, "18 weeks and 12 weeks", "It costs 9 EUR.", "reading"),
    (LEAVE_ZH, "16周和10周", "16周。", "integration"),
    (LEAVE_ZH, "16周和10周", "18周和12周。", "reading"),
    (LEAVE_ZH, "16周和10周", "16个月和10个月。", "units"),
    (LEAVE_ZH, "18周和12周", "是16周，提前10周。", "reference_in_doubt"),
    (LEAVE_ZH, "18周和12周", "是9元。", "reading"),
])  # fmt: skip
def test_half_an_answer_a_wrong_unit_and_a_reference_that_the_documents_contradict_are_told_from_misreading(
    world: tuple[str, str], reference: str, answer: str, name: str
) -> None:
    assert cause(world[0], reference, answer, world[1]) == name


def test_a_name_is_no_list() -> None:
    assert parts_of("16 weeks and 10 weeks") == ("16 weeks", "10 weeks")
    assert parts_of("16周和10周") == ("16周", "10周")
    for name in ("Anderson", "共和国", "和平路", "Anna Lind"):
        assert parts_of(name) == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("EUR 340", "USD 340", True),
        ("340 euros", "$340", True),
        ("340元", "是340美元。", True),
        ("16周", "16个月", True),
        ("EUR 340", "USD 350", False),
        ("EUR 340", "340 EUR", False),
        ("340元", "是340元。", False),
        ("340 days", "USD 340", False),
    ],
)
def test_an_amount_in_another_currency_is_a_wrong_unit(one: str, other: str, same: bool) -> None:
    assert same_in_other_form(one, other) is same


_STORE = (
    "陈茶放在哪里？",
    "# 仓库\n\n陈茶放在阁楼，用棉纸包好。\n\n仓库由孟小满看管，每天早晚各记一次温度。",
    "孟小满",
    "阁楼。",
)
_LENS = (
    "What is the lens of the laser wiped with?",
    "# Machines\n\nThe lens of the laser is wiped with isopropyl alcohol.\n\nLeather is sewn on the Juki, by the door.",
    "the Juki, by the door",
    "It is isopropyl alcohol.",
)


def _belongs(case: tuple[str, str, str, str], *, reference: str = "", **changed: str) -> str:
    question, gold, wrong, said = case
    answers = {"as_is": said, "again": said, "gold_only": said, "closed_book": "?"} | changed
    return cause_of(evidence_of(question, [reference or wrong], answers, gold=[gold])).name


@pytest.mark.parametrize("case", [_STORE, _LENS])
def test_a_reference_that_its_documents_state_where_they_answer_another_question_is_in_doubt(
    case: tuple[str, str, str, str],
) -> None:
    assert _belongs(case) == "reference_in_doubt"
    assert _belongs(case, closed_book=case[3]) != "reference_in_doubt"  # what it says without documents is not theirs


@pytest.mark.parametrize(
    ("question", "gold", "reference", "answer"),
    [
        (_LENS[0], _LENS[1], "isopropyl alcohol", "The Juki, by the door."),
        (_STORE[0], _STORE[1], "阁楼", "孟小满。"),
        ("How heavy is the Belka pump?", "The Belka pump stands in hall 3. It has 317 kg.", "317 kg", "In hall 3."),
    ],
)
def test_an_answer_of_another_sentence_is_misread_and_no_reference_in_doubt(
    question: str, gold: str, reference: str, answer: str
) -> None:
    assert _belongs((question, gold, reference, answer)) == "reading"


_PUMP = ("How heavy is the Belka pump?", "The Belka pump weighs 317 kg.", "317 kg", "It is 450 kg.", "A note on doors.")
_PUMP_ZH = ("贝卡泵有多重？", "贝卡泵重317公斤。", "317公斤", "是450公斤。", "关于大门的说明。")


@pytest.mark.parametrize("case", [_PUMP, _PUMP_ZH])
def test_what_is_said_without_the_gold_is_memory_where_nothing_is_asked_without_documents(
    case: tuple[str, str, str, str, str],
) -> None:
    question, gold, reference, said, other = case
    answers = dict.fromkeys(("as_is", "again", "gold_only", "no_gold"), said) | {"closed_book": "Empty response"}
    evidence = evidence_of(question, [reference], answers, gold=[gold], others=[other])
    silent = Evidence(evidence.records, frozenset(), shared=Shared(prompts=True))
    assert silent.value("recalled") == "yes"
    assert evidence.value("recalled") == "no"  # the model was asked without documents, and said something else
    stated = evidence_of(question, [reference], answers, gold=[gold], others=[f"{other} {said}"])
    assert Evidence(stated.records, frozenset(), shared=Shared(prompts=True)).value("recalled") == "no"
