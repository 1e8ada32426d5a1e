"""The templates of pages: each is a file that the code names, and each that is named is there."""

import re
from pathlib import Path

import pytest
from markupsafe import Markup

import ragstone
from ragstone.display import Cell, Row, Table
from ragstone.report.html import table_html
from ragstone.report.section import Canvas

SOURCE = Path(ragstone.__file__).parent
NAMED = re.compile(r'"(\w+/\w+\.html)"')


def test_every_template_is_named_by_the_code_and_every_named_one_is_there() -> None:
    named = {name for path in SOURCE.rglob("*.py") for name in NAMED.findall(path.read_text("utf-8"))}
    there = {f"{path.parts[-3]}/{path.name}" for path in SOURCE.glob("*/templates/*.html")}
    assert named == there
    assert len(there) > 50


@pytest.mark.parametrize("template", ["report/grid.html", "<b>{{ chart.title }}</b>"])
def test_values_are_escaped_in_files_and_in_texts_of_plugins(template: str) -> None:
    class Chart:
        title, categories = "<script>", ()

    html = Canvas("en").html(template, chart=Chart, rows=[], key="")
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert isinstance(html, Markup)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("run `a <b>` now", "run <code>a &lt;b&gt;</code> now"), ("a ` <b>", "a ` &lt;b&gt;"), ("<i>", "&lt;i&gt;")],
)
def test_a_command_in_a_sentence_is_code_and_all_of_it_is_escaped(text: str, shown: str) -> None:
    assert Canvas("en").html("{{ text | coded }}", text=text) == shown


@pytest.mark.parametrize("name", ["items", "get", "__class__"])
def test_a_key_that_is_called_as_a_method_of_python_is_no_link(name: str) -> None:
    table = Table("t", "T", ("Sample", "n"), (Row((Cell(name), Cell("1"))), Row((Cell("q1"), Cell("2")))))
    assert re.findall(r'href="([^"]*)"', table_html(Canvas("en"), table, {"q1": "#c1"})) == ["#c1"]
