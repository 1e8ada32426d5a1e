"""What the answers of a run say against its own conditions."""

import pytest

from ragstone.diagnosis.interventions.effect import Effect, Verified
from ragstone.diagnosis.interventions.verification import Seen, proofs, verified_of


def handed_back(changed: int, total: int) -> list[Seen]:
    """Questions whose own passages are handed back, of which so many answers change; asked again none does."""
    right, wrong = ({"as_is": "right", "as_given": after, "again": "right"} for after in ("right", "wrong"))
    outcomes = [wrong] * changed + [right] * (total - changed)
    return [Seen({}, outcome, frozenset(), False, False, frozenset()) for outcome in outcomes]


@pytest.mark.parametrize(("changed", "total", "alarm"), [(0, 8, False), (1, 8, False), (3, 8, True), (1, 1, False)])
def test_answers_from_own_passages_handed_back_are_an_alarm_where_they_change_more_than_by_chance(
    changed: int, total: int, *, alarm: bool
) -> None:
    verified = verified_of(handed_back(changed, total), shown=True)
    assert ("not_neutral" in {one.name for one in verified.alarms}) == alarm


def test_two_answers_are_no_alarm_where_answers_change_by_themselves() -> None:
    """Two of five changed when their passages were handed back, and two of forty when simply asked again."""
    varying = {"as_is": "right", "again": "wrong"}
    steady = {"as_is": "right", "again": "right"}
    rest = [Seen({}, one, frozenset(), False, False, frozenset()) for one in [varying] * 2 + [steady] * 33]
    for changed in (2, 4):
        verified = verified_of([*handed_back(changed, 5), *rest], shown=True)
        assert ("not_neutral" in {one.name for one in verified.alarms}) == (changed > 2)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("changed", "alarm"), [(2, False), (2000, True)])
def test_alarms_of_ten_thousand_questions_take_no_time(changed: int, *, alarm: bool) -> None:
    verified = verified_of(handed_back(changed, 10_000), shown=True)
    assert ("not_neutral" in {one.name for one in verified.alarms}) == alarm


@pytest.mark.parametrize(("prompts", "more"), [(True, set()), (False, {"closed_book"})])
def test_right_answers_are_asked_without_documents_only_where_no_prompt_shows_that_there_are_none(
    more: set[str], *, prompts: bool
) -> None:
    possible = frozenset({"closed_book"})
    seen = {
        row: Seen({}, {"as_is": outcome}, frozenset(), False, False, possible)
        for row, outcome in enumerate(("right", "wrong"))
    }
    found = proofs(seen, Verified(given=True, tried=True, prompts=prompts), {0: (), 1: ("closed_book",)})
    assert found.get(0, set()) == more


UNKNOWN = Effect("unknown", "nothing")


def asked_with_stand_ins(saying: int, asked: int, *, varying: int) -> list[Seen]:
    """Questions of a system that records nothing, asked again (`varying` of them answer otherwise) and with another
    answer in their gold, which `saying` of them then say."""
    return [
        Seen(
            {"again": UNKNOWN, "counterfactual": UNKNOWN},
            {"as_is": "right", "again": "right", "counterfactual": "wrong"},
            frozenset({"counterfactual"} if n < saying else ()), False, n < varying, frozenset(),
        )
        for n in range(asked)
    ]  # fmt: skip


@pytest.mark.parametrize(("saying", "asked", "given"), [(0, 8, False), (1, 8, False), (2, 8, True), (2, 60, False)])
def test_a_system_that_says_what_was_put_into_its_passages_was_given_them_however_much_its_answers_vary(
    saying: int, asked: int, *, given: bool
) -> None:
    seen = asked_with_stand_ins(saying, asked, varying=asked // 2)
    assert verified_of(seen, shown=False).given == given


@pytest.mark.parametrize(
    ("refused", "again", "total", "alarm"),
    [(4, 2, 36, False), (4, 0, 36, False), (9, 0, 36, True), (9, 8, 36, False), (3, 0, 3, True), (36, 0, 36, True)],
)
def test_changes_into_refusals_alone_are_an_alarm_where_they_are_many_and_more_than_when_asked_again(
    refused: int, again: int, total: int, *, alarm: bool
) -> None:
    """Four of 36 are what a system does that errs in a few of its answers, whatever it is given."""
    seen = []
    for n in range(total):
        outcome = {"as_is": "wrong", "gold_added": "wrong", "again": "wrong"}
        outcome |= {"gold_added": "refused"} if n < refused else {}
        outcome |= {"again": "refused"} if n < again else {}
        seen.append(Seen({}, outcome, frozenset(), False, False, frozenset()))
    verified = verified_of(seen, shown=True)
    assert ("only_refusals" in {one.name for one in verified.alarms}) == alarm
    assert verified.discredited == alarm
