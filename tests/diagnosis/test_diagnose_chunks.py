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


ZH_PUMPS = ("阿沃", "贝卡", "西罗", "杜兰", "埃塔", "福诺")
TABLES = {
    "en": (
        PUMPS, "# Pumps\n\n| Pump | Hall | Weight in service (kg) |\n|---|---|---|\n{rows}\n\nAll stand here.",
        "How much does the pump {name} weigh in service?", "{value} kg", "Weight in service (kg)", "I do not know.",
    ),
    "zh": (
        ZH_PUMPS, "# 水泵\n\n| 水泵 | 车间 | 运行重量（公斤） |\n|---|---|---|\n{rows}\n\n这些水泵都在北厂。",
        "{name}水泵的运行重量是多少？", "{value}公斤", "运行重量（公斤）", "文档中没有答案。",
    ),
}  # fmt: skip


def flattened(document: str) -> list[str]:
    """Each row by itself, its cells joined, without the header."""
    rows = [line for line in document.splitlines() if line.startswith("|") and any(map(str.isdigit, line))]
    return [" ".join(cell.strip() for cell in row.strip("|").split("|")) for row in rows]


@pytest.mark.parametrize("cut", [flattened, lambda document: [document]])
@pytest.mark.parametrize("language", TABLES)
def test_a_table_that_lost_its_header_is_chunking_and_a_whole_one_is_not(
    language: str, cut: Callable[[str], list[str]], tmp_path: Path
) -> None:
    names, form, question, reference, header, refusal = TABLES[language]
    values = {name: (n + 3, 317 + 7 * n) for n, name in enumerate(names)}
    document = form.format(rows="\n".join(f"| {name} | {hall} | {value} |" for name, (hall, value) in values.items()))
    chunks = cut(document)

    def ask(question: str, passages: list[str] | None = None, k: int = 3) -> dict[str, object]:
        """Reads a row where it sees what its columns are."""
        name = next((name for name in names if name in question), "?")
        found = sorted(chunks, key=lambda text: name not in text)[:k] if passages is None else passages
        lines = [line for text in found if header in text for line in text.splitlines() if name in line]
        figures = re.findall(r"\d+", lines[0]) if lines else []
        return {"answer": reference.format(value=figures[-1]) if figures else refusal, "contexts": found}

    rows = [
        {"id": f"q{n}", "question": question.format(name=name), "reference": reference.format(value=value),
         "reference_contexts": [document]}
        for n, (name, (_, value)) in enumerate(values.items())
    ]  # fmt: skip
    result = ragstone.diagnose(rows, ask, run=tmp_path / "t.run")
    assert {cause.name for cause in result.causes().values()} == {"chunking" if cut is flattened else "healthy"}
