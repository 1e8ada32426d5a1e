"""Each advice names the answers that showed it; a change has a gain only if it was asked of all questions."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from tests.diagnosis.interventions.evidence import item_of

from ragstone.diagnosis.interventions.advice import Fix, fixes
from ragstone.diagnosis.interventions.diagnosed import Diagnosed, of_questions
from ragstone.diagnosis.interventions.summary import summary_of

TAKES = frozenset({"repeat", "passages"})
_RIGHT = {"as_is": "right", "again": "right", "gold_only": "right"}
_MOVED = {"spaced": "wrong", "as_is": "wrong", "again": "wrong", "gold_only": "right"}


def items_of(*questions: Mapping[str, str], at: str = "prompted", takes: frozenset[str] = TAKES) -> list[Diagnosed]:
    records = [item_of(f"q{number}", outcomes, at=at) for number, outcomes in enumerate(questions)]
    return of_questions(records, takes=takes, gates=None, sure=False)


def action(items: Sequence[Diagnosed], language: str = "en") -> str:
    return summary_of(items, "s", language=language).actions[0].text


@pytest.mark.parametrize(
    ("first", "last", "advice", "chinese"),
    [
        (("right", "right"), ("wrong", "wrong"), "Put the best passages first", "放在最前面"),
        (("wrong", "wrong"), ("right", "right"), "Put the best passages last", "放在最后面"),
        (("right", "right"), ("right", "right"), "Change the order of the passages", "调整段落顺序"),
    ],
)
def test_the_best_place_is_advised_only_if_it_was_measured_better(
    first: Sequence[str], last: Sequence[str], advice: str, chinese: str
) -> None:
    moved = [{**_MOVED, "gold_first": one, "gold_last": two} for one, two in zip(first, last, strict=True)]
    items = items_of(*moved, *[_RIGHT] * 4)
    assert advice in action(items)
    assert chinese in action(items, "zh")
    assert "“right passages first”" in action(items)


def test_an_advice_that_was_not_tried_says_so_and_has_no_gain() -> None:
    (fix,) = fixes(items_of({**_MOVED, "gold_first": "right"}, *[_RIGHT] * 4))
    assert (fix.tried, fix.gain, fix.missing) == (False, None, "measure_try")
    assert [(effect.condition, effect.wrong, len(effect.righted)) for effect in fix.shown] == [("gold_first", 1, 1)]


@pytest.mark.parametrize("asked_of", ["all", "wrong ones"])
def test_a_change_has_the_gain_of_all_questions_or_none(asked_of: str) -> None:
    moved = {**_MOVED, "gold_last": "right", "reordered": "right"}
    broken = {**_RIGHT, **({"reordered": "wrong"} if asked_of == "all" else {})}
    same = {**_RIGHT, **({"reordered": "right"} if asked_of == "all" else {})}
    items = items_of(*[moved] * 4, broken, same, same)
    fix = fixes(items)[0]
    if asked_of == "wrong ones":
        assert not fix.tried
        return
    assert fix.change == "reordered"
    assert fix.gain is not None
    assert fix.gain.value == pytest.approx(3 / 7)
    assert [(len(effect.righted), len(effect.broke)) for effect in fix.shown[:1]] == [(4, 1)]
    assert "Reverse the order of the passages, best last: +43 points" in action(items)
    assert "tried on 7 questions: 4 righted, 1 broken; 4 of 4 failures" in action(items)


def test_a_change_that_takes_as_much_as_it_gives_is_no_advice() -> None:
    moved = {**_MOVED, "gold_last": "right", "reordered": "right", "fewer": "wrong"}
    items = items_of(*[moved] * 2, *[{**_RIGHT, "reordered": "wrong", "fewer": "right"}] * 2)
    fix: Fix = fixes(items)[0]
    assert not fix.tried
    assert "reordered" in [effect.condition for effect in fix.failed]
    text = action(items)
    assert not text.startswith("Reverse")
    assert "Tried, without a gain: reverse the order of the passages, best last (0 points)" in text


def test_of_two_changes_that_gain_the_larger_gain_is_advised_and_the_other_is_not_called_without_a_gain() -> None:
    moved = {**_MOVED, "gold_last": "right", "reordered": "wrong", "fewer": "right"}
    both = {**moved, "reordered": "right"}
    items = items_of(both, *[moved] * 2, *[{**_RIGHT, "reordered": "right", "fewer": "right"}] * 2)
    fix = fixes(items)[0]
    assert (fix.change, [effect.condition for effect in fix.failed]) == ("fewer", [])
    assert "without a gain" not in action(items)


def test_what_no_answer_shows_is_no_advice_but_what_would_measure_it() -> None:
    asked = {"as_is": "refused", "again": "refused"}
    refused = items_of(asked, *[{"as_is": "right", "again": "right"}] * 3, takes=frozenset({"repeat"}))
    text = action(refused)
    assert "often the refusal" not in text  # nobody gave it the gold alone
    assert "what would help. To measure: let the system answer from the passages that a parameter `passages`" in text
    assert "要测量" in action(refused, "zh")


def test_the_most_that_a_fix_could_buy_is_not_called_its_gain() -> None:
    lost = {"as_is": "wrong", "again": "wrong", "gold_only": "right", "gold_added": "right"}
    items = items_of(*[lost] * 3, *[{**_RIGHT, "gold_added": "right"}] * 5, at="")
    (fix,) = fixes(items)
    assert not fix.tried
    assert "3 of 3 are right with “right passages added to its own”; not tried, so at most +38 points" in action(items)


def test_the_other_cause_of_the_same_answers_stands_beside_the_advice() -> None:
    """The gold was not in the prompt, so nothing beside it confused; beside the others it would be misread, too: a
    better search alone rights nothing."""
    lost = {"as_is": "wrong", "again": "wrong", "gold_only": "right", "gold_added": "wrong"}
    lost |= dict.fromkeys(("gold_first", "gold_last", "only_before", "only_after", "spaced"), "wrong")
    items = items_of(*[lost] * 3, *[{**_RIGHT, "gold_added": "right"}] * 5, at="")
    assert {item.cause.name for item in items} == {"not_retrieved", "healthy"}
    assert {item.cause.also for item in items} == {("noise",), ()}
    assert "0 of 3 are right with “right passages added to its own”" in action(items)
    assert "3 of 3 need another fix, too: other passages confuse." in action(items)
    assert "其中 3/3 题还须解决：" in action(items, "zh")


def test_a_prompt_has_one_word_in_chinese() -> None:
    """提示语 is a fixed phrase that a system answers with."""
    for module in ("ragstone.diagnosis", "ragstone.diagnosis.interventions"):
        file = Path(str(files(module) / "messages_zh.toml"))
        assert re.findall(r".*提示(?![词语]).*", file.read_text("utf-8")) == []
