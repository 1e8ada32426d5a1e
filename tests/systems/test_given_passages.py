"""A system that retrieves for itself is refused where a benchmark hands it the passages."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from ragstone import bench
from ragstone.errors import UsageError
from ragstone.runs import open_run
from ragstone.types import Passage, Query, Response


class Answers:
    """Answers, and tells passages: those of the query, its own, or none."""

    id = "own/system"
    spec: ClassVar[dict[str, Any]] = {}

    def __init__(self, passages: Any) -> None:
        self._passages, self.asked = passages, 0

    async def answer(self, query: Query, /) -> Response:
        self.asked += 1
        return Response("Ada.", self._passages(query))


class Retrieving(Answers):
    accepts: ClassVar[tuple[str, ...]] = ("history",)


@pytest.mark.parametrize("benchmark", ["rgb", "mirage", "niah"])
def test_a_system_that_says_that_it_retrieves_is_refused_before_it_is_asked(tmp_path: Path, benchmark: str) -> None:
    system = Retrieving(lambda query: ())
    options: dict[str, Any] = {"lengths": (300,)} if benchmark == "niah" else {"fictional_size": 2}
    with pytest.raises(UsageError, match=f"own/system retrieves for itself, but {benchmark} must hand it the passages"):
        bench(benchmark, model=system, run=tmp_path / "a.run", **options)
    assert (system.asked, (tmp_path / "a.run").exists()) == (0, False)


def test_a_system_that_returns_passages_of_its_own_is_asked_no_more(tmp_path: Path) -> None:
    system = Answers(lambda query: (Passage("mine", "Something else."),))
    result = bench("rgb", model=system, fictional_size=4, run=tmp_path / "a.run", concurrency=1)
    assert result.outcome.done == 0
    assert system.asked < 5 < result.outcome.failed
    with open_run(result.run) as run:
        errors = {record.error for record in run.records()}
    assert len(errors) == 1
    assert "it returned the passage 'mine', which it was not given" in str(errors)


@pytest.mark.parametrize("passages", [lambda query: (), lambda query: (query.passages or ())[:1]])
def test_a_system_that_uses_what_it_is_given_is_asked(tmp_path: Path, passages: Any) -> None:
    result = bench("rgb", model=Answers(passages), fictional_size=2, run=tmp_path / "a.run")
    assert (result.outcome.failed, result.outcome.done) == (0, result.outcome.asked)
