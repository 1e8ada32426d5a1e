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


def figures(run: Path, language: str = "en") -> dict[str, list[tuple[str, float | None, int | None]]]:
    """The figures of each system in the list: label, value, number of answers."""
    with read_run(run) as opened:
        systems = figures_of(opened, language)["systems"]
    return {
        system["name"]: [(figure["label"], figure["value"], figure["n"]) for figure in system["figures"]]
        for system in systems
    }


def test_rgb_shows_a_figure_for_each_ability_and_pools_none(tmp_path: Path) -> None:
    """Neither the answers without documents nor another mix of conditions are in a figure."""
    sizes = {"run": tmp_path / "a.run", "data_languages": ["en"], "fictional_size": 8, "noise_ratios": [0.0, 0.4]}
    run = bench("rgb", model="local/extractive", **sizes).run  # type: ignore[arg-type]
    shown = figures(run)["local/extractive"]
    labels = [
        "right at noise 0.4", "refused where no document has the answer", "right over two documents at noise 0.4",
        "right despite false documents",
    ]  # fmt: skip
    assert [label for label, _, _ in shown] == labels
    assert all(n == 8 for _, _, n in shown)
    with read_run(run) as opened:
        (worst,) = opened.benchmark.summary(opened.run)["local/extractive"].verdict.splitlines()
    assert worst.endswith("(8 answers).")
    assert [label for label, _, _ in figures(run, "zh")["local/extractive"]] == [
        "噪声比例 0.4 时答对", "文档都没有答案时拒答", "噪声比例 0.4 时整合两篇文档答对", "文档有误时仍答对",
    ]  # fmt: skip
    alone = bench(
        "rgb", model="local/extractive", abilities=["noise"], run=tmp_path / "b.run", data_languages=["en"],
        fictional_size=8, noise_ratios=[0.4],
    ).run  # fmt: skip
    assert figures(alone)["local/extractive"] == shown[:1]
    both = bench("rgb", model="local/extractive", run=tmp_path / "c.run", limit=4).run
    languages = {label.rpartition(", ")[2] for label, _, _ in figures(both)["local/extractive"]}
    assert languages == {"English", "Chinese"}


def test_mirage_shows_its_best_contexts_and_the_right_one(tmp_path: Path) -> None:
    run = bench(
        "mirage", model="local/extractive", retrievers=["bm25"], ks=[1, 3], fictional_size=8, run=tmp_path / "m.run"
    ).run
    (shown,) = figures(run).values()
    assert len(shown) == 3
    assert {n for _, _, n in shown} == {8}
    assert shown[-1][0] == "Oracle"
    assert (shown[0][1] or 0) >= (shown[1][1] or 0)


def test_a_needle_run_shows_its_longest_context(tmp_path: Path) -> None:
    run = bench("niah", model="local/extractive", lengths=[500, 1000], depths=[0, 100], run=tmp_path / "n.run").run
    (shown,) = figures(run).values()
    ((label, value, n),) = shown
    assert "1,000" in label or "1000" in label or "1k" in label.lower()
    assert value is not None
    assert n == 2


def test_the_list_says_of_how_many_answers_a_figure_is(tmp_path: Path, browse: Browse) -> None:
    bench("rgb", model="local/extractive", run=tmp_path / "a.run", abilities=["rejection"], data_languages=["en"],
          fictional_size=8)  # fmt: skip
    assert "refused where no document has the answer · n 8" in " ".join(browse(tmp_path).get("/").text.split())
