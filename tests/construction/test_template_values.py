"""What the questions that `local/template` makes by rules leave out of a sentence."""

import asyncio
import json
from typing import Any

import pytest

from ragstone.construction.builders.template_model import TemplateModel, cloze_value
from ragstone.types import Request, Turn


def reply(step: str, **shown: Any) -> Any:
    turn = Turn("user", json.dumps(shown))
    completion = asyncio.run(TemplateModel().generate(Request((turn,), schema_name=step)))
    assert completion.usage is not None
    return json.loads(completion.text)


def clozes(passage: str, title: str = "") -> list[str]:
    facts = reply("facts", title=title, passage=passage)["facts"]
    return [reply("question", type="single", facts=[fact])["question"] for fact in facts]


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("The Ostlitz earthquake of 1977 lasted 13 seconds.", "13 seconds"),
        ("Since 2025 support has been led by Tomas Okafor.", "2025"),
        ("Orders placed by 14:00 leave the warehouse on the same day.", "14:00"),
        ("There are 15 paid days a year for this.", "15"),
        ("The Heron 3 replaces the Heron 2 from May 2026.", "May 2026"),
        ("The rest lapses on 31 March each year.", "31 March"),
        ("Refunds are paid on the 26th by the office.", "26th"),
        ("The bridge cost $90.0 million to build.", "$90.0 million"),
        ("The train ran at 300 kilometres per hour.", "300 kilometres per hour"),
        ("It stays open until 9 p.m. on Fridays.", "9 p.m."),
        ("The trial takes 10–15 days in winter.", "10–15 days"),
        ("From 250 euros shipping is free.", "250 euros"),
        ("In all, 29,832 people lost their homes.", "29,832"),
        ("公司于 1991 年迁至欧登塞。", "1991 年"),
        ("苍鹭 3 号售价 459 欧元。", "459 欧元"),
        ("会议于2020年5月27日闭幕。", "2020年5月27日"),
        ("专利诉讼打了2年。", "2年"),
        ("参加比赛的有 7 支球队。", "7"),
        ("电池保修 18 个月。", "18 个月"),
        ("成交额为29.15亿元。", "29.15亿元"),
    ],
)
def test_a_blank_covers_one_amount_date_or_number_with_its_unit(sentence: str, value: str) -> None:
    found = cloze_value(sentence)
    assert found == (sentence.index(value), value)


@pytest.mark.parametrize(
    "sentence",
    [
        "Whoever needs it asks for Room 12 at reception.",
        "The COVID-19 rules no longer hold for guests.",
        "Fill in form A4 and a 30-day ticket is sent.",
        "集合点是 4 号车间。",
        "Quenworth Ledger, weekend edition, March 1992.",
        "本报梳理2001年12月泥石流的要点如下：",
    ],
)
def test_a_number_of_a_name_or_a_heading_is_never_asked_for(sentence: str) -> None:
    assert cloze_value(sentence) is None


def test_a_cloze_names_its_subject_only_where_the_sentence_does_not() -> None:
    assert clozes("The Ostlitz earthquake of 1977 lasted 13 seconds.") == [
        "Fill in the blank: The Ostlitz earthquake of 1977 lasted _____."
    ]
    assert clozes("Its battery lasts 22 hours.", "Heron 3") == ["Fill in the blank (Heron 3): Its battery lasts _____."]
    assert clozes("电池可用 16 小时，两小时充满电。", "苍鹭 2 号") == [
        "填空（苍鹭 2 号）：电池可用 ＿＿＿，两小时充满电。"
    ]


def test_without_a_title_no_cloze_is_made_of_a_sentence_that_points_back() -> None:
    assert clozes("It is to be 1,865 metres long. The contract runs to 244 pages.") == [
        "Fill in the blank: The contract runs to _____ pages."
    ]
    assert clozes("它全长13.91公里，设有九处检修站。") == []


def test_a_cloze_begins_after_the_dateline_and_the_number_of_a_list() -> None:
    assert clozes("STOLESK, 22 September — The new railway bridge is 1,143 metres long.") == [
        "Fill in the blank: The new railway bridge is _____ long."
    ]
    assert clozes("（三）据行业协会统计，钟表出口额上年增长14%。") == [
        "填空：据行业协会统计，钟表出口额上年增长＿＿＿。"
    ]
    assert clozes("麦岭晨报4月13日讯 星桥五号带回的样品重215克，钻取很深。") == [
        "填空：星桥五号带回的样品重＿＿＿，钻取很深。"
    ]


def test_a_cloze_ends_with_a_full_stop_where_its_sentence_ends_with_a_semicolon() -> None:
    assert clozes("校准需要三个工作日，费用为 74 欧元；有合同的客户免费。", "校准费用")[0].endswith("费用为 ＿＿＿。")


def test_a_definition_says_what_something_is_and_names_no_person_or_event() -> None:
    assert clozes("鱼鹰是用于河流和水井的水位传感器。") == ["什么是鱼鹰？"]
    assert clozes("安全员是万达·林德奎斯特。最先赶到的是附近沚屿镇的十几名民兵。") == []


def test_an_item_of_a_list_is_a_sentence_of_its_own() -> None:
    listed = "Lending\n\n- Books may be kept for 28 days.\n- A reader may borrow up to 12 items at a time."
    assert clozes(listed, title="Library") == [
        "Fill in the blank (Library): Books may be kept for _____.",
        "Fill in the blank (Library): A reader may borrow up to _____ items at a time.",
    ]


@pytest.mark.parametrize("kind", ["situation", "distracting"])
def test_no_question_is_written_of_a_type_that_takes_other_wording(kind: str) -> None:
    (fact,) = reply("facts", title="Lending", passage="Books may be kept for 28 days.")["facts"]
    assert reply("question", type=kind, facts=[fact])["answers"] == []
    assert reply("question", type="single", facts=[fact])["answers"] == [["28 days"]]
