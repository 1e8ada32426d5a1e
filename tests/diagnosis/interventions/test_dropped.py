"""What stands between a search and a prompt: passages cut to their beginnings, and places left empty."""

import pytest
from msgspec.structs import replace
from tests.diagnosis.interventions.evidence import evidence_of, scored

from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.diagnosis.interventions.shared import Shared
from ragstone.responses.stages import stage_step
from ragstone.types import Passage

_EN = (
    "How much does the Belka pump weigh?",
    "317 kg",
    "The pumps stand in hall 3. The Belka pump weighs 317 kg.",
)
_ZH = ("贝卡泵有多重？", "317公斤", "水泵都在北厂三号车间里，每年检查一次。贝卡泵重317公斤。")
_WORLDS = pytest.mark.parametrize(("question", "reference", "text"), [_EN, _ZH])


def _with(question: str, reference: str, text: str, fetched: list[Passage], kept: list[Passage]) -> Evidence:
    """A wrong answer from `kept`, of what was fetched and reranked."""
    record = evidence_of(question, [reference], {"as_is": "450"}, gold=[text]).records["as_is"]
    assert record.response is not None
    steps = (stage_step("fetch", fetched), stage_step("rerank", fetched[:2]))
    response = replace(record.response, passages=tuple(kept), steps=steps)
    return Evidence({"as_is": scored(replace(record, response=response))}, frozenset())


@_WORLDS
def test_a_passage_whose_beginning_is_in_the_prompt_is_clipped_whatever_its_id(
    question: str, reference: str, text: str
) -> None:
    gold, other = Passage("gold", text), Passage("other", "A note on the doors. / 关于大门的说明。")
    beginning = text[: len(text) // 2]
    for name in ("gold", "made-anew"):
        cut = Passage(name, beginning)
        assert _with(question, reference, text, [gold, other], [cut, other]).value("clipped") == "yes"
    assert _with(question, reference, text, [gold, other], [other]).value("clipped") == "no"


@_WORLDS
def test_a_place_left_empty_is_no_cut_at_k_where_a_larger_k_changes_nothing(
    question: str, reference: str, text: str
) -> None:
    notes = [Passage(f"other{n}", f"Note {n}. 说明{n}。") for n in range(3)]
    evidence = _with(question, reference, text, [*notes[:2], Passage("gold", text), notes[2]], notes[:2])
    evidence.withdrawn = {"k2": "no_more", "k4": "no_more"}
    for places, dropped in ((5, "yes"), (2, "no")):
        one = Evidence(evidence.records, frozenset(), shared=Shared(places=places))
        one.withdrawn = evidence.withdrawn
        assert one.value("left_out") == dropped
        assert one.value("reach") == ("missing" if dropped == "yes" else "yes")


@_WORLDS
def test_a_place_left_empty_is_dropped_at_whatever_rank_the_passage_was(
    question: str, reference: str, text: str
) -> None:
    notes = [Passage(f"other{n}", f"Note {n}. 说明{n}。") for n in range(4)]
    evidence = _with(question, reference, text, [*notes, Passage("gold", text)], notes[:2])
    one = Evidence(evidence.records, frozenset(), shared=Shared(places=3))
    one.withdrawn = {"k2": "no_more", "k4": "no_more"}
    assert one.value("left_out") == "yes"
