"""Prompts are tuned by disagreements with experts: chosen on one half of the labels, kept only where better on the
other."""

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.judge.judges import reply_to, shown_in

from ragstone import evaluate
from ragstone.engine.judge_tools import Judging
from ragstone.errors import UsageError
from ragstone.evaluation.prompts import check_prompts, prompt_file
from ragstone.experts.prompt_tuning import TuningPlan, estimate_tuning, halves, plan_tuning, tune_prompts
from ragstone.metrics.judge.corrections import corrected
from ragstone.metrics.judge.prompts import LANGUAGES, NAMES, Prompts, read_prompt
from ragstone.models import ModelOptions
from ragstone.models.scripted import Scripted
from ragstone.types import Request

RUBRIC = """
name = "polite"
title.en = "Polite"
title.zh = "礼貌"
question.en = "How polite is the answer?"
question.zh = "答案有多礼貌？"
[scale]
min = 1
max = 5
[scale.anchors]
1.en = "rude"
1.zh = "粗鲁"
5.en = "polite"
5.zh = "礼貌"
"""
SLIP = ("whatever", "随便")  # what the judge overlooks until a demonstration shows it


def rows(count: int, language: str = "en") -> list[dict[str, Any]]:
    """Answers of which every third is rude."""
    question = "How do I fix part {}?" if language == "en" else "第{}个零件怎么修？"
    texts = ("Please turn it on.", "Do {}.") if language == "en" else ("请打开它。", "{}吧。")
    slip = SLIP[language == "zh"]
    return [{"id": f"{language}{n}", "question": question.format(n), "answer": texts[n % 3 == 0].format(slip)}
            for n in range(count)]  # fmt: skip


def labels(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": row["id"], "expert": "ann", "task": "rubric.polite", "label": 1 if is_rude(row["answer"]) else 5}
            for row in data]  # fmt: skip


def is_rude(text: str) -> bool:
    return any(slip in text for slip in SLIP)


def judge(learns: Callable[[Request], bool]) -> Scripted:
    """A judge who finds rude answers polite, unless it has learnt."""

    def reply(request: Request) -> str:
        rude = is_rude(shown_in(request)["answer"])
        return json.dumps({"elements": [], "reason": "so", "score": 1 if rude and learns(request) else 5})

    return Scripted(reply)


def has_seen_one(request: Request) -> bool:
    """Whether a demonstration shows the slip and the lowest step."""
    turns = request.messages[:-1]
    pairs = itertools.pairwise(turns)
    return any(is_rude(turn.content) and '"score": 1' in after.content for turn, after in pairs)


def plan(tmp_path: Path, model: Scripted, data: list[dict[str, Any]]) -> TuningPlan:
    rubric = tmp_path / "polite.toml"
    rubric.write_text(RUBRIC, encoding="utf-8")
    run = evaluate(data, rubrics=[rubric], judge=model, run=tmp_path / "e.run", model_options=ModelOptions()).run
    return plan_tuning(labels(data), run, Judging(model, rubrics=(rubric,)), scale=(1, 5))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_planted_error_is_fixed_by_a_demonstration_and_kept(tmp_path: Path, language: str) -> None:
    model = judge(has_seen_one)
    found = tune_prompts(plan(tmp_path, model, rows(60, language)), tmp_path / "tuned", model_options=ModelOptions())
    (trial,) = found.trials
    assert (trial.language, trial.kept, trial.n) == (language, True, 30)
    assert trial.after == 0.0 < trial.before
    assert trial.p < 0.05
    assert found.files == (tmp_path / "tuned" / language / "rubric.toml",)
    (checked,) = check_prompts(tmp_path / "tuned")
    assert (checked.problem, checked.changed) == ("", ("examples",))
    read = Prompts.load(tmp_path / "tuned").get("rubric", language)
    assert (
        read.examples[: len(Prompts.load().get("rubric", language).examples)]
        == Prompts.load().get("rubric", language).examples
    )
    last: Any = read.examples[-1].output
    assert last["score"] == 1


def test_a_planted_error_of_verifying_is_fixed_too(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        said = reply_to(request)
        if request.schema_name == "verify" and "blue" in shown_in(request)["answer_claims"].get("1", ""):
            before = request.messages[:-1]
            learnt = any("is blue" in turn.content and turn.role == "user" for turn in before)
            if not learnt:
                passage = shown_in(request)["passages"]["1"]
                said["answer_claims"][0] |= {"quote": passage, "supported_by": [1], "contradicted_by": []}
        return json.dumps(said, ensure_ascii=False)

    data = [{"id": f"q{n}", "question": f"Which colour has part {n}?", "contexts": [f"Part {n} is red."],
             "answer": f"Part {n} is {'blue' if n % 3 == 0 else 'red'}."} for n in range(60)]  # fmt: skip
    model = Scripted(reply)
    run = evaluate(data, ["faithfulness"], judge=model, run=tmp_path / "e.run", model_options=ModelOptions()).run
    faithful = [{"id": f"q{n}", "expert": "ann", "faithful": "no" if n % 3 == 0 else "yes"} for n in range(60)]
    made = plan_tuning(faithful, run, Judging(model))
    (trial,) = tune_prompts(made, tmp_path / "tuned", model_options=ModelOptions()).trials
    assert (trial.kept, trial.after, [*trial.examples]) == (True, 0.0, ["verify"])
    assert trial.before > 0.2


def test_an_error_that_no_demonstration_fixes_changes_nothing(tmp_path: Path) -> None:
    found = tune_prompts(
        plan(tmp_path, judge(lambda _: False), rows(60)), tmp_path / "tuned", model_options=ModelOptions()
    )
    (trial,) = found.trials
    assert (trial.kept, trial.n, trial.before == trial.after) == (False, 30, True)
    assert (found.files, (tmp_path / "tuned").exists()) == ((), False)


def test_a_demonstration_that_harms_is_not_kept(tmp_path: Path) -> None:
    def harmed(request: Request) -> bool:
        return not has_seen_one(request) and "part 1" in shown_in(request)["question"]

    found = tune_prompts(plan(tmp_path, judge(harmed), rows(60)), tmp_path / "tuned", model_options=ModelOptions())
    assert not found.trials[0].kept
    assert found.files == ()


def test_nothing_of_the_half_that_measures_is_in_a_demonstration(tmp_path: Path) -> None:
    made = plan(tmp_path, judge(has_seen_one), [*rows(30), *rows(30, "zh")])
    found = tune_prompts(made, tmp_path / "tuned", model_options=ModelOptions())
    assert {trial.language for trial in found.trials} == {"en", "zh"}
    examples = [example for trial in found.trials for some in trial.examples.values() for example in some]
    inputs: list[Any] = [example.input for example in examples]
    shown = {one["question"] for one in inputs}
    assert shown
    assert shown <= {record.case.sample.question for record in made.first.values()}
    assert not shown & {record.case.sample.question for record in made.second.values()}


@given(st.dictionaries(st.text(max_size=6), st.tuples(st.text(max_size=4), st.sampled_from(["en", "zh"])), max_size=30))
def test_the_halves_share_no_question_and_leave_out_none(questions: dict[str, tuple[str, str]]) -> None:
    first, second = halves(questions)
    assert first | second == {*questions}
    texts = [{" ".join(questions[item][0].casefold().split()) for item in half} for half in (first, second)]
    assert not texts[0] & texts[1]
    assert halves(dict(reversed(questions.items()))) == (first, second)


def test_what_it_costs_is_told_before(tmp_path: Path) -> None:
    model = judge(has_seen_one)
    made = plan(tmp_path, model, rows(60))
    asked = len(model.requests)
    usage = asyncio.run(estimate_tuning(made))
    assert len(model.requests) == asked
    assert usage.requests == 2 * 30 + len(made.tried("en"))
    tune_prompts(made, tmp_path / "tuned", model_options=ModelOptions())
    assert 60 < len(model.requests) - asked <= usage.requests


def test_replies_are_corrected_only_where_the_label_leaves_no_choice() -> None:
    shown = {"question": "Q?", "reference": None, "answer_claims": {"1": "Bo built the mill"}, "reference_claims": {},
             "passages": {"1": "Ferries are slow.", "2": "It rained. Bo built the mill. So it was."}}  # fmt: skip
    claim = {"id": 1, "quote": "", "supported_by": [], "together": None, "contradicted_by": [], "in_reference": None}
    reply = {"answer_claims": [claim], "reference_claims": [],
             "passages": [{"id": n, "relevant": True, "useful": None} for n in (1, 2)]}  # fmt: skip
    made = corrected("verify", shown, reply, task="faithful", label=1.0, language="en")
    assert made is not None
    fixed: Any = made.output
    right = fixed["answer_claims"][0]
    assert (right["supported_by"], right["quote"]) == ([2], "Bo built the mill.")
    assert corrected("verify", shown, reply, task="faithful", label=0.0, language="en") is None  # nothing to change
    assert corrected("verify", shown, reply, task="faithful", label=0.5, language="en") is None
    back = corrected("verify", shown, fixed, task="faithful", label=0.0, language="en")
    assert back is not None
    undone: Any = back.output
    assert undone["answer_claims"][0]["supported_by"] == []
    two = {**shown, "answer_claims": {"1": "Bo built the mill", "2": "It is red"}}
    both = {**reply, "answer_claims": [right, {**claim, "id": 2}]}
    assert corrected("verify", two, both, task="faithful", label=0.0, language="en") is None  # which of the two?
    assert corrected("verify", two, both, task="faithful", label=1.0, language="en") is None  # no passage says it
    assert corrected("decompose", shown, reply, task="faithful", label=1.0, language="en") is None


@pytest.mark.parametrize("name", NAMES)
def test_a_written_prompt_is_read_back_as_it_was(name: str, tmp_path: Path) -> None:
    for language in LANGUAGES:
        prompt = Prompts.load().get(name, language)
        path = tmp_path / "p.toml"
        path.write_text(prompt_file(prompt, note="why"), encoding="utf-8")
        assert read_prompt(path, name, language).hash == prompt.hash


def test_tuning_needs_one_judge_and_labels_of_its_metric(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one judge"):
        plan_tuning([], tmp_path / "no.run", Judging())
    made = plan(tmp_path, judge(has_seen_one), rows(6))
    with pytest.raises(UsageError, match="scored by a rubric"):
        plan_tuning(labels(rows(6)), tmp_path / "e.run", Judging(made.judging.model), scale=(1, 5))
    with pytest.raises(UsageError, match="no metric for the labels"):
        plan_tuning([{"id": "en0", "expert": "a", "correct": "yes"}], tmp_path / "e.run", made.judging)
