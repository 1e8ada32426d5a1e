"""Scores of one response: a metric that raises makes a failed score, and never ends the run."""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ragstone.errors import EndpointRefused, StorageError, UsageError
from ragstone.metrics.answerable import refusal_expected
from ragstone.metrics.traits import traits_of
from ragstone.runs.entries import ScoreRow
from ragstone.runs.schema import encode_score, key_of
from ragstone.text.redaction import redact
from ragstone.types import NO_ANSWER, Case, Metric, Need, Response, Score

LONGEST_MESSAGE = 2000  # characters: an endpoint may answer with a page


def describe(error: BaseException) -> str:
    """An error as a record stores it: "kind: message", with a short, stable kind and a message of one line."""
    kind = None if isinstance(error, UsageError) else getattr(error, "kind", None)
    if not isinstance(kind, str):
        kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(error).__name__).lower()
    try:
        message = " ".join(redact(str(error)).split())
    except Exception:  # a foreign __str__
        message = ""
    if len(message) > LONGEST_MESSAGE:
        message = message[:LONGEST_MESSAGE] + "…"
    return f"{kind}: {message or type(error).__name__}"


def is_async(metric: Metric) -> bool:
    """Whether this metric asks a model (`async def score`), so that its scores follow after the record."""
    return inspect.iscoroutinefunction(metric.score)


async def score(metric: Metric, case: Case, response: Response) -> Score:
    """The metric's score; a failed one, with the reason, if the metric raises. `StorageError` and `EndpointRefused` are
    raised, because they concern the whole run."""
    if missing := _missing(metric, case, response):
        return Score.not_applicable(f"the case has no {missing}")
    try:
        result: Any = metric.score(case, response)
        if not isinstance(result, Score) and isinstance(result, Awaitable):
            result = await result
    except (StorageError, EndpointRefused):
        raise
    except Exception as error:
        return Score.failed(describe(error))
    if isinstance(result, Score):
        return result
    return Score.failed(f"the metric returned {type(result).__name__}, not a Score")


def row_of(metric: Metric, result: Score) -> tuple[Score, ScoreRow]:
    """The score and its row in the run file. What cannot be stored (NaN, endless nesting) becomes a failed score."""
    try:
        payload, verdicts = encode_score(result)
    except (ValueError, TypeError, RecursionError) as error:
        result = Score.failed(f"the score cannot be stored: {describe(error)}")
        payload, verdicts = encode_score(result)
    return result, ScoreRow(key_of(metric.name), metric.version, result.status, payload, verdicts)


def _missing(metric: Metric, case: Case, response: Response) -> str:
    """What a metric needs and this case does not have; "" if nothing is missing. An empty answer counts as an answer;
    `NO_ANSWER` marks a row of the user's data without one. A ranking that found nothing counts as passages. A metric
    with `scores_refusals` needs no reference where the question cannot be answered."""
    needs = metric.needs
    return " and no ".join([need.value for need, has in _HAS if need in needs and not has(metric, case, response)])


def _has_references(metric: Metric, case: Case, _: Response) -> bool:
    for slot in case.sample.references:
        for alias in slot:
            if alias.strip():
                return True
    return traits_of(metric).scores_refusals and refusal_expected(case)


def _has_passages(_: Metric, case: Case, response: Response) -> bool:
    if response.passages or case.query.passages or response.empty_retrieval:
        return True
    return case.sample.meta.get("ranking") is not None


def _has_labels(_: Metric, case: Case, response: Response) -> bool:
    passages = response.passages or case.query.passages or ()
    return any(passage.relevant is not None for passage in (*passages, *case.sample.passages))


_HAS: Sequence[tuple[Need, Callable[[Metric, Case, Response], bool]]] = (
    (Need.ANSWER, lambda _, __, response: response.finish_reason != NO_ANSWER),
    (Need.REFERENCES, _has_references),
    (Need.PASSAGES, _has_passages),
    (Need.LABELS, _has_labels),
)
