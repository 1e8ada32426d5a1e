"""Refusals and matches on labelled answers: what was found wrong, and what is reached on the half nobody looks at."""

import time

import pytest
from bench.labelled import HALVES, KINDS, LANGUAGES, Labelled, decided, errors, figures, read, read_references

from ragstone.metrics._clauses import clauses
from ragstone.metrics._phrases import phrases
from ragstone.metrics.refusal import _kind, refusal_spans

OWN = {"refusals": (0.95, 0.95), "matches": (0.97, 0.97)}
"""Precision and recall on our own answers, which the rules know."""
REACHED = {
    "refusals.en": (0.72, 0.77),
    "refusals.zh": (0.81, 0.79),
    "matches.en": (0.58, 0.64),
    "matches.zh": (0.57, 0.66),
}
"""Precision and recall on the measured half, rounded down. The goals are missed: 0.90 and 0.93 for refusals, 0.85 and
0.95 for matches. docs/what-the-numbers-mean.md says so."""
# Answers that were judged wrongly when they were reported.
DECLINES = [
    "Unfortunately, none of the documents mention the winner.",
    "I was not able to find the name of the director.",
    "The context lacks information on the release date.",
    "这超出了文档的范围。",
    "暂无答案",
    "知识库中没有相关内容。",
    "尚不能确定。",
]
ANSWERS = ["没有，双方打平了。", "该公司因信息不足被罚款。"]
STATED = [
    ("8小时", "8个小时"),
    ("100元", "￥100"),
    ("40.98亿元", "40.98亿"),
    ("1830克", "1830g"),
    ("壹佰贰拾叁", "123"),
    ("二比一", "2:1"),
    ("三点五", "3.5"),
    ("$100", "100 dollars"),
    ("5 km", "5 kilometers"),
    ("105", "one hundred and five"),
    ("first", "1st"),
    ("World War II", "World War 2"),
    ("U.S.", "United States"),
    ("3.66亿元", "3.66亿人民币"),
    ("101.92公里", "101.92km"),
    ("1914年", "1914"),
    ("H₂O", "H2O"),
]
NOT_STATED = [
    ("5", "−5"),
    ("5", "5G"),
    ("3", "3-5"),
    ("云澜7", "云澜7 Pro"),
    ("40.98亿元", "40.98亿美元"),
    ("1914年", "1914人"),
    ("8小时", "18小时"),
]


@pytest.mark.parametrize("answer", DECLINES)
def test_a_refusal_that_was_missed_is_found(answer: str) -> None:
    assert refusal_spans(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_was_taken_for_a_refusal_is_none(answer: str) -> None:
    assert refusal_spans(answer) == []


@pytest.mark.parametrize(
    ("reference", "answer"),
    [("13891人", "13891名观众"), *STATED, *((answer, reference) for reference, answer in STATED)],
)
def test_a_match_that_was_missed_is_found(reference: str, answer: str) -> None:
    assert Labelled((reference,), f"({answer})", True, True).judged()


@pytest.mark.parametrize(("reference", "answer"), NOT_STATED)
def test_a_wrong_match_is_none(reference: str, answer: str) -> None:
    assert not Labelled((reference,), answer, False, True).judged()


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables_hold_enough_of_both_labels_and_both_languages_in_both_halves(kind: str) -> None:
    for language in LANGUAGES:
        halves = [read(kind, language, half) for half in HALVES]
        assert sum(map(len, halves)) >= 400
        for rows in halves:
            assert 0.4 <= sum(row.holds for row in rows) / len(rows) <= 0.6
        asked = [{(row.question, row.answer) for row in rows} for rows in halves]
        assert asked[0].isdisjoint(asked[1])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_our_own_answers_are_judged_as_labelled(kind: str, language: str) -> None:
    found, (precision, recall) = figures(read(kind, language, "own")), OWN[kind]
    assert found.precision >= precision, found
    assert found.recall >= recall, found


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_precision_and_recall_do_not_fall_on_the_half_that_nobody_looks_at(kind: str, language: str) -> None:
    found, (precision, recall) = figures(read(kind, language, "measured")), REACHED[f"{kind}.{language}"]
    assert found.precision >= precision, found
    assert found.recall >= recall, found


DECLINED = [
    (
        "What interest rate applies?",
        "It refers to the rate in Schedule 3.\n\n**Conclusion:** The interest rate cannot be determined.",
    ),
    ("过桥贷款的利率是多少？", "额度450万欧元，期限18个月。\n\n结论：根据现有材料无法确定利率。"),
    ("《岭南旧事》的作者是在哪里去世的？", "书中对作者的卒地只字未提。"),
    (
        "In what year was the lighthouse automated?",
        "It was built in 1871 and is 34 metres high. However, the year in which it was automated is not mentioned.",
    ),
]
ANSWERED = [
    ("What caused the fire?", "According to the fire service, the cause of the fire is still unknown [1]."),
    ("图书馆新馆什么时候开放？", "文档1没有提到日期。文档2写明新馆将于9月14日开放。"),
    (
        "When did the second shop open?",
        "The second shop followed in 2011 [3]. The interview does not say where it was.",
    ),
]


@pytest.mark.parametrize(("question", "answer", "declines"), [
    *((*row, True) for row in DECLINED), *((*row, False) for row in ANSWERED),
])  # fmt: skip
def test_a_refusal_is_read_together_with_its_question(question: str, answer: str, declines: bool) -> None:
    assert bool(refusal_spans(answer, question)) == declines


@pytest.mark.parametrize(
    ("question", "reference", "answer", "stated"),
    [
        ("晚上的演出几点开始？", "19:30", "晚上7点30分开演。", True),
        ("When does the service start?", "19:30", "It begins at 7:30 PM.", True),
        ("该条款是否适用？", "是", "该条款不适用。", False),
        ("Is the fee refundable?", "No", "Unfortunately, the fee is non-refundable.", True),
        ("Which dog breed was the most popular?", "Beagle", "The Labrador came first, followed by the Beagle.", False),
        ("Who will play the lead?", "Idris Kane", "Rumours named Idris Kane, but it is Leo Marsh.", False),
        ("Who was the teacher?", "Li Bai", "It was Li He, not the more famous Li Bai.", False),
        ("Which war was it?", "World War Two", "It was World War II.", True),
        ("What colour is it?", "a gray wall", "It is a grey wall.", True),
        ("How long does it take?", "at most 5 days", "It takes up to 5 days.", True),
        ("How much is it?", "£19 per month", "It costs £19 a month.", True),
        ("How long is the film?", "1 hour 45 minutes", "The running time is 105 min.", True),
        ("Who signed the letter?", "Robert F. Kennedy", "It was signed by Robert Kennedy.", True),
        ("How many rounds?", "3", "It was stopped in the second round [3].", False),
        ("哪个版本加入了深色模式？", "4.1版", "深色模式自4.10版加入。", False),
    ],
)  # fmt: skip
def test_a_reference_in_other_words_is_stated_and_one_in_another_role_is_not(
    question: str, reference: str, answer: str, stated: bool
) -> None:
    assert Labelled((reference,), answer, stated, True, question).judged() == stated


@pytest.mark.parametrize(
    ("answer", "stated"),
    [("South Tower: 88 m. North Tower: 92 m.", True), ("The North Tower has 88 m, the South Tower 92 m.", False)],
)
def test_values_stand_with_their_keys(answer: str, stated: bool) -> None:
    row = Labelled(("North Tower 92 m", "South Tower 88 m"), answer, stated, True, "How high are the two towers?")
    assert row.judged() == stated


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_look_at_an_answer_overlooks_no_refusal(language: str) -> None:
    answers = [row.answer for row in read("refusals", language, "own")]
    for clause in (clause for answer in answers for clause in clauses(answer)):
        if _kind(clause)[0] in {"whole", "gap"}:
            assert phrases("refusal.hint").search(clause.text), clause.text


def test_figures_count_false_alarms_against_precision_and_misses_against_recall() -> None:
    rows = [
        Labelled((), "I don't know.", True, True),
        Labelled((), "I don't know.", False, True),
        Labelled((), "Norway.", True, True),
        Labelled((), "Norway.", False, True),
        Labelled((), "Norway.", True, False),
    ]
    found = figures(rows)
    assert (found.n, found.holding, found.precision, found.recall) == (4, 2, 0.5, 0.5)
    assert errors(rows) == rows[1:3]


@pytest.mark.parametrize(
    "unit",
    [
        "The documents do not say, but 5 km is 3-5. ",
        "文档没有提到《谁？》，但全长5公里，共3至5天。",
        "5 ",
        "one hundred and ",
    ],
)
def test_the_time_of_a_long_answer_grows_with_its_length_and_not_its_square(unit: str) -> None:
    def seconds(size: int) -> float:
        """The least of three: another process on this core makes one of them slow, not all."""
        took = []
        for number in range(3):
            row = Labelled(("12 km",), f"{number} {unit * (size // len(unit))}", False, True)
            begin = time.process_time()
            row.judged()
            took.append(time.process_time() - begin)
        return min(took)

    assert seconds(400_000) < 9 * seconds(100_000) + 0.05  # a square would be 16 times as long


DECIDED = {"en": (54, 40, 6, 8), "zh": (47, 41, 1, 5)}
"""Of the 100 measured answers to references of five kinds: decided, agreeing, right but called wrong, the reverse. It
was 77, 48, 21, 8 and 64, 46, 13, 5 before the rule said where it is unsure about phrases."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_the_rule_is_sure_that_an_answer_is_wrong_a_person_agrees(language: str) -> None:
    rows = read_references(language, "measured")
    found = decided(rows)
    told, agreeing, missed, trapped = DECIDED[language]
    assert found.n == len(rows) == 100
    assert sum(row.holds for row in rows) == 50
    assert found.agreeing / found.decided >= agreeing / told - 0.02
    assert found.missed <= missed
    assert found.trapped <= trapped
    values = [row for row in rows if row.style == "value"]
    assert decided(values).decided >= 0.8 * len(values)
