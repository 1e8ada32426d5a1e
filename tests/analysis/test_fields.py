"""Fields derived from a case, the types of questions, and how ranges and derived fields select cases."""

import re
import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.analysis.fields import derived, fields_of, question_type
from ragstone.analysis.gates import Gate, check_gates
from ragstone.analysis.selection import matches
from ragstone.analysis.slices import labels_of
from ragstone.errors import UsageError
from ragstone.types import Case, Passage, Query, Sample

TYPES = {
    "who": ("Who wrote the report?", "At the ceremony, whose film won?", "这份报告是谁写的？", "哪位导演执导了该片？"),
    "when": ("When did it open?", "In what year did it open?", "它什么时候开业？", "这座桥哪一年建成？"),
    "where": ("Where is the office?", "In which city was she born?", "总部在哪里？", "她出生在哪个城市？"),
    "how_many": ("How many people came?", "How long is the bridge?", "有多少人参加？", "桥有多长？", "共有几个部门？"),
    "why": ("Why was it delayed?", "What caused the delay?", "为什么推迟？", "推迟的原因是什么？"),
    "how": ("How do I reset my password?", "如何重置密码？", "怎么退款？"),
    "yes_no": ("Is it refundable?", "Can I cancel?", "可以取消吗？", "是否可以退款？"),
    "comparison": ("Which is larger, A or B?", "What is the difference between A and B?", "Is A older than B?",
                   "甲和乙哪个更大？", "两种套餐有什么不同？", "甲比乙早多少年？"),
    "which": ("Which plan includes support?", "哪种套餐包含支持？"),
    "what": ("What is the fine?", "Can you tell me what a lien is?", "什么是留置权？"),
    "other": ("Tell me about the plan.", "介绍一下套餐。"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_the_type_of_a_question_is_what_it_asks_for(kind: str) -> None:
    for question in TYPES[kind]:
        language = "en" if question.isascii() else "zh"
        assert question_type(question, language) == kind, question


_CUES = tomllib.loads(files("ragstone.analysis").joinpath("question_types.toml").read_text("utf-8"))
_WORDS = (
    "is compared to how many when What which of the two a or b's, differ? more whom exact year than 多少 比 更 什么 谁"
)


@given(st.lists(st.sampled_from(_WORDS.split()), max_size=8).map(" ".join), st.sampled_from(["en", "zh"]))
def test_the_first_cue_decides_unless_there_is_one_of_a_comparison(question: str, language: str) -> None:
    text = question.lower()
    cues = [
        (name != "comparison", found.start(), number, name)
        for number, (name, by_language) in enumerate(_CUES.items())
        if (found := re.search("|".join(by_language[language]), text))
    ]
    assert question_type(question, language) == (min(cues)[3] if cues else "other")


def test_what_is_derived_from_a_case() -> None:
    gold = (Passage("a.md#1", "no", relevant=False), Passage("b.md#2", "yes", relevant=True))
    english = Case("1", Sample("1", "How many people came?", passages=gold), {}, Query("?"))
    assert derived(english) == {
        "language": "en", "question_type": "how_many", "question_words": "4", "document": "b.md",
    }  # fmt: skip
    chunk = Passage("x", "", relevant=True, meta={"document": "handbook.pdf"})
    chinese = Case("1", Sample("1", "有多少人参加？", passages=(chunk,)), {}, Query("?"))
    assert derived(chinese) == {
        "language": "zh", "question_type": "how_many", "question_characters": "6", "document": "handbook.pdf",
    }  # fmt: skip
    assert derived(chinese, ["language"]) == {"language": "zh"}


def test_a_column_of_the_data_takes_precedence_over_a_derived_field() -> None:
    run = MemoryRun([record("q", {"m": 1.0}, topic="mine", answerable="no")])
    (made,) = run.records()
    assert fields_of(run, ["topic", "question_type"])(made.case) == {
        "topic": "mine", "answerable": "no", "question_type": "why",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "where", "expected"),
    [
        ("12", "12..20", True), ("20", "12..20", True), ("20.5", "12..20", False), ("3", "..3", True),
        ("4", "..3", False), ("1e3", "999..", True),
        ("-5", "-6..-4", True), ("many", "1..2", False), ("3", "..", False), ("..", "..", True),
        ("v1..v2", "v1..v2", True), ("0.40", "0.4", True), ("True", "true", True), ("nan", "1..", False),
    ],
)  # fmt: skip
def test_a_range_selects_the_numbers_in_it(value: str, where: str, expected: bool) -> None:
    assert matches({"x": value}, {"x": where}) is expected


def test_numbers_with_many_values_are_cut_into_quarters_with_readable_bounds() -> None:
    assert {*labels_of([str(number) for number in range(1, 101)])} == {"..25", "26..50", "51..75", "76.."}
    assert {*labels_of([f"{number / 7:.4f}" for number in range(100)])} == {"..3.5", "3.57..7", "7.1..10.6", "10.7.."}
    assert labels_of(["1", "2", None, "10"]) == ["1", "2", None, "10"]


@pytest.mark.parametrize(
    "numbers",
    [range(-50, 50), [n * n for n in range(40)], [2.0**-n for n in range(40)], [0] * 50 + [*range(60)]],
)
def test_every_number_is_in_its_own_bin_only(numbers: list[float]) -> None:
    texts = [str(number) for number in numbers]
    labels = labels_of(texts)
    for text, label in zip(texts, labels, strict=True):
        assert [name for name in {*labels} if name and matches({"x": text}, {"x": name})] == [label]


def test_texts_beyond_the_most_frequent_belong_to_the_rest() -> None:
    labels = labels_of([f"name {number}" for number in range(30)] + [None] + [f"name {number}" for number in range(20)])
    assert {*labels} == {*(f"name {number}" for number in range(20)), "", None}


def test_gates_are_set_on_derived_fields_and_ranges() -> None:
    records = [record(f"q{at:02d}", {"m": float(at >= 10)}, price=at) for at in range(40)]
    (all_of_them,) = check_gates(MemoryRun(records), [Gate("m", 0.5, where={"question_type": "why"})])
    assert all_of_them.scored == 40
    (cheap,) = check_gates(MemoryRun(records), [Gate("m", 0.5, where={"price": "..9"})])
    assert (cheap.scored, cheap.mean, cheap.verdict) == (10, 0.0, "failed")
    with pytest.raises(UsageError, match=r"No case of s matches question_type=who; .*question_type is why"):
        check_gates(MemoryRun(records), [Gate("m", 0.5, where={"question_type": "who"})])
    with pytest.raises(UsageError, match=r"No case of s has 'topic'"):
        check_gates(MemoryRun(records), [Gate("m", 0.5, where={"topic": "x"})])
