"""What every registered metric promises, whoever wrote it."""

import copy
import inspect
import math
import pickle
from collections.abc import Awaitable
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest

from ragstone.metrics import METRICS
from ragstone.types import Case, Completion, Metric, Need, Passage, Query, Request, Response, Sample, Score, to_json


class Judge:
    """Replies with what an official judge would say, to either question."""

    id = "scripted/judge"

    async def generate(self, request: Request, /) -> Completion:
        return Completion("Yes, the model has identified the factual errors. The question is not addressed.")


def metric(name: str) -> Metric:
    plugin: Any = METRICS.get(name)
    return cast("Metric", plugin if hasattr(plugin, "score") and not inspect.isclass(plugin) else plugin(Judge()))


async def resolve(score: Score | Awaitable[Score]) -> Score:
    return await score if inspect.isawaitable(score) else score


PASSAGE = Passage("positive:0", "Norway won.", relevant=True)
QUERY = Query("Who won?", (PASSAGE,))
FULL = Case("c", Sample("en:0", "Who won?", (("Norway",),), (PASSAGE,)), {"noise_ratio": 1, "dataset": "en"}, QUERY)
BARE = Case("c", Sample("en:0", "Who won?"), {}, Query("Who won?"))
ANSWERS = [
    "", "Norway", "It was not Norway.", "挪威", "提供的文档存在事实性错误。", "\ud800\x00\u2028", "a" * 100_000,
    "I can not answer the question because of the insufficient information in documents.",
]  # fmt: skip
NAMES = METRICS.names()


def test_the_metrics_of_rgb_are_registered() -> None:
    assert {"answer_match", "refusal", "error_detection", "rgb.official"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_named_versioned_and_explained(name: str) -> None:
    subject = metric(name)
    assert subject.name == name
    assert subject.version >= 1
    assert subject.needs <= frozenset(Need)
    assert len(type(subject).__doc__ or "") > 60


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("case", [FULL, BARE], ids=["full", "bare"])
async def test_a_score_is_in_range_or_says_why_not_and_goes_into_a_run_file(name: str, answer: str, case: Case) -> None:
    result = await resolve(metric(name).score(case, Response(answer)))
    to_json(result)
    if result.value is None:
        assert result.status in {"not_applicable", "failed"}
        assert result.reason
    else:
        assert result.status == "scored"
        assert math.isfinite(result.value)
        assert 0.0 <= result.value <= 1.0


@pytest.mark.parametrize("name", [name for name in NAMES if Need.REFERENCES in metric(name).needs])
async def test_a_metric_that_needs_references_does_not_apply_without(name: str) -> None:
    assert (await resolve(metric(name).score(BARE, Response("Norway")))).status == "not_applicable"


@pytest.mark.parametrize("name", NAMES)
async def test_scoring_changes_nothing_and_gives_the_same_again(name: str) -> None:
    subject, case, response = metric(name), copy.deepcopy(FULL), Response("Norway")
    first = await resolve(subject.score(case, response))
    assert await resolve(subject.score(case, response)) == first
    assert (case, response) == (FULL, Response("Norway"))


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_an_immutable_value(name: str) -> None:
    subject: Any = metric(name)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        subject.version = 99
    if METRICS.get(name) is subject:
        assert pickle.loads(pickle.dumps(subject)) == subject


@pytest.mark.parametrize("name", ["answer_match", "refusal", "error_detection"])
def test_reasoning_is_never_scored(name: str) -> None:
    thought = "There are factual errors in the provided documents. I cannot answer. Norway."
    subject: Any = metric(name)
    assert subject.score(FULL, Response("Sweden", reasoning=thought)) == subject.score(FULL, Response("Sweden"))
