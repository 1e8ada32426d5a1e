"""The tables of scored answers, by hand: means, groups, what the judge took, its variance, and the advice."""

from typing import Any

import pytest
from tests.benchmarks.recorded.memory_run import MemoryRun, record, scored, step

from ragstone.benchmarks.recorded.benchmark import RecordedAnswers
from ragstone.display import Table
from ragstone.messages import messages
from ragstone.metrics.judge.reply import COERCIONS
from ragstone.stats import mean_interval
from ragstone.types import Record, Score


def tables(records: list[Record], *, language: str = "en", **meta: Any) -> dict[str, Table]:
    return {table.id: table for table in RecordedAnswers().tables(MemoryRun(records, **meta), language=language)}


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_a_mean_has_its_interval_and_what_could_not_be_scored_is_counted() -> None:
    values = [0.2, 0.4, 0.9]
    records = [record(f"q{at}", {"token_f1": value}) for at, value in enumerate(values)]
    records += [
        record("q8", {"token_f1": Score.failed("timed_out: late")}),
        record("q9", {"token_f1": Score.not_applicable("the case has no references")}),
    ]
    (row,) = tables(records)["eval-scores"].rows
    mean = row.cells[1]
    assert mean.value == pytest.approx(0.5)
    assert (mean.scored, mean.total) == (3, 5)
    assert (mean.low, mean.high) == mean_interval(values)
    assert [cell.text for cell in row.cells[2:5]] == ["3", "1", "1"]
    assert "timed out: late (1)" in row.cells[5].text


def test_nothing_scored_is_no_number() -> None:
    (row,) = tables([record("q", {"m": Score.failed("no")})])["eval-scores"].rows
    assert row.cells[1].value is None
    assert (row.cells[1].scored, row.cells[1].total) == (0, 1)


def test_a_proportion_has_an_interval_even_where_all_are_right() -> None:
    (row,) = tables([record(f"q{at}", {"exact_match": 1.0}) for at in range(5)])["eval-scores"].rows
    assert (row.cells[1].low, row.cells[1].high) == pytest.approx((0.035 ** (1 / 5), 1.0))


def test_repeats_of_a_sample_do_not_narrow_the_interval() -> None:
    values = [0.1, 0.5, 0.9, 0.3]
    once = [record(f"q{at}", {"m": value}) for at, value in enumerate(values)]
    again = [record(f"q{at}", {"m": value}, repeat=1) for at, value in enumerate(values)]
    alone, both = (tables(held)["eval-scores"].rows[0].cells[1] for held in (once, once + again))
    assert both.low == pytest.approx(alone.low)
    assert both.high == pytest.approx(alone.high)
    assert (both.scored, both.total) == (8, 8)


def test_metrics_that_are_better_when_low_say_so_and_others_names_are_labelled() -> None:
    held = [record("q", {"ragchecker.hallucination": 0.1, "ragas.faithfulness": 0.5, "faithfulness": 0.7})]
    labels = [row[0] for row in texts(tables(held)["eval-scores"])]
    assert labels[0] == "faithfulness"
    assert set(labels[1:]) == {"ragas.faithfulness (ragas-style)", "ragchecker.hallucination (lower is better)"}


def test_groups_are_tabulated_by_the_columns_that_were_asked_for() -> None:
    held = [record(f"q{at}", {"m": at / 4}, topic="ab"[at % 2], other=at) for at in range(4)]
    found = tables(held, options={"group_by": ["topic"]})
    assert [(row.cells[0].text, row.cells[1].value) for row in found["eval-groups"].rows] == [("a", 0.25), ("b", 0.5)]
    assert "eval-groups" not in tables(held)
    both = tables(held, options={"group_by": ["topic", "other"]})
    assert {"eval-groups", "eval-groups-topic"} <= set(both)


@pytest.mark.parametrize(("values", "notes"), [(50, ()), (51, ("and 1 more",)), (70, ("and 20 more",))])
def test_a_column_with_very_many_values_is_cut_off_and_says_so(values: int, notes: tuple[str, ...]) -> None:
    held = [record(f"q{at:03d}", {"m": 0.5}, user=f"u{at:03d}") for at in range(values)]
    table = tables(held, options={"group_by": ["user"]})["eval-groups"]
    assert len(table.rows) == 50
    assert table.notes == notes


def test_prompt_tokens_from_the_providers_cache_are_shown_and_have_their_own_price() -> None:
    warm = step("verify", tokens=200)
    warm["usage"] |= {"cached_tokens": 150}
    held = [record("q", {"faithfulness": scored(1, step("decompose", tokens=100), warm)})]
    table = tables(held, price="10/100/2")["eval-cost"]
    assert table.columns[3:6] == ("Answer tokens", "Cached prompt tokens", "Cost")
    assert texts(table)[-1] == ["total", "2", "300", "30", "150", "0.0048", ""]


def test_prompt_tokens_written_to_the_providers_cache_are_shown_and_have_their_own_price() -> None:
    cold = step("verify", tokens=200)
    cold["usage"] |= {"cached_tokens": 100, "written_tokens": 50}
    table = tables([record("q", {"faithfulness": scored(1, cold)})], price="10/100/2/12")["eval-cost"]
    assert table.columns[3:7] == (
        "Answer tokens", "Cached prompt tokens", "Prompt tokens written to the cache", "Cost"
    )  # fmt: skip
    assert texts(table)[-1] == ["total", "1", "200", "20", "100", "50", "0.0033", ""]


def test_a_shared_request_is_divided_so_that_columns_sum_to_what_was_asked() -> None:
    first, second = step("decompose", tokens=100), step("verify", tokens=200)
    held = [record("q", {"faithfulness": scored(1, first, second), "answer_relevancy": scored(1, first)})]
    table = tables(held, price="10/100")["eval-cost"]
    assert texts(table) == [
        ["faithfulness", "1.5", "250", "25", "0.0050", "300"],
        ["answer_relevancy", "0.5", "50", "5", "0.0010", "100"],
        ["total", "2", "300", "30", "0.0060", ""],
    ]


def test_a_reply_from_the_cache_costs_nothing_and_is_told() -> None:
    free = step(tokens=200, cached=True)
    free["usage"] |= {"requests": 0, "cached": 1}
    table = tables([record("q", {"faithfulness": scored(1, step("decompose"), free)})], price="1/1")["eval-cost"]
    assert texts(table)[-1][:4] == ["total", "1", "100", "10"]
    assert texts(table)[0][-1] == "300"
    note = "Requests needed: 2; answered from the cache at no cost: 1; sent, repeated ones included: 1."
    assert note in table.notes[0]


def test_what_was_sent_again_is_counted_with_what_was_sent_and_not_with_what_is_needed() -> None:
    """One was sent again after an error, or was lost by a killed process."""
    several = step("decompose", tokens=100)
    several["usage"] |= {"requests": 3}
    table = tables([record("q", {"faithfulness": scored(1, several, step("verify", tokens=100))})])["eval-cost"]
    assert texts(table)[-1][:2] == ["total", "4"]
    note = "Requests needed: 2; answered from the cache at no cost: 0; sent, repeated ones included: 4."
    assert note in table.notes[0]


def test_what_no_judge_was_asked_for_has_no_costs() -> None:
    assert "eval-cost" not in tables([record("q", {"token_f1": 0.5})])


def test_the_judges_own_sd_is_pooled_over_samples() -> None:
    held = [
        record(sample, {"m": scored(value, step())}, repeat=repeat)
        for sample, values in (("a", (0.0, 1.0)), ("b", (1.0, 1.0)), ("c", (0.5,)))
        for repeat, value in enumerate(values)
    ]
    (row,) = tables(held, options={"repeat": 2})["eval-repeat"].rows
    assert row.cells[1].value == pytest.approx(0.5)  # variances 1/2 and 0
    assert row.cells[2].text == "2"


def test_without_repeats_nothing_is_said_of_the_judges_variance() -> None:
    assert "eval-repeat" not in tables([record("a", {"m": scored(1, step())})])


ADVICE = [
    ({"context_recall": 0.3, "context_precision": 0.9, "answer_correctness": 0.9}, ["recall"]),
    ({"context_recall": 0.9, "context_precision": 0.3, "answer_correctness": 0.9}, ["precision"]),
    ({"context_recall": 0.9, "context_precision": 0.9, "answer_correctness": 0.3}, ["correctness"]),
    ({"context_recall": 0.3, "context_precision": 0.3, "answer_correctness": 0.3},
     ["recall", "precision", "correctness_too"]),
    ({"ragas.context_recall": 0.3}, ["recall"]),
    ({"answer_match": 0.3}, ["correctness_alone"]),  # nothing is known of the passages
    ({"context_recall": 0.9, "answer_match": 0.3}, ["correctness"]),
    ({"recall": 1.0, "answer_match": 0.3}, ["correctness"]),  # labelled passages say it, too
    ({"recall@5": 0.9, "recall@1": 0.1, "answer_match": 0.3}, ["correctness"]),
    ({"recall@5": 0.3, "answer_match": 0.3}, ["recall", "correctness_too"]),
    ({"recall@5 fetched": 0.9, "answer_match": 0.3}, ["correctness_alone"]),  # not what the model was given
    ({"faithfulness": 0.2, "answer_relevancy": 0.2}, ["faithfulness", "relevancy"]),
    ({"context_recall": 0.95, "answer_correctness": 0.9}, []),
]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("means", "rules"), ADVICE)
def test_advice_follows_the_low_metric(means: dict[str, float], rules: list[str], language: str) -> None:
    told = messages("ragstone.benchmarks.recorded.tables", language)
    found = tables([record(f"q{at}", means) for at in range(3)], language=language)
    rows = texts(found["eval-advice"]) if "eval-advice" in found else []
    assert [row[0] for row in rows] == [told[f"low_{rule}"] for rule in rules]
    assert [row[2] for row in rows] == [told[f"try_{rule}"] for rule in rules]


def test_advice_is_named_as_rules_of_thumb_with_the_ten_worst_samples_behind_it() -> None:
    held = [record(f"q{at:02d}", {"context_recall": at / 20}) for at in range(20)]
    table = tables(held)["eval-advice"]
    assert "rules of thumb" in table.title
    assert any("not measurements" in note for note in table.notes)
    (row,) = texts(table)
    assert [name for name in (f"q{at:02d}" for at in range(20)) if name in row[3]] == [f"q{at:02d}" for at in range(10)]
    assert "q00 (0.00)" in row[3]


def test_a_sample_that_was_judged_several_times_is_named_once_with_its_mean() -> None:
    held = [record("q", {"context_recall": value}, repeat=r) for r, value in enumerate((0.0, 0.5, 0.25))]
    held += [record("good", {"context_recall": value}, repeat=r) for r, value in enumerate((0.7, 1.0, 1.0))]
    assert texts(tables(held)["eval-advice"])[0][3] == "q (0.25)"


@pytest.mark.parametrize(("language", "certain", "open_"), [("en", "low", "suspicious"), ("zh", "偏低", "可疑")])
def test_advice_tells_what_is_certainly_low_from_what_only_looks_so(language: str, certain: str, open_: str) -> None:
    def advice(values: list[float]) -> tuple[str, float | None]:
        records = [record(f"q{at}", {"faithfulness": value}) for at, value in enumerate(values)]
        (row,) = tables(records, language=language)["eval-advice"].rows
        return row.cells[1].note, row.cells[1].high

    note, high = advice([0.7, 0.72, 0.74, 0.7, 0.71] * 4)
    assert note == certain
    assert high is not None
    assert high < 0.8
    note, high = advice([0.2, 1.0, 1.0, 0.9])
    assert note == open_
    assert high is not None
    assert high >= 0.8


def test_samples_that_are_not_low_are_not_behind_an_advice() -> None:
    held = [record("bad", {"context_recall": 0.0}), *(record(f"q{at}", {"context_recall": 0.9}) for at in range(2))]
    assert texts(tables(held)["eval-advice"])[0][3] == "bad (0.00)"


def test_who_judged_is_told_with_what_is_known_of_it() -> None:
    def notes(judge: str, *steps: dict[str, Any]) -> str:
        held = [record("q", {"faithfulness": scored(1, *steps)})]
        return " ".join(tables(held, question={"judge": {"model": judge}})["eval-scores"].notes)

    assert "about as good as chance" in notes("local/smollm2", step())
    assert "has not been measured" in notes("openai/gpt-4o-mini", step())
    several = notes("openai/gpt-4o-mini", step(model="gpt-4o-mini-1"), step(model="gpt-4o-mini-2"))
    assert "reported several models: gpt-4o-mini-1, gpt-4o-mini-2" in several
    assert "several" not in notes("openai/gpt-4o-mini", step(), step("decompose"))
    alone = notes("openai/gpt-4o-mini", step(model="gpt-4o-mini-2024-07-18"))
    assert "reported the judge openai/gpt-4o-mini as gpt-4o-mini-2024-07-18" in alone
    assert "reported the judge" not in notes("openai/gpt-4o-mini", step(model="gpt-4o-mini"))
    assert "1 of the judge's 2 replies" in notes("openai/gpt-4o-mini", step(problem="not JSON"), step())
    read = notes("openai/gpt-4o-mini", step(coerced=["prose", "extra_keys: a", "extra_keys: b"]), step("decompose"))
    assert "1 of the judge's 2 replies were read" in read
    assert "prose around it (1), extra keys (1)." in read
    assert "were read" not in notes("openai/gpt-4o-mini", step())
    first, second = (
        step("decompose", doubt="no claim for sentence 2", problem=problem) for problem in ("no claim", "")
    )
    assert "Doubted: 1 of the texts that the judge took apart" in notes("openai/gpt-4o-mini", first, second, step())
    assert "Doubted" not in notes("openai/gpt-4o-mini", first, step("decompose"), step(doubt="a quote"))
    assert "measured" not in " ".join(tables([record("q", {"token_f1": 1.0})])["eval-scores"].notes)


def test_everything_that_is_done_to_read_a_reply_has_a_name_in_both_languages() -> None:
    for language in ("en", "zh"):
        held = [record("q", {"faithfulness": scored(1, step(coerced=list(COERCIONS)))})]
        (note,) = (one for one in tables(held, language=language)["eval-scores"].notes if "(1)" in one)
        assert note.count("(1)") == len(COERCIONS)


def test_several_systems_are_told_apart() -> None:
    held = [record("q", {"m": 0.1}, system="a"), record("q", {"m": 0.9}, system="b")]
    table = tables(held)["eval-scores"]
    assert [row[:2] for row in texts(table)] == [["a", "m"], ["b", "m"]]
    assert table.keys == 2
