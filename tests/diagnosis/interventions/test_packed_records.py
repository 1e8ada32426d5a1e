"""What a diagnosis of many questions holds of each."""

import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType, ModuleType

import pytest
from tests.diagnosis.test_diagnose import corpus, run

from ragstone.types import Passage, Record, Response, Sample

__all__ = ["corpus"]


def reached(value: object) -> Iterator[object]:
    """Everything that an object refers to, itself and through others; code apart."""
    known, waiting = {id(value)}, [value]
    while waiting:
        one = waiting.pop()
        yield one
        for other in gc.get_referents(one):
            if id(other) not in known and not isinstance(
                other, FunctionType | MethodType | ModuleType | type | partial
            ):
                known.add(id(other))
                waiting.append(other)


@pytest.mark.parametrize("faults", [("lost",), ("never_refuses", "misreads")])
def test_a_diagnosed_question_holds_its_texts_packed_alone(
    tmp_path: Path, corpus: Path, faults: tuple[str, ...]
) -> None:
    _, result = run(tmp_path, corpus, *faults)
    assert result.questions
    result.waterfall()
    result.fixes()
    for item in result.questions:
        held = [one for one in reached(item) if isinstance(one, Passage | Record | Response | Sample)]
        assert held == [], item.id
        assert item.evidence.first is not None
