"""Whole pages, charts, tables and exports, figure by figure: what is computed for them may not change unseen."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.golden import figures, golden, markup
from tests.report.synthetic import META, MemoryRun, SmallBenchmark, records, small_run
from tests.report.synthetic_judged import JudgedBenchmark, judged_run

import ragstone
from ragstone.display import Cell, Chart, Diagnosis, Point, Row, Series, Span, Table
from ragstone.messages import messages
from ragstone.report import export, render
from ragstone.report.charts import chart_svg
from ragstone.report.html import figure_html
from ragstone.report.metadata import flattened
from ragstone.report.section import Canvas
from ragstone.report.text import table_text
from ragstone.types import Record, Run, Score

RUN = small_run(104)


def page(document: str) -> str:
    """A page without its version and the hash of its style sheet, which says nothing of what it shows."""
    return markup(re.sub(r"sha256-[\w+/=]+", "sha256-(hash)", document.replace(ragstone.__version__, "(version)")))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_of_a_run(language: str) -> None:
    golden(f"report/page.{language}", page(render(RUN, SmallBenchmark(), language=language, cases_shown=6)))


@pytest.mark.parametrize("files", [{"en": "9f2c" * 16}, "41ab" * 16], ids=["one named", "one"])
def test_the_only_hash_of_the_data_is_shown_without_a_name(files: object) -> None:
    question = {**META["question"], "data": {"name": "mine", "sha256": files}}
    document = render(small_run(2, meta={**META, "question": question}), SmallBenchmark())
    (shown,) = {files if isinstance(files, str) else "9f2c" * 16}
    assert f"  {shown}" not in document.partition("Reproduc")[0]
    assert f">{shown}<" in document


def test_settings_are_shown_eight_deep_and_two_hundred_long() -> None:
    deep: object = "the bottom"
    for at in range(12):
        deep = [{"x": 1}, deep] if at % 2 else {"a": deep}
    found = flattened(
        {"deep": deep, "list": [1, 2.5, None, "t", True], "none": None, "empty": [], "of": {"b": {"c": 0}}}
    )
    golden("report/settings", "\n".join(f"{name}: {text}" for name, text in found.items()))
    assert len(flattened({str(at): at for at in range(199)})) == 199
    assert list(flattened({str(at): at for at in range(201)}))[-1] == "…"
    assert "…" not in flattened({str(at): at for at in range(200)})


def test_the_page_of_judged_answers() -> None:
    golden("report/judged", page(render(judged_run(8), JudgedBenchmark(), cases_shown=5)))


CHARTS = (
    *SmallBenchmark().charts(small_run(40)),
    Chart("many", "Many of both", "lines", tuple(
        Series(f"series {n}",
               tuple(Point(x, 0.03 * n + x / 4000, 0.01 * n, 0.05 * n + 0.3) for x in range(0, 1200, 90)),
               published=n % 4 == 3)
        for n in range(9)
    ), x_label="tokens", y_label="share"),
    Chart("one", "One point", "lines", (Series("s", (Point(3.0, 0.5),)),)),
    Chart("none", "No point", "lines", (Series("s", ()),)),
    Chart("bars", "Bars", "bars", (
        Series("a", (Point(0, 0.25, 0.1, 0.4), Point(2, 1.0))), Series("b", (Point(1, 0.0), Point(2, 0.5, 0.5, 0.5))),
        Series("paper", (Point(0, 0.75),), published=True),
    ), categories=("first", "second", "a third with a name that is far too long for its place in the picture")),
    Chart("heat", "Heat", "heatmap", (
        Series("0", (Point(0, 0.0), Point(1, 0.5), Point(2, 1.0))), Series("50", (Point(0, 0.84), Point(2, 0.86))),
    ), categories=("1k", "2k", "4k"), x_label="length", y_label="depth"),
    *(Chart("stacked", "Stacked", "bars", tuple(
        Series(name, tuple(Point(at, unit * value) for at, value in enumerate(values)))
        for name, values in (("a", (0.5, 0.25, 0.0)), ("b", (0.3, 0.5)), ("c", (0.2, 0.25, 1.0)))
    ), categories=("first", "second"), stacked=True, percent=unit == 1) for unit in (1, 40)),
    *(Chart("plain", "Not shares", kind, (
        Series("a", (Point(1, -2.5, -4, -1), Point(2, 12.25, 11, 13), Point(4, 30))), Series("b", (Point(1, 3.0),)),
    ), categories=("first",), percent=False, x_label="step", y_label="seconds")
      for kind in ("lines", "bars", "heatmap")),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(CHARTS)))
def test_a_chart(number: int) -> None:
    chart = CHARTS[number]
    made = figure_html(Canvas("en"), chart, 0) if chart.kind == "heatmap" else chart_svg(chart, prefix="c")
    golden(f"report/chart-{number}", markup(str(made)))


WIDE = Table(
    "wide", "A table of all there is", ("System", "Language", *(f"Column {n}" for n in range(9)), "Remark"),
    tuple(
        Row((
            Cell(f"system-{n}" * (n + 1)), Cell("中文" if n % 2 else "English"),
            *(Cell(value=(n + at) / 16, low=(n + at) / 20 if at % 3 else None, high=(n + at) / 12 if at % 3 else None,
                   scored=10 + n, total=20 + n + at % 2, unit="%" if at < 5 else "") for at in range(8)),
            Cell("plain", note="noted"), Cell("of several words that are longer than any column should be " * n),
        ), published=n == 2)
        for n in range(4)
    ), notes=("A note of the table.",), keys=2,
)  # fmt: skip
COUNTED = Table("counted", "Counts that a row shares", ("System", "A", "B"), (
    Row((Cell("x"), Cell(value=0.125, scored=3, total=8), Cell(value=0.5, scored=3, total=8))),
    Row((Cell("y"), Cell(value=-2.0, low=-3.5, high=1e-4, scored=5, total=5), Cell())),
), keys=1)  # fmt: skip


@pytest.mark.parametrize("width", [20, 60, 100, 200])
def test_a_table_in_a_terminal(width: int) -> None:
    tables = [WIDE, COUNTED, Table("empty", "Without rows", ("A", "B"), ())]
    told = []
    for table in tables:
        for language in ("en", "zh"):
            text = table_text(table, width=width, language=language)
            for key, words in messages("ragstone.report.text", language).items():
                text = text.replace(words, f"<{key}>")
            told.append(text)
    golden(f"report/text-{width}", "\n".join([*told, repr(table_text(COUNTED, width=width, color=True))]))


@pytest.mark.parametrize("format_", ["csv", "jsonl", "junit", "markdown", "latex"])
def test_an_export_of_text(format_: str) -> None:
    stream = io.StringIO()
    export(small_run(9), SmallBenchmark(), format_, stream)
    golden(f"report/export-{format_}", stream.getvalue().replace("\r\n", "\n").removeprefix("\ufeff"))


def test_an_export_to_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    export(small_run(9), SmallBenchmark(), "xlsx", tmp_path / "a.xlsx", language="zh")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    lines = []
    for sheet in book:
        lines.append(
            f"sheet {sheet.title}: {sheet.dimensions}, frozen at {sheet.freeze_panes}, filter {sheet.auto_filter.ref}"
        )
        lines += [f"{key}: {one.width}" for key, one in sorted(sheet.column_dimensions.items())]
        lines += [" | ".join(f"{cell.data_type}:{figures(str(cell.value))}:{cell.number_format}:{cell.font.bold}"
                             for cell in row) for row in sheet.iter_rows()]  # fmt: skip
    golden("report/export-xlsx", "\n".join(lines))


def test_an_export_to_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export(small_run(9), SmallBenchmark(), "parquet", tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet")
    lines = [f"{field.name}: {field.type}" for field in table.schema]
    golden("report/export-parquet", "\n".join([*lines, *map(str, table.to_pylist())]))


class OfTables(SmallBenchmark):
    """Tables with cells of every kind; and answers with more marks than anybody wants to see."""

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return [WIDE, COUNTED, Table("empty", "Without rows", ("A", "B"), ())]

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        spans = [Span("answer", 2 * at, 2 * at + 1, ("match", "wrong", "refusal")[at % 3]) for at in range(300)]
        return Diagnosis(False, "all", "wrong", "wrong", "so it is", 1.0, tuple(spans))


@pytest.mark.parametrize("format_", ["markdown", "latex"])
def test_tables_of_all_kinds_of_cells_as_text(format_: str) -> None:
    stream = io.StringIO()
    export(small_run(1), OfTables(), format_, stream)
    golden(f"report/cells-{format_}", stream.getvalue())


def test_tables_of_all_kinds_of_cells_in_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    export(small_run(1), OfTables(), "xlsx", tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    cells = [cell for sheet in book.worksheets[:-1] for row in sheet.iter_rows() for cell in row]
    lines = [f"{one.parent.title} {one.coordinate} {one.value!r} {one.number_format}" for one in cells]
    golden("report/cells-xlsx", figures("\n".join(lines)))


def test_tables_of_all_kinds_of_cells_and_many_marks_on_a_page() -> None:
    def make() -> Iterator[Record]:
        for record in records(1, ("s",)):
            assert record.response is not None
            answer = "".join(chr(97 + at % 26) for at in range(900))
            yield msgspec.structs.replace(record, response=msgspec.structs.replace(record.response, answer=answer))

    golden("report/cells-page", page(render(MemoryRun(make, META, {"s": {}}), OfTables(), cases_shown=1)))


def test_failed_and_not_applicable_scores_are_distinguished() -> None:
    def make() -> Iterator[Record]:
        for record in records(1, ("s",)):
            more = {
                "late": Score.failed("timed out"),
                "never": Score.not_applicable("no references"),
                "right": Score.of(0.0),
            }
            yield msgspec.structs.replace(record, scores={**record.scores, **more})

    document = render(MemoryRun(make, META, {"s": {}}), OfTables(), cases_shown=1)
    told = " ".join(re.sub(r"<[^>]+>", " ", document).split())
    assert re.search(r"late not scored timed out\b", told)
    assert re.search(r"never not applicable\b", told)
