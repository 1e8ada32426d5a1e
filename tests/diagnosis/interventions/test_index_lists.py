"""What a list of the index tells without asking: evidence in two pieces, and another version of it."""

import pytest

from ragstone.analysis.gold_passages import evidence_of, with_evidence
from ragstone.analysis.statements import Statement
from ragstone.diagnosis.interventions.index import SystemIndex, is_old
from ragstone.types import Passage, Sample

_EN = ("How much does the Belka pump weigh?", "317 kg", "The Belka pump in hall 3 weighs 317 kg without its oil.")
_ZH = ("贝尔卡水泵重多少？", "317公斤", "三号车间的贝尔卡水泵不含机油时重317公斤，由两人搬运。")
_CASES = pytest.mark.parametrize(("question", "answer", "text"), [_EN, _ZH])


def _gold(question: str, answer: str, text: str) -> tuple[Passage, Sample]:
    gold = with_evidence(Passage("gold", text, relevant=True), question, [[answer]])
    return gold, Sample("q", question, ((answer,),), (gold,))


@_CASES
def test_evidence_in_two_pieces_is_cut_and_not_missing(question: str, answer: str, text: str) -> None:
    gold, sample = _gold(question, answer, text)
    at = text.index("17")  # in the middle of the value
    pieces = [Passage("a", text[:at]), Passage("b", text[at:]), Passage("c", "Another note.")]
    assert SystemIndex(pieces).lists([gold], sample)[0] == "cut"
    assert SystemIndex(pieces[1:]).lists([gold], sample)[0] == "no"
    assert SystemIndex([Passage("a", text)]).lists([gold], sample)[0] == "yes"


@_CASES
def test_another_value_in_the_same_sentence_is_an_old_version_and_the_rest_of_a_cut_one_is_not(
    question: str, answer: str, text: str
) -> None:
    gold, _ = _gold(question, answer, text)
    (statement,) = evidence_of(gold)
    old = text.replace("317", "295")
    assert is_old(Passage("old", old), statement)
    assert not is_old(Passage("cut", old[: old.index("295")]), statement)
    assert not is_old(Passage("same", text), statement)
    assert not is_old(Passage("old", old), Statement(-1, text, ""))  # nobody knows where its value stands
    other = old.replace("Belka", "Strelka").replace("贝尔卡", "斯特列卡")
    assert not is_old(Passage("other", other), statement)


def test_a_short_chinese_sentence_with_another_value_is_an_old_version() -> None:
    """Seven characters around a value are a whole clause; as many Latin letters would be a word."""
    gold, _ = _gold("发票须在多少天内提交？", "三十天", "发票须在三十天内提交。")
    (statement,) = evidence_of(gold)
    assert is_old(Passage("old", "# 报销办法\n\n发票须在十五天内提交。招待费须事先批准。"), statement)
    assert not is_old(Passage("other", "# 报销办法\n\n报告须在十五天内提交。发票据实报销。"), statement)
    short, _ = _gold("What is it?", "30 kg", "It is 30 kg.")
    assert not any(is_old(Passage("b", "It is red."), one) for one in evidence_of(short))


@pytest.mark.parametrize(
    ("question", "answer", "first", "second"),
    [
        ("How long is the leave, and when must it be requested?", "16 weeks and 10 weeks",
         "The leave is paid for 16 weeks.", "It must be requested 10 weeks before the birth."),
        ("育儿假发放多久，须提前多久申请？", "16周和10周",
         "育儿假全薪发放16周。", "申请必须提前至少10周送达人力资源部。"),
    ],
)  # fmt: skip
def test_a_reference_of_several_items_has_its_evidence_where_each_stands(
    question: str, answer: str, first: str, second: str
) -> None:
    gold, sample = _gold(question, answer, f"{first} {second}")
    assert [one.text for one in evidence_of(gold)] == [first, second]
    both = [Passage("a", first), Passage("b", second)]
    assert SystemIndex(both).lists([gold], sample)[0] == "yes"
    assert SystemIndex(both[:1]).lists([gold], sample)[0] == "no"


@pytest.mark.parametrize(
    ("question", "answer", "table", "columns"),
    [
        ("What does the Belka pump weigh?", "317 kg",
         "| Pump | Weight | Power |\n|---|---|---|\n| Arvo pump | 295 kg | 7 kW |\n| Belka pump | 317 kg | 9 kW |",
         ["Pump  Arvo pump  Belka pump", "Weight  295 kg  317 kg", "Power  7 kW  9 kW"]),
        ("贝卡泵的重量是多少？", "317 公斤",
         "| 水泵 | 重量 | 功率 |\n|---|---|---|\n| 阿尔泵 | 295 公斤 | 7 千瓦 |\n| 贝卡泵 | 317 公斤 | 9 千瓦 |",
         ["水泵  阿尔泵  贝卡泵", "重量  295 公斤  317 公斤", "功率  7 千瓦  9 千瓦"]),
    ],
)  # fmt: skip
def test_a_row_whose_cells_stand_in_columns_is_cut_and_not_missing(
    question: str, answer: str, table: str, columns: list[str]
) -> None:
    gold, sample = _gold(question, answer, table)
    pieces = [Passage(f"p{n}", text) for n, text in enumerate(["A note.", *columns, "Another note."])]
    assert SystemIndex(pieces).lists([gold], sample)[0] == "cut"
    assert SystemIndex([pieces[0], *pieces[2:]]).lists([gold], sample)[0] == "no"  # nothing names its subject
    old = [Passage(one.id, one.text.replace("317", "318")) for one in pieces]
    assert SystemIndex(old).lists([gold], sample)[0] == "no"


@pytest.mark.parametrize(
    ("question", "label", "text"),
    [("On which day are teams on site?", "For remote work, the files have on record: entry 6461.",
      "Up to three days a week may be worked at home. Tuesday is the day on which teams are on site."),
     ("各团队在星期几到岗？", "关于远程办公，档案另记：登记册第6461号。",
      "每周最多可居家办公三天。各团队在星期二到岗。每月补贴网络费。")],
)  # fmt: skip
def test_another_version_is_found_by_the_document_that_a_label_in_other_words_names(
    question: str, label: str, text: str
) -> None:
    gold, sample = _gold(question, "6461", label)
    old = Passage("old", text.replace("Tuesday", "Friday").replace("星期二", "星期五"))
    index = SystemIndex([old, Passage("other", "The canteen opens at noon."), Passage("zh", "食堂中午开门。")])
    assert index.versions(gold, sample) == ()
    assert index.versions(gold, sample, named=Passage("gold", text)) == (old,)
