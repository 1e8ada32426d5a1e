"""The opening in a terminal: the verdict first, then a picture in characters, then what to do; cheap to compute."""

from collections import Counter
from pathlib import Path

import pytest
from rich.cells import cell_len

from ragstone import bench
from ragstone.api import read_run
from ragstone.display import Chart, Dot, Point, Series, Summary
from ragstone.messages import messages
from ragstone.report.chart_text import chart_lines
from ragstone.report.digest import AnswerCounts, Digest, SystemDigest
from ragstone.report.opening import opening
from ragstone.report.opening_text import opening_text


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opening") / "rgb.run"
    bench("rgb", model="local/extractive", run=path, limit=8)
    return path


def opening_of(path: Path, language: str = "en", width: int = 100) -> str:
    with read_run(path) as run:
        charts = run.leading_charts(language=language)
        return opening_text(run.summaries(language=language), charts, width=width, language=language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_terminal_opens_with_the_verdict_then_the_picture_then_the_causes(run_file: Path, language: str) -> None:
    text = opening_of(run_file, language)
    assert text.startswith("extractive")
    heading = {"en": "Most frequent causes", "zh": "最常见的错因"}[language]
    assert text.index("█") < text.index(heading)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_of_the_opening_is_wider_than_the_terminal(run_file: Path, width: int) -> None:
    for language in ("en", "zh"):
        assert max(cell_len(line) for line in opening_of(run_file, language, width).splitlines()) <= width


def test_counting_causes_finds_those_that_an_explanation_names(run_file: Path) -> None:
    with read_run(run_file) as run:
        for record in run.run.records():
            counted, explained = run.benchmark.classify(record), run.benchmark.explain(record)
            for name in ("right", "group", "cause", "label", "weight"):
                assert getattr(counted, name) == getattr(explained, name), record.case.id


def down(question: str, passages: list[str]) -> str:
    raise ConnectionError("no route to host")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_run_without_answers_says_so_as_its_verdict(tmp_path: Path, language: str) -> None:
    path = tmp_path / "down.run"
    bench("rgb", system=down, run=path, limit=1, abilities=("rejection",), data_languages=("en",))
    first = opening_of(path, language).splitlines()[0]
    assert first.startswith(
        {"en": "No answer was received: 1 of 1 requests failed", "zh": "没有收到任何答案"}[language]
    )
    with read_run(path) as run:
        page = run.write_report(tmp_path / "r.html", language=language).read_text(encoding="utf-8")
    verdict = page.split('class="verdict')[1]
    assert first[:20] in verdict.split("</p>")[0]


def grid(*rows: tuple[str, list[float]]) -> Chart:
    series = tuple(
        Series(name, tuple(Point(float(at), value) for at, value in enumerate(values))) for name, values in rows
    )
    return Chart("g", "Right answers", "grid", series, categories=("bm25", "hybrid"))


def test_the_best_cell_of_a_grid_is_marked() -> None:
    lines = chart_lines(grid(("a", [0.5, 0.75]), ("b", [0.25, 0.5])))
    assert lines[0] == "Right answers"
    assert [line for line in lines if "▶ 75%" in line]
    assert sum("▶" in line for line in lines[:-1]) == 1


def test_a_heat_map_is_drawn_from_empty_to_full_and_what_was_not_measured_is_marked() -> None:
    series = (Series("0%", (Point(0, 0.0), Point(1, 1.0))), Series("100%", (Point(0, 0.5),)))
    chart = Chart("h", "Found", "heatmap", series, "tokens", categories=("1k", "2k"))
    lines = chart_lines(chart)
    assert lines[1] == "  0%    ··██"
    assert lines[2].rstrip() == "  100%  ▒▒"
    assert "tokens: 1k … 2k" in lines[3]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_map_of_differences_shows_the_sign_and_the_size_of_each(language: str) -> None:
    series = (Series("0%", (Point(0, 0.0), Point(1, 1.0), Point(2, -0.5))), Series("100%", (Point(0, -1.0),)))
    chart = Chart("h", "B − A", "heatmap", series, "tokens", categories=("1k", "2k", "4k"), signed=True)
    lines = chart_lines(chart, language=language)
    assert lines[1] == "  0%    ··+█−▒"
    assert lines[2].rstrip() == "  100%  −█"
    assert {"en": "+ more", "zh": "+ 更多"}[language] in lines[-1]


def dotted(*dots: Dot, width: int) -> list[str]:
    return opening_text({"": Summary("", "A is better.", dots=dots)}, width=width).splitlines()


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("label", ["correctness", "上下文不敏感性", "a rubric of my own with a very long name, " * 3])
def test_no_line_of_dots_is_wider_than_the_terminal(width: int, label: str) -> None:
    dots = (
        Dot(label, 1.0, 0.5, 1.0, "1.00 [0.50, 1.00]", gate=1.0),
        Dot(label, 0.0, 0.0, 0.25, "0.00 [0.00, 0.25]", lower=True),
    )
    lines = dotted(*dots, width=width)
    assert max(map(cell_len, lines)) <= width
    assert sum("●" in line for line in lines) == 2


def test_a_difference_stands_left_or_right_of_nothing() -> None:
    dots = (
        Dot("a", -0.5, -0.8, -0.2, "−0.50", signed=True),
        Dot("b", -0.5, -0.8, -0.2, "−0.50", lower=True, signed=True),
    )
    worse, better = (line for line in dotted(*dots, width=80) if "●" in line)
    assert worse.index("●") < worse.index("|")
    assert better.index("●") > better.index("|")


def test_curves_over_different_axes_are_left_to_the_page() -> None:
    curves = (Series("a", (Point(1, 0.5), Point(2, 0.6))), Series("b", (Point(3, 0.5),)))
    assert chart_lines(Chart("c", "Cost", "lines", curves)) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_frequent_cause_comes_with_what_to_try(run_file: Path, language: str) -> None:
    with read_run(run_file) as run:
        texts = messages(type(run.benchmark).__module__, language)
        actions = [action for summary in run.summaries(language=language).values() for action in summary.actions]
    advice = [text for key, text in texts.items() if key.startswith("try_")]
    assert actions
    assert any(action.text.endswith(tuple(advice)) for action in actions)


@pytest.mark.parametrize("name", ["rgb", "mirage", "niah"])
def test_advice_is_about_causes_that_exist(name: str) -> None:
    texts = messages(f"ragstone.benchmarks.{name}.diagnosis", "en")
    tried = {key.removeprefix("try_").removesuffix("_extractive") for key in texts if key.startswith("try_")}
    assert tried
    assert {f"cause_{cause}" for cause in tried} <= {*texts}


def test_the_kinds_of_a_cause_count_together_and_lead_to_the_cases_of_all(run_file: Path) -> None:
    kinds = {"wrong_passage_related": 3, "wrong_passage_rumour": 3, "wrong_passage": 1}
    found = SystemDigest(AnswerCounts(wrong=17), causes={"g": Counter({"ignored": 5, "wrong_detail": 4, **kinds})})
    with read_run(run_file) as run:
        summaries = opening(run.run, run.benchmark, lambda: Digest({"local/extractive": found}, {}, []))
    first, second, _ = summaries[""].actions
    assert first.text.startswith("followed a passage without the answer: 7 of 17 wrong answers")
    assert first.cause == ("local/extractive", *kinds)
    assert second.cause == ("local/extractive", "ignored")
