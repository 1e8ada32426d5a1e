"""What a metric needs and where it may come from; what lacks is not applicable, never a score."""

from dataclasses import dataclass

import pytest

from ragstone.runs.scoring import score
from ragstone.types import NO_ANSWER, Case, Need, Passage, Query, Response, Sample, Score

LABELLED = (Passage("g", "gold", relevant=True),)
PLAIN = (Passage("p", "text"),)


@dataclass(frozen=True)
class Asks:
    """A metric that needs something and then always gives 1."""

    needs: frozenset[Need]
    name: str = "asks"
    version: int = 1

    def score(self, case: Case, response: Response, /) -> Score:
        return Score.of(1.0)


def case(*, given: tuple[Passage, ...] | None = None, gold: tuple[Passage, ...] = (), reference: str = "") -> Case:
    references = ((reference,),) if reference else ()
    return Case("1", Sample("q", "Why?", references, gold), {}, Query("Why?", given))


@pytest.mark.parametrize(
    ("need", "asked", "response"),
    [
        (Need.ANSWER, case(), Response("")),
        (Need.REFERENCES, case(reference="So."), Response("So.")),
        (Need.PASSAGES, case(), Response("So.", PLAIN)),
        (Need.PASSAGES, case(given=PLAIN), Response("So.")),
        (Need.LABELS, case(gold=LABELLED), Response("So.", PLAIN)),
        (Need.LABELS, case(), Response("So.", LABELLED)),
        (Need.LABELS, case(given=LABELLED), Response("So.")),
    ],
)
async def test_what_a_metric_needs_may_stand_in_each_of_these_places(
    need: Need, asked: Case, response: Response
) -> None:
    assert (await score(Asks(frozenset({need})), asked, response)).value == 1.0


@pytest.mark.parametrize(
    ("needs", "asked", "response", "reason"),
    [
        ({Need.ANSWER}, case(), Response("", PLAIN, finish_reason=NO_ANSWER), "no answer"),
        ({Need.REFERENCES}, case(reference=" "), Response("So."), "no references"),
        ({Need.PASSAGES}, case(gold=LABELLED), Response("So."), "no passages"),
        ({Need.PASSAGES}, case(given=()), Response("So."), "no passages"),
        ({Need.LABELS}, case(gold=PLAIN), Response("So.", PLAIN), "no labels"),
        ({Need.PASSAGES, Need.LABELS}, case(), Response("So."), "no passages and no labels"),
    ],
)
async def test_what_lacks_is_not_applicable_with_the_reason(
    needs: set[Need], asked: Case, response: Response, reason: str
) -> None:
    found = await score(Asks(frozenset(needs)), asked, response)
    assert (found.value, found.status, found.reason) == (None, "not_applicable", f"the case has {reason}")
