"""`diagnose --try`: changes are measured by successive halving, and the best one is written as a system."""

import asyncio
import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.diagnosis.planted import Planted
from tests.diagnosis.test_diagnose import corpus, labelled

from ragstone.datasets.tabular import EvalData
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.diagnosis.changes import check_changes, proposed
from ragstone.diagnosis.diagnose import DiagnosisPlan, DiagnosisResult, plan_diagnosis, run_diagnosis
from ragstone.diagnosis.trials import Trials, as_json, config_diff, trials_table, try_changes
from ragstone.engine.execute import RunOptions
from ragstone.engine.judge_tools import Judging
from ragstone.errors import UsageError
from ragstone.messages import messages
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.report.text import table_text
from ragstone.systems import ACCEPTED
from ragstone.systems.rag import RagTarget
from ragstone.types import Query, Response, Usage

__all__ = ["corpus"]

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"


def tried(
    tmp_path: Path, folder: Path, system: object, changes: list[str], data: EvalData | None = None
) -> tuple[DiagnosisPlan, DiagnosisResult, Trials]:
    plan = plan_diagnosis(data or read_data(labelled()), system, None, Judging(), corpus=folder)

    async def both() -> tuple[DiagnosisResult, Trials]:
        result = await run_diagnosis(plan, RunOptions(run=tmp_path / "d.run"))
        return result, await try_changes(plan, result, changes)

    return plan, *asyncio.run(both())


def test_the_change_that_fixes_a_fault_wins(tmp_path: Path, corpus: Path) -> None:
    system = Planted(frozenset({"k"}), concerned=range(12))
    _, result, trials = tried(tmp_path, corpus, system, ["top=1", "k=8", "order=reversed"])
    assert trials.best is not None
    assert trials.best.change == "k=8"
    assert trials.best.gain.value == pytest.approx(12 / 26)
    assert trials.best.p < 0.01
    assert trials.best.finished
    assert {trial.change for trial in trials.trials if not trial.finished} >= {"top=1"}
    assert result.fixes()[0].cause == "k_too_small"


def test_auto_proposes_what_may_help_against_the_causes(tmp_path: Path, corpus: Path) -> None:
    system = Planted(frozenset({"k"}), concerned=range(12))
    _, _, trials = tried(tmp_path, corpus, system, ["auto"])
    assert {trial.change for trial in trials.trials} == {"k=8", "k=16"}
    assert as_json(trials)["best"] in ("k=8", "k=16")
    for amount in (row[name] for row in as_json(trials)["trials"] for name in ("tokens", "seconds")):
        assert amount is None or (amount["n"] > 1 and amount["low"] <= amount["mean"] <= amount["high"])


@pytest.mark.parametrize(
    ("fault", "cause", "names"),
    [("lost", "not_retrieved", ("rewrite", "multiquery")), ("last", "ranking", ("rerank",))],
)
@pytest.mark.parametrize(("model", "judge"), [("openai/a", None), ("local/extractive", "openai/a")])
def test_auto_proposes_rerankers_and_rewriters_where_a_chat_model_is_there(
    tmp_path: Path, corpus: Path, model: str, judge: str | None, fault: str, cause: str, names: tuple[str, ...]
) -> None:
    plan, result, _ = tried(tmp_path, corpus, Planted(frozenset({fault}), concerned=range(12)), [])
    assert cause in {fix.cause for fix in result.fixes()}
    target = RagTarget(corpus, model=model)
    of_rag = dataclasses.replace(plan, system=target, judging=Judging.of(judge))
    found = [change for change in proposed(result, of_rag, frozenset(ACCEPTED)) if change.startswith("retriever=")]
    assert "retriever=hybrid(bm25,local/e5-small)" in found
    assert {f"retriever={name}(bm25,openai/a)" for name in names} <= {*found}
    check_changes(found, target)
    silent = dataclasses.replace(plan, system=RagTarget(corpus))
    assert not any("(bm25,openai" in change for change in proposed(result, silent, frozenset(ACCEPTED)))


def test_a_rewriter_can_be_left_out(tmp_path: Path, corpus: Path) -> None:
    _, _, trials = tried(tmp_path, corpus, Planted(frozenset({"rewriter"}), concerned=range(12)), ["rewriting=off"])
    assert trials.best is not None
    assert trials.best.gain.value == pytest.approx(12 / 26)


def test_nothing_wins_where_nothing_is_wrong(tmp_path: Path, corpus: Path) -> None:
    _, _, trials = tried(tmp_path, corpus, Planted(), ["k=8", "order=reversed"])
    assert trials.best is None
    assert "No change" in trials_table(trials).notes[0]
    assert "没有" in trials_table(trials, language="zh").notes[0]


def test_a_table_without_changes_says_that_nothing_was_tried(tmp_path: Path) -> None:
    table = trials_table(Trials((), tmp_path / "t.run", None))
    assert (table.rows, table.columns, len(table.notes)) == ((), (), 1)
    assert table_text(table).splitlines()[1].startswith("Nothing was tried")  # no empty header
    assert "Nothing was tried" in table.notes[0]


class _Changed(Planted):
    """Without passages given to it or asked for as usual, it answers as planted; `fixed` questions are right, and
    `broken` ones fail, when it is asked for another number of passages."""

    fixed: frozenset[str] = frozenset()
    broken = False

    async def answer(self, query: Query, /) -> Response:
        if query.k is not None and not query.retrieve_only:
            if self.broken:
                raise RuntimeError("too many passages")
            if not any(name in query.question for name in self.fixed):
                query = replace(query, k=None)
        return await super().answer(query)


def test_the_best_of_many_changes_that_gain_little_is_not_called_better(tmp_path: Path, corpus: Path) -> None:
    system = _Changed(frozenset({"k"}), concerned=range(6))
    system.fixed = frozenset({"Arvo", "Belka", "Cirro", "Dulan", "Evtar", "Forno"})  # one test: p = 0.03
    _, _, alone = tried(tmp_path, corpus, system, ["k=8"])
    assert alone.best is not None
    (tmp_path / "many").mkdir()
    _, _, many = tried(tmp_path / "many", corpus, system, ["k=8", "k=9", "k=10", "k=11"])
    assert many.best is None
    assert many.trials[0].gain.value == alone.trials[0].gain.value


def test_a_change_that_fails_counts_as_wrong_and_never_wins(tmp_path: Path, corpus: Path) -> None:
    system = _Changed(frozenset({"k"}), concerned=range(2))
    system.broken = True
    _, _, trials = tried(tmp_path, corpus, system, ["k=8"])
    assert trials.best is None
    assert (trials.trials[0].gain.value or 0) < 0
    assert trials.trials[0].right.value == 0.0


def test_of_two_equal_changes_the_cheaper_is_the_best(tmp_path: Path, corpus: Path) -> None:
    class Priced(Planted):
        async def answer(self, query: Query, /) -> Response:
            return replace(await super().answer(query), usage=Usage(100 * (query.k or self.k), 10))

    system = Priced(frozenset({"k"}), concerned=range(12))
    _, _, trials = tried(tmp_path, corpus, system, ["k=16", "k=8"])
    assert [trial.change for trial in trials.trials if trial.finished][:1] == ["k=8"]


def test_the_best_change_of_a_pipeline_is_written_as_a_system(tmp_path: Path) -> None:
    target = RagTarget(HANDBOOK / "docs", retriever="bm25", k=1, chunk=10)  # chunks too small to answer from
    data = read_data(HANDBOOK / "questions.csv")
    plan, _, trials = tried(tmp_path, HANDBOOK / "docs", target, ["chunk=20", "template=answer"], data)
    assert trials.best is not None
    assert trials.best.change == "chunk=20"
    line = "rag(retriever=bm25, model=local/extractive, k=1, chunk=20)"
    assert trials.line == line
    assert config_diff(trials, plan).splitlines()[1] == f'+system = "{line}"'


@pytest.mark.parametrize(
    ("change", "message"),
    [("k", "expected NAME=VALUE"), ("chunk=60", "needs a system rag"), ("top=0", "a whole number from 1"),
     ("order=random", "expected reversed"), ("colour=red", "Possible: k, top, order, rewriting")],
)  # fmt: skip
def test_a_change_that_cannot_be_made_is_refused(change: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_changes([change], Planted())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_changes_that_a_limit_stopped_are_not_measured_and_none_is_called_better_or_no_better(
    language: str, tmp_path: Path, corpus: Path
) -> None:
    """They were "asked 0, all", and "no change is significantly better than the system as is"."""
    plan = plan_diagnosis(read_data(labelled()), Planted(frozenset({"k"}), range(12)), None, Judging(), corpus=corpus)

    async def both(limit: int) -> tuple[Trials, int]:
        allowance = Allowance.of(10**9, None, None)
        result = await run_diagnosis(plan, RunOptions(tmp_path / "d.run", ModelOptions(allowance=allowance)))
        allowance = Allowance.of(limit, None, None)
        assert allowance is not None
        how = RunOptions(tmp_path / "d.run", ModelOptions(allowance=allowance))
        return await try_changes(plan, result, ["k=8", "top=1", "order=reversed"], how), allowance.spent.requests

    trials, used = asyncio.run(both(20))
    assert used <= 20
    assert trials.stopped
    assert trials.best is None
    assert not any(trial.finished or trial.given_up for trial in trials.trials)
    document = as_json(trials)
    assert document["complete"] is False
    unasked = [row for row in document["trials"] if not row["asked"]]
    assert unasked
    assert all(row["p"] is row["gain"] is row["right"] is None for row in unasked)
    text = " ".join(table_text(trials_table(trials, language=language), language=language).split())
    words = messages("ragstone.diagnosis.trials", language)
    assert words["incomplete"][:20] in text
    assert words["not_measured"] in text
    assert words["none"][:20] not in text
    trials, _ = asyncio.run(both(10**6))
    assert not trials.stopped
    assert trials.best is not None
    assert trials.best.change == "k=8"


def test_where_passages_are_given_the_time_says_nothing(tmp_path: Path, corpus: Path) -> None:
    """Nothing is searched for, so that a reversed prompt was quicker than the system as is."""

    class Slow(Planted):
        async def answer(self, query: Query, /) -> Response:
            response = await super().answer(query)
            return replace(response, seconds=0.1 if query.passages is not None else 1.0)

    _, _, trials = tried(tmp_path, corpus, Slow(frozenset({"k"})), ["order=reversed", "top=2", "rewriting=off", "k=8"])
    assert {trial.change for trial in trials.trials if trial.seconds is not None} == {"k=8"}
