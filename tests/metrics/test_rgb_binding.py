"""The parts of an answer are bound to what was asked of them: exchanged, unbound and listed values are not right."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from ragstone.benchmarks.rgb.aggregate import read_scores
from ragstone.benchmarks.rgb.diagnosis import explain
from ragstone.datasets.fictional import fictional_rgb
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.refusal import Refusal
from ragstone.metrics.rgb_binding import RgbBinding, outcome_of, value_kind
from ragstone.metrics.rgb_judge import RgbBindingJudge
from ragstone.metrics.rgb_official import RgbOfficial
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Completion, Passage, Query, Record, Request, Response, Sample


def case(question: str, slots: list[list[str]], texts: list[str], language: str) -> Case:
    passages = tuple(Passage(f"positive:{n}:0", text, relevant=True) for n, text in enumerate(texts))
    sample = Sample("s", question, tuple(map(tuple, slots)), language=language)
    return Case("integration/x", sample, {"ability": "integration", "language": language}, Query(question, passages))


TURNOUT = case(
    "How high was the turnout in Halden in 2012 and in 2004?", [["55.6%"], ["79.4%"]],
    ["Turnout in Halden came to 55.6% in 2012, the lowest ever.", "In 2004, 79.4% of the voters of Halden took part."],
    "en",
)  # fmt: skip
PROFIT = case(
    "翀格水泵集团2019年全年和赫迹水泵集团2019年全年的净利润分别是多少？", [["3.32亿元"], ["4.16亿元"]],
    ["翀格水泵集团2019年全年的净利润为3.32亿元。", "赫迹水泵集团公布年报，2019年全年净利润4.16亿元。"], "zh",
)  # fmt: skip
MEASURES = case(
    "翀拓化肥股份2010年全年的净利润和营业收入分别是多少？", [["2.90亿元"], ["21.26亿元"]],
    ["翀拓化肥股份2010年净利润为2.90亿元。", "2010年，翀拓化肥股份营业收入达到21.26亿元。"], "zh",
)  # fmt: skip
CROSSED = case(  # of official data: the answers stand in another order than the question asks
    "2022年特斯拉和比亚迪的交付量", [["187万"], ["131万"]],
    ["比亚迪2022年交付新车187万辆。", "特斯拉2022年全年交付131万辆。"], "zh",
)  # fmt: skip
WINNER = case(
    "Who won the Vorlesk election of 2006, and with what share of the vote?", [["Kavita Dhanawala"], ["49.4%"]],
    ["Kavita Dhanawala won the Vorlesk election of 2006.", "The winner had 49.4% of the vote."], "en",
)  # fmt: skip
NAMES = case(
    "Who painted the top lots of the Tovumi Sale in 2001 and in 1998?", [["Leandro Sandovedra"], ["Rodrigo Torremora"]],
    ["At the Tovumi Sale of 2001 the top lot was by Leandro Sandovedra.",
     "Rodrigo Torremora painted the top lot of the 1998 Tovumi Sale."], "en",
)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "answer", "outcome"),
    [
        (TURNOUT, "It was 55.6% in 2012 and 79.4% in 2004.", "bound"),
        (TURNOUT, "2004: 79.4%; 2012: 55.6%.", "bound"),
        (TURNOUT, "In 2012 and 2004 the turnout was 55.6% and 79.4%, respectively.", "bound"),
        (TURNOUT, "55.6% and 79.4%", "bound"),
        (TURNOUT, "The turnout of 79.4% in 2004 fell to 55.6% in 2012, a loss of 23.8%.", "bound"),
        (TURNOUT, "79.4% in 2004, and 55.6% eight years later.", "bound"),
        (TURNOUT, "It was 55.6% in 2004 and 79.4% in 2012.", "misaligned"),
        (TURNOUT, "In 2012 and 2004 the turnout was 79.4% and 55.6%, respectively.", "misaligned"),
        (TURNOUT, "79.4% and 55.6%", "misaligned"),
        (TURNOUT, "12.1%, 55.6%, 33%, 79.4%, 61.2%", "listed"),
        (TURNOUT, "In 2012 and 2004: 12.1%, 55.6%, 33%, 79.4%, 61.2%", "listed"),
        (TURNOUT, "55.6% in 2012", "incomplete"),
        (TURNOUT, "I cannot answer the question because of the insufficient information in documents.", "incomplete"),
        (PROFIT, "翀格水泵集团净利润3.32亿元，赫迹水泵集团净利润4.16亿元。", "bound"),
        (PROFIT, "赫迹为4.16亿元，翀格为3.32亿元。", "bound"),
        (PROFIT, "分别为3.32亿元和4.16亿元。", "bound"),
        (PROFIT, "翀格水泵集团净利润4.16亿元，赫迹水泵集团净利润3.32亿元。", "misaligned"),
        (PROFIT, "4.16亿元、3.32亿元", "misaligned"),
        (PROFIT, "3.32亿元、1.02亿元、83.19亿元、4.16亿元、7.5亿元", "listed"),
        (MEASURES, "净利润2.90亿元，营业收入21.26亿元。", "bound"),
        (MEASURES, "营业收入21.26亿元，净利润2.90亿元。", "bound"),
        (MEASURES, "净利润21.26亿元，营业收入2.90亿元。", "misaligned"),
        (CROSSED, "特斯拉131万，比亚迪187万。", "bound"),
        (CROSSED, "131万和187万", "bound"),
        (CROSSED, "特斯拉187万，比亚迪131万。", "misaligned"),
        (WINNER, "49.4%; Kavita Dhanawala", "bound"),
        (WINNER, "Kavita Dhanawala won with 49.4%, after a recount.", "bound"),
        (WINNER, "Kavita Dhanawala: 30%, 49.4%, 12.5%, 8.1%", "listed"),
        (NAMES, "Leandro Sandovedra in 2001, Rodrigo Torremora in 1998", "bound"),
        (NAMES, "Rodrigo Torremora in 2001, Leandro Sandovedra in 1998", "misaligned"),
        (NAMES, "Ann Lee, Leandro Sandovedra, Bo Karlsen, Rodrigo Torremora, Cy Twist, Di Fox", "listed"),
    ],
)  # fmt: skip
def test_each_answer_has_its_outcome(asked: Case, answer: str, outcome: str) -> None:
    score = RgbBinding().score(asked, Response(answer))
    assert outcome_of(score) == outcome
    assert score.value == (outcome == "bound")


def test_where_neither_key_nor_order_tells_the_values_are_unbound() -> None:
    asked = case("Name the two amounts.", [["55.6%"], ["79.4%"]], ["55.6% and 79.4%"], "en")
    assert outcome_of(RgbBinding().score(asked, Response("79.4% and 55.6%"))) == "unbound"


def test_two_values_of_one_part_need_no_order() -> None:
    asked = case(
        "《李茂扮太子》是什么类型的电影？它的导演是谁？", [["喜剧"], ["高可"], ["杨晓明"]],
        ["《李茂扮太子》是喜剧电影。", "《李茂扮太子》的导演是高可和杨晓明。"], "zh",
    )  # fmt: skip
    assert outcome_of(RgbBinding().score(asked, Response("喜剧，由杨晓明、高可执导。"))) == "bound"


def _scores(asked: Case, answer: str, **more: Any) -> Record:
    response = Response(answer)
    metrics = (AnswerMatch(), RgbBinding(), RgbOfficial(), Refusal())
    scores = {metric.name: metric.score(asked, response) for metric in metrics}
    return Record("m", asked, response, None, {**scores, **more})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_exchanged_values_are_wrong_in_the_default_scoring_and_unchanged_in_the_official_one(language: str) -> None:
    asked, answer = (TURNOUT, "79.4% in 2012, 55.6% in 2004") if language == "en" else (
        PROFIT, "翀格4.16亿元，赫迹3.32亿元")  # fmt: skip
    record = _scores(asked, answer)
    scores = read_scores(record)
    assert scores.right is False
    assert scores.official is True
    diagnosis = explain(record, language)
    assert diagnosis.cause == "misaligned"
    assert diagnosis.reason
    assert explain(record, language, "official").right is True


@pytest.mark.parametrize(("verdict", "right"), [("bound", True), ("exchanged", False)])
async def test_the_judge_decides_only_where_the_rule_cannot_tell(verdict: str, right: bool) -> None:
    asked = case("Name the two amounts.", [["55.6%"], ["79.4%"]], ["It is 55.6% and 79.4%."], "en")

    async def reply(_: Request) -> Completion:
        return Completion(json.dumps({"verdict": verdict}), finish_reason="stop")

    judge = RgbBindingJudge(Scripted(reply))
    score = await judge.score(asked, Response("79.4% and 55.6%"))
    assert score.value == float(right)
    shown = judge.judge.requests[0].messages[-1].content  # type: ignore[attr-defined]
    assert "It is 55.6% and 79.4%." in shown
    record = _scores(asked, "79.4% and 55.6%", **{"rgb.judge.binding": score})
    assert read_scores(record).right is right
    assert read_scores(_scores(asked, "79.4% and 55.6%")).binding == "unbound"
    assert (await judge.score(TURNOUT, Response("79.4% and 55.6%"))).status == "not_applicable"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_values_of_two_years_exchanged_are_found_out_in_every_fictional_question(language: str) -> None:
    """The issue's case: "55.6% in 2012 and 79.4% in 2004", reversed, was right in all of them."""
    straight, crossed = Counter[str](), Counter[str]()
    for row in fictional_rgb(f"{language}_int", seed=3, size=150):
        slots = [[slot] if isinstance(slot, str) else slot for slot in row["answer"]]
        years = list(dict.fromkeys(re.findall(r"(?:19|20)\d\d", row["query"])))
        kinds = {value_kind(slot[0]) for slot in slots}
        if len(years) != 2 or len(kinds) > 1:
            continue
        asked = case(row["query"], slots, [text for group in row["positive"] for text in group[:2]], language)
        for found, order in ((straight, (0, 1)), (crossed, (1, 0))):
            parts = [f"{year}: {slots[slot][0]}" for year, slot in zip(years, order, strict=True)]
            found[outcome_of(RgbBinding().score(asked, Response("; ".join(parts))))] += 1
    assert sum(straight.values()) >= 15
    assert set(straight) == {"bound"}
    assert set(crossed) == {"misaligned"}


CITED = {
    "en": (
        "According to document 1, {0}. According to document 3, {1}.",
        "{0} [1]. {1} [3].",
        "1. {0}\n2. {1}",
        "Step 1: {0}.\nStep 2: {1}.",
        "{0}. {1}.",
    ),
    "zh": (
        "根据文档1，{0}。根据文档3，{1}。",
        "{0}[1]。{1}[3]。",
        "1. {0}\n2. {1}",
        "第1步：{0}。\n第2步：{1}。",
        "{0}。{1}。",
    ),
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_right_answer_may_cite_and_number_and_exchanged_values_stay_wrong(language: str) -> None:
    """Citations lost 42% of right English answers, and 68% of Chinese ones."""
    right, exchanged = Counter[tuple[str, bool]](), Counter[bool]()
    for row in fictional_rgb(f"{language}_int", seed=3, size=60):
        slots = [[slot] if isinstance(slot, str) else slot for slot in row["answer"]]
        years = list(dict.fromkeys(re.findall(r"(?:19|20)\d\d", row["query"])))
        alike = len({value_kind(slot[0]) for slot in slots}) == 1
        if alike and len(years) != 2:
            continue
        asked = case(row["query"], slots, [text for group in row["positive"] for text in group[:2]], language)
        said = "in {0} it was {1}" if language == "en" else "{0}年为{1}"
        plain = "it is {1}" if language == "en" else "为{1}"
        keys = years if alike else ["", ""]
        told = [(said if alike else plain).format(key, slot[0]) for key, slot in zip(keys, slots, strict=True)]
        crossed = [said.format(key, slot[0]) for key, slot in zip(keys, slots[::-1], strict=True)]
        for form in CITED[language]:
            for parts in (told, told[::-1]):
                bound = outcome_of(RgbBinding().score(asked, Response(form.format(*parts)))) == "bound"
                right[form, bound] += 1
            if alike:
                exchanged[outcome_of(RgbBinding().score(asked, Response(form.format(*crossed)))) == "bound"] += 1
    for form in CITED[language]:
        assert right[form, True] >= 0.9 * (right[form, True] + right[form, False]) > 30, form
    assert exchanged[True] <= 0.05 * exchanged.total()
    assert exchanged.total() > 50


def test_a_comma_of_full_width_joins_no_numbers() -> None:
    for reference, stated in (("226人", 1.0), ("1226人", 0.0)):
        asked = Case("a", Sample("s", "有多少人？", ((reference,),), language="zh"), {}, Query("有多少人？"))
        assert AnswerMatch().score(asked, Response("根据文档1，226人参加。")).value == stated
