"""What an adversary reaches on the fictional data, against chance and against the easy data."""

import pytest

from bench import leaks

pytestmark = pytest.mark.slow
QUESTIONS = 60
Sets = tuple[leaks.Set, leaks.Set, leaks.Set]


@pytest.fixture(scope="module", params=("en", "zh"))
def sets(request: pytest.FixtureRequest) -> Sets:
    """Questions to learn on and others to attack, of the data with pages; and easy ones to attack."""
    learned, attacked = (leaks.generated(request.param, seed, QUESTIONS, "news") for seed in (1, 0))
    return learned, attacked, leaks.generated(request.param, 0, QUESTIONS, "easy")


def test_words_alone_hardly_tell_a_rumour_from_an_answer(sets: Sets) -> None:
    learned, attacked, easy = sets
    reached = leaks.word_attack(learned, attacked)
    assert reached["rumour"] < 0.66  # 0.60 on 300 questions
    assert reached["negative"] < 0.62
    easily = leaks.word_attack(leaks.generated(easy.language, 1, QUESTIONS), easy)
    assert easily["rumour"] > 0.95  # the attack works where there is a leak


def test_answers_stand_at_all_depths_alike(sets: Sets) -> None:
    _, attacked, easy = sets
    assert leaks.chi_square(leaks.depths(attacked)) < 9.49
    assert leaks.chi_square(leaks.depths(easy)) > 50


def test_the_names_of_the_question_filter_no_better_than_bm25(sets: Sets) -> None:
    found = leaks.filter_attack(sets[1])
    assert found["auc filter"] <= found["auc bm25"] + 0.02
    assert abs(found["kept positive"] - found["kept rumour"]) < 0.1


def test_the_reader_of_patterns_is_misled(sets: Sets) -> None:
    _, attacked, easy = sets
    found, easily = leaks.regex_attack(attacked), leaks.regex_attack(easy)
    assert all(found[ratio] < easily[ratio] for ratio in (0.2, 0.4, 0.6))


def test_texts_that_do_not_answer_hold_a_value_of_the_asked_type_as_often(sets: Sets) -> None:
    held = leaks.values_held(sets[1])
    assert held["related: with a value"] > held["positive: with a value"] - 0.05


def test_sentences_hardly_ever_come_again(sets: Sets) -> None:
    _, attacked, easy = sets
    found, easily = leaks.recurrence(attacked), leaks.recurrence(easy)
    assert found["in more than 3"] < 0.05
    assert found["in more than 3"] < easily["in more than 3"] / 3


def test_the_area_counts_ties_by_half() -> None:
    assert leaks.auc([1.0, 2.0], [1.0, 0.0]) == pytest.approx(0.875)
    assert leaks.chi_square([10, 10, 10, 10, 10]) == 0.0
