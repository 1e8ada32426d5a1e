"""Slices: what is planted is found and named first, pairs only where they fail more than either column explains."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from tests.analysis.test_topics import WORDS, questions
from tests.benchmarks.recorded.memory_run import record

from ragstone.analysis.slice_tables import MOST_ROWS, slice_name, slice_tables
from ragstone.analysis.slices import LEAST, Slices, find_slices
from ragstone.messages import messages
from ragstone.types import Passage, Record

Columns = Mapping[str, Any]


def right(one: Record) -> bool | None:
    score = one.scores.get("m")
    return None if score is None or score.value is None else score.value >= 1


def made(
    sample: str, columns: Columns, *, wrong: bool, question: str = "Why?", document: str = "", **more: Any
) -> Record:
    one = record(sample, {"m": float(not wrong)}, **{**columns, **more})
    passages = (Passage(f"{document}#1", "", relevant=True),) if document else ()
    return replace(one, case=replace(one.case, sample=replace(one.case.sample, question=question, passages=passages)))


def planted(n: int, fails: Callable[[Columns], float], *, seed: int = 1) -> list[Record]:
    """`n` samples with columns that say nothing, wrong with the chance that `fails` gives their columns."""
    rng = random.Random(seed)
    records = []
    for at in range(n):
        columns = {"region": rng.choice("ABCD"), "tier": rng.choice(["gold", "free"]), "price": rng.randrange(500)}
        records.append(made(f"q{at:04d}", columns, wrong=rng.random() < fails(columns)))
    return records


def only(records: list[Record], **options: Any) -> Slices:
    (result,) = find_slices(records, right, **options)
    return result


def test_a_column_that_fails_more_is_named_with_its_cases() -> None:
    records = planted(400, lambda columns: 0.6 if columns["region"] == "B" else 0.2)
    result = only(records)
    first = result.found[0]
    assert first.where == {"region": "B"}
    inside = [one for one in records if one.case.sample.meta["columns"]["region"] == "B"]
    wrong = [one.case.id for one in inside if not right(one)]
    assert first.wrong == tuple(sorted(wrong))
    assert (first.contrast.samples, first.contrast.inside.value) == (len(inside), len(wrong) / len(inside))
    rest = (first.contrast.outside.value, first.contrast.outside.n)
    assert rest[1] == 400 - len(inside)
    assert first.lift == pytest.approx(len(wrong) / len(inside) / (rest[0] or 0))
    assert first.contrast.low is not None
    assert first.contrast.low > 0.2
    assert first.p < first.p_holm < 0.05
    assert all(each.within == {"region": "B"} for each in result.found[1:])


def test_a_range_of_a_number_is_named() -> None:
    result = only(planted(400, lambda columns: 0.6 if columns["price"] > 380 else 0.2))
    assert [*result.found[0].where] == ["price"]
    assert result.found[0].where["price"].endswith("..")


def test_a_pair_is_named_where_neither_column_explains_it() -> None:
    def both(columns: Columns) -> float:
        return 0.8 if columns["region"] == "B" and columns["tier"] == "free" else 0.15

    result = only(planted(800, both))
    assert result.found[0].where == {"region": "B", "tier": "free"}
    assert {"region": "B"} not in [each.where for each in result.found if each.within is None]
    assert only(planted(800, both), pairs=False).tested[1] == 0


def test_a_pair_is_not_named_where_a_column_explains_it() -> None:
    for seed in range(5):
        result = only(planted(800, lambda columns: 0.7 if columns["region"] == "B" else 0.1, seed=seed))
        assert [each.where for each in result.found if each.within is None] == [{"region": "B"}]
        assert all(len(each.where) == 1 for each in result.found)


def test_a_pair_that_fails_more_than_a_failing_column_is_named_beside_it() -> None:
    def fails(columns: Columns) -> float:
        return 0.1 if columns["region"] != "B" else 0.9 if columns["tier"] == "free" else 0.5

    result = only(planted(1200, fails))
    alone = [each.where for each in result.found if each.within is None]
    assert {"region": "B"} in alone
    assert {"region": "B", "tier": "free"} in alone


def test_a_topic_a_document_and_a_type_are_named() -> None:
    truth = list(questions(600).items())
    records = [
        made(f"q{at:04d}", {}, wrong=topic == "parcel" and at % 3 > 0, question=question, document=f"d{at % 5}.md")
        for at, (question, topic) in enumerate(truth)
    ]
    first = only(records).found[0]
    assert {*first.where["topic"].split("+")} < {*WORDS["parcel"]}
    assert only(records) == only(records[::-1])  # whatever the order of the records
    by_document = [replace(one, scores=made("q", {}, wrong=at % 5 == 2).scores) for at, one in enumerate(records)]
    assert only(by_document).found[0].where == {"document": "d2.md"}
    asks = [
        made(f"q{at:03d}", {}, wrong=at % 2 == 0, question=("Who is it?", "When was it?")[at % 2]) for at in range(60)
    ]
    assert only(asks).found[0].where == {"question_type": "who"}


def test_a_language_is_named_and_lengths_are_of_one_language() -> None:
    texts = [("Who won it?" if at % 3 else "这" * (at % 10 + 1) + "是谁？") for at in range(200)]
    records = [made(f"q{at:03d}", {}, wrong=at % 3 == 0 and at % 5 > 0, question=text) for at, text in enumerate(texts)]
    result = only(records)
    assert result.found[0].where == {"language": "zh"}
    assert result.found[0].contrast.outside.value == 0.0
    assert result.found[0].lift == float("inf")
    lengths = [each for each in result.found + result.others if "question_characters" in each.where]
    assert all(each.contrast.inside.n + each.contrast.outside.n < 100 for each in lengths)  # beside Chinese ones only


def test_the_same_answers_are_one_slice_under_the_shortest_description() -> None:
    records = planted(400, lambda columns: 0.6 if columns["region"] == "B" else 0.2)
    doubled = [
        made(one.case.sample.id, columns, wrong=not right(one), twin=columns["region"].lower())
        for one in records
        for columns in [one.case.sample.meta["columns"]]
    ]
    result = only(doubled)
    assert result.found[0].where == {"region": "B"}
    assert result.found[0].also == ({"twin": "b"},)
    assert result.tested == only(records).tested


def test_a_condition_is_compared_within_the_samples() -> None:
    records = []
    for at in range(60):
        one = made(f"q{at:02d}", {}, wrong=False)
        for noise in (0.0, 0.4, 0.8):
            case = replace(one.case, id=f"{one.case.id}/{noise}", condition={"noise": noise})
            failed = noise == 0.8 and at % 2 == 0
            records.append(replace(one, case=case, scores=made("q", {}, wrong=failed).scores))
    first = only(records).found[0]
    assert first.where == {"noise": "0.8"}
    assert first.contrast.paired
    assert (first.contrast.samples, first.contrast.inside.n, first.contrast.outside.n) == (60, 60, 120)
    assert only(records, pairs=False).tested[0] >= 3


def test_repeats_are_of_one_sample() -> None:
    base = planted(60, lambda columns: 0.5 if columns["region"] == "B" else 0.2)
    repeated = [
        replace(one, case=replace(one.case, id=f"{one.case.id}/{at}", condition={"repeat": at} if at else {}))
        for one in base
        for at in range(4)
    ]
    once, often = only(base), only(repeated)
    assert often.samples == once.samples == 60
    assert [(each.where, each.p) for each in often.others] == [(each.where, each.p) for each in once.others]


def test_systems_are_searched_apart_and_what_is_not_decided_is_counted() -> None:
    good = planted(100, lambda columns: 0.1)
    bad = [replace(one, system_id="t") for one in planted(100, lambda columns: float(columns["region"] == "B"))]
    lost = replace(good[0], response=None, error="timed_out: late", case=replace(good[0].case, id="lost"))
    unscored = replace(good[1], scores={}, case=replace(good[1].case, id="unscored"))
    first, second = find_slices([*good, *bad, lost, unscored], right)
    assert (first.system, first.samples, first.undecided, first.found) == ("s", 100, 2, ())
    assert second.found[0].where == {"region": "B"}


def test_few_questions_are_not_tested() -> None:
    result = only(planted(2 * LEAST - 1, lambda columns: float(columns["region"] == "B")))
    assert (result.tested, result.found, result.others) == ((0, 0), (), ())
    assert find_slices([], right) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_table_names_slices_in_words_and_as_where_reads_them(language: str) -> None:
    texts = messages("ragstone.analysis.slice_tables", language)
    records = planted(400, lambda columns: 0.6 if columns["region"] == "B" else 0.2)
    (table,) = slice_tables([only(records)], language=language)
    assert table.rows[0].cells[0].text == "region = B"
    named = slice_name({"question_type": "how_many", "noise_ratio": "0.8", "closed_book": "True"}, language=language)
    assert (
        named
        == {
            "en": "type of question = how many, noise ratio = 0.8, closed book = yes",
            "zh": "问题类型 = 多少、噪声比例 = 0.8、闭卷 = 是",
        }[language]
    )
    assert any("--where region=B" in note for note in table.notes)
    (quiet,) = slice_tables([only(planted(100, lambda columns: 0.2))], language=language)
    assert all(texts["not_found"] in row.cells[0].note for row in quiet.rows)
    assert texts["none"] in quiet.notes
    (first,) = only(records).found[:1]
    (long,) = slice_tables([Slices("s", (first,) * (MOST_ROWS + 3), (), 400, 0, (20, 30))], language=language)
    assert len(long.rows) == MOST_ROWS
    assert texts["more"].format(n=3) in long.notes
    (unscored,) = slice_tables(find_slices(records, lambda _: None), language=language)
    assert unscored.notes == (texts["undecided_all"],)
    (few,) = slice_tables([only(records[:5])], language=language)
    assert (few.rows, few.notes) == ((), (texts["few"].format(least=LEAST),))
