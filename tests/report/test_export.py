"""Exports: what other programs read, and that no spreadsheet runs what a model wrote."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.examples import naming
from tests.report.hostile import PAYLOADS, hostile_run
from tests.report.synthetic import SmallBenchmark, small_run

from ragstone.display import Cell, Row, Table
from ragstone.errors import MissingExtra, UnknownName, UsageError
from ragstone.report import FORMATS, export, is_export
from ragstone.report.records_table import columns_of, guarded
from ragstone.report.records_table import rows_of as flat_rows
from ragstone.structs import from_json
from ragstone.types import Record, Run

RUN = small_run(120)
TOTAL = 240


def written(format_: str, tmp_path: Path, *, hostile: bool = False, language: str = "en") -> Path:
    run, benchmark = hostile_run() if hostile else (RUN, SmallBenchmark())
    path = tmp_path / f"run{FORMATS[format_].suffix}"
    export(run, benchmark, format_, path, language=language)
    return path


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def test_csv_opens_in_excel_with_chinese_and_has_a_row_a_record(tmp_path: Path) -> None:
    path = written("csv", tmp_path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    heads, *rows = rows_of(path)
    assert len(rows) == TOTAL
    first = dict(zip(heads, rows[4], strict=True))
    assert first["question"] == "谁获得了2031年灯塔文学奖？（第4题）"
    assert first["condition.noise_ratio"] == "0.0"
    assert first["answer_match"] in ("0.0", "1.0")
    failed = next(row for row in rows if row[heads.index("error")])
    assert failed[heads.index("answer")] == ""


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=1+1", "'=1+1"), ("+1+1", "'+1+1"), ("-1+1", "'-1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"), ("  =1", "'  =1"), ("＝1", "'＝1"), ("-", "'-"), ("-3.5", "-3.5"), ("+12", "+12"),
        ("plain", "plain"), ("", ""), (-3.5, -3.5), (True, True), (None, None), ("a=1", "a=1"),
        ("-1e5|cmd", "'-1e5|cmd"),
    ],
)  # fmt: skip
def test_a_formula_gets_an_apostrophe_and_a_number_stays_one(cell: Any, safe: Any) -> None:
    assert guarded(cell) == safe


def test_no_cell_of_a_hostile_csv_begins_a_formula(tmp_path: Path) -> None:
    cells = [cell for row in rows_of(written("csv", tmp_path, hostile=True)) for cell in row]
    assert len(cells) > 1_000
    assert not [cell for cell in cells if cell.lstrip()[:1] in {"=", "+", "-", "@"}]
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)


def test_xlsx_keeps_numbers_guards_formulas_and_has_a_sheet_a_table(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(written("xlsx", tmp_path))
    assert book.sheetnames == ["noise", "failed", "records"]
    heads = [cell.value for cell in book["noise"][2]]
    assert heads[:7] == ["Model", "Language", "0", "low", "high", "scored", "total"]
    assert book["noise"][3][2].value == pytest.approx(0.92)
    assert book["records"].max_row == TOTAL + 1
    book = openpyxl.load_workbook(written("xlsx", tmp_path, hostile=True))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} <= {"s", "n", "b"}
    assert not [cell.value for cell in cells if isinstance(cell.value, str) and cell.value[:1] in {"=", "+", "-", "@"}]


def test_xlsx_goes_on_on_further_sheets_where_a_sheet_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    xlsx = pytest.importorskip("ragstone.report.xlsx")
    monkeypatch.setattr(xlsx, "_MOST_ROWS", 10)
    book = openpyxl.load_workbook(written("xlsx", tmp_path))
    sheets = [sheet for sheet in book if sheet.title.startswith("records")]
    assert [sheet.title for sheet in sheets[:3]] == ["records", "records 2", "records 3"]
    assert {sheet["A1"].value for sheet in sheets} == {"system"}
    assert [sheet.max_row - 1 for sheet in sheets[:-1]] == [10] * (len(sheets) - 1)
    assert sum(sheet.max_row - 1 for sheet in sheets) == TOTAL


def test_jsonl_gives_every_record_back(tmp_path: Path) -> None:
    for hostile in (False, True):
        run = hostile_run()[0] if hostile else RUN
        text = written("jsonl", tmp_path, hostile=hostile).read_text("utf-8")
        assert "谁获得了" in text or hostile
        lines = text.splitlines()
        assert [from_json(json.dumps(json.loads(line)["record"]), Record) for line in lines] == list(run.records())


def test_parquet_has_a_row_group_for_many_batches_not_one_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    writer = pytest.importorskip("ragstone.report.parquet")
    whole = parquet.read_table(written("parquet", tmp_path))
    monkeypatch.setattr(writer, "_BATCH", 2)
    assert parquet.ParquetFile(written("parquet", tmp_path)).num_row_groups == 1
    monkeypatch.setattr(writer, "_GROUP", 1)
    assert parquet.ParquetFile(written("parquet", tmp_path)).num_row_groups == -(-TOTAL // 2)
    assert parquet.read_table(written("parquet", tmp_path)).equals(whole)


def test_parquet_has_typed_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(written("parquet", tmp_path))
    assert table.num_rows == TOTAL
    kinds = {
        name: str(table.schema.field(name).type)
        for name in ("answer_match", "right", "condition.noise_ratio", "question")
    }
    assert kinds == {"answer_match": "double", "right": "bool", "condition.noise_ratio": "double", "question": "string"}
    assert parquet.read_table(written("parquet", tmp_path, hostile=True)).num_rows == 2 * len(PAYLOADS)


def test_junit_counts_wrong_answers_as_failures_and_failed_requests_as_errors(tmp_path: Path) -> None:
    root = ElementTree.parse(written("junit", tmp_path)).getroot()
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["local/extractive", "local/smollm2"]
    for suite in suites:
        assert int(suite.get("tests", 0)) == len(suite.findall("testcase")) == TOTAL // 2
        assert int(suite.get("failures", 0)) == len(suite.findall("testcase/failure")) > 0
        assert int(suite.get("errors", 0)) == len(suite.findall("testcase/error")) == 2
    error = suites[0].find("testcase/error")
    assert error is not None
    assert error.attrib == {"type": "timed_out", "message": "no complete reply within 120 s (case 13)"}


def test_junit_of_a_hostile_run_is_well_formed(tmp_path: Path) -> None:
    root = ElementTree.parse(written("junit", tmp_path, hostile=True)).getroot()
    assert len(root.findall(".//testcase")) == 2 * len(PAYLOADS)


def test_markdown_shows_tables_with_intervals_and_published_rows(tmp_path: Path) -> None:
    text = written("markdown", tmp_path).read_text("utf-8")
    assert "### Table 1: noise robustness (accuracy)" in text
    assert "| local/extractive | English | 92.00 (88.5–95.0, 297/300) |" in text
    assert "| ChatGPT *(published)* | English | 96.33 |" in text
    hostile = written("markdown", tmp_path, hostile=True).read_text("utf-8")
    assert "<script" not in hostile.replace("\\<", "")
    assert "](javascript" not in hostile.replace("\\]", "")


def test_latex_is_escaped(tmp_path: Path) -> None:
    text = written("latex", tmp_path).read_text("utf-8")
    assert "local/extractive & English & 92.00 {\\scriptsize 88.5--95.0, 297/300}" in text
    hostile = written("latex", tmp_path, hostile=True).read_text("utf-8")
    assert "\\frac" not in hostile
    assert "\\textbackslash{}frac\\{1\\}" in hostile


# What breaks LaTeX: commands, arguments, ligatures, a star after a line's end, marks that pdfLaTeX's fonts have not.
_UGLY = [
    "\\end{tabular}", "{", "}", "100%", "#1 & 2", "a_b^c~d", "$x$", "*star", "[opt]",
    '"quoted" `back\'tick', "?`!`--<<>>",
    "\\\\", "^^41", "≥ ≤ − × →", "café ÀÖØÝ ßñÿ ¡¿ §©¬®°±²³µ¶·¹º¼½¾ ¢£¥¨¯´¸ – — ‘’ “” † ‡ • …", "\x1b[0m\x00",
]  # fmt: skip
_UGLY_FAR = [*_UGLY, "模型 名称，（测试）", "🙂👩‍💻", "Привет العربية", "Ðþ «»", "\u202eevil", "\ue000\ud800"]


@dataclass(frozen=True)
class Ugly(SmallBenchmark):
    """Names that break LaTeX, in every place of a table."""

    names: tuple[str, ...] = ()

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        rows = tuple(
            Row(
                (Cell(text=name), Cell(text=name, value=0.5, low=0.4, high=0.6, unit="%", note=name), Cell(text="more"))
            )
            for name in self.names
        )
        return [Table(f"t{number}", name, (name, "value"), rows, (name,)) for number, name in enumerate(self.names)]


def latex_of(names: list[str]) -> str:
    stream = io.StringIO()
    export(RUN, Ugly(names=tuple(names)), "latex", stream)
    return stream.getvalue()


def test_the_first_line_of_latex_names_what_it_compiles_with() -> None:
    plain = [name for name in _UGLY if "\x1b" not in name]
    assert latex_of(plain).splitlines()[0] == "% Needs \\usepackage{booktabs,textcomp}."
    for name in [*_UGLY_FAR[len(_UGLY) :], "\x1b"]:
        first = latex_of([name]).splitlines()[0]
        assert first == "% Needs \\usepackage{booktabs,ctex} and XeLaTeX or LuaLaTeX.", name


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pdflatex", "xelatex", "lualatex"])
def test_latex_compiles_whatever_is_in_the_names(tmp_path: Path, engine: str) -> None:
    if shutil.which(engine) is None:
        pytest.skip(f"{engine} is not installed")
    body = latex_of([name for name in _UGLY if "\x1b" not in name] if engine == "pdflatex" else _UGLY_FAR)
    packages = re.match(r"% Needs (\\usepackage\{[a-z,]+\})", body)
    assert packages is not None
    document = f"\\documentclass{{article}}\n{packages[1]}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, timeout=240,
        check=False,
    )  # fmt: skip
    told = done.stdout.decode("utf-8", "replace")
    if missing := re.search(r"File `([a-z]+\.sty)' not found", told):
        pytest.skip(f"{missing[1]} is not installed")
    assert done.returncode == 0, told[-1500:]
    assert (tmp_path / "t.pdf").stat().st_size > 5_000


@pytest.mark.parametrize("hostile", [False, True])
def test_every_text_of_a_csv_is_quoted_and_reads_back_the_same(tmp_path: Path, hostile: bool) -> None:
    path = written("csv", tmp_path, hostile=hostile)
    text = path.read_bytes().decode("utf-8-sig")
    bare = re.sub('"(?:[^"]|"")*"', "", text)  # what is left are numbers, truth values and the marks between
    assert set(bare.replace("True", "").replace("False", "")) <= set(",\r\n0123456789.-+e")
    run, benchmark = hostile_run() if hostile else (RUN, SmallBenchmark())
    flat = columns_of(run)
    rows = [{name: guarded(value) for name, value in row.items()} for row in flat_rows(run, benchmark, flat, "en")]
    assert rows_of(path)[1:] == [["" if value is None else str(value) for value in row.values()] for row in rows]
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path, keep_default_na=False)
    assert list(frame["question"]) == [row["question"] for row in rows]


def test_an_unknown_format_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'parquet'"):
        export(RUN, SmallBenchmark(), "parket", io.StringIO())


def test_text_goes_to_either_kind_of_stream_and_binary_to_its_own() -> None:
    text, binary = io.StringIO(), io.BytesIO()
    export(RUN, SmallBenchmark(), "csv", text)
    export(RUN, SmallBenchmark(), "csv", binary)
    assert binary.getvalue().decode("utf-8") == text.getvalue()
    with pytest.raises(UsageError, match="binary"):
        export(RUN, SmallBenchmark(), "xlsx", io.StringIO())


def test_a_file_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere/run.csv: cannot be written \(No such file or directory\)"):
        export(RUN, SmallBenchmark(), "csv", tmp_path / "nowhere" / "run.csv")


def test_a_missing_library_is_reported_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ragstone.report.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"Parquet export needs pyarrow.*pip install 'ragstone\[files\]'"):
        export(RUN, SmallBenchmark(), "parquet", tmp_path / "run.parquet")
    assert not (tmp_path / "run.parquet").exists()


def test_every_format_knows_its_own_files_and_no_others(tmp_path: Path) -> None:
    for kind in FORMATS:
        with naming(kind):
            path = written(kind, tmp_path)
            assert path.stat().st_size == 0 or is_export(path) is bool(FORMATS[kind].mark)
    (tmp_path / "mine.md").write_text("### Notes\n\n| a |\n|---|\n")
    (tmp_path / "mine.csv").write_text("system,case\na,b\n")
    (tmp_path / "empty.csv").write_text("\n")
    assert [is_export(tmp_path / name) for name in ("mine.md", "mine.csv", "empty.csv")] == [False, False, True]
