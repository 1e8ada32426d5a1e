"""An answer that decides is asked for again where answers of the system change by themselves."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.diagnosis.interventions.evidence import examined
from tests.diagnosis.test_diagnose_verified import World, rows

from ragstone.diagnosis.diagnose import diagnose
from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.diagnosis.interventions.conditions import ASKED_AGAIN
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.diagnosis.interventions.waterfall import changes_of
from ragstone.responses.stages import stage_step
from ragstone.types import Passage, Query, Response, Sample

_GOLD = Passage("gold", "The Belka pump weighs 317 kg.", relevant=True)
_OTHERS = tuple(Passage(f"other{n}", f"A note on hall {n} of the south works.") for n in range(9))
_SAMPLE = Sample("q", "How much does the Belka pump weigh?", (("317 kg",),), (_GOLD,), language="en")
_REPEATS = {name for names in ASKED_AGAIN.values() for name in names}


def _examined(*, slips: int, unstable: bool) -> Evidence:
    """A search that never finds the gold, and a reader that errs in its first `slips` answers from it."""
    left = {"gold": slips}

    def ask(query: Query) -> Response:
        passages = query.passages if query.passages is not None else _OTHERS[: query.k or 3]
        has_gold = any("317" in one.text for one in passages)
        if has_gold:
            left["gold"] -= 1
        answer = "317 kg." if has_gold and left["gold"] < 0 else "95 kg."
        return Response(answer, tuple(passages), (stage_step("fetch", passages),))

    return examined(_SAMPLE, ask, unstable_system=unstable)


def test_one_slip_of_an_unstable_reader_does_not_hide_what_the_search_lost() -> None:
    evidence = _examined(slips=1, unstable=True)
    assert cause_of(evidence).name in ("not_retrieved", "not_in_index")
    assert _REPEATS & evidence.records.keys()
    alone, added = evidence.value("alone"), evidence.value("added")
    assert (alone, added) == ("right", "right")


def test_a_reader_that_is_wrong_each_time_is_still_blamed() -> None:
    evidence = _examined(slips=99, unstable=True)
    assert cause_of(evidence).name == "memory"  # it says 95 kg without any passage, too
    assert {"gold_only_2", "gold_only_3", "gold_added_2", "gold_added_3"} <= evidence.records.keys()


def test_a_stable_system_is_asked_nothing_twice() -> None:
    evidence = _examined(slips=1, unstable=False)
    assert not _REPEATS & evidence.records.keys()


def test_the_gain_is_that_of_the_first_answer() -> None:
    evidence = _examined(slips=99, unstable=True)
    again = evidence.records["gold_added_2"]
    right = replace(again, scores={name: replace(score, value=1.0) for name, score in again.scores.items()})
    evidence = Evidence({**evidence.records, "gold_added_2": right}, evidence.takes, unstable_system=True)
    assert evidence.value("added") == "right"
    cause = cause_of(evidence)
    item = Diagnosed(evidence, cause, cause.lost)
    assert changes_of(item)["search"] in (0.0, None)
    assert changes_of(item)["base"] in (0.0, None)


def _kept(*places: int) -> str:
    """The cause where a grader keeps these of six fetched passages, of which the third is the gold."""
    fetched = (*_OTHERS[:2], replace(_GOLD, relevant=None), *_OTHERS[2:5])

    def ask(query: Query) -> Response:
        if query.retrieve_only:
            return Response("", fetched, (stage_step("fetch", fetched),))
        passages = query.passages if query.passages is not None else tuple(fetched[at] for at in places)
        answer = "317 kg." if any("317" in one.text for one in passages) else "I do not know."
        return Response(answer, tuple(passages), (stage_step("fetch", fetched),))

    return cause_of(examined(_SAMPLE, ask, takes="repeat passages retrieve")).name


def test_a_stage_that_keeps_worse_passages_dropped_the_gold_and_a_cut_behind_the_best_is_too_few() -> None:
    assert _kept(0, 4) == "reranking"
    assert _kept(0, 1) == "k_too_small"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_reader_that_slips_is_seen_where_no_answer_as_is_is_right(language: str, tmp_path: Path) -> None:
    """Its refusals became wrong answers when asked again, and neither was right: one slip from the gold alone was then
    a cause, and as many questions got the same wrong value, it was a guard's message."""
    world, times = World(language, lost=lambda n: True), Counter[str]()

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = world.found(question) if passages is None else passages
        times[question] += 1
        slips = ((world.number(question) or 0) + times[question]) % 4 == 0
        return {"answer": "7" if slips else world.read(question, texts), "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "slips.run", concurrency=1)
    assert {item.right("as_is") for item in result.questions} == {0.0}
    assert any(item.evidence.outcome("gold_only") == "wrong" for item in result.questions)
    assert {cause.name for cause in result.causes().values()} == {"not_retrieved"}
