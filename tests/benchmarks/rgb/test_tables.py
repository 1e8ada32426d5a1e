"""The tables of RGB on runs small enough to work out every number by hand."""

import math
import re
import tomllib
from pathlib import Path

import pytest
from tests.benchmarks.rgb.handmade import HandBenchmark, HandRun, official, passages, record

from ragstone.benchmarks.rgb.tables import tables
from ragstone.display import Cell, Row, Table
from ragstone.stats import Estimate, wilson
from ragstone.types import Record

DASH = "–"


def table(found: list[Table], name: str) -> Table:
    return next(one for one in found if one.id == name)


def made(records: list[Record], name: str, benchmark: HandBenchmark | None = None, language: str = "en") -> Table:
    return table(tables(HandRun(records), benchmark or HandBenchmark(), language), name)


def heads(row: Row, keys: int = 3) -> list[str]:
    return [cell.text for cell in row.cells[:keys]]


def shares(row: Row, keys: int = 3) -> list[object]:
    """The values of a row, rounded as printed; the text where there is none."""
    return [cell.text if cell.value is None else round(100 * cell.value, 2) for cell in row.cells[keys:]]


def noise(rights: str, ratio: float, **more: object) -> list[Record]:
    """One noise case for each letter: + right, - wrong, x failed."""
    said = {"+": True, "-": False}
    return [
        record("noise", number, ratio=ratio, error="timed_out: no reply", **more)  # type: ignore[arg-type]
        if sign == "x"
        else record("noise", number, ratio=ratio, right=said[sign], label=[int(said[sign])], **more)  # type: ignore[arg-type]
        for number, sign in enumerate(rights)
    ]


# ---------------------------------------------------------------- tables 1 and 5


def test_table_1_has_accuracy_interval_and_counts_for_each_ratio() -> None:
    found = made([*noise("++++++++--", 0.0), *noise("++++x-----", 0.8)], "rgb-table1")
    assert found.columns == ("System", "Data set", "Scoring", "noise 0", "noise 0.8")
    default = found.rows[0]
    assert heads(default) == ["m", "English, en_refine", "ragstone"]
    first, last = default.cells[3:]
    assert (first.value, first.scored, first.total, first.unit) == (0.8, 10, 10, "%")
    # 8 of 10: the 3.5% quantile of beta(8, 3), and the 96.5% quantile of beta(9, 2).
    assert (first.low, first.high) == pytest.approx((0.4669, 0.9698), abs=5e-5)
    assert (last.value, last.scored, last.total) == pytest.approx((4 / 9, 9, 10))
    assert any("ailed requests" in note for note in found.notes)


def test_the_headline_scoring_comes_first_and_the_other_stands_below_it() -> None:
    records = [record("noise", 0, right=True, label=[0]), record("noise", 1, right=False, label=[0])]
    default = made(records, "rgb-table1")
    assert [(row.cells[2].text, shares(row)) for row in default.rows] == [("ragstone", [50.0]), ("official", [0.0])]
    swapped = made(records, "rgb-table1", HandBenchmark(scoring="official"))
    assert [(row.cells[2].text, shares(row)) for row in swapped.rows] == [("official", [0.0]), ("ragstone", [50.0])]


def test_a_scoring_that_was_not_computed_has_no_line() -> None:
    found = made([record("noise", 0, right=True)], "rgb-table1")
    assert [row.cells[2].text for row in found.rows] == ["ragstone"]


def test_table_5_is_about_the_integration_questions() -> None:
    records = [
        record("integration", n, ratio=r, language="zh", right=n < k, label=[1, int(n < k)])
        for r, k in ((0.0, 3), (0.4, 1)) for n in range(4)
    ]  # fmt: skip
    found = made(records, "rgb-table5")
    assert [heads(row)[:2] for row in found.rows] == [["m", "Chinese, zh_int"]] * 2
    assert shares(found.rows[0]) == shares(found.rows[1]) == [75.0, 25.0]


def test_systems_and_languages_keep_one_order() -> None:
    records = [
        record("noise", 0, system=system, language=language, right=True)
        for system in ("b", "a") for language in ("zh", "en")
    ]  # fmt: skip
    found = made(records, "rgb-table1")
    assert [heads(row, 2) for row in found.rows] == [
        ["a", "English, en_refine"], ["a", "Chinese, zh_refine"],
        ["b", "English, en_refine"], ["b", "Chinese, zh_refine"],
    ]  # fmt: skip


# ---------------------------------------------------------------- table 3


def rejections(judge: bool) -> list[Record]:
    """Ten questions. By phrase 3 are refused; officially 2, and one lucky answer counts; the judge finds 6."""
    made_of = []
    for number in range(10):
        phrase, lucky = number < 3, number == 9
        label = [-1] if number < 2 else [1] if lucky else [0]
        judged = (number < 6) if judge else None
        made_of.append(record("rejection", number, rejected=phrase, right=lucky, label=label, judged_rejected=judged))
    return made_of


def test_table_3_has_both_rejection_rates_the_gap_and_the_lucky_answers() -> None:
    found = made(rejections(judge=True), "rgb-table3")
    assert found.columns[3:] == ("Rej", "Rej*", "Rej* − Rej", "guessed right")
    assert [shares(row) for row in found.rows] == [[30.0, 60.0, 30.0, 10.0], [30.0, 60.0, 30.0, 10.0]]
    gap = found.rows[0].cells[5]
    assert gap.low is not None
    assert gap.high is not None
    assert -0.15 <= gap.low < 0.3 < gap.high <= 0.7


def test_the_gap_counts_only_questions_that_both_scored() -> None:
    records = rejections(judge=True)
    records[0] = record("rejection", 0, rejected=True, label=[-1])  # the judge failed on a refusal
    row = made(records, "rgb-table3").rows[0]
    rej, judged, gap = row.cells[3:6]
    assert (rej.value, rej.scored) == (0.3, 10)
    assert (judged.value, judged.scored, judged.total) == pytest.approx((5 / 9, 9, 10))
    assert (gap.value, gap.scored, gap.total) == pytest.approx((3 / 9, 9, 10))  # 5 judged - 2 by phrase, of 9


def test_a_gap_without_any_spread_is_not_certain_and_one_question_has_no_interval() -> None:
    records = [record("rejection", number, rejected=False, judged_rejected=True) for number in range(3)]
    gap = made(records, "rgb-table3").rows[0].cells[5]
    assert (gap.value, gap.high) == (1.0, 1.0)
    assert gap.low == pytest.approx(1 - math.sqrt(2) * (1 - wilson(3, 3)[0]))
    alone = made(records[:1], "rgb-table3").rows[0].cells[5]
    assert (alone.value, alone.low, alone.high) == (1.0, None, None)


def test_table_3_without_a_judge_says_so() -> None:
    found = made(rejections(judge=False), "rgb-table3")
    assert shares(found.rows[0]) == [30.0, "no judge", "no judge", 10.0]


@pytest.mark.parametrize(("model", "chance"), [("gpt-4o-mini", False), ("SmolLM2-135M-Instruct", True)])
def test_a_judge_without_measured_agreement_is_named_as_such(model: str, chance: bool) -> None:
    verdicts = {"rgb.judge.rejection": {"reply": "…", "verdicts": [{"verdict": "addressed", "model": model}]}}
    found = made([record("rejection", 0, rejected=False, judged_rejected=False, evidence=verdicts)], "rgb-table3")
    assert any(model in note and "agreement" in note for note in found.notes)
    assert any("chance" in note for note in found.notes) is chance


# ---------------------------------------------------------------- table 7


def counterfactual(known: int = 8, judge: bool = True, **more: object) -> list[Record]:
    """Ten questions: `known` of them are answered closed book. With the false documents 2 are right (numbers 0 and 9);
    4 say that there are errors (0, 1, 2, 9), officially 3 (0, 1, and 2, which then refuses); the judge finds 5 (0 to 3
    and 9).
    """
    found = []
    for number in range(10):
        knows, right = number < known, number in (0, 9)
        label = [-1] if number == 2 else [int(right)]
        found += [
            record("counterfactual", number, closed=True, right=knows, label=[int(knows)], **more),  # type: ignore[arg-type]
            record(
                "counterfactual", number, right=right, detected=number in (0, 1, 2, 9), label=label,
                fact=number in (0, 1, 2), judged_detected=number in (0, 1, 2, 3, 9) if judge else None, **more,  # type: ignore[arg-type]
            ),
        ]  # fmt: skip
    return found


def test_table_7_by_hand() -> None:
    found = made(counterfactual(), "rgb-table7")
    assert found.columns[3:] == ("Acc", "Acc_doc", "ED", "ED*", "CR", "CR*", "Acc > 70%")
    default, by_program = found.rows
    # CR: 0 and 9 of (0, 1, 2, 9); CR*: 0 and 9 of (0, 1, 2, 3, 9).
    assert shares(default) == [80.0, 20.0, 40.0, 50.0, 50.0, 40.0, "yes"]
    # Official: of the 3 with factlabel 1, `correct_tt` has no 0 in the label: number 0, and 2, whose label is [-1].
    # The judged one wants a 1 too: 0 and 9 of 5.
    assert shares(by_program) == [80.0, 20.0, 30.0, 50.0, 66.67, 40.0, "yes"]
    cr = by_program.cells[7]
    assert (cr.scored, cr.total) == (3, 3)
    assert not any("none belongs" in note for note in found.notes)


def test_table_7_over_the_known_questions_only() -> None:
    found = made(counterfactual(), "rgb-table7-known")
    assert found.columns[3:] == ("Known", "Acc_doc", "ED", "ED*", "CR", "CR*")
    # Known: 0 to 7. Right: 0. ED: 0, 1, 2. ED*: 0 to 3.
    assert shares(found.rows[0]) == ["8 of 10", 12.5, 37.5, 50.0, 33.33, 25.0]
    assert (found.rows[0].cells[4].scored, found.rows[0].cells[4].total) == (8, 8)


def test_a_failed_answer_leaves_the_counts_of_the_known_questions_open() -> None:
    records = counterfactual()
    records[3] = record("counterfactual", 1, error="server_fault: 500")
    row = made(records, "rgb-table7-known").rows[0]
    assert (row.cells[4].scored, row.cells[4].total) == (7, 8)


def test_the_rule_of_70_percent_marks_rows_and_says_when_none_passes() -> None:
    exactly = made(counterfactual(known=7), "rgb-table7")
    assert [row.cells[-1].text for row in exactly.rows] == ["no", "no"]
    assert any("none belongs" in note for note in exactly.notes)
    several = made([*counterfactual(known=7), *counterfactual(known=8, system="n")], "rgb-table7")
    assert [row.cells[-1].text for row in several.rows] == ["no", "no", "yes", "yes"]
    assert not any("none belongs" in note for note in several.notes)


def test_without_closed_book_questions_the_rule_cannot_be_applied() -> None:
    records = [one for one in counterfactual() if not one.case.condition["closed_book"]]
    found = tables(HandRun(records), HandBenchmark(), "en")
    row = table(found, "rgb-table7").rows[0]
    assert shares(row)[0] == "not asked"
    assert shares(row)[-1] == DASH
    assert any("cannot be applied" in note for note in table(found, "rgb-table7").notes)
    assert not any(one.id == "rgb-table7-known" for one in found)


def test_closed_book_questions_alone_still_have_their_accuracy() -> None:
    records = [one for one in counterfactual() if one.case.condition["closed_book"]]
    row = made(records, "rgb-table7").rows[0]
    assert shares(row) == [80.0, *["not asked"] * 5, "yes"]


def test_rates_of_nothing_are_words_and_no_zero() -> None:
    records = [
        record("counterfactual", 0, closed=True, right=False, label=[0]),
        record("counterfactual", 0, right=False, detected=False, label=[0], judged_detected=False),
    ]
    found = tables(HandRun(records), HandBenchmark(), "en")
    assert shares(table(found, "rgb-table7").rows[0])[1:6] == [0.0, 0.0, 0.0, "none detected", "none detected"]
    assert shares(table(found, "rgb-table7-known").rows[0]) == ["0 of 1", *["none known"] * 5]
    alone = made([record("noise", 0, error="timed_out: 120 s")], "rgb-table1")
    assert shares(alone.rows[0]) == ["not scored"]


def test_without_a_judge_the_judged_rates_say_so() -> None:
    found = made(counterfactual(judge=False), "rgb-table7")
    assert shares(found.rows[0]) == [80.0, 20.0, 40.0, "no judge", 50.0, "no judge", "yes"]


# ---------------------------------------------------------------- the drop


def test_the_first_significant_drop_is_exact_mcnemar_with_holm() -> None:
    # 12 questions, all right at 0. At 0.4 six are lost (p = 2/64), at 0.8 nine (p = 2/512). Holm: 2/512 * 2, then 2/64.
    records = [*noise("+" * 12, 0.0), *noise("-" * 6 + "+" * 6, 0.4), *noise("-" * 9 + "+" * 3, 0.8)]
    found = made(records, "rgb-drop")
    assert found.columns == ("System", "Data set", "Ability", "noise 0.4", "noise 0.8", "First significant at")
    row = found.rows[0]
    assert heads(row) == ["m", "English, en_refine", "Noise robustness"]
    at_4, at_8, first = row.cells[3:]
    assert (at_4.value, at_4.text, at_4.scored) == (-0.5, "p 0.031 *", 12)
    assert (at_8.value, at_8.text) == (-0.75, "p 0.008 *")
    assert first.text == "0.4"


def test_holm_can_move_the_first_significant_ratio() -> None:
    # Alone, p = 2/64 at 0.6 would be significant; beside p = 1 at 0.2 and 0.4 it is 6/64.
    lost = "-" * 6 + "+" * 6
    records = [*noise("+" * 12, 0.0), *noise("+" * 12, 0.2), *noise("+" * 12, 0.4), *noise(lost, 0.6)]
    row = made(records, "rgb-drop").rows[0]
    assert [cell.text for cell in row.cells[3:]] == ["p 1.000", "p 1.000", "p 0.094", "none up to 0.6"]


def test_a_significant_gain_is_no_drop() -> None:
    row = made([*noise("-" * 8, 0.0), *noise("+" * 8, 0.8)], "rgb-drop").rows[0]
    assert row.cells[3].value == 1.0
    assert [cell.text for cell in row.cells[3:]] == ["p 0.008 *", "none up to 0.8"]


def test_only_questions_scored_at_both_ratios_are_compared() -> None:
    row = made([*noise("++++xx", 0.0), *noise("x---++", 0.8)], "rgb-drop").rows[0]
    assert (row.cells[3].value, row.cells[3].scored) == (-1.0, 3)


def test_without_noise_0_nothing_is_tested() -> None:
    row = made([*noise("++", 0.2), *noise("--", 0.8)], "rgb-drop").rows[0]
    assert [cell.text for cell in row.cells[3:]] == [DASH, DASH, "noise 0 is missing"]


def test_the_drop_is_told_for_each_system_language_and_ability() -> None:
    records = [
        record(ability, number, language=language, ratio=ratio, right=ratio == 0)
        for ability in ("noise", "integration") for language in ("en", "zh")
        for ratio in (0.0, 0.4) for number in range(8)
    ]  # fmt: skip
    found = made(records, "rgb-drop")
    assert [(heads(row)[1:], row.cells[-1].text) for row in found.rows] == [
        (["English, en_refine", "Noise robustness"], "0.4"), (["Chinese, zh_refine", "Noise robustness"], "0.4"),
        (["English, en_int", "Information integration"], "0.4"),
        (["Chinese, zh_int", "Information integration"], "0.4"),
    ]  # fmt: skip
    assert any("0.05" in note and "McNemar" in note for note in found.notes)
    assert any("cannot be tested" in note for note in found.notes)


def test_repeats_are_compared_by_question_not_by_answer() -> None:
    # 8 questions, 3 answers each: lost in all. By answer, McNemar's p would be 2 / 2**24; by question it is 2 / 2**8.
    records = [
        record("noise", number, ratio=ratio, repeat=repeat, right=ratio == 0)
        for number in range(8) for repeat in range(3) for ratio in (0.0, 0.8)
    ]  # fmt: skip
    found = made(records, "rgb-drop")
    assert found.rows[0].cells[3].text == "p 0.008 *"
    assert any("permutation" in note for note in found.notes)


# ---------------------------------------------------------------- what misled, and where the document stood


def test_answers_where_no_document_holds_one_are_sorted_by_what_misled() -> None:
    given = passages("rumour", "other_year", "related")
    texts = ["Sources expect Bo Kern to win.", "In 2019 Cy Dahl won.", "The stadium was full."]
    given = tuple(
        type(one)(one.id, text, relevant=False, meta=one.meta) for one, text in zip(given, texts, strict=True)
    )
    answers = [
        ("I cannot tell.", True, False), ("Bo Kern won.", False, False), ("It was Bo Kern.", False, False),
        ("Cy Dahl", False, False), ("Eve Fox did.", False, False), ("Ada", False, True), ("", False, False),
    ]  # fmt: skip
    records = [
        record("rejection", number, answer=answer, rejected=rejected, right=right, given=given)
        for number, (answer, rejected, right) in enumerate(answers)
    ]
    found = made(records, "rgb-rejection-sources")
    assert found.columns == (
        "System", "Data set", "refused", "guessed right", "misled by a rumour", "misled by another year",
        "from no passage",
    )  # fmt: skip
    assert shares(found.rows[0], 2) == [14.29, 14.29, 28.57, 14.29, 28.57]
    assert sum(cell.value or 0 for cell in found.rows[0].cells[2:]) == pytest.approx(1)
    assert {cell.scored for cell in found.rows[0].cells[2:]} == {7}


def test_positions_are_counted_where_one_document_is_relevant() -> None:
    first, third = passages("plain", "related", "rumour"), passages("related", "rumour", "far")
    two = passages("plain", "plain", "rumour")
    records = [
        record("noise", 0, ratio=0.8, right=True, given=first), record("noise", 1, ratio=0.8, right=True, given=first),
        record("noise", 2, ratio=0.8, right=True, given=third), record("noise", 3, ratio=0.8, right=False, given=third),
        record("noise", 4, ratio=0.4, right=False, given=two),
    ]  # fmt: skip
    found = made(records, "rgb-positions")
    assert found.columns == ("System", "Data set", "position 1", "position 3")
    assert shares(found.rows[0], 2) == [100.0, 50.0]
    kinds = made(records, "rgb-relevant-kinds")
    assert (kinds.columns[2:], shares(kinds.rows[0], 2)) == (("stated plainly", "far from the subject"), [100.0, 50.0])


# ---------------------------------------------------------------- repeats


def test_repeats_widen_the_interval_and_show_the_variance_of_generation() -> None:
    # Clusters 2/2, 1/2, 0/2, 1/2: the effective number is 4.43 (tests/stats).
    rights = {0: (True, True), 1: (True, False), 2: (False, False), 3: (False, True)}
    records = [
        record("noise", number, repeat=repeat, right=right)
        for number, answers in rights.items() for repeat, right in enumerate(answers)
    ]  # fmt: skip
    found = tables(HandRun(records), HandBenchmark(), "en")
    cell = table(found, "rgb-table1").rows[0].cells[3]
    assert (cell.value, cell.scored, cell.total) == (0.5, 8, 8)
    assert (cell.low, cell.high) == pytest.approx(Estimate.of_share([(2, 2), (1, 2), (0, 2), (1, 2)]).known[1:])  # type: ignore[index]
    varied = table(found, "rgb-repeats")
    assert varied.title == "Variance of generation: 2 answers per question"
    # Two questions of four changed: p(1-p) * 2/1 = 1/2 each; sqrt(1/2 + 1/2) / 4 = 1/4.
    assert heads(varied.rows[0], 4) == ["m", "English, en_refine", "Noise robustness, noise 0", "Acc"]
    assert shares(varied.rows[0], 4) == [50.0, 25.0, 50.0]


def test_a_run_without_repeats_has_no_table_of_their_variance() -> None:
    assert not any(one.id == "rgb-repeats" for one in tables(HandRun(noise("+-", 0.0)), HandBenchmark(), "en"))


def test_a_question_counts_as_known_when_most_of_its_answers_are_right() -> None:
    records = [record("counterfactual", 0, closed=True, repeat=n, right=n < 2) for n in range(3)]
    records += [record("counterfactual", 1, closed=True, repeat=n, right=n < 1) for n in range(3)]
    records += [record("counterfactual", number, repeat=n, right=True) for number in (0, 1) for n in range(3)]
    row = made(records, "rgb-table7-known").rows[0]
    assert row.cells[3].text == "1 of 2"
    assert row.cells[4].scored == 3


# ---------------------------------------------------------------- the summary


def test_the_summary_has_one_line_for_each_system_and_language() -> None:
    records = [*noise("++", 0.0), *noise("+-", 0.8), *rejections(judge=False), *counterfactual()]
    found = made(records, "rgb-summary")
    assert found.columns == (
        "System",
        "Data set",
        "Noise robustness",
        "Negative rejection",
        "Counterfactual robustness",
    )
    assert shares(found.rows[0], 2) == [75.0, 30.0, 20.0]
    assert sum("Wilson" in note for note in found.notes) == 1
    assert any("exactly the authors' program" in note for note in found.notes)
    # Two questions: the answers to one are a cluster.
    assert (found.rows[0].cells[2].scored, found.rows[0].cells[2].total) == (4, 4)


# ---------------------------------------------------------------- published rows


def whole(dataset: str = "zh", questions: int = 300) -> list[Record]:
    return [
        record("noise", number, language="zh", dataset=dataset, ratio=ratio, right=True, label=[1])
        for ratio in (0.0, 0.2, 0.4, 0.6, 0.8) for number in range(questions)
    ]  # fmt: skip


def test_published_rows_stand_beside_ours_on_the_same_data() -> None:
    found = tables(HandRun(whole()), official(), "en")
    rows = table(found, "rgb-table1").rows
    assert [row.published for row in rows] == [False, False, *[True] * 6]
    assert heads(rows[2]) == ["ChatGPT", "Chinese, zh", "official"]
    assert shares(rows[2]) == [95.67, 94.67, 91.0, 87.67, 70.67]
    odd = rows[-1].cells[-1]
    assert odd.value == pytest.approx(0.6768)
    assert (odd.note, odd.low) == ("*", None)
    assert any("201/297" in note for note in table(found, "rgb-table1").notes)
    apart = table(found, "rgb-published1")  # the English ones, which this run did not ask
    assert {row.cells[1].text for row in apart.rows} == {"English, en"}


@pytest.mark.parametrize(
    ("records", "benchmark", "why"),
    [
        (whole(), HandBenchmark(), "the data are not the authors' files"),
        (whole("zh_refine"), official(), "the paper used zh"),
        (whole(questions=20), official(), "not all 300 questions were asked"),
        (whole(), official(scoring="default"), "the scoring is not official"),
        (whole(), official(template="paper"), "the prompt is not the authors'"),
        (whole(), official(selection="balanced"), "--selection official"),
        (whole(), official(template={"name": "mine", "en": "…"}), "the prompt is not the authors'"),
    ],
)
def test_published_rows_stand_apart_otherwise_and_say_why(
    records: list[Record], benchmark: HandBenchmark, why: str
) -> None:
    found = tables(HandRun(records), benchmark, "en")
    assert not any(row.published for row in table(found, "rgb-table1").rows)
    apart = table(found, "rgb-published1")
    assert apart.title.startswith("Published, not comparable")
    assert all(row.published for row in apart.rows)
    assert len(apart.rows) == 12
    assert any(note.startswith("Chinese: shown separately") and why in note for note in apart.notes)


def test_published_tables_3_and_7_have_the_papers_figures_in_our_columns() -> None:
    records = [*rejections(judge=False), *counterfactual()]
    found = tables(HandRun(records), HandBenchmark(), "en")
    third = table(found, "rgb-published3")
    assert third.columns[3:] == ("Rej", "Rej*", "Rej* − Rej")
    assert shares(third.rows[0]) == [24.67, 45.0, 20.33]
    seventh = table(found, "rgb-published7")
    assert seventh.columns[3:] == ("Acc", "Acc_doc", "ED", "ED*", "CR*")
    assert (heads(seventh.rows[0])[0], shares(seventh.rows[0])) == ("ChatGPT", [89.0, 9.0, 8.0, 7.0, 57.14])
    assert not any(one.id in ("rgb-published1", "rgb-published5") for one in found)


def test_published_rows_of_table_7_keep_the_columns() -> None:
    records = [
        record("counterfactual", number, closed=closed, right=True, detected=True, label=[1])
        for number in range(100) for closed in (True, False)
    ]  # fmt: skip
    rows = made(records, "rgb-table7", official()).rows
    assert shares(rows[-1]) == [89.0, 9.0, 8.0, 7.0, DASH, 57.14, ""]
    assert rows[-1].published


# ---------------------------------------------------------------- all of them


def everything(language: str) -> list[Record]:
    given = passages("rumour", "plain")
    found = [*noise("+-", 0.0, language=language), *noise("--", 0.8, language=language, given=given)]
    found += noise("+-", 0.8, language=language, given=given[::-1], repeat=1)
    for number in range(2):
        found += [
            record(
                "rejection", number, language=language, rejected=False, right=False, label=[0], judged_rejected=True
            ),
            record("integration", number, language=language, right=False, label=[0, 1]),
            record("counterfactual", number, language=language, closed=True, right=True, label=[1]),
            record("counterfactual", number, language=language, right=False, detected=True, label=[0], fact=True),
        ]
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_row_has_a_cell_for_every_column(language: str) -> None:
    for benchmark in (HandBenchmark(), official()):
        for one in tables(HandRun([*everything("en"), *everything("zh")]), benchmark, language):
            assert one.rows
            assert all(len(row.cells) == len(one.columns) for row in one.rows), one.id
            assert all(one.columns)


def test_chinese_tables_are_in_chinese() -> None:
    found = tables(HandRun([*everything("en"), *everything("zh")]), HandBenchmark(), "zh")
    for one in found:
        assert re.search("[一-鿿]", one.title), one.id
        assert all(re.search("[一-鿿]", note) for note in one.notes), one.id
    assert heads(table(found, "rgb-table1").rows[0]) == ["m", "英文，en_refine", "ragstone"]


def test_the_tables_of_both_languages_have_the_same_figures() -> None:
    run = HandRun([*everything("en"), *everything("zh")])

    def figures(language: str) -> list[list[tuple[object, ...]]]:
        def bare(cell: Cell) -> tuple[object, ...]:
            return (cell.value, cell.low, cell.high, cell.scored, cell.total)

        return [
            [bare(cell) for row in one.rows for cell in row.cells] for one in tables(run, HandBenchmark(), language)
        ]

    assert figures("en") == figures("zh")


def test_a_run_is_read_once() -> None:
    run = HandRun(everything("en"))
    tables(run, HandBenchmark(), "en")
    assert run.reads == 1


def test_a_run_without_records_has_no_tables() -> None:
    assert tables(HandRun([]), HandBenchmark(), "en") == []


def test_records_of_another_kind_are_left_alone() -> None:
    other = record("noise", 0, right=True)
    other.case.condition.pop("ability")
    assert tables(HandRun([other]), HandBenchmark(), "en") == []


def test_no_word_is_left_over() -> None:
    folder = Path(__file__).parents[3] / "src" / "ragstone" / "benchmarks" / "rgb"
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))).replace("'", '"')
    own = tomllib.loads((folder / "messages_en.toml").read_text(encoding="utf-8"))
    made = (
        "title_",
        "kind_",
        "what_",
        "cause_",
        "causes_",
        "reason_",
        "relevant_",
        "apart_",
        "chart_",
        "try_",
        "field_",
        "parts_",
        "passage_",
    )
    left = [word for word in own if f'"{word}"' not in code and not word.startswith(made)]
    assert left == []
    told = [
        word.partition("_")[2].removesuffix("_extractive")
        for word in own
        if word.startswith(("reason_", "cause_", "try_"))
    ]
    assert [name for name in told if f'"{name}"' not in code and f'"cause_{name}"' not in code] == []
