"""What a diagnosis takes lies between the least and the most that its dry run says."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.planted import Planted, documents
from tests.diagnosis.test_diagnose import corpus, labelled
from tests.evaluation.judging import scripted_judge

from ragstone.datasets.tabular.eval_data import read_data
from ragstone.diagnosis.diagnose import DiagnosisPlan, plan_diagnosis, run_diagnosis
from ragstone.diagnosis.diagnosis_estimate import DiagnosisEstimate, estimate_diagnosis
from ragstone.diagnosis.trials import try_changes
from ragstone.engine.execute import RunOptions
from ragstone.engine.judge_tools import Judging
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.prices import Price
from ragstone.systems.rag import rag_target
from ragstone.types import Query, Response

__all__ = ["corpus"]

PRICE = Price(1.0, 4.0)
_FAULTS = ("", "missing", "stale", "lost", "rewriter", "reranker", "k", "middle", "confused", "memory", "flaky")


class _Crashing(Planted):
    async def answer(self, query: Query, /) -> Response:
        if "Belka" in query.question or query.passages == ():
            raise RuntimeError("out of memory")
        return await super().answer(query)


RUNS: list[dict[str, Any]] = [
    *({"system": Planted(frozenset({fault}), range(0, 24, 2))} for fault in _FAULTS),
    *({"system": Planted(frozenset({fault})), "judge": True} for fault in ("lost", "confused")),
    {"system": Planted(frozenset({"last", "memory"})), "full": True},
    {"system": Planted(frozenset({"k"})), "full": True, "judge": True},
    {"system": _Crashing(), "judge": True},
    {"system": "rag(model=scripted/{script}, k=3)"},
    {"system": "rag(model=scripted/{script}, k=1, chunk=20)", "judge": True},
    {"system": "rag(model=scripted/{script}, k=2, template=strict)", "full": True},
    {"system": "rag(retriever=rewrite(bm25,scripted/{script}), model=scripted/{script}, k=2)"},
]


def _search(question: str, k: int = 3) -> list[dict[str, str]]:
    texts = [{"id": item.id, "text": item.text} for item in documents()]
    return sorted(texts, key=lambda text: not any(word in text["text"] for word in question.split()[3:4]))[:k]


def _plain(question: str) -> str:
    return "It weighs 310 kg."


def _reading(question: str, passages: Any = None, k: int = 3) -> dict[str, Any]:
    found = _search(question, k) if passages is None else passages
    return {"answer": found[0]["text"] if found else "I do not know.", "contexts": found}


class _Changing:
    """A class whose answers change by themselves, one in three."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, question: str, passages: Any = None, history: Any = ()) -> dict[str, Any]:
        self.asked += 1
        return {**_reading(question, passages), **({} if self.asked % 3 else {"answer": "It weighs 1 kg."})}


def _chain() -> Any:
    """A chain of LangChain: a search and a scripted reader."""
    core = pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    assert core
    found = RunnableLambda(lambda asked: [Document(one["text"], id=one["id"]) for one in _search(asked)])
    return found | RunnableLambda(lambda some: some[0].page_content if some else "I do not know.")


KINDS: dict[str, Callable[[], Any]] = {
    "plain function": lambda: _plain,
    "function with passages and k": lambda: _reading,
    "class that changes": _Changing,
    "chain of LangChain": _chain,
}


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_applications_of_other_kinds_lie_in_the_range_too(tmp_path: Path, corpus: Path, kind: str, full: bool) -> None:
    expected, used = asyncio.run(spent({"system": KINDS[kind](), "full": full}, tmp_path, corpus))
    least, most = expected.requests
    assert least <= used.spent.requests <= most


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_of_requests_holds_and_all_runs_together_lie_in_the_range(
    tmp_path: Path, corpus: Path, kind: str
) -> None:
    system, total = KINDS[kind](), 0
    for _ in range(60):
        expected, used = asyncio.run(spent({"system": system, "limit": 9}, tmp_path, corpus))
        assert used.spent.requests <= 9
        total += used.spent.requests
        if used.spent.requests < 9:
            break
    least, most = expected.requests
    assert least <= total <= most


async def estimate_only(run: dict[str, Any], folder: Path, corpus: Path) -> DiagnosisEstimate:
    return await estimate_diagnosis(planned(run, folder, corpus), run["try"])


def planned(run: dict[str, Any], folder: Path, corpus: Path) -> DiagnosisPlan:
    script = folder / "script.jsonl"
    script.write_text(json.dumps({"contains": "Arvo", "text": "It weighs 310 kg."}) + "\n"
                      + json.dumps({"default": "I do not know."}) + "\n", "utf-8")  # fmt: skip
    system = run["system"]
    if isinstance(system, str):
        system = rag_target(system.format(script=script), corpus)
    judging = Judging.of(scripted_judge() if run.get("judge") else None)
    return plan_diagnosis(read_data(labelled()[:8]), system, None, judging, corpus=corpus, full=run.get("full", False))


async def spent(run: dict[str, Any], folder: Path, corpus: Path) -> tuple[DiagnosisEstimate, Allowance]:
    """The estimate of a diagnosis, and what it took."""
    plan = planned(run, folder, corpus)
    allowance = Allowance.of(run.get("limit", 10**9), 1e9, PRICE)
    assert allowance is not None
    changes = run.get("try", ())
    expected = await estimate_diagnosis(plan, changes)
    how = RunOptions(folder / "d.run", ModelOptions(cache=None, allowance=allowance))
    result = await run_diagnosis(plan, how)
    if changes:
        await try_changes(plan, result, changes, how)
    return expected, allowance


@pytest.mark.parametrize("number", range(len(RUNS)))
def test_requests_and_cost_lie_in_the_range_of_the_dry_run(tmp_path: Path, corpus: Path, number: int) -> None:
    expected, used = asyncio.run(spent(RUNS[number], tmp_path, corpus))
    least, most = expected.requests
    assert least <= used.spent.requests <= most
    model = (0.0, 0.0) if expected.model is None else expected.model.cost(PRICE)
    low, high = (sum(ends) for ends in zip(model, expected.judge.cost(PRICE), strict=True))
    assert low <= used.spent.cost <= high


@pytest.mark.parametrize("judge", [False, True])
@pytest.mark.parametrize(("system", "changes"), [
    (Planted(frozenset({"k", "last"})), ("k=8", "top=1", "order=reversed", "rewriting=off", "k=9", "top=3")),
    (Planted(frozenset({"k"})), ("auto",)),
    ("rag(model=scripted/{script}, k=1, chunk=20)", ("k=9", "chunk=40", "order=reversed", "template=strict")),
    ("rag(model=scripted/{script}, k=2)", ("auto",)),
])  # fmt: skip
def test_what_the_changes_of_try_take_is_in_the_range_too(
    system: Any, changes: tuple[str, ...], judge: bool, tmp_path: Path, corpus: Path
) -> None:
    """The dry run left them out."""
    if isinstance(system, Planted):
        system = Planted(system.faults)
    run = {"system": system, "judge": judge, "try": changes}
    expected, used = asyncio.run(spent(run, tmp_path, corpus))
    plain = asyncio.run(estimate_only({**run, "try": ()}, tmp_path, corpus))
    assert expected.requests[0] <= used.spent.requests <= expected.requests[1]
    assert expected.requests[1] >= plain.requests[1] + 8 * (1 + len(changes))
    model = (0.0, 0.0) if expected.model is None else expected.model.cost(PRICE)
    assert used.spent.cost <= model[1] + expected.judge.cost(PRICE)[1]


def test_there_are_twenty_such_runs() -> None:
    assert len(RUNS) == 20
