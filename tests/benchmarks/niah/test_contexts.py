"""Contexts: within their budget, needles at the ends of sentences, the same bytes again."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.benchmarks.niah.contexts import SEPARATOR, Haystack, make_haystack, parts_of
from ragstone.datasets.haystack import haystack
from ragstone.errors import UsageError
from ragstone.text import sentences


def by_characters(texts: Sequence[str]) -> list[int]:
    """A tokenizer of four characters a token, rounded up: the parts never have fewer than the whole."""
    return [-(-len(text) // 4) for text in texts]


def made(texts: Sequence[str], language: str) -> Haystack:
    parts = parts_of(texts, language)
    return make_haystack(parts, by_characters(parts), separator_tokens=by_characters([SEPARATOR])[0], language=language)


def hay(language: str) -> Haystack:
    return made(haystack(language).texts, language)  # type: ignore[arg-type]


HAYS = {"en": hay("en"), "zh": hay("zh")}
NEEDLES = {"en": "The special number of Oslo is 3118205.", "zh": "奥斯陆的特别数字是3118205。"}

languages = st.sampled_from(["en", "zh"])
budgets = st.integers(300, 60_000)
depths = st.floats(0, 100)


def needle(language: str) -> tuple[str, int]:
    text = NEEDLES[language]
    return text, by_characters([text + " "])[0]


@given(language=languages, budget=budgets, depth=depths)
def test_a_context_keeps_to_its_budget_and_fills_it_to_a_sentence(language: str, budget: int, depth: float) -> None:
    one = HAYS[language]
    text, tokens = needle(language)
    plan = one.plan(budget, [(text, tokens, depth)])
    made = one.make(plan)
    assert by_characters([made.text])[0] <= plan.tokens <= budget
    assert plan.tokens > budget - one.longest - one.separator_tokens - 1


@given(language=languages, budget=budgets, depth=depths)
def test_the_needle_stands_once_at_the_end_of_a_sentence_nearest_to_its_depth(
    language: str, budget: int, depth: float
) -> None:
    one = HAYS[language]
    text, tokens = needle(language)
    plan = one.plan(budget, [(text, tokens, depth)])
    made = one.make(plan)
    assert made.text.count(text) == 1
    assert made.text[made.places[0] :].startswith(text)
    assert plan.depth is not None
    whole = one.tokens_of(plan.sentences)
    assert abs(plan.depth - depth) / 100 * whole <= one.longest
    before = made.text[: made.places[0]]
    assert before.strip() == one.slice(0, plan.at[0]).strip()
    if before.strip():
        assert sentences(before, language)[-1].strip() == one.slice(plan.at[0] - 1, plan.at[0]).strip()


@given(language=languages, budget=budgets)
def test_depth_0_is_the_very_start_and_depth_100_the_very_end(language: str, budget: int) -> None:
    one = HAYS[language]
    text, tokens = needle(language)
    assert one.make(one.plan(budget, [(text, tokens, 0.0)])).text.startswith(text)
    assert one.make(one.plan(budget, [(text, tokens, 100.0)])).text.endswith(text)


@given(language=languages, budget=budgets, depth=depths)
def test_the_haystack_without_its_needle_is_the_haystack(language: str, budget: int, depth: float) -> None:
    one = HAYS[language]
    text, tokens = needle(language)
    plan = one.plan(budget, [(text, tokens, depth)])
    rest = one.make(plan).text.replace(text, "")
    assert "".join(rest.split()) == "".join(one.slice(0, plan.sentences).split())


@given(language=languages, budget=budgets, places=st.lists(depths, min_size=2, max_size=8))
def test_several_needles_each_stand_once_and_in_the_order_of_their_depths(
    language: str, budget: int, places: list[float]
) -> None:
    one = HAYS[language]
    needles = [(NEEDLES[language].replace("3118205", f"{7_000_000 + n}"), 20, depth) for n, depth in enumerate(places)]
    plan = one.plan(budget, needles)
    made = one.make(plan)
    assert sorted(made.places) == list(made.places)
    for place, text in zip(made.places, plan.needles, strict=True):
        assert made.text[place:].startswith(text)
        assert made.text.count(text) == 1
    assert by_characters([made.text])[0] <= budget


@given(language=languages, shorter=budgets, longer=budgets)
def test_contexts_of_every_length_begin_alike_up_to_their_needle(language: str, shorter: int, longer: int) -> None:
    one = HAYS[language]
    text, tokens = needle(language)
    low = one.make(one.plan(min(shorter, longer), [(text, tokens, 50.0)]))
    high = one.make(one.plan(max(shorter, longer), [(text, tokens, 50.0)]))
    assert high.text.startswith(low.text[: low.places[0]].rstrip())


@given(language=languages, count=st.integers(0, 5_000))
def test_offsets_agree_with_the_text_they_count(language: str, count: int) -> None:
    one = HAYS[language]
    repeated = SEPARATOR.join([one.text] * 20)
    assert one.slice(0, count) == repeated[: one.end_of(count)]
    assert by_characters([one.slice(0, count)])[0] <= one.tokens_of(count)
    assert one.fitting(one.tokens_of(count)) >= count


def test_a_haystack_is_repeated_where_a_context_is_longer() -> None:
    one = HAYS["en"]
    plan = one.plan(3 * one.tokens[-1], [])
    text = one.make(plan).text
    assert text.startswith(one.text + SEPARATOR + one.text)
    assert plan.depth is None


def test_a_context_too_short_for_the_needle_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match="even one sentence of the haystack beside the needle"):
        HAYS["en"].plan(12, [*[(NEEDLES["en"], 10, 0.0)]])
    with pytest.raises(UsageError, match="--lengths"):
        HAYS["zh"].plan(-5, [])


def test_a_haystack_without_ends_of_sentences_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match="without a sentence end"):
        made(["word " * 20_000], "en")
    with pytest.raises(UsageError, match="empty"):
        made([" \n"], "en")
    with pytest.raises(UsageError, match="single sentence"):
        made(["One sentence."], "en")


# Sentences of 2, 6, 2 and 10 tokens, so that they end at 0, 2, 8, 10 and 20.
UNEVEN = make_haystack(["a. ", "b. ", "c. ", "d. "], [2, 6, 2, 10], separator_tokens=1, language="en")


@pytest.mark.parametrize(
    ("percent", "place"),
    [(-1, 0), (0, 0), (4.9, 0), (5, 0), (5.1, 1), (10, 1), (24.9, 1), (25, 1), (25.1, 2), (40, 2), (44.9, 2), (45, 2),
     (45.1, 3), (74.9, 3), (75, 3), (75.1, 4), (99.9, 4), (100, 4), (120, 4)],
)  # fmt: skip
def test_a_needle_stands_at_the_nearer_end_of_a_sentence_and_between_two_at_the_earlier(
    percent: float, place: int
) -> None:
    assert UNEVEN.at_depth(4, percent) == place


def test_a_plan_by_hand() -> None:
    """Beside the needle 30 tokens are left: a pass of 20, 1 of parting and 8 of the second pass; one more would be 31.
    Half of these 29 is nearer to 10 than to 20."""
    plan = UNEVEN.plan(34, [("NEEDLE.", 4, 50.0)])
    assert (plan.sentences, plan.at, plan.needles, plan.tokens, plan.before) == (6, (3,), ("NEEDLE.",), 33, 10)
    assert plan.depth == pytest.approx(100 * 10 / 29)
    made = UNEVEN.make(plan)
    assert made.text == f"a. b. c. NEEDLE. d. {SEPARATOR}a. b. "
    assert made.text[made.places[0] :].startswith("NEEDLE.")


def test_the_shortest_context_is_one_sentence() -> None:
    assert UNEVEN.plan(2, []).sentences == 1
    assert UNEVEN.plan(6, [("NEEDLE.", 4, 100.0)]).at == (1,)
    with pytest.raises(UsageError, match="even one sentence"):
        UNEVEN.plan(1, [])
    with pytest.raises(UsageError, match="room for at most 1 of the 2 needles"):
        UNEVEN.plan(9, [("A.", 4, 0.0), ("B.", 4, 50.0)])
