"""`diagnose` names the planted faults of `bench.diagnosis` in small worlds; the package itself is the whole."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from bench.diagnosis.diagnosing import diagnosed
from bench.diagnosis.faults import FAULTS
from bench.diagnosis.measures import confusion, false_alarms, in_order, named_right, sizes
from bench.diagnosis.trials import Trial
from bench.diagnosis.worlds import World, fictional, handbook

from ragstone.diagnosis.interventions.condition_texts import in_other_words
from ragstone.types import Passage


@pytest.fixture(scope="module")
def worlds() -> tuple[World, World]:
    return fictional(24), handbook(10).sample(24, 1)


@pytest.mark.parametrize("name", FAULTS)
def test_the_planted_fault_is_named(name: str, worlds: tuple[World, World], tmp_path: Path) -> None:
    """Both worlds in turn, and in each of them references that are verbatim and paraphrased in turn."""
    fault, place = FAULTS[name], list(FAULTS).index(name)
    paraphrased = place // 2 % 2 == 0
    diagnosis = diagnosed(Trial(worlds[place % 2], (fault,), paraphrased, refuses=not paraphrased), tmp_path)
    counts = confusion(diagnosis.verdicts)[name]
    named = counts[fault.cause]
    if name == "converts units":  # the same value in a unit that the question leaves open is right: it is the metric's
        assert named > counts["metric"]
        named += counts["metric"] + counts["healthy"]
    # An answer that is wrong four times by chance looks as if it were always wrong.
    assert named >= (0.75 if name == "flaky" else 0.9) * counts.total() > 0, counts
    assert false_alarms(diagnosis.verdicts).count == 0
    assert diagnosis.requests["answer"] <= 8 * len(diagnosis.verdicts)


@pytest.mark.parametrize("number", [0, 1])
def test_a_reader_with_a_memory_answers_from_it_in_whatever_words_it_is_asked(number: int) -> None:
    """It quoted its first passage to a reworded question, so that its memory looked like a cache."""
    world = handbook(10)
    reader = replace(Trial(world, (FAULTS["answers from memory"],)).faulty.reader, memory=1.0)
    for question in world.questions:
        passages = [world.documents[name] for name in sorted(question.gold)]
        reworded = reader.reply(in_other_words(question.text, number), passages)
        assert reworded == reader.reply(question.text, passages)
    assert reader.reply("What is a ragstone?", [Passage("a", "A stone.")]) == "A stone."


def test_two_faults_at_once_are_named_in_the_order_of_their_size(worlds: tuple[World, World], tmp_path: Path) -> None:
    trial = Trial(worlds[0], (FAULTS["documents missing"], FAULTS["always refuses"]))
    diagnosis = diagnosed(trial, tmp_path)
    assert named_right(diagnosis.verdicts).value == 1.0
    made, named = sizes(trial, diagnosis.verdicts)
    assert made.keys() == named.keys() == {"not_in_index", "refused_wrongly"}
    assert in_order(made, named)
    assert not in_order(made, Counter({"refused_wrongly": 1}))


@pytest.mark.parametrize("names", [("k = 1", "told to be brief"), ("loses 20% of gold", "always refuses")])
def test_two_faults_of_one_answer_are_both_named(
    names: tuple[str, str], worlds: tuple[World, World], tmp_path: Path
) -> None:
    faults = tuple(FAULTS[name] for name in names)
    diagnosis = diagnosed(Trial(worlds[0], faults, misreads=0.0), tmp_path)
    causes = diagnosis.result.causes()
    both = [case for case in diagnosis.trial.cases if {*names} <= {*case.made_by}]
    named = [{causes[case.question.id].name, *causes[case.question.id].also} for case in both]
    assert both
    assert sum({fault.cause for fault in faults} == found for found in named) >= 0.9 * len(both), named


def test_both_plans_name_the_same_causes(worlds: tuple[World, World], tmp_path: Path) -> None:
    trial = Trial(worlds[0], (FAULTS["mixes entities"], FAULTS["loses 20% of gold"]), refuses=False)
    adaptive, full = (diagnosed(trial, tmp_path, full=full) for full in (False, True))
    assert [verdict.cause for verdict in adaptive.verdicts] == [verdict.cause for verdict in full.verdicts]
    assert adaptive.requests["answer"] < 0.5 * full.requests["answer"]


def test_the_gain_of_a_fix_is_that_of_lifting_the_fault(worlds: tuple[World, World], tmp_path: Path) -> None:
    fault = FAULTS["reranker reversed"]
    trial = Trial(worlds[0], (fault,), misreads=0.0)
    fix = diagnosed(trial, tmp_path).result.fixes()[0]
    assert fix.cause == fault.cause
    assert fix.gain is not None
    assert fix.gain.known is not None
    _, low, high = fix.gain.known
    assert low <= trial.gain <= high
