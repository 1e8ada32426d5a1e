"""What a diagnosis shows is of one piece: headline, bars, fixes and tables speak of the same loss, and nothing has a
figure that nobody measured."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.diagnosis.interventions.evidence import item_of

from ragstone.diagnosis.interventions.advice import fixes
from ragstone.diagnosis.interventions.causes import CAUSES, LOST
from ragstone.diagnosis.interventions.diagnosed import Diagnosed, of_questions
from ragstone.diagnosis.interventions.summary import summary_of
from ragstone.diagnosis.interventions.tables import tables_of
from ragstone.diagnosis.interventions.waterfall import STEP_OF, STEPS, bar_of, waterfall
from ragstone.display import Summary
from ragstone.messages import messages
from ragstone.types import Score

_WORDS = messages("ragstone.diagnosis.interventions.summary", "en")
_OUTCOMES = st.sampled_from(["right", "wrong", "refused", None])
_PLACES = st.sampled_from(["", "fetched", "prompted", "unreported"])


@st.composite
def questions(draw: st.DrawFn) -> list[Diagnosed]:
    """Questions of one system with random outcomes, of which it may tell little and take nothing."""
    takes = draw(st.sampled_from([frozenset(), frozenset({"repeat"}), frozenset({"repeat", "passages"})]))
    records = []
    for number in range(draw(st.integers(1, 12))):
        asked: dict[str, str | None] = {"as_is": draw(st.sampled_from(["right", "wrong", "wrong", "refused", "error"]))}
        if "repeat" in takes:
            asked["again"] = draw(_OUTCOMES)
        for name in ("gold_only", "gold_added", "gold_first", "closed_book") if "passages" in takes else ():
            asked[name] = draw(_OUTCOMES)
        records.append(
            item_of(
                f"q{number}",
                {name: outcome for name, outcome in asked.items() if outcome},
                at=draw(_PLACES),
                in_index=draw(st.sampled_from(["yes", "no", None])),
                gold=draw(st.booleans()),
                answerable=draw(st.sampled_from([True, True, True, False])),
            )
        )
    return of_questions(records, takes=takes, gates=None, sure=False)


def widths(summary: Summary) -> dict[str, float]:
    """The share of the questions that each group of bars shows."""
    found: dict[str, float] = {}
    for bar in summary.bars:
        if bar.kind not in ("level", "loss"):
            found[bar.group] = found.get(bar.group, 0.0) + bar.end - bar.start
    return found


@settings(max_examples=100, deadline=None)
@given(items=questions())
def test_headline_largest_bar_and_first_action_are_of_one_part(items: list[Diagnosed]) -> None:
    summary, wrong = summary_of(items, "s"), [item for item in items if item.right("as_is") == 0]
    bars = Counter(bar_of(item) for item in wrong)
    shown = widths(summary)
    assert {bar: round(share * len(items)) for bar, share in shown.items() if share > 1e-9} == bars
    if not wrong:
        assert summary.actions == ()
        return
    most = max(bars.values())
    causes = [action.group.removeprefix("cause-") for action in summary.actions]
    first = {bar_of(item) for item in wrong if item.cause.name == causes[0]}
    assert max(bars[bar] for bar in first) == most
    named = re.findall(r"(\d+) of (\d+) failures", summary.verdict)
    assert (str(most), str(len(wrong))) in named
    counts = {fix.cause: len(fix.cases) for fix in fixes(items)}
    for action, cause in zip(summary.actions, causes, strict=True):
        n = counts.get(cause, bars["unknown"])
        assert re.search(rf"\b{n} (of {len(wrong)} )?failures", action.text), action.text


@settings(max_examples=100, deadline=None)
@given(items=questions())
def test_the_waterfall_sums_to_all_questions_and_measures_nothing_that_nobody_asked(items: list[Diagnosed]) -> None:
    fall, summary = waterfall(items), summary_of(items, "s")
    lost = sum(len(step.lost) for step in fall.steps) + sum(share.count for share in fall.remaining.values())
    assert fall.as_is.count + lost == len(items)
    assert summary.bars[-1].end == pytest.approx(1)
    asked = {name for item in items for name in item.evidence.records if item.right(name) is not None}
    if not asked & {"gold_only", "gold_added"}:
        assert all(step.gain is None or not step.gain.value for step in fall.steps)
        assert all(fix.gain is None for fix in fixes(items))
    for step in fall.steps:
        assert (step.gain is None) == (step.level is None)
        assert (step.gain is None or bool(step.unmeasured)) <= bool(step.missing)
        assert set(step.unmeasured) <= set(step.lost)
        assert step.gain is not None or not step.lost or step.unmeasured == step.lost
    for fix in fixes(items):
        assert (fix.gain is None) == (fix.unmeasured == fix.cases) == bool(fix.missing)
    text = " ".join([summary.verdict, *(bar.text for bar in summary.bars), *(one.text for one in summary.actions)])
    assert ("at most" in text) <= any(fix.gain is not None and not fix.tried for fix in fixes(items))
    for bar in summary.bars:
        assert (bar.kind == "unmeasured") == (bar.text == _WORDS["bar_unmeasured"])


@settings(max_examples=50, deadline=None)
@given(items=questions())
def test_one_gain_has_one_interval_in_every_table_and_sentence(items: list[Diagnosed]) -> None:
    tables = {table.id: table for table in tables_of({"s": items})}
    table = tables.get("diagnosis-fixes")
    found = fixes(items)
    cells = [] if table is None else [row.cells[2] for row in table.rows]
    assert [cell.value for cell in cells] == [fix.gain.value if fix.gain else None for fix in found]
    assert [(cell.low, cell.high) for cell in cells] == [
        (fix.gain.low, fix.gain.high) if fix.gain else (None, None) for fix in found
    ]
    for step in waterfall(items).steps:
        (*others,) = [fix for fix in found if fix.cases and set(step.lost) == set(fix.cases)]
        for fix in others:
            if fix.cause in LOST and all(item.lost in (fix.cause, "") for item in items):
                assert fix.gain == step.gain


@pytest.mark.parametrize("cause", LOST)
def test_every_cause_that_loses_the_gold_belongs_to_a_step(cause: str) -> None:
    assert STEP_OF[cause] in STEPS


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_trace_has_its_loss_where_it_was_seen_and_no_gain_that_nobody_measured(language: str) -> None:
    wrong = [item_of(f"q{n}", {"as_is": "wrong"}, at="", in_index="yes") for n in range(18)]
    wrong += [item_of(f"p{n}", {"as_is": "wrong"}, at="prompted", in_index="yes") for n in range(4)]
    right = [item_of(f"r{n}", {"as_is": "right"}, at="prompted", in_index="yes") for n in range(7)]
    items = of_questions([*wrong, *right], takes=frozenset(), gates=None, sure=False)
    summary = summary_of(items, "traces", language=language)
    words = messages("ragstone.diagnosis.interventions.summary", language)
    assert words["most_search"].format(n=18, wrong=22) in summary.verdict
    bars = {bar.label: bar for bar in summary.bars}
    search = bars[words["bar_search"]]
    assert (search.kind, search.text) == ("unmeasured", words["bar_unmeasured"])
    assert search.end - search.start == pytest.approx(18 / 29)
    assert bars[words["bar_base"]].text == "0 [−12, 12]"
    assert not any(bar.kind == "rest" for bar in summary.bars)
    assert [action.group for action in summary.actions] == ["cause-not_retrieved", "cause-generation"]
    assert words["lost"].format(n=18, wrong=22) in summary.actions[0].text
    assert words["measure_system"] in summary.actions[0].text
    assert not re.search(r"[+−]\d", summary.actions[0].text)


@pytest.mark.parametrize(
    ("questions", "shown"), [(1, ""), (8, r"; \+4\.50 \[2\.\d\d, 6\.\d\d\] s per question, from 8")]
)
def test_seconds_have_an_interval_and_the_number_of_questions_or_are_not_shown(questions: int, shown: str) -> None:
    records = [
        item_of(
            f"q{n}", {"as_is": "wrong", "gold_added": "right", "k2": "right"}, at="fetched",
            seconds={"as_is": 1.0, "k2": 2.0 + n},
        )
        for n in range(questions)
    ]  # fmt: skip
    for record in records:
        response = record["k2"].response
        assert response is not None
        found = (*response.passages, *record["k2"].case.sample.passages)
        record["k2"] = replace(record["k2"], response=replace(response, passages=found))
    (action,) = summary_of(of_questions(records, takes=frozenset({"k"}), gates=None, sure=False), "s").actions
    assert bool(re.search(r"\d s per|s per question", action.text)) == bool(shown)
    assert re.search(shown, action.text)


def test_bars_are_of_known_causes() -> None:
    assert set(STEP_OF) <= set(CAUSES)


def test_what_only_the_sentences_right_is_lost_in_the_prompt_and_its_gain_is_not_measured() -> None:
    """The index has the passages. Only wrong answers were asked with the sentences alone: no gain."""
    drowned = {"as_is": "wrong", "again": "wrong", "gold_only": "wrong", "evidence_only": "right"}
    right = {"as_is": "right", "again": "right", "gold_only": "right"}
    long = " The north works have many halls and gates." * 50
    records = [item_of(f"q{n}", drowned if n < 3 else right, in_index="yes", around=long) for n in range(20)]
    items = of_questions(records, takes=frozenset(), gates=None, sure=False)
    assert [item.cause.name for item in items[:3]] == ["chunking"] * 3
    (action,) = summary_of(items, "s").actions
    assert action.text.startswith("Cut smaller chunks, or use a model that reads all of a long one")
    (causes,) = [table for table in tables_of({"s": items}) if table.id == "diagnosis-causes"]
    said = [cell.text for row in causes.rows for cell in row.cells]
    words = messages(tables_of.__module__, "en")
    assert words["means_chunking_drowned"] in said
    assert words["means_chunking"] not in said  # it says that the document's own text is answered rightly
    *before, alone = waterfall(items).steps
    assert [(step.gain.value if step.gain else None, step.lost) for step in before] == [(0.0, ())] * 3
    assert (alone.gain, alone.lost, alone.unmeasured, alone.missing) == (
        None, ("q0", "q1", "q2"), ("q0", "q1", "q2"), "measure_try"
    )  # fmt: skip
    summary = summary_of(items, "s")
    assert [(bar.kind, bar.text) for bar in summary.bars[1:]] == [("gain", "0 [−16, 16]")] * 3 + [
        ("unmeasured", _WORDS["bar_unmeasured"])
    ]
    assert _WORDS["measure_try"] in " ".join(summary.notes)


@pytest.mark.parametrize(("righted", "said"), [(1, True), (12, False)])
def test_a_step_that_may_be_chance_is_said_to_be_one(righted: int, *, said: bool) -> None:
    lost = {"as_is": "refused", "again": "refused", "gold_only": "right", "gold_added": "right"}
    stay = {"as_is": "refused", "again": "refused", "gold_only": "refused", "gold_added": "refused"}
    records = [item_of(f"q{n}", lost if n < righted else stay, at="", in_index="yes") for n in range(20)]
    items = of_questions(records, takes=frozenset({"repeat", "passages"}), gates=None, sure=False)
    assert (_WORDS["chance"] in summary_of(items, "s").notes) == said


@pytest.mark.parametrize(("language", "none", "not_measured"), [("en", "No answer was wrong", "not measured"),
                                                               ("zh", "没有答错的问题", "未测量")])  # fmt: skip
def test_without_a_scored_answer_nothing_is_said_to_be_right_or_wrong(
    language: str, none: str, not_measured: str
) -> None:
    failed = {"correctness": Score.failed("bad_reply: no JSON")}
    records = [
        {name: replace(record, scores=failed) for name, record in item_of(f"q{n}", {"as_is": "right"}).items()}
        for n in range(3)
    ]
    items = of_questions(records, takes=frozenset(), gates=None, sure=False)
    summary = summary_of(items, "s", language=language)
    assert none not in summary.verdict
    assert "3" in summary.verdict
    assert "%" not in summary.verdict
    assert {bar.text for bar in summary.bars} == {not_measured}
    table = next(table for table in tables_of({"s": items}, language=language) if table.id.endswith("waterfall"))
    assert table.rows[0].cells[-1].text == not_measured
    healthy = of_questions([*records, item_of("r", {"as_is": "right"})], takes=frozenset(), gates=None, sure=False)
    assert none in summary_of(healthy, "s", language=language).verdict
