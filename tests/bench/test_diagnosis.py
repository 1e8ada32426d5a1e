"""The planted faults of `bench.diagnosis`: the truth about them is known, and no comparison of words can find it."""

import asyncio

import pytest
from bench.diagnosis.faults import FAULTS, PAIRS
from bench.diagnosis.judge import GATE, METRIC, world_judge
from bench.diagnosis.measures import STAGE_OF, false_alarms, named_right, stage_named_right
from bench.diagnosis.others import PEERS, shown_to_peers
from bench.diagnosis.paraphrase import reworded
from bench.diagnosis.probe import always_not_fetched, word_probe
from bench.diagnosis.readers import Reader
from bench.diagnosis.trials import Trial
from bench.diagnosis.worlds import World, fictional, handbook
from tests.examples import naming

from ragstone import evaluate
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.types import Case, Passage, Query, Response, Sample


@pytest.fixture(scope="module", params=["fictional", "handbook"])
def world(request: pytest.FixtureRequest) -> World:
    return fictional(24) if request.param == "fictional" else handbook(10)


def test_each_value_is_read_from_its_own_document_and_from_its_evidence_only(world: World) -> None:
    for question in world.questions:
        for fact in question.facts:
            document = world.documents[fact.document]
            assert fact.read(document.text) == fact.value
            assert fact.read(fact.evidence) == fact.value
            assert fact.value not in fact.evidence or not fact.asked
            assert fact.read(document.text.replace(fact.value, "Zanzibar")) == "Zanzibar"
            others = [name for name, other in world.documents.items() if fact.read(other.text) is not None]
            assert others == [fact.document]


def test_a_world_has_both_languages_and_all_kinds_of_questions(world: World) -> None:
    assert {question.language for question in world.questions} == {"en", "zh"}
    kinds = {question.kind for question in world.questions}
    assert kinds >= {"single", "two_part", "unanswerable"}
    assert ("two_hop" in kinds) == (world.name == "fictional")
    for question in world.questions:
        assert bool(question.facts) == (question.kind != "unanswerable")
        assert len(question.values) == {"two_part": 2, "unanswerable": 0}.get(question.kind, 1)


def test_no_comparison_of_words_accepts_a_right_answer_by_its_paraphrased_reference(world: World) -> None:
    accepted = [
        question.id
        for question in world.questions
        if question.facts and _matches(question.id, world.answer(question, question.values), world, paraphrased=True)
    ]
    assert accepted == []
    verbatim = [
        _matches(question.id, world.answer(question, question.values), world, paraphrased=False)
        for question in world.questions
        if question.facts
    ]
    assert all(verbatim)


def _matches(name: str, answer: str, world: World, *, paraphrased: bool) -> bool:
    row = world.by_id[name].row(world.documents, paraphrased=paraphrased)
    sample = Sample(name, row["question"], tuple(tuple(slot) for slot in row["reference"]))
    return AnswerMatch().score(Case(name, sample, {}, Query("")), Response(answer)).value == 1.0


@pytest.mark.parametrize(
    ("value", "language", "expected"),
    [
        ("38 hours", "en", "30 plus 8 hours"),
        ("90 days", "en", "twice 45 days"),
        ("three months", "en", "twice 1.5 months"),
        ("March 8, 2002", "en", "month twice 1.5 day twice 4 1900 plus 102"),
        ("Ilse Brandt", "en", "of the register"),
        ("六周", "zh", "3的两倍周"),
        ("28.49亿元", "zh", "20与8.49之和亿元"),
        ("伊尔莎·勃兰特", "zh", "登记册第"),
    ],
)
def test_values_are_reworded_by_rule(value: str, language: str, expected: str) -> None:
    said = reworded(value, language)
    assert said == expected or (expected in said and value not in said)


def test_the_judge_knows_what_is_meant(world: World, tmp_path: object) -> None:
    two = next(question for question in world.questions if question.kind == "two_part")
    right = world.answer(two, two.values)
    answers = {
        "right": right,
        "half": world.answer(two, two.values[:1]),
        "wrong": world.answer(two, [world.wrong_value(two, fact, "test") for fact in two.facts]),
        "refusal": world.refusal(two),
    }
    row = two.row(world.documents, paraphrased=True)
    rows = [row | {"id": name, "answer": answer} for name, answer in answers.items()]
    result = evaluate(rows, [METRIC], world_judge(world), run=f"{tmp_path}/judged.run")
    scores = {row["id"]: row[METRIC] for row in result.scores}
    assert scores == {"right": 1.0, "half": pytest.approx(2 / 3), "wrong": 0.0, "refusal": 0.0}
    assert scores["half"] < GATE


def test_lifting_a_fault_rights_what_it_made_fail(world: World) -> None:
    for fault in FAULTS.values():
        with naming(fault.name):
            trial = Trial(world, (fault,))
            made = [case for case in trial.cases if case.made_by]
            assert made
            assert fault.cause in STAGE_OF
            assert [case.question.id for case in trial.cases if case.right and not case.lifted] == []
            assert trial.gain == pytest.approx(len(made) / len(trial.cases))


def test_planted_pairs_exist() -> None:
    for pair in PAIRS:
        first, second = (FAULTS[name] for name in pair)
        assert first.cause != second.cause
        assert not first.planted.keys() & second.planted.keys()


def test_a_pipeline_searches_without_answering_and_reads_given_passages(world: World) -> None:
    pipeline = Trial(world, (FAULTS["rewriter drops the subject"],), misreads=0.0).faulty
    question = next(question for question in world.questions if question.kind == "single")
    found = asyncio.run(pipeline.answer(Query(question.text, k=3, retrieve_only=True)))
    assert (found.answer, len(found.passages), [step.name for step in found.steps]) == ("", 3, ["fetch"])
    assert found.steps[0].input == question.text
    gold = tuple(Passage("any", world.documents[name].text) for name in question.gold)
    assert world.right(question, asyncio.run(pipeline.answer(Query(question.text, gold))).answer)
    assert world.refuses(asyncio.run(pipeline.answer(Query(question.text, ()))).answer)
    wider = asyncio.run(pipeline.answer(Query(question.text, k=8)))
    assert len(wider.passages) == 8


def test_a_reader_that_never_refuses_makes_up_what_is_missing(world: World) -> None:
    reader = Reader(world, refuses=False, misreads=0.0)
    for question in world.questions:
        answer = reader.answer(question, ())
        assert not world.refuses(answer)
        assert not world.right(question, answer)


def test_a_flaky_reader_answers_now_right_now_wrong(world: World) -> None:
    reader = Reader(world, misreads=0.0, flaky=1.0)
    question = next(question for question in world.questions if question.kind == "single")
    gold = [world.documents[name] for name in question.gold]
    assert {world.right(question, reader.answer(question, gold, repeat)) for repeat in range(12)} == {True, False}


def test_a_probe_of_words_finds_stages_only_while_references_are_verbatim(world: World) -> None:
    for paraphrased, low, high in ((False, 0.9, 1.0), (True, 0.0, 0.2)):
        verdicts = [verdict for fault in FAULTS.values() for verdict in word_probe(Trial(world, (fault,), paraphrased))]
        value = stage_named_right(verdicts).value
        assert value is not None
        assert low <= value <= high
        alarms = false_alarms(verdicts).value
        assert alarms is not None
        assert (alarms > 0.5) == paraphrased


def test_always_the_same_verdict_is_right_for_the_faults_of_the_search_only(world: World) -> None:
    for fault in (FAULTS["broken embedder"], FAULTS["misreads"]):
        verdicts = always_not_fetched(Trial(world, (fault,)))
        assert named_right(verdicts).value == (fault.cause == "not_retrieved")
        assert false_alarms(verdicts).count == 0


def test_words_of_other_tools_mean_stages_that_exist() -> None:
    stages = {stage for words in PEERS.values() for meant in words.values() for stage in meant}
    assert stages == set(STAGE_OF.values()) - {"error", "reference"}


def test_other_tools_are_shown_every_answer_with_its_passages(world: World) -> None:
    trial = Trial(world, (FAULTS["crashes"],))
    shown = shown_to_peers(trial)
    assert 0 < len(shown["cases"]) == sum(case.response is not None for case in trial.cases) < len(trial.cases)
    for case in shown["cases"]:
        assert case["answer"]
        assert {*case["contexts"], *case["candidates"]} <= shown["documents"].keys()
        question = world.by_text[case["question"]]
        assert all(value in case["reference"] for value in question.values)
