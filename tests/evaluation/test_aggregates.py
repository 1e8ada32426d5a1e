"""Scores that span cases are had of a run: the benchmark's own, and others over the same records."""

import json
from pathlib import Path

import pytest

from ragstone import bench
from ragstone.benchmarks.mirage.adaptability import MEASURES, Adaptability


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_adaptability_is_told_of_a_run_by_the_official_rule_and_by_any_other(tmp_path: Path) -> None:
    script = tmp_path / "m.jsonl"
    script.write_text(
        json.dumps({"contains": "Context", "text": "Nobody knows."}) + "\n" + json.dumps({"default": "I"})
    )
    result = bench(
        "mirage", model=f"scripted/{script}", fictional_size=4, retrievers=("bm25",), ks=1, run=tmp_path / "m.run",
        metrics=("token_f1",),
    )  # fmt: skip
    with result.open() as run:
        found = run.aggregates()
        assert {name.partition("[")[2][:-1] for name in found} == {
            f"scripted/{script}, mixed", f"scripted/{script}, bm25@1",
        }  # fmt: skip
        shares = [found[f"{name}[scripted/{script}, bm25@1]"] for name in MEASURES]
        assert sum(score.value or 0.0 for score in shares) == pytest.approx(1)
        assert shares[0].evidence["n"] == 4
        more = run.aggregates(Adaptability("token_f1"))
    assert more.keys() == found.keys()
