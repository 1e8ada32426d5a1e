"""Objects of subclasses of str, such as LangChain's `TextAccessor`, are texts wherever a user hands them over."""

from pathlib import Path
from typing import Any, ClassVar

from ragstone import bench, evaluate
from ragstone.models.wire import encode
from ragstone.runs import open_run
from ragstone.structs import to_json
from ragstone.types import Passage, Query, Response


class Accessor(str):
    """As LangChain's: a text that can be called."""

    __slots__ = ()

    def __call__(self) -> str:
        return "called"


def test_they_are_texts_in_json() -> None:
    assert to_json(Response(Accessor("Ada."), reasoning=Accessor("é"))) == to_json(Response("Ada.", reasoning="é"))
    assert encode([Accessor("a"), {"b": Accessor("\ud800")}]) == encode(["a", {"b": "\ud800"}])


def test_they_are_texts_of_the_user_s_data(tmp_path: Path) -> None:
    row = {"question": "Who?", "answer": "It was Ada.", "reference": "Ada", "contexts": ["Ada was."]}
    rows = [row, {name: [Accessor("Ada was.")] if name == "contexts" else Accessor(row[name]) for name in row}]
    means = [
        evaluate([one], ["answer_match", "token_f1"], run=tmp_path / f"{number}.run").summary
        for number, one in enumerate(rows)
    ]
    assert means[0] == means[1]
    with open_run(tmp_path / "1.run") as run:
        (record,) = run.records()
    assert record.response is not None
    assert record.response.answer == "It was Ada."


def test_they_are_texts_in_the_answers_of_a_system(tmp_path: Path) -> None:
    class Own:
        id = "own"
        spec: ClassVar[dict[str, Any]] = {}

        async def answer(self, query: Query, /) -> Response:
            given = (query.passages or ())[:1]
            return Response(Accessor("Ada."), tuple(Passage(Accessor(one.id), Accessor(one.text)) for one in given))

    result = bench("rgb", model=Own(), fictional_size=2, run=tmp_path / "a.run")
    assert result.outcome.failed == 0
    with open_run(result.run) as run:
        assert {record.response.answer for record in run.records() if record.response} == {"Ada."}
