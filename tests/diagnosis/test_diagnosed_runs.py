"""Causes of a finished run of MIRAGE, from its settings."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.planted import Planted

from ragstone import bench, diagnose
from ragstone.diagnosis.diagnosed_runs import diagnose_run
from ragstone.error_text import told
from ragstone.errors import UsageError
from ragstone.types import Query, Response


class Reader:
    """Answers with the first sentence of the only passage; of several passages it is confused."""

    id, spec, accepts = "reader", {"kind": "reader"}, frozenset({"passages", "language"})

    async def answer(self, query: Query) -> Response:
        passages = query.passages or ()
        text = " ".join(passage.text for passage in passages) if len(passages) == 1 else "Nobody can tell: 1234567."
        return Response(text, passages)


def test_a_run_of_mirage_tells_causes(tmp_path: Path, ragstone: Any) -> None:
    run = bench("mirage", system=Reader(), limit=20, run=tmp_path / "m.run").run
    found = diagnose_run(run)
    ((system, items),) = found.questions.items()
    assert system == "reader, mixed"
    causes = {item.cause.name for item in items}
    assert causes <= {"noise", "reading", "healthy", "integration"}
    assert sum(item.cause.name == "noise" for item in items) > 10
    fall = found.waterfall(system)
    alone = next(step for step in fall.steps if step.name == "alone")
    assert alone.gain is not None
    assert (alone.gain.value or 0) > 0.5
    assert found.fixes(system)[0].cause == "noise"
    document = json.loads(ragstone("diagnose", str(run), "--json").out)
    assert document["causes"][system] == {item.id: item.cause.name for item in items}
    assert "Where right answers are lost" in ragstone("diagnose", str(run)).out


def test_runs_of_other_benchmarks_are_refused(tmp_path: Path) -> None:
    run = bench("rgb", model="local/extractive", limit=1, run=tmp_path / "r.run").run
    with pytest.raises(UsageError, match="a run of 'rgb'"):
        diagnose_run(run)
    bench("mirage", system=Planted(), limit=2, settings=["base"], run=tmp_path / "b.run")
    with pytest.raises(UsageError, match="as is and with the gold alone"):
        diagnose_run(tmp_path / "b.run")


def test_a_diagnosis_without_the_gold_alone_is_called_a_diagnosis(tmp_path: Path) -> None:
    rows = [{"question": f"How long is leave {at}?", "reference": f"{at} days"} for at in range(3)]
    diagnose(rows, lambda question, passages=None: "3 days.", run=tmp_path / "d.run")
    with pytest.raises(UsageError, match=r"d\.run \(a diagnosis\) has no question both") as refused:
        diagnose_run(tmp_path / "d.run")
    assert "（诊断）" in told(str(refused.value), "zh")
