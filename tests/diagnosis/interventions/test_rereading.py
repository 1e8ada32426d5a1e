"""A second reading of wrong answers: error messages, right answers that the metric missed, and values in another form,
in English and Chinese; and none of them where the answer is simply wrong."""

import pytest
from tests.diagnosis.interventions.evidence import evidence_of

from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.types import Score


def cause(reference: str, answer: str, *, question: str = "", gold: str = "", alone: str | None = None) -> str:
    """The cause of this answer, where the same is said again and from the gold alone."""
    question = question or ("它有多重？" if any(char > "\u2fff" for char in reference) else "How much is it?")
    answers = {"as_is": answer, "again": answer, "gold_only": answer if alone is None else alone, "closed_book": "?"}
    return cause_of(evidence_of(question, [reference], answers, gold=[gold or f"It is {reference}, they say."])).name


@pytest.mark.parametrize("message", [
    "", " \n", "{}", "[]", "None", "null", "...", "Sorry, something went wrong (500).", "Rate limit exceeded",
    "Error: timeout",
    "HTTP 503 Service Unavailable", "An unexpected error has occurred.", "Request timed out.", "TimeoutError: read",
    "抱歉，系统繁忙，请稍后再试。", "请求过于频繁", "服务器内部错误（500）", "出错了", "网络异常，请重试", "调用失败",
])  # fmt: skip
def test_a_message_of_an_error_and_an_empty_reply_are_no_answers(message: str) -> None:
    assert cause("317 kg", message) == "error"
    assert cause("三百公斤", message) == "error"


@pytest.mark.parametrize(("question", "reference"), [("How heavy is it?", "317 kg"), ("它有多重？", "317公斤")])
def test_an_answer_that_only_repeats_the_question_is_none(question: str, reference: str) -> None:
    assert cause(reference, question, question=question) == "error"
    assert cause(reference, f"{question} 12", question=question) != "error"


@pytest.mark.parametrize(
    "answer",
    [
        "No.",
        "The error rate was 5%.",
        "None of them.",
        "450 kg",
        "Service is free on Mondays.",
        "无",
        "系统重450公斤。",
    ],
)
def test_a_wrong_answer_is_no_message_of_an_error(answer: str) -> None:
    assert cause("317 kg", answer) != "error"


def test_what_the_documents_say_is_no_message_of_an_error() -> None:
    gold = "Above ten requests the portal shows: Rate limit exceeded. Above twenty it shows: Account locked."
    assert cause("Account locked", "Rate limit exceeded", question="What does it show?", gold=gold) != "error"


@pytest.mark.parametrize(("reference", "answer"), [
    ("Anna Lind", "It was Lind, Anna."), ("Anna Lind and Bo Ek", "Bo Ek and Anna Lind."), ("Group D", "The D group."),
    ("红色和蓝色", "蓝色和红色。"), ("伊尔莎·勃兰特", "勃兰特·伊尔莎"),
])  # fmt: skip
def test_a_right_answer_in_another_order_is_right_or_a_matter_of_the_metric(reference: str, answer: str) -> None:
    assert cause(reference, answer) in ("metric", "healthy")


@pytest.mark.parametrize(("reference", "answer"), [
    ("Anna Lind", "It was not Lind, Anna."), ("Norvik to Sundal", "Sundal to Norvik"), ("3-1", "1-3"),
    ("42 km", "It is not 42,000 m."), ("18 animals", "18 boats"), ("317 kg, says Anna Lind", "699 lb"),
    ("Ilse Brandt", "Brandt and Ilse Kross"), ("Anna Lind", "Bo Lind"), ("Anna Lind", "I do not know Lind, Anna."),
    ("红色和蓝色", "红色和绿色"), ("北港胜南谷", "南谷胜北港"),
])  # fmt: skip
def test_a_wrong_answer_with_the_same_words_is_not(reference: str, answer: str) -> None:
    assert cause(reference, answer) != "metric"


SAME = [
    ("3.5 km", "It is 2.17 miles."), ("42 km", "42,000 m"), ("317 kg", "699 lb"), ("12.5%", "0.125"),
    ("20 °C", "68 °F"), ("38 hours", "2280 minutes"), ("1,234.5", "1.234,5"), ("18 months", "1.5 years"),
    ("90 days", "three months"),
    ("25 minutes", "0.42 hours"), ("9 days", "a week and two days"), ("90 minutes", "1 hour 30 minutes"),
    ("1,200", "twelve hundred"), ("1,200", "1.2 thousand"), ("75%", "Three quarters of the staff."),
    ("20 minutes", "a third of an hour"), ("90 seconds", "a minute and a half"), ("9:30", "At half past nine."),
    ("18:30", "half past six in the evening"), ("31 March", "03/31"), ("14 May 2021", "2021-05-14"),
    ("Saturday", "Sat"), ("EUR 0.42", "42 cents"), ("8443", "eight-four-four-three"), ("18", "one and a half dozen"),
    ("47 dB", "47 decibels"), ("5 euros and 20 minutes", "It is five EUR and a third of an hour."),
    ("Ilse Thorn", "That is Ms Thorn."),
    ("3.5公里", "答案是2.17英里。"), ("六周", "42天"), ("317公斤", "它重699磅。"), ("百分之六十二", "0.62"),
    ("1200", "一千二百"), ("130厘米", "一米三"), ("6.90元", "六块九"), ("2.31元", "两块三毛一"), ("9:30", "上午九点半"),
    ("18:30", "傍晚六点半"), ("90秒", "一分半钟"), ("45分钟", "四分之三小时"), ("180天", "半年"), ("周六", "星期六"),
    ("24", "两打"), ("30元，130厘米", "三十块，一米三"),
]  # fmt: skip


@pytest.mark.parametrize(("reference", "answer"), SAME)
def test_the_same_value_in_another_notation_is_a_matter_of_the_metric(reference: str, answer: str) -> None:
    assert cause(reference, answer, gold=f"It says {reference}.") in ("metric", "healthy")


@pytest.mark.parametrize(("question", "reference", "answer"), [
    ("How many days is it?", "42 days", "It is six weeks."), ("How far is it in km?", "3.5 km", "It is 2.17 miles."),
    ("有多少天？", "42天", "六周。"),
])  # fmt: skip
def test_where_the_question_asks_for_a_unit_another_one_is_a_matter_of_units(
    question: str, reference: str, answer: str
) -> None:
    assert cause(reference, answer, question=question) == "units"


@pytest.mark.parametrize(("reference", "answer"), [
    ("3.5 km", "It is 3.5 miles."), ("1.5 million", "1.5 billion"), ("28.49亿元", "28.49万元"), ("340元", "340美元"),
])  # fmt: skip
def test_the_digits_of_a_value_in_a_wrong_unit_are_a_matter_of_units(reference: str, answer: str) -> None:
    assert cause(reference, answer) == "units"
    assert cause(reference, "文档中没有答案。", alone=answer) == "units"


@pytest.mark.parametrize(("reference", "answer"), [
    ("45元", "6.30美元"), ("£14 one way", "It is $18.20."), ("2天", "提前0.3周。"), ("1.3米", "不足3.9尺"),
])  # fmt: skip
def test_an_amount_in_a_currency_that_no_document_has_and_a_rounded_conversion_are_a_matter_of_units(
    reference: str, answer: str
) -> None:
    question = "需要多少米？" if "米" in reference else "提前多少天？" if "天" in reference else "How much is it?"
    assert cause(reference, answer, question=question) == "units"


@pytest.mark.parametrize(("reference", "answer"), [
    ("3.5 km", "It is 4 km."), ("317 kg", "450 kg"), ("5 kg", "It is 50 kg."), ("38 hours", "83 hours"),
    ("Anna Lind", "3.5 km"), ("12.5%", "It is 25%."), ("28.49亿元", "28.94亿元"), ("2.2 billion", "It is 2.2."),
    ("410 grams", "41 euros"),
    ("六周", "七周"), ("1998", "2004"), ("9:30", "half past ten"), ("8 pm", "8:00"), ("31 March", "30/03"),
    ("90 minutes", "1 hour 20 minutes"), ("24 hours", "8 euros a day"), ("6.90元", "六块八"),
    ("Ilse Thorn", "Mr Bo Thorn"), ("Ilse Thorn", "Ms Lind"), ("47 dB", "74 decibels"), ("2 weeks", "every 14 hours"),
    ("5 days", "1 week"), ("45元", "50元"),
])  # fmt: skip
def test_another_value_is_not(reference: str, answer: str) -> None:
    assert cause(reference, answer) not in ("units", "metric")


def test_a_judge_that_read_the_answer_and_a_string_comparison_that_did_not_differ_over_the_metric() -> None:
    for value, name in ((1.0, "metric"), (0.2, "reading")):
        evidence = evidence_of(
            "Who?",
            ["the board"],
            dict.fromkeys(("as_is", "again", "gold_only"), "the directors"),
            gold=["The board did."],
        )
        for record in evidence.records.values():
            record.scores["answer_correctness"] = Score.of(value)
        evidence.gates = {"answer_match": 0.5}
        assert cause_of(evidence).name == name


_KILNS = "Who loads the kilns, and who is the safety lead?"
_LEAD = "the kilns are loaded by Ines Harrow, the safety lead is Dilwyn Moss"


@pytest.mark.parametrize(
    ("question", "reference", "answer", "named"),
    [
        ("春茶采摘的标准是什么？", "只采一芽一叶", "一芽一叶。", "right"),
        ("春茶采摘的标准是什么？", "只采一芽一叶", "一芽三叶。", "reading"),
        (_KILNS, _LEAD, "It is Ines Harrow and Dilwyn Moss.", "right"),
        (_KILNS, _LEAD, "It is Ines Harrow and Bob Moss.", "reading"),
        ("Where may machines run at lunch?", "only in the metal shed", "They run in a metal shed.", "right"),
        ("How long may a drill be borrowed?", "at most for 5 days", "At least 5 days.", "reading"),
        ("How many years does it last?", "four years", "It lasts four.", "right"),
        ("How many years does it last?", "four years", "The meeting point is behind hall 4.", "reading"),
        ("每年最多可在国外办公多少天？", "20 天", "水位传感器每两年校准一次。", "reading"),
        ("How much gas may a vehicle carry?", "no more than 47 kg", "47 kg", "right"),
        ("How much gas may a vehicle carry?", "no more than 47 kg", "more than 47 kg", "reading"),
        ("When must drivers check in?", "no later than 45 minutes ahead", "45 minutes.", "right"),
        ("When must drivers check in?", "not on Sundays", "Sundays", "reading"),
        ("Where is the kiosk?", "beside the lighthouse café", "lighthouse café", "right"),
        ("Where is the kiosk?", "beside the lighthouse café", "behind the lighthouse café", "reading"),
        ("一辆车最多可带多少瓶装气？", "不超过47公斤", "47公斤", "right"),
        ("一辆车最多可带多少瓶装气？", "不超过47公斤", "超过47公斤", "reading"),
        ("售票亭在哪里？", "在灯塔咖啡馆旁", "北门旁", "reading"),
        ("When is the shed closed?", "closed, but not on Sundays", "On Sundays.", "reading"),
    ],
)
def test_what_a_reference_says_beyond_its_question_is_the_answer(
    question: str, reference: str, answer: str, named: str
) -> None:
    named_as = cause(reference, answer, question=question, gold=f"# Notes\n\n{reference}.")
    assert named_as in (("metric", "healthy") if named == "right" else (named,))


@pytest.mark.parametrize(
    ("question", "reference", "answer", "named"),
    [
        ("How early is the hall booked?", "at least 5 weeks before the concert", "5 weeks", "right"),
        ("How early is the hall booked?", "at least 5 weeks before the concert", "35 days", "right"),
        ("How many weeks ahead is the hall booked?", "at least 5 weeks before the concert", "35 days", "units"),
        ("How early is the hall booked?", "at least 5 weeks before the concert", "6 weeks", "reading"),
        ("How early is the hall booked?", "at least 5 weeks before the concert", "5 days", "units"),
        ("What may a crate weigh?", "up to a load of 18 kg each", "18 kg.", "right"),
        ("What may a crate weigh?", "up to a load of 18 kg each", "18 people", "reading"),
        ("What does the prize go to?", "Oda Brandt, for 18 kg", "18 kg", "reading"),
        ("What does entry cost?", "£6 per child", "£6", "right"),
        ("What does entry cost?", "£6 per child", "6 children", "reading"),
        ("Who won, and by how much?", "Bo Ek by 7 points", "7", "reading"),
        ("When is it closed?", "not within 3 days of rain", "3 days", "reading"),
        ("水温保持在多少？", "18度左右", "18度", "right"),
        ("水温保持在多少？", "18度左右", "28度", "reading"),
        ("船上最多坐多少人？", "不得超过45人", "45人", "right"),
        ("船上最多坐多少人？", "不得超过45人", "45岁", "reading"),
        ("门票多少钱？", "每人28元", "28元", "right"),
        ("多久内可以退货？", "12天内", "12天。", "right"),
        ("多久内可以退货？", "12天内", "12个月", "units"),
        ("谁赢了，赢了多少？", "李明赢了7分", "7分", "reading"),
    ],
)
def test_a_quantity_alone_states_a_reference_that_bounds_or_explains_it(
    question: str, reference: str, answer: str, named: str
) -> None:
    named_as = cause(reference, answer, question=question, gold=f"# Notes\n\n{reference}.")
    assert named_as in (("metric", "healthy") if named == "right" else (named,))


@pytest.mark.parametrize(
    ("question", "reference", "gold", "part", "other"),
    [
        ("What are the deposit and the rent?", "deposit £61, rent £24", "The deposit is £61. The rent is £24.", "£61",
         "the deposit is £61 and the rent £24"),
        ("押金和租金各是多少？", "押金61元，租金24元", "押金是61元。租金是24元。", "61", "押金是61元"),
    ],
)  # fmt: skip
def test_a_part_of_the_reference_is_no_reason_to_doubt_it(
    question: str, reference: str, gold: str, part: str, other: str
) -> None:
    assert cause(reference, part, question=question, gold=gold) != "reference_in_doubt"
    doubtful = reference.replace("61", "16").replace("24", "42")
    assert cause(doubtful, other, question=question, gold=gold) == "reference_in_doubt"


@pytest.mark.parametrize(
    ("question", "reference", "refusal", "wrong"),
    [
        ("How high is it?", "61 m", "The documents do not say.", "24 m"),
        ("它有多高？", "61米", "文档中没有答案。", "24米"),
    ],
)
def test_who_answers_wrongly_as_is_did_not_refuse_wrongly(
    question: str, reference: str, refusal: str, wrong: str
) -> None:
    assert cause(reference, wrong, question=question, alone=refusal) == "reading"
    assert cause(reference, refusal, question=question) == "refused_wrongly"
