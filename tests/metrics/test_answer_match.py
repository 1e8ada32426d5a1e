"""An answer counts where it is stated, and not where it is denied or declined."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.metrics.answer_match import AnswerMatch
from ragstone.types import Case, Query, Response, Sample, Score


def score(answer: str, *slots: tuple[str, ...]) -> Score:
    return AnswerMatch().score(Case("a", Sample("s", "q", slots), {}, Query("q")), Response(answer))


def asked(question: str, answer: str, alias: str) -> Score:
    return AnswerMatch().score(Case("a", Sample("s", question, ((alias,),)), {}, Query(question)), Response(answer))


STATED = [
    ("Norway", "It was Norway."),
    ("Norway", "It was not Germany but Norway."),
    ("Norway", "Not Germany, but Norway won."),
    ("Norway", "Not only Norway but also Sweden won medals."),
    ("Norway", "It was not just Norway that won."),
    ("Norway", "Norway, not Germany, won the most medals."),
    ("Norway", "Norway rather than Germany won."),
    ("Norway", "Instead of Germany, Norway won."),
    ("Norway", "Norway was not the only country to win, yet it won most."),
    ("Norway", "It was not Norway at first, but in the end Norway won."),
    ("Norway", "It does not matter since Norway won."),
    ("Norway", "Why not? Norway."),
    ("Norway", "Germany did not win. Norway did."),
    ("2021", "It was not held in 2020 but in 2021."),
    ("2021", "It did not open until 2021."),
    ("Facebook", "Facebook did not disclose the price."),
    ("Facebook", "Apple didn't buy it; Facebook did."),
    ("Joe Biden", "The documents incorrectly say Donald Trump. The answer is Joe Biden."),
    ("Joe Biden", "There are factual errors in the provided documents. The correct answer is Joe Biden."),
    ("Spain", "It is not the first time that Spain has won"),
    ("北京", "举办地是北京。"),
    ("北京", "不是上海，而是北京。"),
    ("北京", "并非上海而是北京"),
    ("北京", "不仅是北京，还有张家口。"),
    ("北京", "不只是北京。"),
    ("北京", "北京，不是上海。"),
    ("北京", "北京不是第一次举办奥运会，2022年冬奥会在北京举行。"),
    ("北京", "是北京而非上海"),
    ("挪威", "文档错误地指出冠军是德国，正确答案是挪威。"),
    ("12人", "死亡人数为12人，不是14人。"),
    ("约翰内斯堡", "会议在南非约翰内斯堡举行。"),
    ("2500万人次", "不到3000万，为２，５００万人次。"),
]
# A reference that begins with a preposition, as people answer "To whom…?"
CASE_WORDS = [
    ("to the bursar", "It is the bursar.", 1.0),
    ("to the bursar", "You hand it to the bursar.", 1.0),
    ("to the bursar", "The key comes from the bursar.", 0.0),
    ("with isopropyl alcohol", "Isopropyl alcohol.", 1.0),
    ("with isopropyl alcohol", "Without isopropyl alcohol.", 0.0),
    ("on the Juki by the stairs", "It is Juki by the stairs.", 1.0),
    ("on the table", "It lies under the table.", 0.0),
    ("in 1990", "1990", 1.0),
    ("in 1990", "Some time before 1990.", 0.0),
    ("from 9 o'clock", "9 o'clock", 0.0),
    ("to", "It is the bursar.", 0.0),
]


@pytest.mark.parametrize(("reference", "answer", "value"), CASE_WORDS)
def test_a_preposition_of_the_reference_need_not_be_repeated(reference: str, answer: str, value: float) -> None:
    assert score(answer, (reference,)).value == value


DENIED = [
    ("Norway", "It was not Norway."),
    ("Norway", "The winner wasn't Norway."),
    ("Norway", "It was Germany, not Norway."),
    ("Norway", "Germany rather than Norway won."),
    ("Norway", "Germany won instead of Norway."),
    ("Norway", "It was never won by Norway."),
    ("Norway", "Norway was not the winner."),
    ("Norway", "Norway is incorrect."),
    ("Norway", "Neither Sweden nor Norway won."),
    ("Norway", "It is not true that Norway won."),
    ("Norway", "There is no evidence that Norway won."),
    ("Norway", "The documents incorrectly state that Norway won; Germany did."),
    ("Norway", "The documents mistakenly name Norway."),
    ("2021", "The game was not released in 2021."),
    ("July 21, 2017", "It was not released on July 21, 2017."),
    ("Facebook", "It wasn't acquired by Facebook but by Apple."),
    ("James Cameron", "It was not directed by James Cameron."),
    ("北京", "不是北京。"),
    ("北京", "并非北京。"),
    ("北京", "举办地不在北京。"),
    ("北京", "是上海，而不是北京。"),
    ("北京", "是上海而非北京。"),
    ("北京", "北京不是举办地。"),
    ("北京", "北京是错误的。"),
    ("北京", "“北京”有误。"),
    ("北京", "文档错误地指出举办地是北京。"),
    ("杨冬", "该片不是由杨冬执导。"),
    ("长津湖", "冠军不是《长津湖》。"),
]


@pytest.mark.parametrize(
    ("alias", "answer", "status"),
    [
        ("Bicycle", "A few bicycles may be left there.", "unsure"),
        ("bicycle", "Bicycles may be left there.", "unsure"),
        ("berry", "Berries are served.", "unsure"),
        ("berries", "One berry is served.", "unsure"),
        ("box", "Boxes are stored below.", "unsure"),
        ("boxes", "The box is stored below.", "unsure"),
        ("dogs", "Only a dog is allowed.", "unsure"),
        ("custom", "They pay customs duty.", "unsure"),
        ("bicycle", "It is not bicycles but cars.", "scored"),
        ("ten", "There are tens of thousands.", "scored"),
        ("Robert", "Roberts decides.", "scored"),
        ("his", "Hi, they said.", "scored"),
    ],
)
def test_a_word_in_its_other_number_may_be_the_reference(alias: str, answer: str, status: str) -> None:
    found = asked("q", answer, alias)
    assert (found.status, found.value) == (status, 0.0 if status == "scored" else None)
    assert (
        AnswerMatch(strict=True).score(Case("a", Sample("s", "q", ((alias,),)), {}, Query("q")), Response(answer)).value
        == 0.0
    )


@pytest.mark.parametrize(
    ("alias", "answer", "value"),
    [
        ("Wednesday", "The museum is closed on Wednesdays.", 1.0),
        ("Wednesdays", "It is closed every Wednesday.", 1.0),
        ("Wednesday", "It is closed on Thursdays.", 0.0),
        ("Wednesday", "It is not closed on Wednesdays.", 0.0),
    ],
)
def test_a_weekday_is_stated_by_its_plural(alias: str, answer: str, value: float) -> None:
    assert asked("q", answer, alias).value == value


@pytest.mark.parametrize(("alias", "answer"), STATED)
def test_a_stated_answer_counts(alias: str, answer: str) -> None:
    assert score(answer, (alias,)).value == 1.0


@pytest.mark.parametrize(("alias", "answer"), DENIED)
def test_a_denied_answer_does_not_count(alias: str, answer: str) -> None:
    result = score(answer, (alias,))
    assert result.value == 0.0
    assert [mention["alias"] for mention in result.evidence["denied"]] == [alias]


LEAVE, LEAVE_ZH = "How many days of annual leave do employees get?", "员工的年假有多少天？"
IN_ROWS = [
    (LEAVE, "25 days", "Annual leave | 25 days | all staff"),
    (
        LEAVE,
        "25 days",
        "| Leave | Days |\n|---|---:|\n| Sick leave | 10 |\n| Annual leave | 25 |\n\nSource: handbook.md",
    ),
    (LEAVE, "25 days", "Leave type: Annual leave; Days: 25"),
    (LEAVE, "25 days", "Annual leave: 25"),
    (LEAVE, "25 days", "**25**"),
    (LEAVE, "25 days of annual leave", "Annual leave | 25 days"),
    (LEAVE, "25 days of annual leave", "25 days [1]"),
    (LEAVE, "Employees get 25 days of annual leave.", "Annual leave | 25 days | all staff"),
    (LEAVE, "25 days", "Sick leave | not specified\nAnnual leave | 25 days"),
    (LEAVE, "25 days", "This document does not cover contractors. Annual leave is 25 days."),
    (LEAVE, "25 days", "Contractors are not covered by this document. Employees are entitled to 25 days."),
    (LEAVE_ZH, "25天", "| 类型 | 天数 |\n|---|---|\n| 年假 | 25 |"),
    (LEAVE_ZH, "25天", "年假 | 25 | 天"),
    (LEAVE_ZH, "25天", "年假：25"),
    (LEAVE_ZH, "25天", "本文件不涉及外包人员。年假为25天。"),
    ("Where is the meeting?", "room 214", "Meeting room: 214, second floor"),
    ("What does it weigh?", "2.5 kg", "Weight (kg) | 2.5"),
    ("它有多重？", "2.5公斤", "重量（公斤）| 2.5"),
    ("What is the torque of bolt M8?", "23 Nm", "Bolt: M8, Torque (Nm): 23"),
    ("What does the basic plan cost?", "$12 per month", "| Plan | Price per month |\n|---|---|\n| Basic | $12 |"),
    ("What does the basic plan cost?", "$12 per month", "Basic | $12/month | 5 users"),
    ("When is it open?", "9:00 to 17:00", "Open | 9:00–17:00"),
    ("How long?", "3-5 days", "It takes 3 to 5 days."),
    ("多久？", "3至5天", "3-5天"),
]
IN_OTHER_ROWS = [
    (LEAVE, "25 days", "Annual leave | 20 days | 25 public holidays"),
    (LEAVE, "25 days", "| Leave | Hours |\n|---|---|\n| Annual leave | 25 |"),
    (LEAVE, "25 days", "| Leave | Days | Hours |\n|---|---|---|\n| Annual leave | 20 | 25 |"),
    (LEAVE, "25 days", "Annual leave | 25 | hours"),
    (LEAVE, "25 days", "Annual leave | 25%"),
    (LEAVE, "25 days", "Annual leave | 125"),
    (LEAVE, "25 days", "Annual leave | not 25"),
    (LEAVE, "25 days", "Annual leave: 20 (25 for managers)"),
    (LEAVE, "25 days of annual leave", "Sick leave | 25 days"),
    (LEAVE, "25 days of annual leave", "25 days of sick leave, 20 days of annual leave."),
    (LEAVE, "25 days", "Sick leave: 25"),
    (LEAVE, "25 days", "Annual leave | Chapter 25"),
    (LEAVE, "25 days", "The documents do not say how many days of leave employees get. Contractors get 25 days."),
    (LEAVE, "25 days", "I cannot answer this question. Contractors get 25 days."),
    (LEAVE_ZH, "25天", "| 类型 | 小时 |\n|---|---|\n| 年假 | 25 |"),
    (LEAVE_ZH, "25天", "病假：25"),
    (LEAVE_ZH, "25天", "文档没有说明年假有多少天。外包人员为25天。"),
    ("Where is the meeting?", "room 214", "Room: 3, desk 214"),
    ("What does it weigh?", "2.5 kg", "Weight (lb) | 2.5"),
    ("What does the basic plan cost?", "$12 per month", "| Plan | Price per month |\n|---|---|\n| Basic | €12 |"),
    ("What does the basic plan cost?", "$12 per month", "| Plan | Price per year |\n|---|---|\n| Basic | $12 |"),
    ("What does the basic plan cost?", "$12 per month", "| Plan | Price (€) per month |\n|---|---|\n| Basic | 12 |"),
    ("When is it open?", "9:00 to 17:00", "Open | 9:00–12:00"),
    ("What was the score?", "3-5", "The score was 3 and 5 were sent off."),
]


@pytest.mark.parametrize(("question", "alias", "answer"), IN_ROWS)
def test_a_value_is_stated_with_the_labels_of_its_cell(question: str, alias: str, answer: str) -> None:
    assert asked(question, answer, alias).value == 1.0


@pytest.mark.parametrize(("question", "alias", "answer"), IN_OTHER_ROWS)
def test_a_value_under_another_label_or_in_another_unit_is_not_stated(question: str, alias: str, answer: str) -> None:
    assert asked(question, answer, alias).value == 0.0


def test_every_slot_is_needed_and_any_alias_of_it_will_do() -> None:
    slots = (("6.4%",), ("18%", "18.0%"))
    assert score("香港增长6.4%，澳门增长百分之十八", *slots).value == 1.0
    assert score("香港增长6.4%", *slots).value == 0.0
    assert score("香港增长6.4%，澳门增长18.0%", *slots).value == 1.0


@pytest.mark.parametrize(
    ("answer", "alias"),
    [
        (
            "The documents discuss Norway, but I can not answer the question because of the insufficient information.",
            "Norway",
        ),
        ("文档只介绍了挪威队，没有提到冠军，因此无法回答该问题。", "挪威"),
    ],
)
def test_a_refusal_states_nothing(answer: str, alias: str) -> None:
    result = score(answer, (alias,))
    assert result.value == 0.0
    assert result.evidence == {"slots": [[]], "refusal": True}


def test_evidence_holds_the_stretches_of_the_answer_that_count() -> None:
    answer = "１２人, that is 十二人, not 12人."
    result = score(answer, ("12人", "12 人"), ("14",))
    slots = result.evidence["slots"]
    assert [answer[mention["start"] : mention["end"]] for mention in slots[0]] == ["１２人", "十二人"]
    assert slots[1] == []
    assert [answer[mention["start"] : mention["end"]] for mention in result.evidence["denied"]] == ["12人"]


def test_without_references_it_does_not_apply() -> None:
    assert score("Norway").status == "not_applicable"
    assert score("Norway", ("",)).status == "not_applicable"


@settings(deadline=None)
@given(st.text(max_size=60), st.lists(st.lists(st.text(max_size=8), max_size=3), max_size=3))
def test_any_answer_gets_a_score_whose_evidence_lies_in_it(answer: str, slots: list[list[str]]) -> None:
    result = score(answer, *(tuple(slot) for slot in slots))
    assert result.value in (None, 0.0, 1.0)
    for slot in (result.evidence or {"slots": []})["slots"]:
        for mention in slot:
            assert 0 <= mention["start"] < mention["end"] <= len(answer)


@pytest.mark.parametrize(
    ("reference", "answer", "right"),
    [
        ("The documents do not say.", "I do not know; the documents do not say.", 1.0),
        ("The documents do not say.", "It is 25 days.", 0.0),
        ("文档中没有说明。", "文档中没有相关信息，无法回答。", 1.0),
        ("文档中没有说明。", "25天。", 0.0),
        ("No.", "No, they are not allowed.", 1.0),
        ("No.", "I do not know.", 0.0),
    ],
)
def test_to_a_reference_that_declines_a_refusal_is_the_right_answer(reference: str, answer: str, right: float) -> None:
    assert score(answer, (reference,)).value == right


@pytest.mark.parametrize(("question", "reference", "answer", "value"), [
    ("How much gas may a vehicle carry?", "no more than 47 kg", "47 kg", 1.0),
    ("How much gas may a vehicle carry?", "no more than 47 kg", "more than 47 kg", 0.0),
    ("When must drivers check in?", "no later than 45 minutes ahead", "45 minutes.", 1.0),
    ("Where is the kiosk?", "beside the lighthouse café", "The lighthouse café.", 1.0),
    ("Where is the kiosk?", "beside the lighthouse café", "Lighthouse café.", 1.0),
    ("Where is the kiosk?", "beside the lighthouse café", "Behind the lighthouse café.", 0.0),
    ("Who loads the kilns?", "the kilns are loaded by Ines Harrow", "It is Ines Harrow.", 1.0),
    ("Who loads the kilns?", "the kilns are loaded by Ines Harrow", "It is not Ines Harrow.", 0.0),
    ("Which war was it?", "World War I", "It was World War II.", 0.0),
    ("How many years does it last?", "four years", "It lasts four hours.", 0.0),
    ("Who is the chair?", "chair: Luis Ortega", "Petra Novak chairs; Luis Ortega is her deputy.", 0.0),
    ("When is the shed closed?", "closed, but not on Sundays", "On Sundays.", 0.0),
    ("一辆车最多可带多少瓶装气？", "不超过47公斤", "47公斤", 1.0),
    ("一辆车最多可带多少瓶装气？", "不超过47公斤", "超过47公斤", 0.0),
    ("春茶采摘的标准是什么？", "只采一芽一叶", "一芽一叶。", 1.0),
    ("春茶采摘的标准是什么？", "只采一芽一叶", "一芽三叶。", 0.0),
])  # fmt: skip
def test_what_a_reference_says_beyond_its_question_is_enough(
    question: str, reference: str, answer: str, value: float
) -> None:
    case = Case("c", Sample("s", question, ((reference,),)), {}, Query(question))
    assert AnswerMatch().score(case, Response(answer)).value == value


LONG = [
    ("When may leave be taken?", "At any time of the year except in the two weeks before the annual stocktaking.",
     "Whenever you like, but not in the fortnight that precedes the stocktaking."),
    ("Can the pump be used in the rain?", "No. The housing is not sealed.", "It must not get wet."),
    ("更换滤芯的步骤是什么？", "先关机并拔下插头，再打开背板取出旧滤芯，最后装入新滤芯并合上背板。",
     "断电后拆开后盖，换上新的滤芯。"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "reference", "answer"), LONG)
def test_of_a_long_reference_that_is_not_found_the_rule_is_unsure(question: str, reference: str, answer: str) -> None:
    unsure = asked(question, answer, reference)
    assert (unsure.value, unsure.status) == (None, "unsure")
    assert "in other words" in unsure.reason
    case = Case("a", Sample("s", question, ((reference,),)), {}, Query(question))
    assert AnswerMatch(strict=True).score(case, Response(answer)).value == 0.0
    assert asked(question, reference, reference).value == 1.0


@pytest.mark.parametrize(("question", "reference", "answer", "value"), [
    ("公司的上班时间是几点？", "上午八点四十分", "公司的上班时间是上午九点。", 0.0),
    ("公司的上班时间是几点？", "上午八点四十分", "早上8:40上班。", 1.0),
    ("公司的上班时间是几点？", "上午八点四十分", "早上八点四十上班。", 1.0),
    ("公司的上班时间是几点？", "上午八点四十分", "早上八点上班。", 0.0),
    ("值班到几点？", "晚上十一点二十五分", "到23:25。", 1.0),
    ("值班到几点？", "晚上十一点零五分", "到23:50。", 0.0),
    ("When does the office open?", "half past eight in the morning", "At 9 a.m. in the morning.", 0.0),
])  # fmt: skip
def test_another_time_of_day_is_wrong_and_the_same_in_another_notation_is_right(
    question: str, reference: str, answer: str, value: float
) -> None:
    assert asked(question, answer, reference).value == value


@pytest.mark.parametrize("answer", ["I cannot answer this from the documents.", "", "根据所给资料无法回答这个问题。"])
@pytest.mark.parametrize(("question", "reference"), [(question, reference) for question, reference, _ in LONG])
def test_a_refusal_or_an_empty_answer_states_no_long_reference(question: str, reference: str, answer: str) -> None:
    assert asked(question, answer, reference).value == 0.0


def test_a_short_part_that_is_missing_decides_and_one_short_alias_can_be_found() -> None:
    question, long = "When may leave be taken, and who grants it?", LONG[0][1]
    case = Case("a", Sample("s", question, ((long,), ("Ines Harrow",))), {}, Query(question))
    assert AnswerMatch().score(case, Response("Not before stocktaking; Tom Reed grants it.")).value == 0.0
    assert AnswerMatch().score(case, Response("Not before stocktaking; Ines Harrow grants it.")).status == "unsure"
    aliases = Case("a", Sample("s", question, ((long, "in spring"),)), {}, Query(question))
    assert AnswerMatch().score(aliases, Response("In autumn.")).value == 0.0


@pytest.mark.parametrize(
    ("question", "reference", "answer"),
    [
        ("Where do visitors park?", "the car park behind hall 4", "Beside the gate."),
        ("访客把车停在哪里？", "4 号车间后的停车场", "大门旁边。"),
        ("Where do visitors park?", "the car park behind hall 4", "In the car park behind hall 7."),
        ("How long are files kept?", "six months after the end of the procedure", "Two years after the end of it."),
        ("材料保存多久？", "招聘结束后保存六个月", "招聘结束后保存两年。"),
        ("Can visitors park there?", "Yes, with a permit from the lodge.", "No, the lodge gives no permit for that."),
        ("访客可以停车吗？", "可以，须向门房领取许可。", "不可以，门房不发许可。"),
        ("How strong must the cable be?", "at least 15 watts of power supply", "At most 15 watts of power supply."),
        ("Who loads the kilns?", "The kilns are loaded by Ines Harrow.", "Tom Reed loads them."),
        ("How long is the notice?", "no less than 16 weeks", "10 weeks"),
    ],
)
def test_a_value_is_found_or_missing_however_its_reference_is_worded(
    question: str, reference: str, answer: str
) -> None:
    assert asked(question, answer, reference).value == 0.0


@pytest.mark.parametrize(
    ("question", "reference", "answer"),
    [
        ("Who approves overtime?", "the head of the respective department", "Whoever leads the department signs it."),
        ("Who may use the gym?", "All permanent employees and apprentices may use the gym.",
         "1. apprentices\n2. employees with a permanent contract"),
        ("Do part-time workers get the bonus?", "Yes, in proportion to their working hours.",
         "They do, depending on how many hours they work."),
        ("谁可以使用健身房？", "正式员工和实习生可以使用健身房。", "健身房对实习生和签了长期合同的员工开放。"),
        ("Until when may a ticket be refunded?", "up to two hours before the departure of the train",
         "No later than 120 minutes before the train leaves."),
    ],
)  # fmt: skip
def test_a_phrase_whose_words_are_in_the_answer_may_be_said_otherwise(
    question: str, reference: str, answer: str
) -> None:
    assert asked(question, answer, reference).status == "unsure"


@pytest.mark.parametrize(
    ("question", "reference"),
    [
        ("How much does a new card cost at Wyndham University?", "A new card costs 15 pounds at Wyndham University."),
        ("How long are files kept at Vannick AG?", "Files are kept at Vannick AG for six months after the procedure."),
    ],
)
def test_names_of_the_question_are_no_part_of_the_value(question: str, reference: str) -> None:
    value = "£15" if "card" in question else "six months after the procedure"
    assert asked(question, f"According to the rules: {value}.", reference).value == 1.0
