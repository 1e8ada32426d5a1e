"""The protocol `ragas`: its steps, its formulas, the seed's worked examples, and what is no verdict to it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.matrices import StubEmbedder

from ragstone.errors import ModelError, TimedOut
from ragstone.metrics import GROUPS, METRICS, Tools, make_metrics
from ragstone.metrics._ragas import RagasStyle
from ragstone.metrics.judge.envelope import opened
from ragstone.metrics.judge.prompts import NAMES, Prompts
from ragstone.metrics.ragas_answer_correctness import RagasAnswerCorrectness, f1
from ragstone.metrics.ragas_answer_relevancy import RagasAnswerRelevancy
from ragstone.metrics.ragas_context_precision import RagasContextPrecision, average_precision
from ragstone.metrics.ragas_context_recall import RagasContextRecall
from ragstone.metrics.ragas_faithfulness import RagasFaithfulness
from ragstone.models.scripted import Scripted
from ragstone.text import estimate_tokens, sentences
from ragstone.types import Case, Completion, Passage, Query, Request, Response, Sample, Score

QUESTION, REFERENCE = "张伟是哪个部门的？", "张伟是教研部的成员"
REFUSAL = "根据提供的信息，没有提到张伟所在的部门。如果您能提供更多关于张伟的信息，我可能能够帮助您找到答案。"
# The seed's three rows: answer, contexts.
ROWS = (
    (REFUSAL, ("提供行政管理与协调支持，优化行政工作流程。", "绩效管理部 韩杉 李飞 I902 041 人力资源")),
    ("张伟是人事部门的", ("李凯 教研部主任", "牛顿发现了万有引力")),
    ("张伟是教研部的", ("牛顿发现了万有引力", "张伟 教研部工程师，他最近在负责课程研发")),
)
# Cosines with the reference (0, 1) are the second numbers; of the questions with the question (1, 0), the first ones.
VECTORS = {
    QUESTION: (1.0, 0.0), "张伟在哪个部门？": (0.8, 0.6), REFERENCE: (0.0, 1.0), REFUSAL: (0.8, 0.6),
    "张伟是人事部门的": (0.6, 0.8), "张伟是教研部的": (0.28, 0.96),
}  # fmt: skip

Reply = Callable[[dict[str, Any]], Any]


def verdicts(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": number, "reason": "因此", "verdict": one} for number, one in enumerate(values, start=1)]


def statements(shown: dict[str, Any]) -> Any:
    return {"statements": {REFUSAL: [], REFERENCE: ["张伟是教研部的。"]}.get(shown["text"], [shown["text"] + "。"])}


def said(context: str) -> bool:
    return "张伟 教研部" in context


def compared(shown: dict[str, Any]) -> Any:
    truth, answer = shown["ground_truth"].values(), shown["answer"].values()
    return {
        "answer": verdicts(["TP" if one in truth else "FP" for one in answer]),
        "ground_truth": verdicts(["found" if one in answer else "FN" for one in truth]),
    }


# What a careful judge replies about the rows, computed from what it is shown.
CAREFUL: Mapping[str, Reply] = {
    "ragas_statements": statements,
    "ragas_faithfulness": lambda shown: {
        "verdicts": verdicts([int(said(shown["context"]) and "教研部" in one) for one in shown["statements"].values()])
    },
    "ragas_question": lambda shown: {
        "question": "张伟在哪个部门？", "noncommittal": int(shown["answer"] == REFUSAL)
    },
    "ragas_context_precision": lambda shown: {"reason": "因此", "verdict": int(said(shown["context"]))},
    "ragas_context_recall": lambda shown: {
        "classification": [{"statement": "张伟是教研部的。", "reason": "", "attributed": int(said(shown["context"]))}]
    },
    "ragas_correctness": compared,
}  # fmt: skip


def shown(request: Request) -> dict[str, Any]:
    """What a request asks to judge; it stands before what is said of an unusable reply."""
    return opened(next(turn.content for turn in reversed(request.messages) if turn.content.startswith("<judged ")))


class Judge(Scripted):
    """Replies to each step by the careful judge, or as `changes` say: a function of what is shown, or replies in turn
    (texts as they are, other data as JSON, errors raised)."""

    def __init__(self, **changes: Any) -> None:
        self._changes = {step: list(said) if isinstance(said, list) else said for step, said in changes.items()}
        super().__init__(self._reply, id="scripted/judge")

    def _reply(self, request: Request) -> str | Completion | ModelError:
        step = request.schema_name
        change = self._changes.get(step, CAREFUL[step])
        told = change.pop(0) if isinstance(change, list) else change(shown(request))
        return told if isinstance(told, str | Completion | ModelError) else json.dumps(told, ensure_ascii=False)

    @property
    def steps(self) -> list[str]:
        return [request.schema_name for request in self.requests]


def row(number: int, **condition: int) -> tuple[Case, Response]:
    answer, contexts = ROWS[number]
    return sample(answer, contexts, condition=condition)


def sample(
    answer: str,
    contexts: Sequence[str] = ("一段资料。",),
    reference: str = REFERENCE,
    condition: Mapping[str, int] = {},
) -> tuple[Case, Response]:
    passages = tuple(Passage(f"c{place}", text) for place, text in enumerate(contexts))
    references = ((reference,),) if reference else ()
    case = Case("c", Sample("s", QUESTION, references), dict(condition), Query(QUESTION))
    return case, Response(answer, passages)


KINDS: dict[str, type[RagasStyle]] = {
    "faithfulness": RagasFaithfulness, "answer_relevancy": RagasAnswerRelevancy,
    "context_precision": RagasContextPrecision, "context_recall": RagasContextRecall,
    "answer_correctness": RagasAnswerCorrectness,
}  # fmt: skip


async def scored(name: str, given: tuple[Case, Response], judge: Judge | None = None, **tools: Any) -> Score:
    everything: dict[str, Any] = {"model": judge or Judge(), "embedder": StubEmbedder(VECTORS)}
    return await KINDS[name].make(Tools(**(everything | tools))).score(*given)


def test_the_five_are_labelled_and_made_from_a_model_without_a_matrix() -> None:
    made = make_metrics(["ragas"], Tools(model=Judge(), embedder=StubEmbedder()))
    assert tuple(metric.name for metric in made) == GROUPS["ragas"]
    for metric in made:
        kind: Any = METRICS.get(metric.name)
        assert kind.label == "ragas-style"
        assert "ragas-style" in kind.__doc__
        assert set(kind.asks) <= set(NAMES)
        assert kind.steps == frozenset()


# --- the seed ---------------------------------------------------------------------------------------------------------


async def test_the_seeds_row_three_has_a_recall_of_1_and_a_precision_of_one_half() -> None:
    recall = [(await scored("context_recall", row(number))).value for number in range(3)]
    precision = [(await scored("context_precision", row(number))).value for number in range(3)]
    assert recall == [0.0, 0.0, 1.0]
    assert precision == [0.0, 0.0, 0.5]


async def test_the_seeds_three_answers_are_in_its_order() -> None:
    found = [(await scored("answer_correctness", row(number))).value for number in range(3)]
    assert found == pytest.approx([0.25 * 0.6, 0.25 * 0.8, 0.75 + 0.25 * 0.96])


async def test_the_seeds_two_claims_have_an_f1_of_one_half() -> None:
    answer, reference = "张伟是教研部负责大模型课程的同事。", "张伟是教研部负责大数据方向的同事。"
    parts = {answer: ["张伟是教研部的", "张伟负责大模型课程"], reference: ["张伟是教研部的", "张伟负责大数据方向"]}
    judge = Judge(ragas_statements=lambda shown: {"statements": parts[shown["text"]]})
    embedder = StubEmbedder({answer: (1.0, 0.0), reference: (0.8, 0.6)})
    score = await scored("answer_correctness", sample(answer, reference=reference), judge, embedder=embedder)
    assert score.evidence["f1"] == 0.5
    assert (score.evidence["tp"], score.evidence["fp"], score.evidence["fn"]) == ([1], [2], [2])
    assert score.value == pytest.approx(0.75 * 0.5 + 0.25 * 0.8)


@pytest.mark.parametrize(
    ("tp", "fp", "fn", "value"), [(1, 1, 1, 0.5), (2, 0, 0, 1.0), (0, 3, 2, 0.0), (3, 1, 0, 6 / 7)]
)
def test_f1_is_that_of_the_seed(tp: int, fp: int, fn: int, value: float) -> None:
    assert f1(tp, fp, fn) == pytest.approx(value)


@pytest.mark.parametrize(
    ("found", "value"),
    [([0, 1], 0.5), ([1, 0], 1.0), ([1, 0, 1], (1 + 2 / 3) / 2), ([0, 0], 0.0), ([0, 0, 1, 1], (1 / 3 + 1 / 2) / 2)],
)
def test_average_precision_is_that_of_the_seed(found: list[int], value: float) -> None:
    assert average_precision(found) == pytest.approx(value)


# --- steps ------------------------------------------------------------------------------------------------------------

STEPS = {
    "faithfulness": ["ragas_statements", "ragas_faithfulness"],
    "answer_relevancy": ["ragas_question"] * 3,
    "context_precision": ["ragas_context_precision"] * 2,
    "context_recall": ["ragas_context_recall"],
    "answer_correctness": ["ragas_statements", "ragas_statements", "ragas_correctness"],
}


@pytest.mark.parametrize(("name", "steps"), STEPS.items())
async def test_each_metric_takes_the_steps_of_ragas(name: str, steps: list[str]) -> None:
    judge, embedder = Judge(), StubEmbedder(VECTORS)
    score = await scored(name, row(2), judge, embedder=embedder)
    assert judge.steps == steps
    assert len(embedder.asked) == (1 if name.startswith("answer") else 0)
    assert [step["step"] for step in score.evidence["verdicts"]] == steps
    for step, request in zip(score.evidence["verdicts"], judge.requests, strict=True):
        assert step["reply"]
        assert step["model"] == "scripted/judge"
        assert step["prompt"].startswith(f"{request.schema_name}/zh@")
        assert step["usage"]["requests"] == 1


async def test_faithfulness_shows_the_statements_numbered_and_all_contexts_as_one() -> None:
    judge = Judge(
        ragas_statements=[{"statements": ["甲。", "乙。"]}], ragas_faithfulness=[{"verdicts": verdicts([0, 1])}]
    )
    score = await scored("faithfulness", row(2), judge)
    assert shown(judge.requests[1]) == {"context": "\n".join(ROWS[2][1]), "statements": {"1": "甲。", "2": "乙。"}}
    assert score.value == 0.5
    assert (score.evidence["counted"], score.evidence["statements"]) == ([2], ["甲。", "乙。"])


async def test_each_of_the_three_questions_is_a_reply_of_its_own() -> None:
    judge = Judge()
    score = await scored("answer_relevancy", row(2), judge)
    assert [request.sample for request in judge.requests] == [0, 1, 2]
    assert {request.sampling.temperature for request in judge.requests} == {0.3}
    assert all(shown(request) == {"answer": ROWS[2][0]} for request in judge.requests)
    assert score.value == pytest.approx(0.8)


async def test_a_repeated_judgement_asks_for_other_replies() -> None:
    judge = Judge()
    await scored("answer_relevancy", row(2, judge_repeat=1), judge)
    await scored("context_recall", row(2, judge_repeat=1), judge)
    assert [request.sample for request in judge.requests] == [3, 4, 5, 1]


@pytest.mark.parametrize(("flags", "value"), [([1, 1, 1], 0.0), ([1, 0, 1], 0.8), ([0, 0, 0], 0.8)])
async def test_only_an_answer_that_all_replies_call_noncommittal_is_worth_nothing(
    flags: list[int], value: float
) -> None:
    judge = Judge(ragas_question=[{"question": "张伟在哪个部门？", "noncommittal": flag} for flag in flags])
    score = await scored("answer_relevancy", row(2), judge)
    assert score.value == pytest.approx(value)
    assert [question["noncommittal"] for question in score.evidence["questions"]] == flags


async def test_the_prompts_follow_the_language_of_the_sample_unless_told() -> None:
    judge = Judge(
        ragas_context_recall=lambda _: {"classification": [{"statement": "x", "reason": "", "attributed": 1}]}
    )
    case = Case("c", Sample("s", "Who won?", (("Norway",),)), {}, Query("Who won?"))
    english = await scored("context_recall", (case, Response("Norway", (Passage("p", "Norway won."),))), judge)
    told = await scored("context_recall", row(2), judge, language="en")
    own = await scored("context_recall", row(2), judge)
    prompts = [score.evidence["verdicts"][0]["prompt"].partition("@")[0] for score in (english, told, own)]
    assert prompts == ["ragas_context_recall/en", "ragas_context_recall/en", "ragas_context_recall/zh"]


async def test_the_users_prompts_are_what_is_said(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "ragas_context_recall.toml").write_text('instruction = "我的说法。"\nexamples = []', "utf-8")
    judge = Judge()
    await scored("context_recall", row(2), judge, prompts=Prompts.load(tmp_path))
    assert [turn.content for turn in judge.requests[0].messages][:-1] == ["我的说法。"]


# --- what a judge may not do ------------------------------------------------------------------------------------------

FOUR = {"statements": ["甲。", "乙。", "丙。", "丁。"]}
UNUSABLE = {
    "one verdict for four statements": ("faithfulness", {"verdicts": verdicts([1])}, "2, 3, 4"),
    "a statement judged twice": ("faithfulness", {"verdicts": verdicts([1, 1, 1, 1]) + verdicts([1])}, "twice"),
    "a statement that is not there": ("faithfulness", {"verdicts": verdicts([1] * 5)}, "id 5"),
    "a verdict of 5": ("faithfulness", {"verdicts": verdicts([1, 1, 5, 1])}, "verdicts[3].verdict is 5"),
    "a verdict of true": ("faithfulness", {"verdicts": verdicts([1, 1, True, 1])}, "whole number"),
    "attributed 5": (
        "context_recall", {"classification": [{"statement": "x", "reason": "", "attributed": 5}]}, "attributed is 5",
    ),
    "nothing classified": ("context_recall", {"classification": []}, "no statement"),
    "prose alone": ("context_recall", "Sure!", "has no JSON object"),
    "two objects": ("context_recall", '{"classification": []} {"classification": [{}]}', "that differ"),
    "a reply cut off": ("context_recall", Completion('{"classification": [', finish_reason="length"), "cut off"),
    "a word for a verdict": ("context_precision", {"reason": "", "verdict": "yes"}, "whole number"),
    "no question": ("answer_relevancy", {"question": " ", "noncommittal": 0}, "question is empty"),
    "a class that is none": (
        "answer_correctness", {"answer": verdicts(["FN"] * 4), "ground_truth": verdicts(["FN"] * 4)},
        "expected TP or FP",
    ),
    "a reference statement left out": (
        "answer_correctness", {"answer": verdicts(["TP"] * 4), "ground_truth": verdicts(["FN"])}, "ground_truth",
    ),
}  # fmt: skip
LAST = {name: steps[-1] for name, steps in STEPS.items()}


@pytest.mark.parametrize("case", UNUSABLE)
async def test_what_is_no_verdict_is_asked_again_once_with_the_problem_named(case: str) -> None:
    name, bad, problem = UNUSABLE[case]
    careful, replies = CAREFUL[LAST[name]], iter([bad])
    changes = {"ragas_statements": lambda _: FOUR, LAST[name]: lambda judged: next(replies, None) or careful(judged)}
    judge = Judge(**changes)
    score = await scored(name, sample("甲乙丙丁"), judge)
    assert score.status == "scored"
    (again,) = [request for request in judge.requests if not request.messages[-1].content.startswith("<judged ")]
    assert again.messages[-1].content.startswith("刚才的回复无法使用：")
    assert again.messages[-2].role == "assistant"
    (told,) = [step["problem"] for step in score.evidence["verdicts"] if "problem" in step]
    assert problem in told


@pytest.mark.parametrize("case", UNUSABLE)
async def test_what_is_no_verdict_twice_fails_with_the_raw_replies(case: str) -> None:
    name, bad, problem = UNUSABLE[case]
    judge = Judge(**{"ragas_statements": [FOUR, FOUR], LAST[name]: [bad] * 6})
    score = await scored(name, sample("甲乙丙丁"), judge)
    assert (score.value, score.status) == (None, "failed")
    assert problem in score.reason
    raw = (
        bad
        if isinstance(bad, str)
        else bad.text
        if isinstance(bad, Completion)
        else json.dumps(bad, ensure_ascii=False)
    )
    assert [step["reply"] for step in score.evidence["verdicts"] if "problem" in step][:2] == [raw, raw]


async def test_a_blank_statement_is_none() -> None:
    judge = Judge(ragas_statements=[{"statements": ["甲。", " "]}] * 2)
    score = await scored("faithfulness", row(2), judge)
    assert score.status == "failed"
    assert "statements[2] is empty" in score.reason


async def test_one_request_that_fails_fails_the_score_and_keeps_what_the_others_said() -> None:
    fine = {"reason": "", "verdict": 1}
    judge = Judge(ragas_context_precision=[fine, TimedOut("no reply in 120 s"), fine])
    score = await scored("context_precision", sample("甲", ("一。", "二。", "三。")), judge)
    assert (score.value, score.status, score.reason) == (None, "failed", "timed_out: no reply in 120 s")
    assert len(judge.requests) == 3
    assert ["reply" in step for step in score.evidence["verdicts"]] == [True, False, True]


async def test_an_embedder_that_fails_fails_the_score_with_its_kind() -> None:
    class Failing(StubEmbedder):
        async def embed(self, texts: Sequence[str], /, *, kind: str) -> Any:
            raise TimedOut("no vectors in 120 s")

    score = await scored("answer_correctness", row(2), embedder=Failing())
    assert (score.status, score.reason) == ("failed", "timed_out: no vectors in 120 s")
    assert len(score.evidence["verdicts"]) == 3


# --- edges, where ragas 0.4.3 does otherwise --------------------------------------------------------------------------


async def test_a_refusal_never_scores_a_perfect_correctness() -> None:
    judge = Judge()
    score = await scored("answer_correctness", row(0), judge)
    assert score.evidence["f1"] == 0.0
    assert score.value == pytest.approx(0.25 * 0.6)
    assert judge.steps == ["ragas_statements", "ragas_statements"]  # there is nothing to compare


async def test_two_texts_without_a_statement_are_not_equal_but_not_applicable() -> None:
    judge = Judge(ragas_statements=lambda _: {"statements": []})
    score = await scored("answer_correctness", sample(REFUSAL, reference="好的。"), judge)
    assert (score.status, score.reason) == ("not_applicable", "the reference makes no statement")


async def test_a_refusal_is_neither_faithful_nor_unfaithful() -> None:
    score = await scored("faithfulness", row(0))
    assert (score.status, score.reason) == ("not_applicable", "the answer makes no statement")
    assert score.evidence["verdicts"]


async def test_a_cosine_below_0_counts_as_0() -> None:
    vectors = {**VECTORS, "张伟在哪个部门？": (-1.0, 0.0), REFERENCE: (-0.28, -0.96)}
    relevancy = await scored("answer_relevancy", row(2), embedder=StubEmbedder(vectors))
    correctness = await scored("answer_correctness", row(2), embedder=StubEmbedder(vectors))
    assert relevancy.value == 0.0
    assert relevancy.evidence["questions"][0]["cosine"] == pytest.approx(-1.0)
    assert correctness.value == pytest.approx(0.75)


EMPTY = [
    ("faithfulness", "", ("资料",), REFERENCE, None),
    ("faithfulness", "答案", (), REFERENCE, None),
    ("answer_relevancy", " \n", ("资料",), "", 0.0),
    ("context_precision", "答案", (), REFERENCE, None),
    ("context_precision", "答案", ("资料",), "", None),
    ("context_recall", "答案", (), REFERENCE, None),
    ("context_recall", "答案", ("资料",), " ", None),
    ("answer_correctness", "", ("资料",), REFERENCE, 0.0),
    ("answer_correctness", "答案", ("资料",), "", None),
]


@pytest.mark.parametrize(("name", "answer", "contexts", "reference", "value"), EMPTY)
async def test_where_something_is_missing_nobody_is_asked(
    name: str, answer: str, contexts: tuple[str, ...], reference: str, value: float | None
) -> None:
    judge, embedder = Judge(), StubEmbedder()
    given = sample(answer, contexts, reference)
    score = await scored(name, given, judge, embedder=embedder)
    assert score.value == value
    assert score.reason
    assert (judge.requests, embedder.asked) == ([], [])
    assert KINDS[name].make(Tools(model=judge, embedder=embedder)).estimate(*given).requests == 0


# --- prediction -------------------------------------------------------------------------------------------------------

LONG = "The Halden Bridge opened on 9 May 1931. It cost 3.8 million kroner. Its towers are 61 m high. Ada built it."
OTHER = """The ferry of Halden left every hour until the summer of 1930. It carried eleven thousand people a year.
Nobody regretted its end, for the crossing took longer than the way around the bay on foot."""


@pytest.mark.parametrize("name", STEPS)
async def test_the_prediction_is_within_a_fifth_of_what_is_asked(name: str) -> None:
    """For texts whose sentences are statements: requests to the count, prompt tokens within 20 %."""
    truthful: dict[str, Reply] = {
        "ragas_statements": lambda shown: {"statements": [one.strip() for one in sentences(shown["text"])]},
        "ragas_faithfulness": lambda shown: {"verdicts": verdicts([1] * len(shown["statements"]))},
        "ragas_question": lambda _: {"question": "When did the Halden Bridge open?", "noncommittal": 0},
        "ragas_context_recall": lambda _: {"classification": [{"statement": LONG, "reason": "", "attributed": 1}]},
        "ragas_correctness": lambda shown: {
            "answer": verdicts(["TP"] * len(shown["answer"])),
            "ground_truth": verdicts(["found"] * len(shown["ground_truth"])),
        },
    }
    judge = Judge(**truthful)
    case = Case("c", Sample("s", "When did it open?", ((LONG,),)), {}, Query("When did it open?"))
    response = Response(LONG, (Passage("1", LONG), Passage("2", OTHER)))
    metric = KINDS[name].make(Tools(model=judge, embedder=StubEmbedder()))
    predicted = metric.estimate(case, response)
    await metric.score(case, response)
    assert predicted.requests == len(judge.requests)
    asked = sum(estimate_tokens(turn.content) for request in judge.requests for turn in request.messages)
    assert predicted.prompt_tokens == pytest.approx(asked, rel=0.2)
    assert predicted.completion_tokens > 0
