"""What the pytest plug-in asks: models that are opened once, means over repeats, messages with the evidence."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.judging import Embedder, scripted_judge, verdict

from ragstone.engine import judge_tools as judging_module
from ragstone.engine.judge_tools import Judging
from ragstone.errors import UsageError
from ragstone.models.scripted import Scripted
from ragstone.pytest_plugin.messages import at_length, misses, pass_rate, title
from ragstone.pytest_plugin.support import Evaluator, Scored
from ragstone.types import Request

GOOD = {
    "question": "How is the tower?",
    "answer": "The tower is tall.",
    "contexts": ["The tower is tall.", "Rain fell."],
    "reference": "The tower is tall.",
}
HALF = {
    "question": "What of the mill?",
    "answer": "The mill is old. The mill is blue.",
    "contexts": ["The mill is old."],
    "reference": "The mill is old.",
}
Scoring = Callable[..., Scored]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


@pytest.fixture
def scoring() -> Iterator[Scoring]:
    with Evaluator(Judging(model=scripted_judge(), embedder=Embedder())) as evaluator:
        yield evaluator.score


def flaky(request: Request) -> str:
    """The test judge, but the second judgement of a sample finds no support for anything."""
    told = json.loads(verdict(request))
    if request.sample == 1 and "passages" in told:
        for claim in told["answer_claims"]:
            claim["supported_by"] = []
    return json.dumps(told)


def test_a_flaky_verdict_counts_as_one_of_its_repeats() -> None:
    with Evaluator(Judging(model=Scripted(flaky))) as evaluator:
        scored = evaluator.score(GOOD, ["faithfulness"], repeat=3)
        assert [one.value for one in scored.scores["faithfulness"]] == [1.0, 0.0, 1.0]
        assert scored.value("faithfulness") == pytest.approx(2 / 3)
        assert misses(scored, {"faithfulness": 0.6}) == []
        (line,) = misses(scored, {"faithfulness": 0.8})
        assert line == "faithfulness: 0.667 < 0.8 (1.00, 0.00, 1.00) (no passage supports 'The tower is tall.')"
        assert "scores of judgement 2:" in at_length(scored, {"faithfulness": 0.8})
        samples = evaluator.score_all([GOOD, HALF], ["faithfulness"], repeat=3)
        found = pass_rate(samples, {"faithfulness": 0.6})
        assert (found.passed, found.total, found.rate) == (1, 2, 0.5)
        assert found.means() == {"faithfulness": pytest.approx((2 / 3 + 1 / 3) / 2)}
        (told,) = found.failures
        assert told.startswith(f"{title(samples[1])}: faithfulness: 0.333 < 0.6 (0.50, 0.00, 0.50)")


def test_judge_and_embedder_are_opened_once_whatever_metrics_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    judge, embedder = scripted_judge(), Embedder()

    class Opening:
        def __init__(self, name: str, held: Any) -> None:
            self.name, self.held = name, held

        async def __aenter__(self) -> Any:
            opened.append(self.name)
            return self.held

        async def __aexit__(self, *_: object) -> None:
            opened.append(f"{self.name} closed")

    def opening(held: Any) -> Any:
        return lambda name, _: Opening(name, held) if isinstance(name, str) else contextlib.nullcontext(name)

    monkeypatch.setattr(judging_module, "open_model", opening(judge))
    monkeypatch.setattr(judging_module, "open_embedder", opening(embedder))
    with Evaluator(Judging(model="scripted/x")) as evaluator:
        evaluator.score(GOOD, ["token_f1"])
        assert opened == []
        evaluator.score(GOOD, ["faithfulness"])
        evaluator.score(GOOD, ["answer_relevancy", "context_recall"])
        evaluator.score(HALF, ["answer_correctness"])
        assert opened == ["scripted/x", "local/e5-small"]
    assert sorted(opened[2:]) == ["local/e5-small closed", "scripted/x closed"]


def test_an_evaluator_may_be_used_while_a_loop_runs(scoring: Scoring) -> None:
    async def test() -> float | None:
        await asyncio.sleep(0)
        return scoring(GOOD, ["faithfulness"]).value("faithfulness")

    assert asyncio.run(test()) == 1.0


@pytest.mark.parametrize(
    ("metrics", "samples", "told"),
    [
        (["five"], [GOOD], r"'five' is a group of metrics\. Name them one by one: faithfulness, "),
        ([], [GOOD], "no metric"),
        (["faithfulness"], [], "no samples"),
        (["faithfulness"], [{"question": "Why?"}], "no answer"),
        (["faithfullness"], [GOOD], "Did you mean 'faithfulness'"),
    ],
)
def test_wrong_use_is_told_before_anything_is_asked(
    metrics: Sequence[str], samples: Sequence[dict[str, Any]], told: str
) -> None:
    judge = scripted_judge()
    with Evaluator(Judging(model=judge)) as evaluator, pytest.raises(UsageError, match=told):
        evaluator.score_all(samples, metrics)
    assert judge.requests == []


def test_the_message_has_claims_verdicts_and_passages(scoring: Scoring) -> None:
    asked = {"faithfulness": 1.0, "ragchecker.hallucination": 0.1, "token_f1": 0.1}
    scored = scoring(HALF, list(asked))
    assert misses(scored, asked) == [
        "faithfulness: 0.500 < 1 (no passage supports 'The mill is blue.')",
        "ragchecker.hallucination: 0.500 > 0.1 (no passage supports 'The mill is blue.')",
    ]
    lines = at_length(scored, asked)
    for line in (
        "scores:", "  faithfulness: 0.500", "  ragchecker.hallucination: 0.500", "claims of the answer:",
        "  1. The mill is old. – supported by [1]; in the reference",
        "  2. The mill is blue. – no passage supports it; not in the reference", "claims of the reference:",
        "passages:", "  [1] The mill is old. – relevant, useful",
    ):  # fmt: skip
        assert line in lines


def test_the_message_of_the_protocol_ragas_has_its_statements() -> None:
    with Evaluator(Judging(model=scripted_judge(), protocol="ragas")) as evaluator:
        scored = evaluator.score(HALF, ["faithfulness", "context_recall"])
    lines = at_length(scored, {"faithfulness": 0.8})
    assert scored.value("faithfulness") == 0.5
    assert lines[lines.index("statements:") + 1 :][:3] == [
        "  faithfulness 1. The mill is old. – yes",
        "  faithfulness 2. The mill is blue. – no",
        "  context_recall 1. The mill is old. – yes",
    ]


def test_hostile_text_is_one_line_of_a_message(scoring: Scoring) -> None:
    sample = {**HALF, "answer": "The mill\x1b[2J is old.\nThe\u202e mill is blue.", "contexts": ["x\r\n" * 5000] * 40}
    scored = scoring(sample, ["faithfulness"])
    lines = [title(scored), *misses(scored, {"faithfulness": 1}), *at_length(scored, {"faithfulness": 1})]
    assert len(lines) < 60
    assert max(map(len, lines)) < 1200
    assert not any(char in line for line in lines for char in "\x1b\n\r\u202e")
    assert "  … and 20 more" in lines


def test_no_score_has_its_reason_and_how_often(scoring: Scoring) -> None:
    scored = scoring({"question": "Who?", "answer": "Anna."}, ["faithfulness"], repeat=2)
    (line,) = misses(scored, {"faithfulness": 0.1})
    assert line.startswith("faithfulness: no score in 2 of 2 judgements (not_applicable: ")
    assert pass_rate([scored], {"faithfulness": 0.1}).means() == {}


def test_a_pass_rate_counts_right_refusals_and_no_wrong_ones(scoring: Scoring) -> None:
    thresholds = {"faithfulness": 0.8, "answer_relevancy": 0.7, "answer_correctness": 0.5}
    bare = {"question": "How tall is it?", "contexts": ["Rain fell."]}
    samples = [
        {**bare, "answer": "I do not know.", "answerable": False},
        {**bare, "answer": "It is 7 m tall.", "answerable": False},
        {**GOOD, "answer": "我不知道。", "answerable": True},
        {**GOOD, "answerable": True},
        {**GOOD, "answer": "I do not know."},
    ]
    result = pass_rate([scoring(sample, list(thresholds)) for sample in samples], thresholds)
    assert (result.passed, result.total) == (2, 5)
    accepted, refused, unmarked = result.failures
    assert accepted.endswith("the question cannot be answered, but the answer does not decline")
    assert "the answer declines, although the question can be answered" in refused
    assert "the answer declines, although" not in unmarked
