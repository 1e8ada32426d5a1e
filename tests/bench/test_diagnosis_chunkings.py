"""However a system cuts and names its chunks, the same fault gets the same verdict."""

from pathlib import Path

import pytest
from bench.diagnosis.chunkings import GOAL, cells, named, same_verdicts
from bench.diagnosis.worlds import fictional, handbook


@pytest.mark.timeout(1_200)  # 245 s of a processor, on a machine that does other things, too
@pytest.mark.slow
def test_three_chunkers_and_three_schemes_of_ids_give_the_same_verdicts(tmp_path: Path) -> None:
    faults = ["broken embedder", "ranks gold last", "reranker reversed", "mixes entities", "misreads"]
    found = list(cells((handbook(10).sample(12, 1), fictional(16)), faults, tmp_path))
    assert len(found) == len(faults) * 9
    same, right = same_verdicts(found), named(found)
    assert same.total > 100
    assert (same.value or 0.0) >= GOAL, same
    assert (right.value or 0.0) >= 0.9, right


def test_renamed_ids_change_no_verdict(tmp_path: Path) -> None:
    found = list(cells((handbook(10).sample(8, 1),), ["reranker reversed"], tmp_path, every=False))
    assert {(cell.chunker, cell.ids) for cell in found} == {
        ("windows", "ours"), ("sentences", "opaque"), ("whole", "colliding"),
    }  # fmt: skip
    assert {cause for cell in found for cause in cell.causes.values()} == {"reranking"}
