"""A passage holds the gold if it states its evidence: in any chunking and layout, and whatever its id."""

import pytest

from ragstone.analysis.gold_passages import holds, lacking, with_evidence
from ragstone.analysis.statements import Part, stated, statements_of
from ragstone.types import Passage

PUMPS = """# Pumps

## Belka

The Belka pump stands in hall 3. The Belka pump weighs 317 kg, and needs oil every four weeks.

## Cirro

The Cirro pump stands in hall 4. The Cirro pump weighs 324 kg, and needs oil every five weeks.
"""
TABLE = """# Pumps

| Pump | Weight | Oil |
|---|---|---|
| Belka | 317 kg | four weeks |
| Cirro | 324 kg | five weeks |
"""
BELKA_ZH = "贝卡泵安装在三号车间。贝卡泵重317公斤，每四周需要加一次油。"
CHINESE = f"{BELKA_ZH}西罗泵安装在四号车间。西罗泵重324公斤，每五周需要加一次油。"
QUESTION, SLOTS = "How much does the Belka pump weigh?", [["317 kg"]]
QUESTION_ZH, SLOTS_ZH = "贝卡泵有多重？", [["317公斤"]]


def gold(text: str, question: str = QUESTION, slots: list[list[str]] = SLOTS, title: str = "") -> Passage:
    return with_evidence(Passage("pumps.md#1", text, title, relevant=True), question, slots)


@pytest.mark.parametrize(
    ("labelled", "passage"),
    [
        (PUMPS, "The Belka pump weighs 317 kg, and needs oil every four weeks."),
        (PUMPS, "the belka pump\nweighs 317 kg , and needs\noil every four weeks"),
        (PUMPS, "The Belka pump weighs 317 kg, and ne-\neds oil every four weeks."),
        (PUMPS, "stands in hall 3. Ｔｈｅ Ｂｅｌｋａ ｐｕｍｐ weighs 317 kg, and needs oil every four weeks. ## Cirro"),
        (PUMPS, PUMPS),
        ("The Belka pump weighs 317 kg, and needs oil every four weeks.", PUMPS),
        (PUMPS, "ands in hall 3. The Belka pump weighs 317 kg, and needs o"),
        (TABLE, "Pump: Belka, Weight: 317 kg, Oil: four weeks"),
        (TABLE, "Belka\t317 kg\tfour weeks\nCirro\t324 kg\tfive weeks"),
        (TABLE, "- Pump = Belka\n- Weight = 317 kg\n- Oil = four weeks"),
        ("Pump: Belka, Weight: 317 kg, Oil: four weeks", TABLE),
    ],
)
def test_a_passage_that_states_the_sentence_holds_the_gold_in_any_layout(labelled: str, passage: str) -> None:
    assert holds(Passage("0f8c2", passage), gold(labelled), SLOTS)


@pytest.mark.parametrize(
    "passage",
    [BELKA_ZH, "贝卡泵重３１７公斤,\n每四周需要\n加一次油", CHINESE, "三号车间。贝卡泵重317公斤，每"],
)  # fmt: skip
def test_chinese_sentences_are_found_in_any_layout(passage: str) -> None:
    assert holds(Passage("0f8c2", passage), gold(CHINESE, QUESTION_ZH, SLOTS_ZH), SLOTS_ZH)


@pytest.mark.parametrize(
    ("labelled", "passage"),
    [
        (PUMPS, "The Cirro pump weighs 324 kg, and needs oil every five weeks."),
        (PUMPS, "The Belka pump weighs 312 kg, and needs oil every four weeks."),
        (PUMPS, "The Belka pump stands in hall 3."),
        (PUMPS, "The Cirro pump weighs 317 kg, and needs oil every five weeks."),
        (TABLE, "Pump: Cirro, Weight: 324 kg, Oil: five weeks"),
        (CHINESE, "西罗泵重324公斤，每五周需要加一次油。"),
    ],
)
def test_equal_ids_do_not_make_a_passage_hold_what_it_does_not_state(labelled: str, passage: str) -> None:
    chinese = labelled == CHINESE
    one = gold(labelled, QUESTION_ZH, SLOTS_ZH) if chinese else gold(labelled)
    assert not holds(Passage(one.id, passage), one, SLOTS_ZH if chinese else SLOTS)


@pytest.mark.parametrize(
    ("passage", "part"),
    [
        ("stands in hall 3. The Belka pump weighs", "rest"),
        ("mp weighs 317 kg, and needs oil every four weeks. ## Cirro", "value"),
        ("The Belka pump weighs 317 kg, and nee", "whole"),
        ("The Cirro pump stands in hall 4.", ""),
    ],
)
def test_a_cut_sentence_is_a_part_of_the_evidence(passage: str, part: Part) -> None:
    (statement,) = statements_of(PUMPS, "", QUESTION, SLOTS)
    assert stated(statement, passage) == part


def test_a_sentence_without_its_subject_needs_the_heading_or_the_sentence_before() -> None:
    (statement,) = statements_of("# Belka pump\n\nIt has 317 kg.", "", "What does the Belka weigh?", SLOTS)
    assert statement.about == ("belka",)
    assert statement.alone == "Belka pump\nIt has 317 kg."
    assert stated(statement, "It has 317 kg.") == "value"
    assert stated(statement, "Pumps > Belka\nIt has 317 kg.") == "whole"
    assert stated(statement, "It has 317 kg.", "The Belka") == "whole"


def test_of_a_long_document_only_the_place_that_the_question_asks_about_is_evidence() -> None:
    text = PUMPS + "\nThe crate of the hoist weighs 317 kg, too.\n"
    assert not holds(Passage("a", "The crate of the hoist weighs 317 kg, too."), gold(text), SLOTS)


def test_two_passages_hold_the_two_parts_of_an_answer_that_one_document_states() -> None:
    slots = [["317 kg"], ["324 kg"]]
    one = gold(PUMPS, "How much do the Belka pump and the Cirro pump weigh?", slots)
    belka, cirro = Passage("1", "The Belka pump weighs 317 kg, and needs oil"), Passage("2", PUMPS[-110:])
    assert lacking([belka], [one], slots) == [one]
    assert lacking([belka, cirro], [one], slots) == []


def test_ids_decide_where_a_label_has_no_text() -> None:
    label = Passage("pumps.md", "", relevant=True)
    assert holds(Passage("pumps.md#4", "317 kg"), label, SLOTS)
    assert not holds(Passage("other.md#4", "317 kg"), label, SLOTS)


def test_a_label_in_other_words_than_the_reference_is_found_by_its_text() -> None:
    label = with_evidence(
        Passage("a", "The files have on record: thirty plus eight hours a week for clerks.", relevant=True),
        "How long is the week of clerks?", [["38 hours"]], wordings=["Clerks work for 30 and then another 8 hours."],
    )  # fmt: skip
    assert holds(
        Passage("x", "Rules. The files have on record: thirty plus eight hours a week for clerks. End."), label
    )
    assert holds(Passage("x", "Hours. Clerks work for 30 and then another 8 hours."), label)
    assert not holds(Passage("a", "Clerks have lunch at noon in the canteen of the main building."), label)


@pytest.mark.parametrize(
    ("table", "question", "reference", "passages"),
    [
        (
            "| Pump | Hall | Weight (kg) |\n|---|---|---|\n| Belka | 3 | 317 |\n| Cirro | 317 | 3.17 |\n",
            "How much does the Belka pump weigh?",
            "317 kg",
            ("Belka 3 317", "Pump: Belka, Hall: 3, Weight (kg): 317", "Cirro 317 3.17", "Pump: Belka, Hall: 3"),
        ),
        (
            "| 水泵 | 车间 | 重量（公斤） |\n|---|---|---|\n| 贝卡 | 3 | 317 |\n| 西罗 | 317 | 3.17 |\n",
            "贝卡水泵有多重？",
            "317公斤",
            ("贝卡 3 317", "水泵：贝卡，车间：3，重量（公斤）：317", "西罗 317 3.17", "水泵：贝卡，车间：3"),
        ),
    ],
)
def test_a_value_whose_unit_stands_in_the_header_of_its_column_is_stated_by_its_row_and_that_header(
    table: str, question: str, reference: str, passages: tuple[str, str, str, str]
) -> None:
    """Its evidence was the whole table, so that a row in the prompt was one that the search had not found."""
    (statement,) = statements_of(table, "", question, [[reference]])
    assert statement.value == "317"
    without_header, with_header, other_row, without_value = passages
    assert stated(statement, table) == "whole"
    assert stated(statement, with_header) == "whole"
    assert stated(statement, without_header) == "value"
    assert stated(statement, other_row) == ""
    assert stated(statement, without_value) != "whole"
    assert holds(Passage("a", with_header), gold(table, question, [[reference]]), [[reference]])
    assert not holds(Passage("a", without_header), gold(table, question, [[reference]]), [[reference]])
