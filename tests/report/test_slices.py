"""The section "Where it fails": a line that names the clearest slice, and links to the wrong answers in it."""

import re

import pytest
from msgspec.structs import replace
from tests.report.synthetic import SYSTEMS, MemoryRun, SmallBenchmark, small_run

from ragstone.analysis.slices import thinned
from ragstone.report import render
from ragstone.report.sections import slices
from ragstone.types import Record, Score


def planted(n: int) -> MemoryRun:
    """Every question at two ratios of noise; the first system is wrong at the higher one."""
    base = [
        record
        for record in small_run(n).records()
        if record.system_id == SYSTEMS[0]
        and record.response is not None
        and record.scores["answer_match"].value is not None
    ][:n]

    def made() -> list[Record]:
        return [
            replace(
                record,
                case=replace(record.case, id=f"{number:04d}/{ratio}", condition={"noise_ratio": ratio},
                             sample=replace(record.case.sample, id=f"q{number}")),
                scores={"answer_match": Score.of(ratio == 0.0)},
            )
            for number, record in enumerate(base)
            for ratio in (0.0, 0.8)
        ]  # fmt: skip

    return MemoryRun(made, small_run(n).meta, {SYSTEMS[0]: {}})


def test_the_clearest_slice_is_named_first_and_links_to_its_wrong_answers() -> None:
    html = render(planted(40), SmallBenchmark(), cases_shown=8)
    line = "fails most where noise ratio = 0.8: 100% wrong, 0% in the rest."
    section = html[html.index(line) : html.index("worst answers</h2>")]
    linked, places = (
        re.findall(r'href="#(case-[^"]+)"', section),
        re.findall(r'<div class="in" id="(case-[^"]+)"', html),
    )
    assert len(linked) == 8
    assert {*linked} == {*places}
    assert re.search(r"and \d+ more wrong answers", section)
    assert "在“噪声比例 = 0.8”处最常出错" in render(planted(40), SmallBenchmark(), language="zh")


def test_a_run_with_few_questions_has_no_such_section_and_one_without_slices_says_so() -> None:
    assert "Where it fails</h2>" not in render(planted(5), SmallBenchmark())
    quiet = MemoryRun(
        lambda: [replace(one, scores={"answer_match": Score.of(1.0)}) for one in planted(40).records()],
        planted(40).meta,
        {SYSTEMS[0]: {}},
    )
    assert re.search(r"none of \d+ slices fails significantly more", render(quiet, SmallBenchmark()))


def test_a_very_large_run_is_searched_among_some_of_its_questions_all_answers_of_which_are_kept() -> None:
    every = list(planted(40).records())
    assert thinned(every, len(every)) is every
    some = list(thinned(every, len(every), most=30))
    assert 10 < len(some) < 60
    assert some == list(thinned(every, len(every), most=30))
    samples = {record.case.sample.id for record in some}
    assert some == [record for record in every if record.case.sample.id in samples]


def test_the_section_says_that_it_was_searched_among_some(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Searched among" not in render(planted(40), SmallBenchmark(), cases_shown=8)
    monkeypatch.setattr(slices, "MOST", 60)
    html = render(planted(40), SmallBenchmark(), cases_shown=8)
    assert "Searched among about 60 of the 78 answers, drawn by question." in html
