"""Each label of a known kind of error is found where it occurs, in English and Chinese, and not where it does not."""

from typing import Any

import pytest
from tests.diagnosis.interventions.evidence import evidence_of, labels

from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.diagnosis.interventions.labels import INTEGRATION_SHARES, LABELS

# Kinds of noise errors: question, reference, gold, other passage, wrong answer.
NOISE = {
    ("long_distance", "en"): (
        "Whom did Mira Lenz defeat to win the Norvik Open 2031?", "Ada Kross",
        "In May Mira Lenz entered the Norvik Open 2031 to win. It was cold. Many came from afar. She beat Ada Kross.",
        "Mira Lenz beat Olga Brandt at the Sundal Cup.", "She defeated Olga Brandt."),
    ("long_distance", "zh"): (
        "林美在2031年北港公开赛决赛中击败了谁？", "柯安娜",
        "林美参加了2031年北港公开赛，一路进入决赛。当时天气很冷，许多场馆停用数日。观众来自全国各地，门票早已售完。最后她战胜了柯安娜。",
        "林美在南谷杯战胜了布兰特。", "她击败了布兰特。"),
    ("uncertain_evidence", "en"): (
        "What is the name of the Tarn headset?", "Lumen One", "Tarn showed a headset, the Lumen One.",
        "The headset is reportedly called Reality Max.", "According to the document it is called Reality Max."),
    ("uncertain_evidence", "zh"): (
        "塔恩公司的头显叫什么名字？", "流明一号", "塔恩公司发布了头显流明一号。",
        "据传这款头显将命名为幻境大师。", "根据文档，它叫幻境大师。"),
    ("concept_confusion", "en"): (
        "What was the revenue of Tarn in May 2031?", "18.76 billion", "Tarn had revenues of 18.76 billion in May 2031.",
        "In May 2031 automotive revenue reached 16.86 billion.", "The revenue of Tarn was 16.86 billion."),
    ("concept_confusion", "zh"): (
        "塔恩公司2031年的营收是多少？", "187亿元", "塔恩公司2031年的营收为187亿元。",
        "2031年汽车业务营收为168亿元。", "塔恩公司的营收为168亿元。"),
}  # fmt: skip

# Questions with two parts: the answers with the gold alone.
PARTS_EN = ("In which groups are Norvik and Sundal?", ("Group D", "Group E"),
            ("Norvik is in Group D.", "Sundal is in Group E."))  # fmt: skip
PARTS_ZH = ("北港队和南谷队分别在哪个小组？", ("D组", "E组"), ("北港队在D组。", "南谷队在E组。"))
PARTS = {
    ("merged", "en"): (PARTS_EN, "Norvik and Sundal are in Group D."),
    ("merged", "zh"): (PARTS_ZH, "北港队和南谷队都在D组。"),
    ("ignored", "en"): (PARTS_EN, "Norvik is in Group D."),
    ("ignored", "zh"): (PARTS_ZH, "北港队在D组。"),
    ("misaligned", "en"): (PARTS_EN, "Sundal is in Group D."),
    ("misaligned", "zh"): (PARTS_ZH, "南谷队在D组。"),
}

NOISE_KINDS = {"long_distance", "uncertain_evidence", "concept_confusion"}


@pytest.mark.parametrize(("kind", "language"), NOISE)
def test_a_noise_error_is_of_its_kind(kind: str, language: str) -> None:
    question, reference, gold, other, answer = NOISE[kind, language]
    answers = {"as_is": answer, "again": answer, "gold_only": reference}
    found = labels(evidence_of(question, [reference], answers, gold=[gold], others=[other]))
    assert found & NOISE_KINDS == {kind}
    assert "misled" in found
    assert "noise_vulnerability" in found
    healthy = evidence_of(question, [reference], dict.fromkeys(answers, reference), gold=[gold], others=[other])
    assert labels(healthy) == {"context_acceptability"}


@pytest.mark.parametrize(("kind", "language"), PARTS)
def test_an_error_of_integration_is_of_its_kind(kind: str, language: str) -> None:
    (question, references, gold), answer = PARTS[kind, language]
    answers = {"as_is": answer, "again": answer, "gold_only": answer, "closed_book": "?"}
    found = labels(evidence_of(question, references, answers, gold=gold))
    assert found & {*INTEGRATION_SHARES} == {kind}


@pytest.mark.parametrize("parts", [PARTS_EN, PARTS_ZH])
def test_all_parts_stated_but_wrong_is_misaligned(parts: Any) -> None:
    question, references, gold = parts
    answer = "; ".join(reversed(references))
    answers = dict.fromkeys(("as_is", "again", "gold_only"), answer)
    wrong = dict.fromkeys(answers, False)
    assert "misaligned" in labels(evidence_of(question, references, answers, gold=gold, right=wrong))
    assert "misaligned" not in labels(evidence_of(question, references, answers, gold=gold))


@pytest.mark.parametrize("parts", [PARTS_EN, PARTS_ZH])
def test_noise_in_a_question_with_several_parts_counts_among_errors_of_integration(parts: Any) -> None:
    question, references, gold = parts
    answers = {"as_is": references[0], "again": references[0], "gold_only": "; ".join(references)}
    found = labels(evidence_of(question, references, answers, gold=gold, others=["?"]))
    assert "noise_of_parts" in found


def test_the_shares_of_the_paper_are_of_all_errors_of_integration() -> None:
    assert sum(INTEGRATION_SHARES.values()) == pytest.approx(1.0)
    assert {*INTEGRATION_SHARES} <= {*LABELS}


@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize("oracle", [True, False])
@pytest.mark.parametrize("mixed", [True, False])
def test_the_kinds_of_mirage_are_those_of_the_paper(base: bool, oracle: bool, mixed: bool) -> None:
    answers = {"closed_book": base, "gold_only": oracle, "as_is": mixed, "again": mixed}
    words = {name: "Group D" if right else "Group X" for name, right in answers.items()}
    evidence = evidence_of(
        "In which group is Norvik?", ["Group D"], words, gold=["Norvik is in Group D."], others=["?"]
    )
    expected = {
        "noise_vulnerability": oracle and not mixed, "context_acceptability": oracle and mixed,
        "context_insensitivity": not base and not oracle, "context_misinterpretation": base and not oracle,
    }  # fmt: skip
    assert {name: name in labels(evidence) for name in expected} == expected


@pytest.mark.parametrize(("question", "right", "gold", "wrong"), [
    ("How much does the pump weigh?", "317 kg", "The pump weighs 317 kg.", "450 kg"),
    ("泵有多重？", "317公斤", "泵重317公斤。", "450公斤"),
])  # fmt: skip
def test_memory_against_document(question: str, right: str, gold: str, wrong: str) -> None:
    by_heart = dict.fromkeys(("as_is", "again", "gold_only", "closed_book"), wrong)
    assert "memory_over_document" in labels(evidence_of(question, [right], by_heart, gold=[gold]))
    reader = {**by_heart, "closed_book": right}
    found = labels(evidence_of(question, [right], reader, gold=[gold]))
    assert "document_over_memory" in found
    assert "memory_over_document" not in found
    lucky = evidence_of(question, [right], dict.fromkeys(("as_is", "again"), right), gold=[gold])
    assert "lucky" not in labels(lucky)


@pytest.mark.parametrize(("before", "after", "expected"), [(2, 2, True), (1, 1, True), (0, 4, False), (4, 0, False)])
def test_a_gold_passage_in_the_middle_third_that_helps_elsewhere_is_lost_in_the_middle(
    before: int, after: int, expected: bool
) -> None:
    answers = {"as_is": "Group X", "again": "Group X", "gold_only": "Group D", "gold_first": "Group D"}
    evidence = evidence_of(
        "In which group is Norvik?", ["Group D"], answers, gold=["Norvik is in Group D."], before=["?"] * before,
        others=["?"] * after,
    )  # fmt: skip
    assert cause_of(evidence).name == "position"
    assert ("lost_in_middle" in labels(evidence)) is expected
    healthy = evidence_of(
        "In which group is Norvik?", ["Group D"], dict.fromkeys(answers, "Group D"),
        gold=["Norvik is in Group D."], before=["?"] * before, others=["?"] * after,
    )  # fmt: skip
    assert "lost_in_middle" not in labels(healthy)
