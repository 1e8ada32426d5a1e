"""Memory is named only where the answer from the gold makes the claim that the system makes without any document."""

import pytest
from tests.benchmarks.interventions.evidence import evidence_of

from ragstone.benchmarks.interventions.causes import cause_of

WEIGHT = ("How much does the pump weigh?", ("317 kg", "The pump weighs 317 kg. The bridge is in Dover."))
WEIGHT_ZH = ("泵有多重？", ("317公斤", "泵重317公斤。桥在多佛。"))
PLACE = ("Where is the office?", ("Hamar", "The office is in Hamar, near the lake. The Oslo branch closed."))


@pytest.mark.parametrize(
    ("case", "by_heart", "read", "cause"),
    [
        (WEIGHT, "I believe it is about 450 kg.", "450 kg", "memory"),
        (WEIGHT, "450 kg", "According to the manual it weighs 450 kg.", "memory"),
        (WEIGHT_ZH, "我认为是450公斤。", "450公斤", "memory"),
        (PLACE, "It is in Lillehammer.", "Lillehammer", "memory"),
        (WEIGHT, "I cannot say from the documents.", "The", "reading"),  # "The" is in both, and is no claim
        (WEIGHT, "The documents do not say.", "The documents do not say much of pumps.", "refused_wrongly"),
        (WEIGHT, "450 kg", "500 kg", "reading"),
        (WEIGHT, "It weighs 450 kg.", "The pump.", "reading"),
        (PLACE, "It is in Oslo.", "Oslo", "reading"),  # a passage says so: that is no memory
        (PLACE, "It is in Oslo.", "Near the lake.", "reading"),
        (WEIGHT, "", "450 kg", "reading"),
        (WEIGHT_ZH, "我无法从文档中得知。", "文档", "reading"),
    ],
)
def test_memory_is_the_same_claim_with_and_without_the_passages(
    case: tuple[str, tuple[str, str]], by_heart: str, read: str, cause: str
) -> None:
    question, (reference, gold) = case
    answers = {"as_is": read, "again": read, "gold_only": read, "closed_book": by_heart}
    never = dict.fromkeys(answers, False)
    evidence = evidence_of(question, [reference], answers, gold=[gold], right=never)
    assert cause_of(evidence).name == cause
