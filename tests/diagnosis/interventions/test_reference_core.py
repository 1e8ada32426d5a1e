"""References are answers of people: where no document states one as it stands, what it says beyond its question is."""

import pytest

from ragstone.analysis.gold_passages import CorpusIndex
from ragstone.analysis.statements import statements_of
from ragstone.metrics.reference_core import core, readings
from ragstone.types import Passage, Sample

CORES = [
    ("What does a full membership cost per month?", "£34 per month", "£34"),
    ("To whom is a lost key reported?", "to the bursar", "bursar"),
    ("How far below the teeth does the knife sit?", "2.5 mm below the teeth", "2.5 mm"),
    ("Where may machines run?", "only in the metal shed", "metal shed"),
    ("How fast may brass be turned?", "at most 1,850 rpm", "1,850 rpm"),
    ("Who loads the kilns?", "Ines Harrow", ""),
    ("Is smoking allowed?", "allowed", ""),
    ("联营社员每年要交多少股金？", "每年 1,260 元", "1,260 元"),
    ("退社时社员证交给谁？", "交给账房先生", "账房先生"),
    ("绿茶的含水不得超过多少？", "不得超过 5.8%", "5.8%"),
    ("掌锅师傅是谁？", "祝长青", ""),
]


@pytest.mark.parametrize(("question", "reference", "found"), CORES)
def test_the_core_is_what_the_question_does_not_say(question: str, reference: str, found: str) -> None:
    assert core(reference, question) == found


def test_items_are_looked_for_after_the_whole() -> None:
    found = list(readings(["£12 per month, and at most 2 days"], "What does it cost per month, and how many days?"))
    assert found[0] == [["£12 per month, and at most 2 days"]]
    assert [["£12"], ["2"]] in found or [["£12"], ["2 days"]] in found


TABLE = Passage(
    "m.md#1",
    "| Kind | Fee per month |\n|---|---|\n| Full membership | £34 |\n| Evening membership | £19 |",
    title="Membership",
)
TOOLS = Passage(
    "t.md#1", "| Tool | Days |\n|---|---|\n| Steam stripper | 2 days |\n| Tile cutter | 3 days |", title="Tools"
)
OTHER = Passage("o.md#1", "A bag of clay costs £34 and weighs 12 kg.", title="Clay")


def corpus(*chunks: Passage) -> CorpusIndex:
    return CorpusIndex.of(chunks, chunks)


def test_gold_is_found_where_the_reference_is_written_as_an_answer() -> None:
    sample = Sample("a", "What does a full membership cost per month?", (("£34 per month",),))
    found = corpus(OTHER, TABLE).stating(sample, [OTHER, TABLE])
    assert [one.id for one in found] == ["m.md#1"], "of those with the core, the one with most of the question"
    (statement,) = statements_of(TABLE.text, TABLE.title, sample.question, sample.references)
    assert (statement.value, statement.text) == ("£34", "| Full membership | £34 |")


def test_a_reference_of_two_values_has_the_passage_of_each() -> None:
    question = "What does a full membership cost per month, and how long may a tile cutter be borrowed?"
    sample = Sample("a", question, (("£34 per month, and at most 3 days",),))
    found = corpus(TABLE, TOOLS).stating(sample, [TABLE, TOOLS])
    assert [one.id for one in found] == ["m.md#1", "t.md#1"]
    values = [
        [one.value for one in statements_of(item.text, item.title, question, sample.references)] for item in found
    ]
    assert values == [["£34"], ["3 days"]]
    slots = {one.slot for item in found for one in statements_of(item.text, item.title, question, sample.references)}
    assert len(slots) == 2, "each is a part of its own"


def test_a_value_that_no_passage_states_has_no_gold() -> None:
    sample = Sample("a", "What does a full membership cost per month?", (("£99 per month",),))
    assert corpus(OTHER, TABLE).stating(sample, [OTHER, TABLE]) == ()


def test_the_wording_itself_counts_before_its_core() -> None:
    whole = Passage("w.md#1", "It is £34 per month.")
    sample = Sample("a", "What does a full membership cost per month?", (("£34 per month",),))
    assert [one.id for one in corpus(TABLE, whole).stating(sample, [TABLE, whole])] == ["w.md#1"]
