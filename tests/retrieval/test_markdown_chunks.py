"""Chunks keep code blocks, tables with their header, and headings with what follows, in both languages."""

import pytest

from ragstone.retrieval.chunkers import Method, chunk, chunk_passages
from ragstone.types import Passage

WHOLE: tuple[Method, ...] = ("sentence", "recursive")
PROSE = "One sentence about the harbour stands here. Another one follows it at once. "
CODE = "```python\n# a | b\n# --|--\nfor ship in harbour:\n\n    print(ship.name)\n    ship.sail()\n```"
ROWS = "\n".join(f"| ship {n} | {n} metres |" for n in range(12))
HEADER = "| name | length |\n|:-----|-------:|"


def cut(text: str, size: int, method: Method, overlap: int = 0) -> list[str]:
    return [part.text for part in chunk(text, size=size, method=method, overlap=overlap)]


@pytest.mark.parametrize("method", WHOLE)
def test_a_code_block_that_fits_is_not_parted(method: Method) -> None:
    text = f"{PROSE * 3}\n\n{CODE}\n\n{PROSE * 3}"
    parts = cut(text, 50, method)
    assert sum(CODE in part for part in parts) == 1
    assert len(parts) >= 3


@pytest.mark.parametrize("method", WHOLE)
@pytest.mark.parametrize("fence", ["~~~", "````"])
def test_a_longer_code_block_is_cut_between_its_lines(method: Method, fence: str) -> None:
    lines = [f"print('line {n} of the program')" for n in range(30)]
    parts = cut(f"{fence}\n" + "\n".join(lines) + f"\n{fence}", 50, method)
    assert len(parts) > 3
    assert [line for part in parts for line in part.split("\n") if not line.startswith(fence)] == lines


@pytest.mark.parametrize("method", WHOLE)
def test_a_table_that_fits_is_not_parted(method: Method) -> None:
    table = HEADER + "\n" + "\n".join(ROWS.split("\n")[:3])
    assert sum(table in part for part in cut(f"{PROSE * 3}\n{table}\n\n{PROSE * 3}", 60, method)) == 1


@pytest.mark.parametrize("method", WHOLE)
def test_every_chunk_of_a_longer_table_has_its_header(method: Method) -> None:
    passage = Passage("d", f"{PROSE}\n\n{HEADER}\n{ROWS}\n\n{PROSE}")
    parts = chunk(passage.text, size=60, method=method)
    assert all(passage.text[part.start : part.end] == part.text and part.tokens <= 60 for part in parts)
    texts = [one.text for one in chunk_passages([passage], size=60, method=method)]
    with_rows = [text for text in texts if "metres" in text]
    assert len(with_rows) > 2
    assert all(text.count(HEADER) == 1 for text in with_rows)
    assert [row for text in with_rows for row in text.split("\n") if "metres" in row] == ROWS.split("\n")


@pytest.mark.parametrize("method", WHOLE)
@pytest.mark.parametrize(
    ("heading", "prose"),
    [
        ("## The harbour", PROSE),
        ("第三章 港口的历史", "港口建于一九三一年，位于小镇的北面。每天早上都有船从这里出发。"),
    ],
)
def test_a_heading_stays_with_what_follows(method: Method, heading: str, prose: str) -> None:
    text = "\n\n".join(f"{heading} {n}\n\n{prose * 3}" for n in range(6))
    for size in range(20, 50):
        parts = cut(text, size, method)
        assert len(parts) >= 6
        assert not any(part.split("\n")[-1].startswith(heading) for part in parts), size


def test_headings_in_a_row_stay_together_with_the_text() -> None:
    parts = cut(f"{PROSE * 2}\n\n# A\n\n## B\n\n{PROSE * 2}", 30, "sentence")
    assert any("# A\n\n## B\n\nOne sentence" in part for part in parts)


def test_an_unclosed_fence_and_a_line_with_a_bar_are_text() -> None:
    text = "```\n" + PROSE * 2 + "a | b\n" + PROSE
    assert "".join("".join(cut(text, 20, "sentence")).split()) == "".join(text.split())
