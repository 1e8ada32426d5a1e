"""Tables in a terminal: what a person sees, lined up in Chinese too."""

import re

import pytest
from rich.cells import cell_len
from tests.report.hostile import PAYLOADS

from ragstone.display import Cell, Row, Table
from ragstone.report.text import table_text


def share(value: float, scored: int = 300) -> Cell:
    return Cell(value=value, low=value - 0.04, high=value + 0.03, scored=scored, total=300, unit="%")


def table(*rows: Row, columns: tuple[str, ...] = ("模型", "语言", "0", "0.2"), notes: tuple[str, ...] = ()) -> Table:
    return Table("t", "表 1：噪声鲁棒性", columns, rows, notes, keys=2)


OURS = Row((Cell(text="通义千问"), Cell(text="中文"), share(0.8), share(0.7)))
THEIRS = Row(
    (Cell(text="ChatGPT"), Cell(text="English"), Cell(value=0.9633, unit="%"), Cell(value=0.9467, unit="%")),
    published=True,
)


def test_a_table_reads_like_this() -> None:
    assert table_text(table(OURS, THEIRS, notes=("Intervals after Wilson.",)), width=60) == (
        "表 1：噪声鲁棒性\n"
        "模型        语言              0         0.2         n\n"
        "─────────────────────────────────────────────────────\n"
        "通义千问    中文          80.00       70.00   300/300\n"
        "                      76.0–83.0   66.0–73.0\n"
        "\n"
        "ChatGPT †   English       96.33       94.67\n"
        "in %; 95% interval below; n: scored / total; † published\n"
        "figures, not measured here\n"
        "Intervals after Wilson.\n"
    )


def test_counts_are_in_each_cell_where_a_row_has_several() -> None:
    text = table_text(table(Row((Cell(text="m"), Cell(text="en"), share(0.8, 299), share(0.7, 300)))))
    assert re.search(r"299/300\s+300/300", text)


@pytest.mark.parametrize("width", [24, 40, 60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    columns = ("Model", "Language", *(f"{n / 10}" for n in range(11)))
    wide = table(
        Row((Cell(text="超长的模型名称" * 4), Cell(text="English"), *(share(n / 12) for n in range(11)))),
        columns=columns,
    )
    lines = table_text(wide, width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    if width >= 60:
        for n in range(11):
            assert sum(f"{n / 10}" in line.split() for line in lines) == 1


def test_colour_codes_only_where_they_are_asked_for() -> None:
    assert "\x1b" not in table_text(table(OURS, THEIRS))
    assert "\x1b[1m" in table_text(table(OURS, THEIRS), color=True)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_name_steers_the_terminal(payload: str) -> None:
    text = table_text(
        Table(
            payload, payload, (payload, "b"), (Row((Cell(text=payload), Cell(text=payload, note=payload))),), (payload,)
        )
    )
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
    text.encode()


def test_footnotes_come_in_chinese_too() -> None:
    assert "单位：%" in table_text(table(OURS, THEIRS), language="zh")


def test_numbers_without_a_unit_keep_their_meaning() -> None:
    cells = (Cell(value=1234567), Cell(value=0.0312), Cell(value=0.00001), Cell(value=0.0), Cell(text="–"))
    text = table_text(Table("t", "t", ("k", *"abcde"), (Row((Cell(text="x"), *cells)),)))
    assert re.search(r"x\s+1,234,567\s+0\.031\s+1\.0e-05\s+0\s+–", text)
