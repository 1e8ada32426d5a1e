"""What type checkers and callers see of the public functions, and what a result looks like."""

import builtins
import inspect
from pathlib import Path
from typing import Any

import pytest
from mypy import api as mypy
from rich.console import Console

import ragstone
from ragstone import bench, compare, evaluate
from ragstone.api import check_gates, read_run
from ragstone.display import Cell, Row, Table
from ragstone.engine.public_functions import blocking
from ragstone.errors import UnknownName
from ragstone.evaluation.results import import_results
from ragstone.report.notebook import table_snippet

ROWS = [{"question": "Who won?", "answer": "Norway <b>won</b>", "reference": "Norway"}]
OF_THE_COMMAND_LINE = {"command", "prepared", "progress", "stop", "shell"}


@pytest.mark.slow
def test_type_checkers_see_what_the_blocking_functions_take(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import ragstone\n"
        "reveal_type(ragstone.evaluate)\n"
        "reveal_type(ragstone.bench)\n"
        "reveal_type(ragstone.compare)\n"
        "ragstone.evaluate([], repeat='twice')\n"
        "ragstone.evaluate([], judges='x')\n"
    )
    told, _, code = mypy.run(["--strict", "--follow-imports=silent", str(program)])
    lines = [line.partition("program.py:")[2] for line in told.splitlines() if "program.py:" in line]
    assert code == 1
    assert "*Any" not in told
    assert "metrics: str | typing.Sequence[str |" in lines[0].replace("Union[", "").replace("builtins.", "")
    assert "EvalResult" in lines[0]
    assert "BenchResult" in lines[1]
    assert "Comparison" in lines[2]
    assert any('"repeat" to "evaluate' in line or "Argument" in line for line in lines[3:4])
    assert any("Unexpected keyword argument" in line for line in lines[4:])


@pytest.mark.parametrize("function", [bench, evaluate, ragstone.bench_async, ragstone.evaluate_async, compare])
def test_what_only_the_command_line_uses_is_no_parameter(function: Any) -> None:
    assert set(inspect.signature(function).parameters) & OF_THE_COMMAND_LINE == set()


@pytest.mark.parametrize(
    ("function", "given", "wrong", "nearest"),
    [
        (evaluate, (ROWS,), "metric", "metrics"),
        (evaluate, (ROWS,), "qrel", "qrels"),
        (bench, ("rgb",), "abilitys", "abilities"),
        (compare, ("a.run",), "wher", "where"),
        (check_gates, ("a.run",), "gate", "gates"),
        (read_run, ("a.run",), "bench", "benchmark"),
        (import_results, ("niah", [], "a.run"), "shel", "shell"),
    ],
)
def test_an_option_that_there_is_not_is_refused_with_the_nearest(
    function: Any, given: tuple[Any, ...], wrong: str, nearest: str
) -> None:
    with pytest.raises(UnknownName) as caught:
        function(*given, **{wrong: 1})
    assert caught.value.suggestion == nearest
    assert "\n" not in str(caught.value)


async def test_the_async_form_refuses_it_too() -> None:
    wrong: dict[str, Any] = {"metric": "x"}
    with pytest.raises(UnknownName, match="option of evaluate"):
        await ragstone.evaluate_async(ROWS, **wrong)


def test_a_result_shows_its_scores_as_a_table(tmp_path: Path) -> None:
    result = evaluate(ROWS, ["token_f1", "exact_match"], run=tmp_path / "a.run")
    lines = repr(result).splitlines()
    assert any("token_f1" in line for line in lines)
    assert lines[-1] == f"Run file: {tmp_path / 'a.run'}"
    html = result._repr_html_()
    assert html.startswith("<p><strong>data: 0 of 1 answers are right")
    assert html.index("<pre>") < html.index("●") < html.index("</pre>") < html.index("<table><caption>")
    assert html.endswith(f"<p>{lines[-1]}</p>")
    with read_run(result.run) as opened:
        assert (repr(opened), opened._repr_html_()) == (repr(result), html)
    assert repr(opened) == f"Run file, closed: {result.run}"
    tables: Any = result.tables()
    assert repr(tables).splitlines()[0] == repr(tables[0]).splitlines()[0] == "Scores"
    assert tables._repr_html_().startswith(tables[0]._repr_html_())
    hostile = table_snippet(Table("t", "<i>title</i>", ("a & b",), (Row((Cell("<b>x</b>", 0.5, 0.4, 0.6, 1, 2),)),)))
    assert "&lt;i&gt;title" in hostile
    assert "a &amp; b" in hostile
    assert "<td>&lt;b&gt;x&lt;/b&gt;<br>0.500<br>0.400–0.600<br>1/2</td>" in hostile


def test_runs_that_are_compared_and_followed_show_their_verdict_picture_and_table(tmp_path: Path) -> None:
    runs = [tmp_path / "a.run", tmp_path / "b.run"]
    for run, answer in zip(runs, ("It is 5 m.", "4"), strict=True):
        rows = [{"question": f"How tall {n}?", "answer": answer, "reference": "5 m"} for n in range(12)]
        evaluate(rows, ["answer_match"], run=run)
    for found, sign, title in ((compare(*runs), "●", "against"), (ragstone.trend(runs), "█", "answer_match")):
        html = found._repr_html_()
        assert html.startswith("<p><strong>answer_match fell")
        assert html.index("<pre>") < html.index(sign) < html.index("</pre>") < html.index("<table><caption>")
        assert title in html
        assert repr(found).startswith("answer_match fell")


class ZMQInteractiveShell:
    """What `rich` takes for a kernel."""


def test_in_a_notebook_a_result_displays_nothing_beside_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = evaluate(ROWS, ["token_f1"], run=tmp_path / "a.run")
    before = repr(result)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert Console().is_jupyter
    assert repr(result) == before


def test_so_does_the_result_of_a_benchmark(tmp_path: Path) -> None:
    result = bench(
        "rgb", model="local/extractive", data_languages="en", limit=1, fictional_size=2, run=tmp_path / "a.run"
    )
    assert "extractive" in repr(result)
    assert "extractive" in result._repr_html_()


def test_the_blocking_form_does_not_compute_how_its_result_looks() -> None:
    class Result:
        shown = 0

        def __repr__(self) -> str:
            self.shown += 1
            return "Result()"

    async def make() -> Result:
        return Result()

    assert blocking(make, name="make")().shown == 0
