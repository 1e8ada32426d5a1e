"""What the answers of a run say against its own conditions."""

import pytest

from ragstone.benchmarks.interventions.verification import Seen, verified_of


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


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("changed", "alarm"), [(2, False), (2000, True)])
def test_alarms_of_ten_thousand_questions_take_no_time(changed: int, *, alarm: bool) -> None:
    verified = verified_of(handed_back(changed, 10_000), shown=True)
    assert ("not_neutral" in {one.name for one in verified.alarms}) == alarm
