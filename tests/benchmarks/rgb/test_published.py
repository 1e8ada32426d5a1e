"""The paper's figures: as printed, and beside measured ones only where they are of the same thing."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.benchmarks.rgb.published import RgbSetting, paper, reasons_apart

SHARED = Path(__file__).parents[4] / "shared" / "data" / "published" / "published.json"

SAME = RgbSetting("official", "official", "official", 5, 0.0, frozenset({"en", "zh", "zh_int", "zh_fact"}))


def test_all_printed_figures_are_there() -> None:
    count = {number: sum(figure.table == number for figure in paper().figures) for number in (1, 3, 5, 7)}
    assert count == {1: 6 * 2 * 5, 3: 6 * 2 * 2, 5: 6 * 2 * 3, 7: 3 * 5}
    assert paper().rows(1)[("ChatGPT", "en")][("Acc", 0.8)].printed == 76.0
    assert paper().rows(3)[("Qwen-7B-Chat", "zh")][("Rej*", 1.0)].share == pytest.approx(0.2533)
    assert paper().rows(7)[("ChatGPT", "en")][("CR", 0.0)].printed == 57.14
    assert "2309.01431" in paper().citation


def shared_rows() -> list[tuple[str, dict[str, Any]]]:
    if not SHARED.exists():
        pytest.skip("the transcribed figures are not beside this checkout")
    found = json.loads(SHARED.read_text(encoding="utf-8"))["rgb"]
    tables = {"1": "table1_noise_robustness", "3": "table3_negative_rejection", "5": "table5_information_integration"}
    return [(number, row) for number, name in tables.items() for row in found[name]["rows"]]


def test_the_figures_are_those_that_were_transcribed() -> None:
    for number, row in shared_rows():
        metric = {"accuracy": "Acc"}.get(row["metric"], row["metric"])
        figure = paper().rows(int(number))[(row["model"], row["language"])][(metric, float(row["noise_ratio"]))]
        assert figure.printed == row["value"]


def test_the_figures_that_do_not_add_up_are_flagged_in_both_languages() -> None:
    odd = [figure for figure in paper().figures if paper().note(figure, "en")]
    assert [(figure.table, figure.model, figure.printed) for figure in odd] == [
        (1, "BELLE-7B-2M", 67.68), (3, "Vicuna-7B-v1.3", 3.37),
    ]  # fmt: skip
    assert all("297" in paper().note(figure, language) for figure in odd for language in ("en", "zh"))
    assert "ED*" in paper().notes(7, "en")[0]
    assert "ChatGLM2-6B" in paper().notes(1, "zh")[0]
    assert paper().notes(5, "en") == []


def test_every_other_figure_is_a_count_of_its_questions() -> None:
    for figure in paper().figures:
        if figure.metric == "CR" or paper().note(figure, "en"):
            continue
        questions = paper().table(figure.table).questions
        count = round(figure.share * questions)
        assert figure.printed == round(100 * count / questions, 2), figure


def test_rows_are_comparable_only_with_everything_the_same() -> None:
    assert reasons_apart(1, "zh", SAME, [("zh", 300)] * 5) == []
    assert reasons_apart(5, "zh", SAME, [("zh_int", 100)] * 3) == []
    assert reasons_apart(7, "zh", SAME, [("zh_fact", 100)]) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (RgbSetting("balanced", "official", "official", 5, 0.0, SAME.official_sets), "apart_selection"),
        (RgbSetting("official", "default", "official", 5, 0.0, SAME.official_sets), "apart_scoring"),
        (RgbSetting("official", "official", "paper", 5, 0.0, SAME.official_sets), "apart_template"),
        (RgbSetting("official", "official", "official", 3, 0.0, SAME.official_sets), "apart_documents"),
        (RgbSetting("official", "official", "official", 5, 0.2, SAME.official_sets), "apart_documents"),
        (RgbSetting("official", "official", "official", 5, 0.0, frozenset()), "apart_data"),
    ],
)
def test_each_difference_is_a_reason_to_stand_apart(changed: RgbSetting, reason: str) -> None:
    assert reasons_apart(1, "zh", changed, [("zh", 300)] * 5) == [reason]


def test_other_questions_or_fewer_of_them_are_a_reason_to_stand_apart() -> None:
    assert reasons_apart(1, "zh", SAME, [("zh", 300), ("zh", 20)]) == ["apart_questions"]
    refined = RgbSetting("official", "official", "official", 5, 0.0, frozenset({"zh", "zh_refine"}))
    assert reasons_apart(1, "zh", refined, [("zh_refine", 300)]) == ["apart_dataset"]
    assert reasons_apart(1, "en", SAME, []) == ["apart_not_asked"]


def test_a_table_that_is_not_carried_is_an_error() -> None:
    with pytest.raises(KeyError):
        paper().table(2)
