"""What becomes of a verdict whose quote is in no passage: counted, marked, left out of means if asked."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.judging import Embedder, verdict
from tests.metrics.judge.judges import CASE, GIVEN, claim, judge_by, spoiling

from ragstone import evaluate
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.judge_tools import Judging
from ragstone.evaluation.estimate import estimate_evaluation
from ragstone.evaluation.evaluate import plan_evaluation
from ragstone.metrics import Tools, make_metrics
from ragstone.metrics.judge import Prompts
from ragstone.metrics.judge.schemas import OUTPUTS
from ragstone.models import ModelOptions
from ragstone.models.scripted import Scripted
from ragstone.types import Request, Score

ROWS = [
    {"question": "How is the tower?", "answer": "The tower is tall.", "contexts": ["The tower is tall."]},
    {"question": "What of the mill?", "answer": "The mill is old.", "contexts": ["The mill is old, I think."]},
    {"question": "磨坊怎么样？", "answer": "磨坊很旧。", "contexts": ["磨坊很旧。"]},
]
SPOILT = {"tower": "It is very high", "mill": "  "}  # a quote that is in no passage, and none at all


def run(tmp_path: Path, **options: Any) -> Any:
    given: dict[str, Any] = {
        "embedder": Embedder(),
        "run": tmp_path / "e.run",
        "model_options": ModelOptions(cache=None),
    }
    return evaluate(ROWS, ["faithfulness", "context_relevance"], Scripted(quoting), **(given | options))


def quoting(request: Request) -> str:
    turns = [turn for turn in request.messages if turn.content.startswith("<judged ")]
    reply = json.loads(verdict(Request((turns[-1],), schema_name=request.schema_name)))
    for one in (*reply["answer_claims"], *reply["reference_claims"]):
        if one.get("supported_by") and (place := next((word for word in SPOILT if word in turns[-1].content), "")):
            one["quote"] = SPOILT[place]
    return json.dumps(reply)


def test_an_unsupported_quote_is_counted_in_the_summary_and_marked_on_the_page(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.summary["faithfulness"]["unsupported_quotes"] == 2
    assert result.summary["context_relevance"]["unsupported_quotes"] == 0
    assert result.summary["faithfulness"]["n"] == 3
    with result.open() as opened:
        english, chinese = (str(opened.tables(language=language)) for language in ("en", "zh"))
        page, chinese_page = (
            opened.write_report(tmp_path / f"{language}.html", language=language).read_text(encoding="utf-8")
            for language in ("en", "zh")
        )
    assert "Unsupported quotes: 2 of the 3 quotes" in english
    assert "3 条引文中，有 2 条为空或不在任何段落中" in chinese
    assert "unsupported quote</span>" in page
    assert "引文无据</span>" in chinese_page


def test_strict_quotes_leave_the_score_out_of_the_mean(tmp_path: Path) -> None:
    summary = run(tmp_path, strict_quotes=True).summary
    assert (summary["faithfulness"]["n"], summary["faithfulness"]["failed"]) == (1, 2)
    assert summary["faithfulness"]["mean"] == 1.0
    assert summary["context_relevance"]["n"] == 3  # rests on no quote


async def test_only_scores_that_rest_on_the_claim_are_flagged() -> None:
    spoil = spoiling("verify", claim(quote="Ferries are slow"), times=2)
    judge, model = judge_by(spoil, strict_quotes=True)
    names = ["faithfulness", "groundedness", "context_recall", "ragchecker.recall", "ragchecker.hallucination"]
    scores: dict[str, Score] = {}
    for metric in make_metrics([*names, "ragchecker.precision"], Tools(judge, model)):
        scores[metric.name] = await metric.score(CASE, GIVEN)  # type: ignore[misc]
    failed = {name for name, score in scores.items() if score.status == "failed"}
    assert failed == {"faithfulness", "groundedness", "ragchecker.hallucination"}
    assert scores["faithfulness"].reason == "unsupported quote: answer_claims, id 1"
    assert scores["faithfulness"].evidence["unsupported_quotes"] == {"answer_claims": [1]}


async def test_a_citation_needs_the_sentence_of_its_claim() -> None:
    judge, _ = judge_by(spoiling("decompose", claim(sentence=None), times=1))
    cited = type(GIVEN)("The mill opened in 1902 [1]. Ada built it.", GIVEN.passages)
    recall, faithfulness = make_metrics(["citation_recall", "faithfulness"], Tools(judge))
    score: Any = await recall.score(CASE, cited)  # type: ignore[misc]
    assert (score.status, "no sentence" in score.reason) == ("failed", True)
    assert (await faithfulness.score(CASE, cited)).status == "scored"  # type: ignore[misc]


@pytest.mark.parametrize("name", ["verify", "verify_passage"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_quote_comes_before_the_verdict(name: str, language: str) -> None:
    keys = list(OUTPUTS[name]["properties"]["answer_claims"]["items"]["properties"])
    assert keys[:2] == ["id", "quote"]
    for example in Prompts.load().get(name, language).shown_examples:
        output: Any = example.output
        assert [list(one) for one in output["answer_claims"]] == [keys] * len(output["answer_claims"])


@pytest.mark.parametrize("verify", ["joint", "separate"])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_reasons_are_asked_for_shown_in_the_examples_and_kept(verify: Any, language: str) -> None:
    step = "verify" if verify == "joint" else "verify_passage"
    plain, told = Prompts.load().get(step, language), Prompts.load(reasons=True).get(step, language)
    assert '"reason"' in told.instruction
    assert '"reason"' not in plain.instruction
    outputs: list[Any] = [example.output for example in told.shown_examples]
    claims = [one for output in outputs for one in output["answer_claims"]]
    supported = [bool(one.get("supported_by")) or one.get("verdict") == "supported" for one in claims]
    assert [bool(one["reason"]) for one in claims] == [not support for support in supported]
    assert supported.count(False) == 3
    assert told.hash != plain.hash

    def reply(request: Request) -> str:
        turn = request.messages[-1]
        said = json.loads(spoiling("", dict, 0)(Request((turn,), schema_name=request.schema_name)))
        if request.schema_name == step:
            for one in (*said["answer_claims"], *said["reference_claims"]):
                one["reason"] = "Nobody says so."
        return json.dumps(said)

    judge, model = judge_by(reply, prompts=Prompts.load(reasons=True), verify=verify, language=language)
    judged = await judge.verify(CASE, GIVEN)
    asked = next(request for request in model.requests if request.schema_name == step)
    assert list(asked.schema["properties"]["answer_claims"]["items"]["properties"])[-1] == "reason"  # type: ignore[index]
    assert [one.reason for one in judged.answer_claims] == ["", "Nobody says so.", "Nobody says so."]


async def test_a_dry_run_tells_what_the_reasons_cost() -> None:
    data = read_data(ROWS)
    plain = await estimate_evaluation(plan_evaluation(data, ["faithfulness"], Judging("openai/x")))
    reasons = await estimate_evaluation(plan_evaluation(data, ["faithfulness"], Judging("openai/x", reasons=True)))
    assert plain.reasons == 0
    more = reasons.usage.prompt_tokens + reasons.usage.completion_tokens
    assert reasons.reasons == more - plain.usage.prompt_tokens - plain.usage.completion_tokens
    assert reasons.reasons > 100
    assert reasons.usage.requests == plain.usage.requests
