"""Metrics of the claim matrix: what becomes of every edge, and what holds for any verdicts."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.metrics.matrices import (
    CLAIMS,
    JUDGED,
    REFERENCE_CLAIMS,
    SIMILAR,
    STEPS,
    VERDICTS,
    StubJudge,
    case,
    made,
    resolve,
    response,
    scored,
    without_claims,
    without_passages,
    without_reference,
)

from ragstone.errors import TimedOut
from ragstone.metrics import GROUPS, METRICS, Tools
from ragstone.metrics.judge.claims import Similarities
from ragstone.metrics.judge.record import AnswerClaim, Judged, PassageVerdict, ReferenceClaim
from ragstone.types import Case, Need, Query, Sample

NAMES = tuple(name for name, plugin in METRICS if "judge" in getattr(plugin, "uses", ()))

# The tables of the docstrings.

SITUATIONS = {
    "the answer declines": (without_claims(JUDGED, noncommittal=True), case(), response("I do not know.")),
    "the answer is empty": (without_claims(JUDGED, noncommittal=True), case(), response(" \n")),
    "the answer makes no claim": (without_claims(JUDGED), case(), response("Well.")),
    "the answer cites nothing": (
        Judged(CLAIMS, REFERENCE_CLAIMS, (), False, JUDGED.passages, STEPS, ("A and b.", "C and d.", "E.")),
        case(),
        response("A and b. C and d. E."),
    ),
    "no passages": (without_passages(JUDGED), case(), response(texts=())),
    "nothing was retrieved": (without_passages(JUDGED), case(), replace(response(texts=()), empty_retrieval=True)),
    "no reference": (without_reference(JUDGED), case(()), response()),
}
# What the first words of a row come to in the situation above.
OUTCOMES = {
    "not applicable": "not applicable",
    "scored": "scored",
    "0": "0",
    "the claims that it makes all the same": "not applicable",  # it makes none
    "the citations that it makes all the same": "not applicable",
    "by the claims that it makes": "0",
    "F1 is 0": "F1 is 0",
    "no claim has support": "no support",
}


def rows(name: str) -> Iterator[tuple[str, str]]:
    """The rows of the table in a metric's docstring."""
    for line in (METRICS.get(name).__doc__ or "").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.strip().startswith("|") and cells[0] not in {"case", "---"}:
            yield cells[0], cells[1]


@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_becomes_of_every_edge(name: str) -> None:
    needed = {*SITUATIONS, "the judge failed"} - {"the answer cites nothing", "nothing was retrieved"}
    told = {situation for situation, _ in rows(name)}
    assert needed <= told
    assert told - needed <= {"the answer cites nothing", "nothing was retrieved", "only a refusal is correct"}


ROWS = [(name, situation, told) for name in NAMES for situation, told in rows(name) if situation in SITUATIONS]


@pytest.mark.parametrize(("name", "situation", "told"), ROWS, ids=[f"{name}-{row}" for name, row, _ in ROWS])
async def test_the_table_is_true(name: str, situation: str, told: str) -> None:
    judged, given_case, given_response = SITUATIONS[situation]
    outcome = next(meaning for words, meaning in OUTCOMES.items() if told.startswith(words))
    result = await scored(name, judged, case=given_case, response=given_response)
    if outcome == "not applicable":
        assert result.status == "not_applicable"
        assert result.reason
    elif outcome == "no support":
        assert result == await scored(name, judged)
    elif outcome == "F1 is 0":
        assert result.value == 0.25 * 0.8
        assert result.evidence["f1"] == 0.0
    else:
        assert result.status == "scored"
        assert (result.value == 0.0) is (outcome == "0")


@pytest.mark.parametrize("name", NAMES)
async def test_a_metric_that_needs_no_answer_scores_the_same_without_one(name: str) -> None:
    if Need.ANSWER not in made(name).needs:
        judged = without_claims(JUDGED)
        assert (await scored(name, judged, response=response(""))).value == (await scored(name)).value


@pytest.mark.parametrize("name", ["answer_relevancy", "answer_relevance", "faithfulness", "ragchecker.recall"])
async def test_of_an_empty_answer_the_judge_is_not_asked(name: str) -> None:
    judge = StubJudge(JUDGED, SIMILAR)
    await resolve(made(name, judge).score(case(), response("  ")))
    assert judge.asked == []


@pytest.mark.parametrize("name", NAMES)
async def test_a_failed_judge_is_a_failed_score_with_its_replies(name: str) -> None:
    step = "verify" if "verify" in made(name).steps else "decompose"  # type: ignore[attr-defined]
    result = await resolve(made(name, StubJudge(JUDGED, SIMILAR, step)).score(case(), response()))
    assert (result.status, result.value, result.reason) == ("failed", None, "The reply was cut off.")
    assert result.evidence == {"verdicts": VERDICTS}


@pytest.mark.parametrize("name", NAMES)
async def test_the_judge_is_asked_for_the_steps_that_the_metric_names(name: str) -> None:
    judge = StubJudge(JUDGED, SIMILAR)
    metric: Any = made(name, judge)
    await resolve(metric.score(case(), response()))
    assert {"decompose"} <= metric.steps <= {"decompose", "verify", "similarities"}
    assert set(judge.asked) == metric.steps - ({"decompose"} if "verify" in metric.steps else set())


@pytest.mark.parametrize("name", ["answer_relevancy", "answer_correctness"])
async def test_an_embedder_that_fails_fails_the_score_and_keeps_what_the_judge_said(name: str) -> None:
    class Offline(StubJudge):
        async def similarities(self, *_: Any) -> Similarities:
            raise TimedOut("No reply within 60 s.")

    result = await resolve(made(name, Offline(JUDGED)).score(case(), response()))
    assert (result.status, result.reason) == ("failed", "timed_out: No reply within 60 s.")
    assert result.evidence["verdicts"] == VERDICTS
    for broken in (Similarities((0.9, math.nan), math.nan), Similarities((0.9,), None), Similarities((), math.inf)):
        assert (await scored(name, similar=broken)).status == "failed"


async def test_a_missing_verdict_is_a_failure_and_never_a_smaller_denominator() -> None:
    claims = (CLAIMS[0], AnswerClaim(2, "b"))
    judged = Judged(claims, REFERENCE_CLAIMS, (), False, JUDGED.passages, STEPS, ())
    covers = Judged(CLAIMS, (REFERENCE_CLAIMS[0], ReferenceClaim(2, "b")), (), False, JUDGED.passages, STEPS, ())
    passages = (JUDGED.passages[0], PassageVerdict(2, True))
    mixed = Judged(CLAIMS, REFERENCE_CLAIMS, (), False, passages, STEPS, ())
    for name, broken in [
        ("answer_correctness", judged), ("ragchecker.precision", judged), ("ragchecker.hallucination", judged),
        ("answer_correctness", covers), ("ragchecker.recall", covers), ("ragchecker.context_utilization", covers),
        ("context_precision", mixed), ("knowledge_density", mixed),
    ]:  # fmt: skip
        result = await scored(name, broken)
        assert result.status == "failed"
        assert "verdict" in result.reason


@pytest.mark.parametrize("name", ["context_precision", "context_relevance", "knowledge_density"])
async def test_passages_without_a_verdict_are_a_failure(name: str) -> None:
    assert (await scored(name, without_passages(JUDGED))).status == "failed"


async def test_a_cosine_below_0_counts_as_0() -> None:
    similar = Similarities((-0.5, 0.1), -0.3)
    assert (await scored("answer_relevancy", similar=similar)).value == 0.0
    assert (await scored("answer_correctness", similar=similar)).value == 0.75 * 0.5
    assert (await scored("answer_relevancy", similar=Similarities((1.0000001, 1.0), 1.0))).value == 1.0


async def test_there_is_no_relevancy_to_an_empty_question() -> None:
    blank = Case("c", Sample("s", " "), {}, Query(" "))
    result = await scored("answer_relevancy", similar=Similarities((), 0.5), case=blank)
    assert (result.status, result.reason) == ("not_applicable", "the question is empty")


def test_a_metric_is_made_of_the_judge_of_its_tools() -> None:
    judge = StubJudge()
    plugin: Any = METRICS.get("faithfulness")
    assert plugin.make(Tools(judge)).judge is judge


BOOLEANS = st.booleans()
PLACES = st.lists(st.integers(1, 4), max_size=4, unique=True).map(tuple)
ANSWER_CLAIMS = st.lists(st.tuples(BOOLEANS, PLACES, BOOLEANS, st.integers(1, 3)), max_size=5)
REFERENCE = st.lists(st.tuples(PLACES, BOOLEANS), min_size=1, max_size=4)
RELEVANT = st.lists(st.tuples(BOOLEANS, BOOLEANS), min_size=4, max_size=4)


@st.composite
def matrices(draw: st.DrawFn) -> Judged:
    claims = tuple(
        AnswerClaim(place, "a", sentence, relevant, supported, (), correct)
        for place, (relevant, supported, correct, sentence) in enumerate(draw(ANSWER_CLAIMS), start=1)
    )
    reference = tuple(
        ReferenceClaim(place, "r", supported, (), there if claims else None)
        for place, (supported, there) in enumerate(draw(REFERENCE), start=1)
    )
    passages = tuple(PassageVerdict(place, *verdicts) for place, verdicts in enumerate(draw(RELEVANT), start=1))
    return Judged(claims, reference, ("Who?", "Where?"), draw(BOOLEANS), passages, STEPS, SENTENCES_CITED)


SENTENCES_CITED = ("A [1][9].", "B [2, 4].", "C.")


@given(matrices())
async def test_whatever_the_verdicts_a_score_is_from_0_to_1_or_says_why_not(judged: Judged) -> None:
    for name in NAMES:
        result = await scored(name, judged)
        if result.value is None:
            assert result.status == "not_applicable"
            assert result.reason
        else:
            assert 0.0 <= result.value <= 1.0


@given(matrices())
async def test_the_parts_of_an_answer_add_up(judged: Judged) -> None:
    async def value(name: str) -> float | None:
        return (await scored(f"ragchecker.{name}", judged)).value

    correct, supported, invented, known = [
        await value(name) for name in ("precision", "faithfulness", "hallucination", "self_knowledge")
    ]
    noise = [await value(f"noise_sensitivity_in_{kind}") for kind in ("relevant", "irrelevant")]
    if not judged.answer_claims:
        assert {correct, supported, invented, known, *noise} == {None}
        return
    assert math.fsum(part for part in (correct, *noise, invented) if part is not None) == pytest.approx(1.0)
    assert math.fsum(part for part in (supported, invented, known) if part is not None) == pytest.approx(1.0)


def by_the_paper(judged: Judged) -> dict[str, float]:
    """RAGChecker's measures as the paper defines them, over sets of claims and chunks; those whose
    denominator is 0 are left out."""
    response = {claim.id for claim in judged.answer_claims}
    truth = {claim.id for claim in judged.reference_claims}
    chunks = {passage.id for passage in judged.passages}
    correct = {claim.id for claim in judged.answer_claims if claim.in_reference}
    recalled = {claim.id for claim in judged.reference_claims if claim.in_answer}
    in_chunk = {chunk: {c.id for c in judged.answer_claims if chunk in c.supported_by} for chunk in chunks}
    relevant = {chunk for chunk in chunks if any(chunk in c.supported_by for c in judged.reference_claims)}
    in_chunks = {claim.id for claim in judged.reference_claims if set(claim.supported_by) & chunks}
    of_relevant = set().union(*(in_chunk[chunk] for chunk in relevant))
    of_irrelevant = set().union(*(in_chunk[chunk] for chunk in chunks - relevant)) - of_relevant
    entailed = of_relevant | of_irrelevant
    shares = {
        "precision": (correct, response),
        "recall": (recalled, truth),
        "claim_recall": (in_chunks, truth),
        "context_precision": (relevant, chunks),
        "context_utilization": (in_chunks & recalled, in_chunks),
        "noise_sensitivity_in_relevant": (of_relevant - correct, response),
        "noise_sensitivity_in_irrelevant": (of_irrelevant - correct, response),
        "hallucination": (response - entailed - correct, response),
        "self_knowledge": ((response - entailed) & correct, response),
        "faithfulness": (entailed, response),
    }
    values = {name: len(part) / len(whole) for name, (part, whole) in shares.items() if whole}
    precision, recall = values.get("precision", 0.0), values["recall"]
    values["f1"] = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
    return values


@given(matrices())
async def test_ragchecker_is_as_its_paper_defines_it(judged: Judged) -> None:
    expected = by_the_paper(judged)
    for name in GROUPS["ragchecker"]:
        value = (await scored(name, judged)).value
        assert value == pytest.approx(expected.get(name.removeprefix("ragchecker."))), name


@pytest.mark.parametrize("ability", ["rejection", "control"])
@pytest.mark.parametrize("refused", [True, False])
async def test_the_conditions_of_rgb_and_niah_that_cannot_be_answered_are_scored_by_refusal(
    ability: str, refused: bool
) -> None:
    unanswerable = replace(case(), condition={"ability": ability})
    judged = without_claims(JUDGED, noncommittal=True) if refused else JUDGED
    correctness = await scored("answer_correctness", judged, case=unanswerable)
    assert (correctness.value, correctness.evidence["noncommittal"]) == (float(refused), refused)
    for name in ("answer_relevancy", "answer_relevance", "context_recall", "context_precision", "ragchecker.f1"):
        assert (await scored(name, judged, case=unanswerable)).status == "not_applicable"
    assert (await scored("answer_relevancy", case=replace(case(), condition={"ability": "noise"}))).status == "scored"
