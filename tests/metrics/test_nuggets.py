"""Nuggets and relevance grades: what is asked, and the arithmetic of the published programs on recorded verdicts."""

import json
from typing import Any

import pytest
from tests.metrics.judge.judges import shown_in

from ragstone.metrics import GROUPS, Tools, make_metrics
from ragstone.metrics.nuggets import MEASURES, measure
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Passage, Query, Request, Response, Sample, Score

# Verdicts as nuggetizer writes them: importance and assignment of each nugget, with the scores that its
# `calculate_nugget_scores` gives. "weighted" is by hand from the formula of the paper, Σs_v + ½Σs_o over |v| + ½|o|.
V, OKAY = "vital", "okay"
FULL, PART, NONE = "support", "partial_support", "not_support"
RECORDED: list[tuple[list[tuple[str, str]], dict[str, float]]] = [
    (
        [(V, FULL), (V, PART), (V, NONE), (OKAY, FULL), (OKAY, PART)],
        {"strict_vital": 1 / 3, "strict_all": 2 / 5, "vital": 1.5 / 3, "all": 3 / 5, "weighted": 2.25 / 4},
    ),
    ([(V, FULL), (V, FULL)], dict.fromkeys(MEASURES, 1.0)),
    ([(V, PART), (OKAY, NONE)], {"strict_vital": 0, "strict_all": 0, "vital": 0.5, "all": 0.25, "weighted": 0.5 / 1.5}),
    (
        [(V, "failed"), (OKAY, FULL)],
        {"strict_vital": 0, "strict_all": 0.5, "vital": 0, "all": 0.5, "weighted": 0.5 / 1.5},
    ),
]


@pytest.mark.parametrize(("verdicts", "scores"), RECORDED)
def test_the_arithmetic_is_that_of_nuggetizer(verdicts: list[tuple[str, str]], scores: dict[str, float]) -> None:
    nuggets = [{"text": "x", "importance": importance, "assignment": given} for importance, given in verdicts]
    assert {name: measure(nuggets, weights) for name, weights in MEASURES.items()} == pytest.approx(scores)


def test_without_a_nugget_that_counts_there_is_no_score() -> None:
    assert measure([], MEASURES["all"]) is None
    assert measure([{"importance": OKAY, "assignment": FULL}], MEASURES["strict_vital"]) is None


def judge(request: Request) -> str:
    shown = shown_in(request)
    if request.schema_name == "umbrela":
        grade = 3 if "cost" in shown["passage"] else 1
        return json.dumps({"match": grade, "trust": 3, "grade": grade})
    if request.schema_name == "nuggets_create":
        found = [part for text in shown["texts"].values() for part in text.split("; ")]
        texts = [*shown["nuggets"], *found]
        return json.dumps({"nuggets": [{"text": text, "importance": OKAY if "toll" in text else V} for text in texts]})
    given = {number: FULL if text in shown["answer"] else NONE for number, text in shown["nuggets"].items()}
    return json.dumps({"nuggets": [{"id": int(number), "assignment": how} for number, how in given.items()]})


def case(reference: str = "", pool: tuple[str, ...] = (), language: str = "en") -> Case:
    references = ((reference,),) if reference else ()
    passages = tuple(Passage(f"p{number}", text) for number, text in enumerate(pool))
    sample = Sample("s", "When did it open?", references, passages, language=language)
    return Case("c", sample, {}, Query(sample.question, language=language))


async def scored(names: list[str], asked: Case, response: Response, **more: Any) -> tuple[dict[str, Score], Scripted]:
    model = Scripted(more.get("script", judge))
    metrics = make_metrics(names, Tools(model=model))
    return {metric.name: await metric.score(asked, response) for metric in metrics}, model  # type: ignore[misc]


async def test_five_measures_take_two_requests() -> None:
    asked = case("it opened in 1931; it cost 3.8 million; a third came from tolls")
    scores, model = await scored(["nuggets"], asked, Response("In short, it opened in 1931."))
    assert {name: score.value for name, score in scores.items()} == pytest.approx({
        "nuggets.all": 1 / 3, "nuggets.vital": 1 / 2, "nuggets.weighted": 1 / 2.5, "nuggets.strict_all": 1 / 3,
        "nuggets.strict_vital": 1 / 2,
    })  # fmt: skip
    assert tuple(scores) == GROUPS["nuggets"]
    assert [request.schema_name for request in model.requests] == ["nuggets_create", "nuggets_assign"]
    evidence: Any = scores["nuggets.all"].evidence
    assert evidence["nuggets"][0] == {"text": "it opened in 1931", "importance": V, "assignment": FULL}
    assert (evidence["from"], len(evidence["verdicts"])) == ("reference", 2)


async def test_nuggets_come_from_the_pool_where_there_is_no_reference_and_long_pools_are_gone_through() -> None:
    passages = (Passage("a", "it opened in 1931"), Passage("b", "it cost 3.8 million"))
    scores, model = await scored(["nuggets.all"], case(), Response("it opened in 1931", passages))
    assert scores["nuggets.all"].value == 0.5
    pooled, model = await scored(["nuggets.all"], case(pool=("it is long",)), Response("it opened in 1931", passages))
    assert pooled["nuggets.all"].value == 0.0
    assert shown_in(model.requests[0])["texts"] == {"1": "it is long"}
    long = tuple(f"it cost {number} million" + " and so on" * 1500 for number in range(3))
    _, model = await scored(["nuggets.all"], case(pool=long), Response("Nothing."))
    created = [shown_in(request) for request in model.requests if request.schema_name == "nuggets_create"]
    assert [len(shown["nuggets"]) for shown in created] == [0, 1, 2]
    none, model = await scored(["nuggets.all"], case(), Response("It opened."))
    assert (none["nuggets.all"].status, model.requests) == ("not_applicable", [])


async def test_more_than_ten_nuggets_are_assigned_ten_at_a_time_and_thirty_are_kept() -> None:
    reference = "; ".join(f"fact {number}" for number in range(34))
    scores, model = await scored(["nuggets.all"], case(reference), Response("fact 3"))
    assert len([request for request in model.requests if request.schema_name == "nuggets_assign"]) == 3
    assert scores["nuggets.all"].value == pytest.approx(1 / 30)


async def test_an_empty_answer_gives_no_nugget_and_a_judge_that_fails_gives_no_score() -> None:
    empty, model = await scored(["nuggets.all"], case("it opened"), Response(" "))
    assert (empty["nuggets.all"].value, model.requests) == (0.0, [])
    failed, model = await scored(["nuggets.all"], case("it opened"), Response("x"), script=lambda request: "prose")
    assert (failed["nuggets.all"].status, len(model.requests)) == ("failed", 2)


async def test_chinese_samples_are_asked_in_chinese() -> None:
    _, model = await scored(["nuggets.all", "umbrela"], case("1931年通车", language="zh"), Response("1931年通车"))
    assert "要点" in model.requests[0].messages[0].content


async def test_grades_of_the_passages_are_their_relevance() -> None:
    passages = (Passage("a", "it cost 3.8 million"), Passage("b", "ferries"))
    scores, model = await scored(["umbrela"], case(), Response("", passages))
    assert scores["umbrela"].value == pytest.approx((3 + 1) / 6)
    evidence: Any = scores["umbrela"].evidence
    assert (evidence["grades"], evidence["relevant"], len(model.requests)) == ([3, 1], 1, 2)
    bad, _ = await scored(
        ["umbrela"], case(), Response("", passages), script=lambda _: '{"match": 1, "trust": 1, "grade": 4}'
    )
    assert bad["umbrela"].status == "failed"
