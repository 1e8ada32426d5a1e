"""The list of runs: key figures as the verdict has them, and a curve over runs of the same system."""

import json
import re
from pathlib import Path

from tests.web.conftest import Browse

from ragstone.diagnosis.diagnose import diagnose
from ragstone.engine.open_run import read_run
from ragstone.evaluation.bench import bench
from ragstone.evaluation.evaluate import evaluate
from ragstone.report.section import Canvas
from ragstone.viewer.pages.runs import spark_html
from ragstone.web.overview import figures_of


def answers(right: int, of: int) -> list[dict[str, str]]:
    return [
        {"id": str(n), "question": f"What is {n}?", "reference": f"{n} lamps", "answer": f"{n + (n >= right)} lamps"}
        for n in range(10, 10 + of)
    ]


def test_a_curve_goes_through_its_values_and_says_them() -> None:
    svg = str(spark_html(Canvas("en"), [0.0, 1.0, 0.5], "{first} to {last} over {n}"))
    assert "<title>0.00 to 0.50 over 3</title>" in svg
    path = re.search(r'd="(M[^"]+)" class="line"', svg)
    assert path
    places = [tuple(map(float, place.split())) for place in path[1].lstrip("M").split("L")]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert places[1][1] < places[2][1] < places[0][1]  # higher is nearer to the top
    assert spark_html(Canvas("en"), [0.5], "{n}") == ""


def test_runs_of_one_system_share_a_curve(tmp_path: Path, browse: Browse) -> None:
    for number, right in enumerate((12, 15, 18)):
        path = tmp_path / "answers.jsonl"
        path.write_text("\n".join(map(json.dumps, answers(right, 10))), "utf-8")
        evaluate(path, ["answer_match"], run=tmp_path / f"{number}.run")
    page = browse(tmp_path).get("/").text
    assert "0.20 [" in page
    assert "0.80 [" in page
    assert page.count('class="spark"') == 2  # the first run has no earlier one


def test_a_diagnosis_counts_its_answers_as_is(tmp_path: Path) -> None:
    """Not those under the other conditions, of which the closed-book ones are wrong."""
    system, handbook = "rag(retriever=bm25, model=local/extractive, k=3)", "examples/handbook"
    result = diagnose(
        f"{handbook}/questions.csv", system, corpus=f"{handbook}/docs", limit=10, plan="full", run=tmp_path / "d.run"
    )
    with read_run(result.run) as run:
        (shown,) = figures_of(run, "en")["systems"]
        verdict = next(iter(run.benchmark.summary(run.run).values())).verdict
    assert shown["figures"][0]["text"] in verdict


def test_a_run_of_retrievers_alone_shows_its_verdict(tmp_path: Path) -> None:
    result = bench(
        "mirage", model="local/retrieval", run=tmp_path / "m.run", retrievers=("bm25",), ks=(1,), fictional_size=8
    )
    with read_run(result.run) as run:
        (shown,) = figures_of(run, "en")["systems"]
    (figure,) = shown["figures"]
    assert shown["label"] == "retrieval"
    assert (figure["text"], figure["value"]) == ("", None)
    assert "bm25" in figure["label"]
