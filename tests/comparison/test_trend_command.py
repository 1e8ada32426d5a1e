"""`ragstone trend` on real run files: what it prints, its page, and how it exits."""

import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.tools import Told, one_line

from ragstone import compare, diagnose
from ragstone.comparison import comparable
from ragstone.comparison.comparable import Reason
from ragstone.comparison.trend import trend
from ragstone.comparison.trend_figures import Mark
from ragstone.comparison.trend_verdict import mark_line
from ragstone.evaluation.evaluate import evaluate
from ragstone.messages import messages
from ragstone.runs.config import differences
from ragstone.runs.reader import open_run
from ragstone.systems.http import HttpTarget
from ragstone.types import Sampling

NIGHTS = 6


def night(name: str, number: int, *, right: int = 18, first: int = 0, judge: str = "") -> str:
    """Writes the run of a night: 20 questions, `right` of them answered right."""
    rows = [
        {"id": f"q{at}", "question": f"What is number {at}?", "reference": f"number {at}",
         "answer": f"number {at}" if (at * 7 + number) % 20 < right else "Nobody knows."}
        for at in range(first, first + 20)
    ]  # fmt: skip
    evaluate(rows, ["answer_match"], run=name)
    with sqlite3.connect(name) as file:
        file.execute("UPDATE meta SET value = ? WHERE key = 'started'", (json.dumps(f"2026-11-{number:02}T02:00:00Z"),))
        if judge:
            file.execute("INSERT INTO meta VALUES ('matrix', ?)", (json.dumps({"model": judge}),))
    return name


@pytest.fixture
def nights(ragstone: Callable[..., Told]) -> list[str]:
    """A fall from 18 to 7 of 20 in the fourth night of six."""
    return [night(f"n{number}.run", number, right=18 if number < 4 else 7) for number in range(1, NIGHTS + 1)]


def diagnosed(name: str, known: int) -> str:
    """A diagnosis of 20 questions, `known` of which the system answers; to the others it says what is wrong, whatever
    passages it is given."""
    rows = [{"question": f"What is number {at}?", "reference": f"number {at}"} for at in range(20)]

    def answer(question: str, passages: Sequence[object] | None = None) -> str:
        number = int(re.sub(r"\D", "", question) or 99)
        return f"number {number}" if number < known else "number 777"

    diagnose(rows, answer, metrics=["answer_match"], run=name)
    return name


def test_a_trend_of_diagnoses_is_that_of_the_answers_as_is(ragstone: Callable[..., Told]) -> None:
    """As `compare` and `gate` read them: the answers of other conditions neither change the means nor the questions."""
    runs = [diagnosed("before.run", 12), diagnosed("after.run", 20)]
    with open_run(Path(runs[0])) as run:
        assert sum(1 for _ in run.records()) > 20
    found = trend(runs)
    assert [run.cases for run in found.trend.runs] == [20, 20]
    assert [mark.kind for mark in found.trend.marks if mark.kind != "system"] == []
    curve = found.trend.curves[0]
    assert (curve.name, [point.value for point in curve.points]) == ("answer_match", [0.6, 1.0])
    (change,) = curve.changes
    assert (change.kind, curve.p is not None and curve.p < 0.05) == ("improvement", True)
    compared = next(row for row in compare(*runs).rows if row.metric == "answer_match")
    assert (compared.a, compared.b) == (0.6, 1.0)
    told = ragstone("trend", *runs)
    assert "20 answers each" in told.out
    assert "questions changed" not in told.out
    healthy = trend(runs, "cause.healthy").trend.curves[0]
    assert [point.value for point in healthy.points] == [0.6, 1.0]


def test_runs_of_one_minute_are_told_apart_by_their_names(ragstone: Callable[..., Told]) -> None:
    runs = [night(name, 1, right=right) for name, right in (("a.run", 18), ("b.run", 4))]
    assert "fell on 1 Nov, 02:00 (b.run)" in ragstone("trend", *runs).out
    assert "11月1日 02:00（b.run）" in ragstone("trend", *runs, "--language", "zh").out


def test_a_trend_says_what_fell_and_when(ragstone: Callable[..., Told], nights: list[str]) -> None:
    told = ragstone("trend", *reversed(nights))
    assert told.code == 0, told.err
    first, curve, *rest = told.out.splitlines()
    assert first == "answer_match fell on 4 Nov: 0.90 [0.75, 0.97] → 0.35 [0.18, 0.56]."
    assert curve == "  answer_match  ███│▁▁▁  0.90 → 0.35"
    assert rest[0].startswith("6 runs from 1 Nov to 6 Nov, 20 answers each. Quantities tested together: 1")
    assert rest[-1] == "4 Nov: see which answers changed with: ragstone compare n3.run n4.run"
    chinese = ragstone("trend", *nights, "--language", "zh").out.splitlines()
    assert chinese[0] == "answer_match 自 11月4日起下降：0.90 [0.75, 0.97] → 0.35 [0.18, 0.56]。"
    tables = ragstone("trend", *nights, "--all").out
    for words in ("Changes", "Quantities", "Runs", "n5.run", "Δ -0.55"):
        assert words in tables


def test_a_change_for_the_worse_is_exit_1(ragstone: Callable[..., Told], nights: list[str]) -> None:
    assert ragstone("trend", *nights, "--fail-on-change").code == 1
    assert ragstone("trend", *nights[:3], "--fail-on-change").code == 0
    better = [night(f"b{number}.run", number, right=7 if number < 4 else 18) for number in range(1, 7)]
    assert ragstone("trend", *better, "--fail-on-change").code == 0
    told = ragstone("trend", "n1.run", night("other.run", 2, first=100), "--fail-on-change")
    assert told.code == 3
    assert "nothing could be tested" in told.err


def test_json_is_one_document(ragstone: Callable[..., Told], nights: list[str]) -> None:
    document = ragstone("trend", *nights, "--json", "--fail-on-change", "--report", "t.html").document
    assert document["verdict"]["kind"] == "regression"
    assert (document["exit"], document["report"]) == (1, "t.html")
    (curve,) = document["curves"]
    assert [point["value"] for point in curve["points"]] == pytest.approx([0.9] * 3 + [0.35] * 3)
    (change,) = curve["changes"]
    assert (change["at"], change["run"], change["kind"]) == (3, "n4.run", "regression")
    assert document["runs"][0]["when"] == "2026-11-01T02:00:00+00:00"


def test_the_page_has_the_verdict_first_and_the_change_in_the_picture(
    ragstone: Callable[..., Told], nights: list[str]
) -> None:
    told = ragstone("trend", *nights, "--report", "t.html")
    assert "Report: t.html" in told.out
    page = Path("t.html").read_text(encoding="utf-8")
    verdict, picture, made = (
        page.rindex(words) for words in ("<b><bdi>answer_match fell", "▼ 4 Nov", "How it was made")
    )
    assert verdict < picture < made
    assert "var(--bad,#b3261e)" in page
    assert ragstone("trend", *nights, "--report", "n1.run").code == 2


def test_one_run_by_day_is_a_trend(ragstone: Callable[..., Told], nights: list[str]) -> None:
    rows = [
        {"question": f"What is number {day}-{at}?", "reference": "seven", "time": f"2026-11-{day:02} 10:00",
         "answer": "seven" if at < (18 if day < 6 else 5) else "eight"}
        for day in range(1, 11) for at in range(20)
    ]  # fmt: skip
    evaluate([*rows, {"question": "When?", "reference": "now", "answer": "now"}], ["answer_match"], run="all.run")
    told = ragstone("trend", "all.run", "--by", "day")
    assert told.out.splitlines()[0].startswith("answer_match fell on 6 Nov: 0.90")
    assert "10 days from 1 Nov to 10 Nov, 20 answers each" in told.out
    assert "Records without a time, left out: 1." in told.out
    assert "samples of one stream" in told.out
    assert "in the week of 2 Nov" in ragstone("trend", "all.run", "--by", "week").out or "No change" in told.out
    one_line(ragstone("trend", "all.run", "n1.run", "--by", "day"), "--by day splits one run", "2 were given")
    one_line(ragstone("trend", "all.run", "--by", "day", "--time-column", "when"), "has a time in column 'when'")


def test_another_judge_is_another_scoring(ragstone: Callable[..., Told]) -> None:
    runs = [night(f"j{number}.run", number, judge="x/one" if number < 3 else "x/two") for number in range(1, 5)]
    with sqlite3.connect("j1.run") as file:
        scores = dict(file.execute("SELECT case_id, metric FROM scores"))
    assert set(scores.values()) == {"answer_match"}
    for name in runs:
        with sqlite3.connect(name) as file:
            file.execute("UPDATE scores SET metric = 'faithfulness'")
    told = ragstone("trend", *runs, "--metric", "faithfulness")
    assert "The scoring changed on 3 Nov for faithfulness (the judge's model: x/one, then x/two)" in told.out
    told = ragstone("trend", *runs, "--language", "zh")
    assert "评分方式有变，涉及 faithfulness（裁判模型的型号：先 x/one，后 x/two）" in told.out
    told = ragstone("compare", runs[0], runs[-1], "--language", "zh", "--metrics", "faithfulness")
    assert "裁判模型的型号不同（x/one，x/two）" in told.out + told.err


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_part_of_a_judge_that_can_differ_has_a_word(language: str) -> None:
    words = messages("ragstone.comparison.trend_verdict", language)
    said = [Reason("judge", part, "a", "b").said(words) for part in comparable._JUDGE]
    assert len(set(said)) == len(said) == 6
    if language == "zh":
        assert [text for text in said if re.search(r"[a-z]{2,}", text)] == []


def changed(name: str, spec: dict[str, Any]) -> None:
    with sqlite3.connect(name) as file:
        file.execute("UPDATE systems SET spec = ?", (json.dumps(spec),))


def test_settings_of_a_system_that_changed_are_named_in_words(ragstone: Callable[..., Told]) -> None:
    runs = [night(f"s{number}.run", number) for number in range(1, 3)]
    reader = {"kind": "reader", "model": "x/one", "template": {"name": "a", "system": {"en": "b"}}}
    for name, spec in zip(
        runs, ({**reader, "plum": 1}, {**reader, "model": "x/two", "template": {}, "plum": 2}), strict=True
    ):
        changed(name, spec)
    assert "The system changed on 2 Nov: the model, `plum`, the prompt." in ragstone("trend", *runs).out
    assert "自 11月2日起系统设置有变：模型、设置项“plum”、提示词。" in ragstone("trend", *runs, "--language", "zh").out


def altered(spec: Any) -> Any:
    return {name: altered(value) for name, value in spec.items()} if isinstance(spec, Mapping) else "another"


def test_each_setting_of_each_kind_of_system_has_a_chinese_word(ragstone: Callable[..., Told]) -> None:
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The bridge is 5 m long.")
    Path("q.jsonl").write_text('{"question": "How long?", "reference": "5 m"}')
    told = ragstone(
        "run", "q.jsonl", "--corpus", "docs", "--system", "rag(retriever=bm25,model=local/extractive)", "--run", "r.run"
    )
    assert told.code == 0, told.err
    with sqlite3.connect("r.run") as file:
        ((spec,),) = file.execute("SELECT spec FROM systems")
    template = {"name": "a", "version": 1, "system": {"en": "b"}, "user": {"zh": "c"}}
    sampling = msgspec.to_builtins(Sampling(0.5, 0.9, 10, 1, ("x",)))
    specs = [
        json.loads(spec), HttpTarget("http://[::1]/ask", headers={"X-Key": "$KEY"}).spec,
        {"kind": "reader", "model": "x/one", "template": template, "sampling": sampling, "endpoint": "http://[::1]"},
        {"retriever": "bm25", "retriever_code": "a", "code": "b"},
    ]  # fmt: skip
    result = trend([night(f"t{number}.run", number) for number in range(1, 3)])
    keys = {key for spec in specs for key in differences(altered(spec), spec)}
    assert keys > {
        "model",
        "k",
        "chunk",
        "corpus",
        "sampling.temperature",
        "template.system.en",
        "url",
        "headers.X-Key",
    }
    lines = [mark_line(result.trend, Mark(1, "system", settings=(key,)), "zh") for key in keys]
    assert [line for line in lines if "设置项“" in line or not line.startswith("自 11月2日起系统设置有变：")] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("n1.run",), ("at least two runs: one was given", "--by day")),
        (("n1.run", "n1.run", "./n1.run"), ("n1.run is named 3 times. Name at least two different runs.",)),
        (("n1.run", "n2.run", "--metric", "recal"), ("No run has scores of 'recal'; available: answer_match",)),
        (("n1.run", "missing.run"), ("missing.run",)),
        (("n1.run", "text.run"), ("text.run",)),
        (("n1.run", "n2.run", "--system", "other"), ("other", "n1.run has: data")),
        (("n1.run", "n2.run", "--price", "cheap"), ("cheap",)),
        (("n1.run", "n2.run", "--time-column", "time"), ("--time-column belongs to --by",)),
        (("n1.run", "n2.run", "--where", "topic=x"), ("No case of n1.run has 'topic'",)),
        (("n1.run", "rgb.run"), ("n1.run is a run of 'eval' and rgb.run one of 'rgb'",)),
    ],
)
def test_bad_input_is_one_line(
    ragstone: Callable[..., Told], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    for number in (1, 2):
        night(f"n{number}.run", number)
    night("rgb.run", 3)
    with sqlite3.connect("rgb.run") as file:
        (text,) = file.execute("SELECT value FROM meta WHERE key = 'question'").fetchone()
        question: dict[str, Any] = json.loads(text) | {"benchmark": "rgb"}
        file.execute("UPDATE meta SET value = ? WHERE key = 'question'", (json.dumps(question),))
    Path("text.run").write_text("no run at all", encoding="utf-8")
    one_line(ragstone("trend", *arguments), *words)


def test_a_link_of_a_run_is_no_other_run(ragstone: Callable[..., Told], nights: list[str]) -> None:
    Path("hard.run").hardlink_to("n1.run")
    ended = ragstone("trend", "n1.run", "hard.run")
    assert ended.code == 2
    assert "n1.run is named 2 times" in ended.err
    assert "2 runs" in ragstone("trend", "n1.run", "hard.run", "n2.run").out


def test_an_unfinished_run_is_named(ragstone: Callable[..., Told], nights: list[str]) -> None:
    with sqlite3.connect(nights[-1]) as file:
        for table in ("scores", "records"):  # the same cases of both
            file.execute(f"DELETE FROM {table} WHERE case_id IN (SELECT case_id FROM records ORDER BY case_id LIMIT 8)")
    told = ragstone("trend", *nights)
    assert told.code == 0, told.err
    assert "n6.run: 12 of 20 asked, unfinished: shown, not tested." in told.out


def test_python_gives_the_same(nights: list[str]) -> None:
    pandas = pytest.importorskip("pandas")
    from ragstone import trend

    found = trend(nights, "answer_match")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["value"]) == pytest.approx([0.9] * 3 + [0.35] * 3)
    assert list(frame["changed"]) == [False, False, False, True, False, False]
    assert repr(found).startswith("answer_match fell on 4 Nov")
    assert found.verdict(language="zh")[0].startswith("answer_match 自 11月4日起下降")
