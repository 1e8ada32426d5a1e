"""Chunks that cut, lose or drown the evidence are named as chunking; the system's own chunks alone show it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import ragstone
from ragstone.types import NO_ANSWER, Passage, Query, Response

PUMPS = ("Belka", "Cirro", "Dorna", "Elvik", "Falun", "Gotra")
WEIGHTS = {name: f"{317 + 7 * n} kg" for n, name in enumerate(PUMPS)}
DOCUMENTS = {
    name: f"# {name}\n\nThe pump {name} stands in hall {n + 3} of the north works. In service it weighs "
    f"{WEIGHTS[name]} with all of its oil. It was bought in {1990 + n} and is kept by the crew of the hall."
    for n, name in enumerate(PUMPS)
}
ROWS = [
    {"id": name, "question": f"How much weighs the pump {name}?", "reference": WEIGHTS[name],
     "reference_contexts": [DOCUMENTS[name]]}
    for name in PUMPS
]  # fmt: skip
Cut = Callable[[str, str], list[str]]


def halves(name: str, text: str) -> list[str]:
    at = text.index("weighs")
    return [text[:at], text[at:]]


def by_sentence(name: str, text: str) -> list[str]:
    return re.split(r"(?<=\.) ", text)


def large(name: str, text: str) -> list[str]:
    return [text + " The north works have many halls and gates." * 40]


class App:
    """Answers from a passage that names the pump and says its weight, unless the passage is very long."""

    accepts = frozenset({"passages", "k", "retrieve"})
    id = "app"
    spec = {"kind": "app"}  # noqa: RUF012

    def __init__(self, cut: Cut) -> None:
        self.chunks = [
            (name, Passage(f"{name}.md#{n}", text))
            for name in PUMPS
            for n, text in enumerate(cut(name, DOCUMENTS[name]))
        ]

    async def answer(self, query: Query, /) -> Response:
        name = next((name for name in PUMPS if name in query.question), "")
        found = tuple(chunk for owner, chunk in self.chunks if owner == name)
        if query.retrieve_only:
            return Response("", found, finish_reason=NO_ANSWER, empty_retrieval=not found)
        passages = found if query.passages is None else query.passages
        if not name:
            return Response(passages[0].text if passages else "I do not know.", passages)
        said = [
            match[1]
            for one in passages
            if len(one.text) < 1000 and name in one.text and (match := re.search(r"weighs (\d+ kg)", one.text))
        ]
        return Response(f"It weighs {said[0] if said else '999 kg'}.", passages)


@pytest.mark.parametrize("cut", [halves, by_sentence, large])
def test_chunks_that_do_not_carry_the_evidence_are_named(cut: Cut, tmp_path: Path) -> None:
    result = ragstone.diagnose(ROWS, App(cut), run=tmp_path / "a.run")
    assert {cause.name for cause in result.causes().values()} == {"chunking"}
    assert result.fixes()[0].cause == "chunking"
    assert result.fixes()[0].gain is not None


def test_whole_chunks_are_blamed_for_nothing(tmp_path: Path) -> None:
    result = ragstone.diagnose(ROWS, App(lambda name, text: [text]), run=tmp_path / "a.run")
    assert {cause.name for cause in result.causes().values()} == {"healthy"}
