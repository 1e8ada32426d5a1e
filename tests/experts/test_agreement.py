"""What joint verdicts cost is told by comparing them with separate ones and with ragas, on the same answers."""

import json
from typing import Any

import pytest
from tests.evaluation.judging import Embedder, scripted_judge, verdict
from tests.evaluation.test_evaluate import PLAIN, rows
from tests.golden import figures, golden

from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.judge_tools import Judging
from ragstone.errors import UsageError
from ragstone.experts.agreement import Ways, agreement_of_protocols_async
from ragstone.metrics.judge.envelope import opened
from ragstone.models.scripted import Scripted
from ragstone.types import Request


async def compared(judge: Scripted, **options: Any) -> list[Ways]:
    judging = Judging(model=judge, embedder=Embedder())
    return await agreement_of_protocols_async(read_data(rows()), judging, model_options=PLAIN, **options)


async def test_a_consistent_judge_agrees_with_itself() -> None:
    joint, *_ = await compared(scripted_judge(), ragas=False)
    assert (joint.first, joint.second, joint.failed) == ("joint", "separate", 0)
    assert {one.kind for one in joint.agreements} >= {"answer_support", "in_reference", "useful"}
    assert all(one.agree == 1.0 and one.kappa in (None, 1.0) for one in joint.agreements)
    assert all(one.difference == 0 for one in joint.gaps)


async def test_a_judge_that_is_lax_with_many_passages_is_found_out() -> None:
    def lax(request: Request) -> str:
        reply = json.loads(verdict(request))
        if len(reply.get("passages", ())) > 3:  # says yes to all where there is much to read
            places = [one["id"] for one in reply["passages"]]
            quote = next(iter(opened(request.messages[-1].content)["passages"].values()))
            reply["answer_claims"] = [{**one, "supported_by": places, "quote": quote} for one in reply["answer_claims"]]
            reply["passages"] = [
                {**one, "useful": None if one["useful"] is None else True} for one in reply["passages"]
            ]
        return json.dumps(reply)

    few, many = await compared(Scripted(lax, id="scripted/judge"), ragas=False, passages=[5], tokens=60)
    assert all(one.agree == 1.0 for one in few.agreements)
    assert many.passages == 5
    by_kind = {one.kind: one for one in many.agreements}
    assert by_kind["answer_support"].n > 0
    assert by_kind["answer_support"].agree < 0.7
    kappa = by_kind["useful"].kappa
    assert kappa is not None
    assert kappa < 0.5
    gaps = {one.metric: one for one in many.gaps}
    assert gaps["context_precision"].difference < 0


async def test_the_protocol_ragas_is_compared_by_what_both_judge() -> None:
    ways = await compared(scripted_judge())
    assert [(one.first, one.second) for one in ways] == [
        ("joint", "separate"), ("joint", "ragas"), ("separate", "ragas"),
    ]  # fmt: skip
    assert [one.kind for one in ways[1].agreements] == ["useful"]
    assert {one.metric for one in ways[1].gaps} == {
        "faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness",
    }  # fmt: skip
    assert all(one.n < 2 or one.low <= one.difference <= one.high for way in ways for one in way.gaps)  # type: ignore[operator]


async def test_what_is_compared_figure_by_figure() -> None:
    def changeable(request: Request) -> str:
        reply = json.loads(verdict(request))
        for one in reply.get("passages", ())[::2]:
            one["useful"] = None if one.get("useful") is None else not one["useful"]
        return json.dumps(reply)

    ways = await compared(Scripted(changeable, id="scripted/judge"), passages=[3], tokens=40)
    golden("analysis/ways", "\n".join(figures(repr(way)) for way in ways))


async def test_samples_that_one_way_could_not_judge_are_counted_with_the_reason() -> None:
    def mute_alone(request: Request) -> str:
        return "no" if request.schema_name == "verify_passage" else verdict(request)

    ways = await compared(Scripted(mute_alone, id="scripted/judge"))
    joint, ragas, _ = ways
    with_passages = sum(bool(row["contexts"]) for row in rows())
    assert (joint.failed, joint.samples) == (with_passages, len(rows()))
    assert "verify:passage" in joint.why
    assert (ragas.failed, ragas.why) == (0, "")  # what does not apply has not failed


async def test_without_a_judge_there_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match="--judge"):
        await agreement_of_protocols_async(read_data(rows()), Judging())
