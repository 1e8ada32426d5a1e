"""What a report opens with: the verdict, the picture of its kind, what to check, then cases, tables and how it was
made; on one screen, in both languages, and in the same words in the terminal."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.report.conftest import Open
from tests.report.synthetic import SYSTEMS, MemoryRun, SmallBenchmark, small_run
from tests.report.test_page import text_of

from ragstone import bench, evaluate
from ragstone.analysis.flips import Gain
from ragstone.api import read_run
from ragstone.display import Dot, Summary
from ragstone.messages import messages
from ragstone.report import render
from ragstone.report.digest import digest
from ragstone.report.opening import better_line, opening
from ragstone.report.opening_text import opening_text
from ragstone.report.section import Canvas
from ragstone.report.sections.opening import dots_html
from ragstone.types import Record, Run, Score

KINDS = ("rgb", "mirage", "niah", "eval")
ROWS = [
    {"id": f"q-{number}", "question": f"Where is stone {number}?", "answer": f"In room {number % 4}.",
     "ground_truth": f"In room {number % 3}.", "contexts": ["The stones are in rooms."]}
    for number in range(12)
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small run of each kind."""
    folder = tmp_path_factory.mktemp("runs")
    replies = folder / "m.jsonl"
    replies.write_text('{"default": "It was Tuesday."}')
    models = ["local/extractive", f"scripted/{replies}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        bench("rgb", model=models, run=folder / "rgb.run", limit=6)
        bench("mirage", model=models, run=folder / "mirage.run", retrievers=("bm25",), ks=(1, 3), fictional_size=8)
        bench("niah", model=models[:1], run=folder / "niah.run", lengths=(600, 900), depths=(0, 50, 100))
        evaluate(ROWS, metrics=["exact_match", "token_f1", "rouge_l"], gates={"token_f1": 0.9}, run=folder / "eval.run")
        few = [{**row, "ground_truth": row["answer"] if number else "elsewhere"} for number, row in enumerate(ROWS[:5])]
        evaluate(few, metrics=["token_f1"], gates={"token_f1": 0.9}, run=folder / "open.run")
        evaluate(ROWS, metrics=["rouge_l"], run=folder / "unknown.run")
        evaluate(ROWS, metrics=["exact_match"], run=folder / "known.run")
    return {kind: folder / f"{kind}.run" for kind in KINDS}


def page_of(path: Path, folder: Path, language: str = "en") -> str:
    with read_run(path) as run:
        return run.write_report(folder / "r.html", language=language).read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_screen_has_the_verdict_and_the_picture_and_nothing_is_clipped(
    runs: dict[str, Path], opened: Open, tmp_path: Path, kind: str, language: str, width: int, height: int
) -> None:
    seen = opened(page_of(runs[kind], tmp_path, language), width=width, scheme="dark")
    page = seen.page
    verdict = page.locator(".verdict").first.bounding_box()
    assert verdict["y"] + verdict["height"] < height / 2
    assert page.locator(".opening figure, .opening .dots").first.bounding_box()["y"] < height
    for heading in page.locator(".opening .do h3").all():
        assert heading.bounding_box()["y"] < height
    shown = page.evaluate(
        "[...document.querySelectorAll('main *')]"
        f".filter(e => e.getBoundingClientRect().top < {height} && e.checkVisibility())"
        ".map(e => e.childElementCount ? '' : e.textContent).join(' ')"
    )
    assert not re.search(r"[0-9a-f]{32}", shown)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    clipped = "t => t.scrollWidth > t.clientWidth + 1 && getComputedStyle(t).overflowX != 'auto'"
    assert page.evaluate(f"[...document.querySelectorAll('.scroll, figure, .opening')].filter({clipped}).length") == 0
    assert seen.quiet(), (seen.console, seen.requests)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_verdict_picture_cases_tables_and_how_it_was_made(
    runs: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    main = page_of(runs[kind], tmp_path).split("<main")[1]
    parts = ['class="verdict', 'class="opening', 'class="case', ">Tables</h2>", 'id="made"']
    if kind == "niah":
        parts.remove('class="case')  # the extractive model finds every needle
    places = [main.index(part) for part in parts]
    assert places == sorted(places)
    made = main[main.index('id="made"') :]
    assert made.startswith('id="made"><details class="made"><summary>')
    assert "How to reproduce" in made


@pytest.mark.parametrize("kind", KINDS)
def test_every_link_of_the_page_has_its_place_and_cards_carry_the_users_own_ids(
    runs: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    html = page_of(runs[kind], tmp_path)
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len({*ids})
    assert {*re.findall(r'href="#([^"]+)"', html)} <= {*ids}
    opening = html.split('class="opening')[1].split("</section>")[0]
    if kind != "niah":
        assert re.search(r'href="#case-', opening)
    if kind == "eval":
        assert "case-q-3" in ids
        assert ">q-3</bdi>" in html


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_terminal_opens_with_the_sentences_of_the_page(
    runs: dict[str, Path], tmp_path: Path, kind: str, language: str
) -> None:
    page = text_of(page_of(runs[kind], tmp_path, language))
    with read_run(runs[kind]) as run:
        summaries = run.summaries(language=language)
        printed = opening_text(summaries, run.leading_charts(language=language), width=100_000, language=language)
    sentences = [line for summary in summaries.values() for line in summary.verdict.splitlines()]
    assert sentences
    for sentence in sentences:
        assert sentence in printed
        assert sentence in page


def test_a_metric_below_its_gate_is_marked_and_its_worst_cases_are_linked(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    html = page_of(runs["eval"], tmp_path)
    items = html.split('class="fall dots"')[1].split("</ol>")[0].split("</li>")
    (f1,) = (item for item in items if "<bdi>token_f1</bdi>" in item)
    assert 'class="gate"' in f1
    assert "✗ misses the gate" in text_of(f1)
    assert 'href="#case-q-' in f1
    with read_run(runs["eval"]) as run:
        *_, summary = run.summaries().values()
        assert "●" in opening_text({"": summary})
        lines = opening_text({"": summary}).splitlines()
        assert any("|" in line for line in lines if line.startswith("token_f1"))
        assert "| threshold of the gate" in lines


def test_a_gate_that_an_interval_contains_is_not_marked_as_missed(runs: dict[str, Path], tmp_path: Path) -> None:
    text = text_of(page_of(runs["eval"].with_name("open.run"), tmp_path))
    assert "✗" not in text
    assert "not known yet whether" in text


def test_the_best_cell_of_the_grid_is_outlined(runs: dict[str, Path], tmp_path: Path) -> None:
    html = page_of(runs["mirage"], tmp_path)
    grid = html.split('class="grid"')[1].split("</table>")[0]
    shares = [int(share) for share in re.findall(r"<b>(\d+)%</b>", grid)]
    best = [int(share) for share in re.findall(r'best"><b>(\d+)%</b>', grid)]
    assert best
    assert {*best} == {max(shares)}


def paired(n: int, differ: int) -> MemoryRun:
    """Two systems with the same questions, of which the first has `differ` more right."""

    def made() -> list[Record]:
        base = [record for record in small_run(4 * n).records() if record.response is not None][:n]
        return [
            replace(
                record, system_id=system,
                case=replace(record.case, id=f"{number}", sample=replace(record.case.sample, id=f"s{number}")),
                scores={"answer_match": Score.of(float(number % 2 == 0 or (at == 0 and number < 2 * differ)))},
            )
            for at, system in enumerate(SYSTEMS) for number, record in enumerate(base)
        ]  # fmt: skip

    return MemoryRun(made, {}, {name: {} for name in SYSTEMS})


def test_of_two_systems_the_better_is_named_or_the_number_of_questions_that_would_tell() -> None:
    clear = text_of(render(paired(60, 20), SmallBenchmark()))
    assert re.search(r"extractive gives more right answers than smollm2: by 33 points \[\d+, \d+\]", clear)
    unclear = text_of(render(paired(40, 2), SmallBenchmark()))
    found = re.search(r"cannot tell yet .* over 40 questions; this difference needs about (\d+)", unclear)
    assert found
    assert int(found[1]) > 40


@pytest.mark.parametrize(
    ("difference", "low", "high", "shown"),
    [
        (0.0001, -0.0003, 0.0006, "0.01 points [−0.03, 0.06]"),
        (0.02, -0.0004, 0.05, "2.0 points [0.0, 5.0]"),
        (0.33, -0.58, 0.94, "33 points [−58, 94]"),
    ],
)
def test_a_tiny_difference_is_not_shown_as_none(difference: float, low: float, high: float, shown: str) -> None:
    gain = Gain(100, 0.5, 0.5 + difference, difference, low, high, 100, 1000, 1.0)
    assert shown in better_line(gain, ("b", "a"), messages("ragstone.report.opening", "en"))


def test_a_page_is_headed_by_the_name_that_people_know(runs: dict[str, Path], tmp_path: Path) -> None:
    heads = {kind: re.search(r"<h1[^>]*>(?:<bdi>)?([^<]*)", page_of(runs[kind], tmp_path)) for kind in KINDS}
    named = {kind: head and head[1] for kind, head in heads.items()}
    assert named == {"rgb": "RGB", "mirage": "MIRAGE", "niah": "Needle in a haystack", "eval": "Scored answers"}


@pytest.mark.parametrize("kind", ["rgb", "mirage"])
def test_a_benchmark_compares_systems_by_its_own_cells_and_nothing_pools_them(
    runs: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    text = text_of(page_of(runs[kind], tmp_path))
    assert ("No ability shows a difference between extractive and m." if kind == "rgb" else "Best pair: ") in text
    assert "more right answers" not in text


@pytest.mark.parametrize(("questions", "differ"), [(2, 0), (19, 6)])
def test_over_fewer_than_twenty_questions_no_system_leads(questions: int, differ: int) -> None:
    text = text_of(render(paired(questions, differ), SmallBenchmark()))
    assert "Too few questions" not in text
    assert "more right answers" not in text
    assert "No difference is seen between " in text_of(render(paired(200, 0), SmallBenchmark()))


def test_two_systems_that_share_fewer_than_twenty_questions_are_not_compared() -> None:
    def shared(n: int) -> MemoryRun:
        """Two systems with 40 answers each, of which n are to the same questions; the first has all right."""

        def made() -> Iterator[Record]:
            for record in paired(40 + 40 - n, 0).records():
                first, number = record.system_id == SYSTEMS[0], int(record.case.id)
                if number < 40 if first else number >= 40 - n:
                    yield replace(record, scores={"answer_match": Score.of(float(first))})

        return MemoryRun(made, {}, {name: {} for name in SYSTEMS})

    assert "more right answers than" in text_of(render(shared(20), SmallBenchmark()))
    assert "more right answers" not in text_of(render(shared(19), SmallBenchmark()))


class Told(SmallBenchmark):
    """A benchmark with a sentence on each system."""

    def summary(self, run: Run, /, *, language: str = "en") -> dict[str, Summary]:
        return {system: Summary("", f"{system} answers.") for system in run.systems}


def test_a_system_that_answered_few_questions_comes_last_however_good() -> None:
    def made() -> Iterator[Record]:
        few = (one for one in paired(30, 0).records(system=SYSTEMS[0]) if int(one.case.id) in (0, 2))  # all right
        return iter([*few, *paired(30, 0).records(system=SYSTEMS[1])])

    run = MemoryRun(made, {}, {name: {} for name in SYSTEMS})
    found = opening(run, Told(), lambda: digest(run, Told(), language="en", cases_shown=0, by_sample=True))
    assert [name for name in found if name] == [SYSTEMS[1], SYSTEMS[0]]


def test_links_to_cases_without_an_id_show_the_beginning_of_their_question(tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "id"} for row in ROWS[:4]]
    with ThreadPoolExecutor(1) as thread:  # a browser test before this one may have left its event loop running here
        thread.submit(evaluate, rows, metrics=["answer_match"], run=tmp_path / "e.run").result()
    links = re.findall(r'<a href="#case-[^"]*"><bdi>([^<]*)</bdi></a>', page_of(tmp_path / "e.run", tmp_path))
    assert "Where is stone 3?" in links
    assert not any(link.startswith("q-") for link in links)


def test_questions_that_begin_alike_are_linked_with_their_ids(tmp_path: Path) -> None:
    long = "How many days before does the department of the northern region want a request of kind"
    rows = [{**row, "question": f"{long} {number}?"} for number, row in enumerate(ROWS)]
    with ThreadPoolExecutor(1) as thread:
        thread.submit(evaluate, rows, metrics=["answer_match"], run=tmp_path / "e.run").result()
    links = re.findall(r'<a href="#case-[^"]*"><bdi>([^<]*)</bdi></a>', page_of(tmp_path / "e.run", tmp_path))
    assert links
    assert all(re.fullmatch(r"How many days before does the departmen… \(q-\d+\)", link) for link in links), links


def test_of_many_answers_that_are_equally_wrong_the_ones_that_are_shown_are_linked(tmp_path: Path) -> None:
    rows = [{"id": f"r{n}", "question": f"Where is {n}?", "answer": "No.", "reference": f"In {n}."} for n in range(600)]
    with ThreadPoolExecutor(1) as thread:
        thread.submit(evaluate, rows, metrics=["answer_match"], run=tmp_path / "m.run").result()
    dots = page_of(tmp_path / "m.run", tmp_path).split('class="fall dots"')[1].split("</ol>")[0]
    assert dots.count('href="#case-') == 2


def test_without_right_and_wrong_no_section_says_only_that_there_is_none(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(evaluate, ROWS[:4], metrics=["token_f1"], run=tmp_path / "e.run").result()
    page = page_of(tmp_path / "e.run", tmp_path)
    assert page.count("no metric of correctness was scored") == 1
    assert "Failures and their causes" not in page
    assert "The worst answers" not in page


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["rgb", "mirage"])
def test_pages_and_terminal_name_systems_briefly_and_exports_whole(
    runs: dict[str, Path], tmp_path: Path, kind: str, language: str
) -> None:
    page, made, facts = page_of(runs[kind], tmp_path, language).rpartition('<section id="made">')
    assert made
    assert "local/extractive" not in page
    assert "scripted/" not in page
    assert "local/extractive" in facts
    with read_run(runs[kind]) as run:
        terminal = opening_text(run.summaries(language=language), run.leading_charts(language=language))
        whole, short = (str(run.tables(language=language, short=short)) for short in (False, True))
    assert "extractive" in terminal
    assert "local/extractive" not in terminal + short
    assert "local/extractive" in whole


def test_links_to_cases_of_a_published_benchmark_are_questions(runs: dict[str, Path], tmp_path: Path) -> None:
    todo = page_of(runs["rgb"], tmp_path).partition('<ol class="todo">')[2].partition("</ol>")[0]
    names = re.findall(r'<a href="#[^"]+"><bdi>([^<]+)</bdi></a>', todo)
    assert names
    assert [name for name in names if " " not in name and name.isascii()] == []
    assert len(names) == len({*names})
    assert max(item.count("<a ") for item in todo.split("</li>")) == 2


@pytest.mark.parametrize(
    ("language", "about"), [("en", "how far the answer and the reference"), ("zh", "答案与参考答案")]
)
def test_metrics_are_explained_and_stand_on_one_scale_with_their_bars(
    runs: dict[str, Path], opened: Open, tmp_path: Path, language: str, about: str
) -> None:
    page = opened(page_of(runs["eval"], tmp_path, language)).page
    row = page.locator(".dots li").filter(has_text="token_f1")
    assert about in row.locator(".about").inner_text()
    axis, bars = row.locator("svg").first.bounding_box(), row.locator("svg.histogram").bounding_box()
    scale = page.locator(".scale span")
    assert [text.strip() for text in scale.all_inner_texts()] == ["0", "0.5", "1"]
    assert (bars["x"], bars["width"]) == pytest.approx((axis["x"], axis["width"]), abs=1)
    assert scale.first.bounding_box()["x"] == pytest.approx(axis["x"], abs=1)
    assert "95%" in page.locator(".fallkey").inner_text()
    worst = row.locator(".rest a").all_inner_texts()
    assert 1 <= len(worst) <= 2
    assert all("stone" in question for question in worst)


def test_the_bars_of_a_metric_whose_axis_is_turned_are_turned_too() -> None:
    counts = (7, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    dot = Dot("m", 0.1, 0.0, 0.3, "0.10 [0.00, 0.30]", bins=counts, lower=True)
    turned = re.findall(r'<rect x="(\d+)" y="[\d.]+" width="11" height="([\d.]+)"', dots_html(Canvas("en"), [dot]))
    plain = dots_html(Canvas("en"), [Dot("m", 0.1, 0.0, 0.3, "0.10 [0.00, 0.30]", bins=counts)])
    assert [(int(x), float(tall) > 20) for x, tall in turned] == [(1, False), (118, True)]
    assert re.findall(r'<rect x="(\d+)"', plain) == ["1", "118"]
    assert dots_html(Canvas("en"), [dot]).count("7, 0, 0") == 1


@pytest.mark.parametrize(
    ("language", "told"), [("en", "To know how many answers are right, add"), ("zh", "要知道多少")]
)
def test_answers_without_a_metric_of_correctness_say_which_flag_adds_one(
    runs: dict[str, Path], tmp_path: Path, language: str, told: str
) -> None:
    unknown, known = (runs["eval"].with_name(f"{name}.run") for name in ("unknown", "known"))
    page = page_of(unknown, tmp_path, language)
    todo = page.partition('<ol class="todo">')[2].partition("</ol>")[0]
    assert told in todo
    assert "<code>--metrics answer_match</code>" in todo
    assert "`" not in todo
    with read_run(unknown) as run:
        assert "--metrics answer_match" in opening_text(run.summaries(language=language))
    assert told not in page_of(known, tmp_path, language)


def test_what_is_said_of_a_gate_leaves_its_metric_room_on_a_phone(
    runs: dict[str, Path], tmp_path: Path, opened: Open
) -> None:
    page = opened(page_of(runs["eval"].with_name("open.run"), tmp_path), width=390).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".dots bdi").first.bounding_box()["height"] < 30  # the name stands on one line
