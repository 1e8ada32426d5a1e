"""What every registered metric promises, whoever wrote it."""

import copy
import inspect
import math
import pickle
import re
from dataclasses import FrozenInstanceError
from itertools import product
from typing import Any

import pytest
from tests.examples import naming
from tests.metrics.matrices import JUDGED, STEPS, StubEmbedder, StubJudge, made, resolve, without_claims

from ragstone.errors import UnknownName, UsageError
from ragstone.metrics import GROUPS, METRICS, Tools, better, check_metrics, is_own, make_metrics, steps_of
from ragstone.metrics.judge.claims import Similarities
from ragstone.metrics.judge.record import Judged
from ragstone.structs import to_json
from ragstone.types import Case, Metric, Need, Passage, Query, Response, Sample

NAMES = METRICS.names()
# What a judge of RGB would say, of which other metrics can make nothing.
REPLY = "Yes, the model has identified the factual errors. The question is not addressed."


def asked_for(name: str) -> str:
    """The name of a family as a user writes it."""
    return name.removesuffix("@k") + "@3" if name.endswith("@k") else name


def metric(name: str, judged: Judged = JUDGED) -> Metric:
    return made(asked_for(name), StubJudge(judged, Similarities((0.5, 0.75), 0.5)), reply=REPLY)


def explained(name: str) -> str:
    return inspect.getdoc(type(metric(name))) or ""


PASSAGES = (
    Passage("positive:0", "Norway won.", relevant=True),
    Passage("negative:0", "Sweden lost.", relevant=False),
    Passage("negative:1", "", relevant=False, meta={"grade": math.nan}),
    Passage("negative:0", "Sweden lost.", meta={"grade": "high"}),
)
QUERY = Query("Who won?", PASSAGES)
FULL = Case("c", Sample("en:0", "Who won?", (("Norway",),), PASSAGES), {"noise_ratio": 1, "dataset": "en"}, QUERY)
SLOTS = (("挪威", "Norway", ""), ("", "瑞典"), (" ",), ())
MANY = Case("c", Sample("zh:0", "谁赢了？", SLOTS, PASSAGES[:1]), {}, QUERY)
BARE = Case("c", Sample("en:0", "Who won?"), {}, Query("Who won?"))
BLANK = Case("c", Sample("en:0", "", (("",), ("\u200b",)), (Passage("a", ""),)), {}, Query("", (Passage("a", ""),)))
CASES = {"full": FULL, "many": MANY, "bare": BARE, "blank": BLANK}
ANSWERS = [
    "", " \n", "Norway", "It was not Norway.", "挪威", "挪威和瑞典", "提供的文档存在事实性错误。",
    "\ud800\x00\u2028", "a" * 100_000,
    "[1][2,3]【4】(来源1)[" + "1," * 2000, "the", "—", "字" * 20_000, "no " * 10_000,
    "I can not answer the question because of the insufficient information in documents.",
]  # fmt: skip


def test_the_metrics_that_the_documents_name_are_registered() -> None:
    assert {"answer_match", "refusal", "error_detection", "rgb.official"} <= set(NAMES)
    assert {name for group in GROUPS.values() for name in group} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_named_and_versioned_and_says_what_it_needs(name: str) -> None:
    subject = metric(name)
    assert subject.name == asked_for(name)
    assert subject.version >= 1
    assert subject.needs <= frozenset(Need)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_explains_its_formula_its_range_and_its_source(name: str) -> None:
    told = explained(name)
    assert told.startswith(f"`{name.removesuffix('@k')}`")
    for heading in ("Formula", "Range", "Needs", "Evidence", "Source"):
        assert re.search(rf"^{heading}: .", told, re.MULTILINE), heading
    uses = getattr(metric(name), "uses", ())
    needs = told.partition("\nNeeds: ")[2].partition("\nEvidence: ")[0]
    assert ("judge" in needs) is ("judge" in uses or "model" in uses)
    assert ("embedder" in needs) is ("embedder" in uses)
    assert ("reference" in needs) is (Need.REFERENCES in metric(name).needs or "With a reference" in needs)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_says_which_values_are_the_better_ones(name: str) -> None:
    told = explained(name).partition("\nRange: ")[2].split("\nNeeds:")[0]
    wanted = {"higher": "higher is better", "lower": "lower is better", "neither": ""}
    assert wanted[better(asked_for(name))] in told


@pytest.mark.parametrize("name", NAMES)
async def test_a_score_is_in_range_or_says_why_not_and_goes_into_a_run_file(name: str) -> None:
    subject = metric(name)
    for kind, answer in product(CASES, ANSWERS):
        with naming(kind, answer):
            result = await resolve(subject.score(CASES[kind], Response(answer)))
            to_json(result)
            if result.value is None:
                assert result.status in {"not_applicable", "unsure", "failed"}
                assert result.reason
            else:
                assert result.status == "scored"
                assert math.isfinite(result.value)
                assert 0.0 <= result.value <= 1.0


@pytest.mark.parametrize("name", [name for name in NAMES if Need.REFERENCES in metric(name).needs])
async def test_a_metric_that_needs_references_does_not_apply_without(name: str) -> None:
    assert (await resolve(metric(name).score(BARE, Response("Norway", PASSAGES)))).status == "not_applicable"


@pytest.mark.parametrize("name", [name for name in NAMES if Need.PASSAGES in metric(name).needs])
async def test_a_metric_that_needs_passages_does_not_apply_without(name: str) -> None:
    case = Case("c", FULL.sample, {}, Query("Who won?"))
    assert (await resolve(metric(name).score(case, Response("Norway")))).status == "not_applicable"


@pytest.mark.parametrize("name", [name for name in NAMES if Need.LABELS in metric(name).needs])
async def test_a_metric_that_needs_labels_does_not_apply_without(name: str) -> None:
    assert (await resolve(metric(name).score(BARE, Response("Norway", PASSAGES)))).status == "not_applicable"


# What is left out measures refusals, the form of an answer and nothing beside it, or meaning as our embedder of fixed
# vectors sees it; or it asks a model itself, which here gives one reply (`test_ragas`, `test_rubric` have theirs).
ANSWERING = [
    name
    for name in NAMES
    if Need.ANSWER in metric(name).needs
    and name not in {"refusal", "needle.refused", "semantic_similarity"}
    and "rgb" not in name
    and "model" not in getattr(metric(name), "uses", ())
    and ("judge" in getattr(metric(name), "uses", ()) or metric(name).needs != {Need.ANSWER})
]


@pytest.mark.parametrize("name", ANSWERING)
async def test_an_answer_without_claims_is_never_perfect_by_default(name: str) -> None:
    judged = without_claims(JUDGED, noncommittal=True)
    result = await resolve(metric(name, judged).score(FULL, Response("I do not know.", PASSAGES)))
    assert result.status in {"scored", "not_applicable"}
    assert (result.value or 0.0) < 0.5


@pytest.mark.parametrize("name", NAMES)
async def test_scoring_changes_nothing_and_gives_the_same_again(name: str) -> None:
    subject, case, response = metric(name), copy.deepcopy(FULL), Response("Norway")
    first = await resolve(subject.score(case, response))
    assert await resolve(subject.score(case, response)) == first
    assert repr((case, response)) == repr((FULL, Response("Norway")))


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_an_immutable_value(name: str) -> None:
    subject: Any = metric(name)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        subject.version = 99
    with pytest.raises((FrozenInstanceError, AttributeError)):
        subject.latest_score = 1.0
    if METRICS.get(name) is subject:
        assert pickle.loads(pickle.dumps(subject)) == subject
    assert isinstance(hash(subject), int)


@pytest.mark.parametrize("name", ["answer_match", "refusal", "error_detection"])
def test_reasoning_is_never_scored(name: str) -> None:
    thought = "There are factual errors in the provided documents. I cannot answer. Norway."
    subject: Any = metric(name)
    assert subject.score(FULL, Response("Sweden", reasoning=thought)) == subject.score(FULL, Response("Sweden"))


NEVER_ASKS = [name for name in NAMES if not {"judge", "model"} & set(getattr(metric(name), "uses", ()))]
EDGES = {
    "the answer is empty": (FULL, Response("", PASSAGES)),
    "no passages": (Case("c", FULL.sample, {}, Query("Who won?")), Response("Norway")),
    "no reference": (Case("c", Sample("en:0", "Who won?"), {}, QUERY), Response("Norway")),
    "no passage is known to be relevant": (
        Case("c", Sample("s", "?", (), PASSAGES[1:]), {}, QUERY),
        Response("Norway"),
    ),
}


@pytest.mark.parametrize("name", NEVER_ASKS)
async def test_the_table_of_what_becomes_of_each_edge_is_true(name: str) -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", explained(name), re.MULTILINE)
    told = {case: result for case, result in rows if case in EDGES}
    assert "no passages" in told
    if Need.ANSWER in metric(name).needs:
        assert {"the answer is empty", "no reference"} <= set(told)
    for edge, result in told.items():
        found = await resolve(metric(name).score(*EDGES[edge]))
        if result.startswith("not applicable"):
            assert found.status == "not_applicable", edge
        else:
            assert found.status == "scored", edge
            assert not result.startswith("0") or found.value == 0.0, edge


# Making metrics by name.

TOOLS = Tools(StubJudge(JUDGED), None, StubEmbedder())


def names_of(*names: "str | Metric", tools: Tools = TOOLS) -> tuple[str, ...]:
    return tuple(one.name for one in make_metrics(names, tools))


def test_a_name_may_be_a_metric_a_group_or_one_of_a_family() -> None:
    assert names_of("triad", "ndcg@10", "recall") == (*GROUPS["triad"], "ndcg@10", "recall")
    assert names_of("precision@007") == ("precision@7",)
    assert [one.needs for one in make_metrics(["mrr@1"], TOOLS)] == [frozenset({Need.PASSAGES, Need.LABELS})]


def test_each_metric_is_made_once_and_one_that_is_made_stands_for_itself() -> None:
    own = make_metrics(["hit@2"], TOOLS)[0]
    assert names_of("five", "faithfulness", own, "hit@2") == (*GROUPS["five"], "hit@2")
    judged = make_metrics(["faithfulness"], TOOLS)[0]
    assert make_metrics([own, judged], Tools()) == (own, judged)


@pytest.mark.parametrize(
    ("names", "tools", "message"),
    [
        (["faithfulness"], Tools(), "faithfulness needs a judge: --judge PROVIDER/MODEL."),
        (["triad", "recall"], Tools(), "groundedness, context_relevance, answer_relevance need a judge: --judge"),
        (["answer_relevancy"], Tools(StubJudge()), "answer_relevancy needs an embedder: --embedder PROVIDER/MODEL."),
        (["rgb.judge.rejection"], Tools(), "rgb.judge.rejection needs a judge: --judge PROVIDER/MODEL."),
        (["ndcg@k"], TOOLS, "'ndcg@k' is a metric for every k. Write a number for k: ndcg@10."),
        (["ndcg@0"], TOOLS, "'ndcg@0': k counts passages from 1."),
    ],
)
def test_a_metric_that_cannot_be_made_says_what_it_lacks(names: list[str], tools: Tools, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as raised:
        make_metrics(names, tools)
    assert "\n" not in str(raised.value)
    with pytest.raises(UsageError, match=re.escape(message)):
        check_metrics(names, [tool for tool in ("judge", "model", "embedder") if getattr(tools, tool)])


def test_metrics_can_be_checked_before_a_judge_is_there() -> None:
    check_metrics(["five", "ndcg@3"], {"judge", "embedder"})
    with pytest.raises(UsageError, match="need a judge"):
        check_metrics(["five", "ndcg@3"], {"embedder"})


@pytest.mark.parametrize("name", ["faithfullness", "ndcg@", "ndcg@x", "ndgc@10", "ndcg@-1", "faithfulness@3", ""])
def test_an_unknown_name_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(UnknownName, match=r"No metric named .*`ragstone metrics` lists them\."):
        make_metrics([name], TOOLS)
    with pytest.raises(UnknownName, match=r"Did you mean 'faithfulness'\?"):
        make_metrics(["faithfullness"], TOOLS)


def test_the_steps_of_metrics_are_those_of_the_judge_that_they_take() -> None:
    assert steps_of(make_metrics(["answer_relevance"], TOOLS)) == {"decompose"}
    assert steps_of(make_metrics(["triad"], TOOLS)) == {"decompose", "verify"}
    assert steps_of(make_metrics(["five", "lexical"], TOOLS)) == {"decompose", "verify", "similarities"}
    assert steps_of(make_metrics(["lexical", "rank"], TOOLS)) == frozenset()


def test_errors_are_better_when_there_are_fewer() -> None:
    assert {better(name) for name in ("faithfulness", "ndcg@10", "rank", "nothing of this name")} == {"higher"}
    assert better("ragchecker.hallucination") == better("ragchecker.noise_sensitivity_in_relevant") == "lower"
    assert better("ragchecker.self_knowledge") == better("refusal") == "neither"


def test_every_judged_score_names_its_steps() -> None:
    assert STEPS
    for name, plugin in METRICS:
        assert bool(getattr(plugin, "steps", ())) >= ("judge" in getattr(plugin, "uses", ())), name


def test_a_member_of_somebody_elses_family_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(is_own, ("answer_match", "mirage.f1", "recall@k", "recall@5", "needle.judge")))
    assert not any(map(is_own, ("zq", "zq@5", "zq@k")))
    monkeypatch.setitem(METRICS._plugins, "zq@k", object())
    monkeypatch.setitem(METRICS._owners, "zq@k", "theirs")
    assert not any(map(is_own, ("zq@5", "zq@k")))
