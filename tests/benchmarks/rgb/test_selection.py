"""The official choice of documents is the published program's, to the document and order; the balanced one keeps the
answer's place apart from the noise.

`by_the_protocol` below is the oracle: written from the protocol's wording, on texts, with Python's global generator
seeded before each question. It shares no line with the package.
"""

import copy
import math
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.benchmarks.rgb.selection import SELECTIONS, PassageChoice, balanced, document, official, passages_of
from ragstone.datasets.rgb import Kind, RGBRow, RGBSet, read_rgb, rgb_files
from ragstone.errors import UsageError

SHARED = Path(__file__).parents[4] / "shared" / "data" / "rgb"
official_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the official RGB files are not beside the repository")

RATIOS = [step / 10 for step in range(11)] + [step * 0.1 for step in range(11)]  # 0.6 and 0.6000000000000001
KINDS: tuple[Kind, ...] = ("base", "integration", "counterfactual")


def by_the_protocol(row: RGBRow, kind: Kind, n: int, r: float, c: float) -> list[str]:  # noqa: PLR0912
    if n == 0:
        return []
    random.seed(2333)
    groups = [list(group) for group in row.positive]
    negative = list(row.negative)
    neg = math.ceil(n * r)
    pos = n - neg
    shown: list[str] = []
    if kind == "integration":
        for group in groups:
            random.shuffle(group)
        depth = 0
        while depth == 0 or (len(shown) < pos and any(len(group) > depth for group in groups)):
            for group in groups:
                if len(group) > depth and (depth == 0 or len(shown) < pos):
                    shown.append(group[depth])
            depth += 1
        while len(shown) < n and negative:
            shown.append(negative.pop(0))
    elif kind == "counterfactual":
        cor = math.ceil(n * c)
        everything = range(len(groups[0]))
        picked = random.sample(everything, min(len(everything), pos - cor))
        shown = [row.positive_wrong[i] for i in picked]
        rest = sorted(set(everything) - set(picked))
        if cor and rest:
            shown += [groups[0][i] for i in random.sample(rest, min(len(rest), cor))]
        shown += negative[:neg]
    else:
        if r == 1:
            neg, pos = n, 0
        elif neg > len(negative):
            neg, pos = len(negative), n - len(negative)
        elif pos > len(groups[0]):
            neg, pos = n - len(groups[0]), len(groups[0])
        shown = groups[0][:pos] + negative[:neg]
    random.shuffle(shown)
    return shown


def texts(row: RGBRow, kind: Kind, references: list[str]) -> list[str]:
    return [document(row, kind, reference) for reference in references]


@official_data
@pytest.mark.parametrize("name", ["zh_refine", "zh_int", "en_fact"])
@pytest.mark.parametrize("passages", [5, 0, 1, 3, 10])
def test_the_official_choice_is_the_programs_for_every_row_at_every_ratio(name: str, passages: int) -> None:
    data = read_rgb(rgb_files(SHARED)[name])
    for ratio in RATIOS:
        choice = PassageChoice(passages, ratio)
        if ratio > 1:
            continue
        for index, row in enumerate(data.rows):
            chosen = texts(row, data.kind, official(row, data.kind, index, choice))
            assert chosen == by_the_protocol(row, data.kind, passages, ratio, 0.0)


@official_data
@pytest.mark.parametrize("correct", [0.2, 0.4, 0.6000000000000001, 1.0])
def test_the_official_choice_of_true_and_false_texts_is_the_programs(correct: float) -> None:
    data = read_rgb(rgb_files(SHARED)["en_fact"])
    for ratio in (0.0, 0.2, 0.4):
        for row in data.rows:
            if math.ceil(5 * ratio) + math.ceil(5 * correct) > 5:
                with pytest.raises(UsageError, match="do not fit into 5"):
                    official(row, data.kind, 0, PassageChoice(5, ratio, correct))
                continue
            chosen = texts(row, data.kind, official(row, data.kind, 0, PassageChoice(5, ratio, correct)))
            assert chosen == by_the_protocol(row, data.kind, 5, ratio, correct)


@st.composite
def questions(draw: st.DrawFn, kind: Kind) -> RGBRow:
    """A question with few or many documents; every text tells what it is."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)) if kind == "integration" else [draw(counts)]
    positive = tuple(tuple(f"positive {g}:{i}" for i in range(size)) for g, size in enumerate(sizes))
    wrong = tuple(f"wrong {i}" for i in range(sizes[0])) if kind == "counterfactual" else ()
    negative = tuple(f"negative {i}" for i in range(draw(counts)))
    return RGBRow(0, "?", (("a",),), positive, negative, wrong)


counts = st.integers(0, 8)
ratios = st.sampled_from(RATIOS[:11]) | st.floats(0, 1)


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 9), ratios, st.floats(0, 1), st.data())
def test_the_official_choice_is_the_programs_whatever_is_lacking(
    kind: Kind, passages: int, ratio: float, correct: float, data: st.DataObject
) -> None:
    row = data.draw(questions(kind))
    correct = correct if kind == "counterfactual" else 0.0
    if math.ceil(passages * ratio) + math.ceil(passages * correct) > passages:
        return
    chosen = official(row, kind, 3, PassageChoice(passages, ratio, correct), "any")
    assert texts(row, kind, chosen) == by_the_protocol(row, kind, passages, ratio, correct)


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from(sorted(SELECTIONS)), st.integers(1, 8), ratios, st.data())
def test_no_choice_alters_its_data_or_shows_a_document_twice(
    kind: Kind, selection: str, passages: int, ratio: float, data: st.DataObject
) -> None:
    row = data.draw(questions(kind))
    before = copy.deepcopy(row)
    chosen = SELECTIONS[selection](row, kind, data.draw(st.integers(0, 99)), PassageChoice(passages, ratio), "en")
    assert row == before
    assert len(set(chosen)) == len(chosen) <= max(passages, len(row.positive))
    for passage in passages_of(row, kind, chosen):
        name = passage.id.replace(":", " ", 1)
        assert passage.text == (name if kind == "integration" else name.replace("positive ", "positive 0:"))
        assert passage.relevant is passage.id.startswith("positive:")


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 999), st.data())
def test_balanced_noise_replaces_documents_where_they_stand(
    kind: Kind, passages: int, index: int, data: st.DataObject
) -> None:
    """With enough documents, each ratio differs from the one below it by positives that became negatives in place."""
    row = data.draw(questions(kind).filter(lambda row: len(row.negative) >= 8))
    if kind != "integration":
        wrong = tuple(f"wrong {i}" for i in range(9)) if kind == "counterfactual" else ()
        row = RGBRow(0, "?", row.slots, (tuple(f"positive 0:{i}" for i in range(9)),), (*row.negative, "x"), wrong)
    groups = len(row.positive) if kind == "integration" else 0
    if kind == "integration" and (sum(map(len, row.positive)) < passages or groups > passages):
        return
    shown = [
        balanced(row, kind, index, PassageChoice(passages, negatives / passages), "en")
        for negatives in range(passages + 1)
        if passages - negatives >= groups
    ]
    for negatives, (calmer, noisier) in enumerate(pairwise(shown)):
        assert len(calmer) == len(noisier) == passages
        changed = [(a, b) for a, b in zip(calmer, noisier, strict=True) if a != b]
        assert len(changed) == 1
        assert changed[0][1] == f"negative:{negatives}"
        assert not changed[0][0].startswith("negative:")


@pytest.mark.parametrize("passages", [2, 3, 5, 7])
def test_balanced_places_are_a_latin_square_over_each_block_of_questions(passages: int) -> None:
    row = RGBRow(0, "?", (("a",),), (tuple("abcdefg"),), tuple("1234567"))
    for block in range(4):
        for negatives in range(passages):
            stood: Counter[tuple[str, int]] = Counter()
            for index in range(block * passages, (block + 1) * passages):
                chosen = balanced(row, "base", index, PassageChoice(passages, negatives / passages), "en")
                stood.update((reference, place) for place, reference in enumerate(chosen))
            assert set(stood.values()) == {1}
            assert len(stood) == passages * passages


def test_balanced_orders_differ_between_blocks_sets_and_seeds_and_not_between_runs() -> None:
    row = RGBRow(0, "?", (("a",),), (tuple("abcde"),), tuple("12345"))
    orders = {
        tuple(balanced(row, "base", index, PassageChoice(5, 0.0, 0.0, seed), name))
        for index in range(100)
        for name in ("en", "zh")
        for seed in (1, 2)
    }
    assert len(orders) > 60
    # Pinned: a change of the order is a change of the benchmark, and of its version.
    pinned = "negative:1 positive:2 positive:0 negative:0 positive:1"
    assert balanced(row, "base", 7, PassageChoice(5, 0.4), "en_refine") == pinned.split()


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 99), st.data())
def test_balanced_integration_keeps_a_document_of_every_group(passages: int, index: int, data: st.DataObject) -> None:
    row = data.draw(questions("integration"))
    for ratio in (0.0, 0.4, 1.0):
        chosen = balanced(row, "integration", index, PassageChoice(passages, ratio), "en_int")
        groups = {reference.split(":")[1] for reference in chosen if reference.startswith("positive:")}
        assert groups == {str(group) for group in range(len(row.positive))}


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(0, 2))
def test_balanced_corrections_replace_a_false_text_by_the_true_one_where_it_stands(index: int, noise: int) -> None:
    row = RGBRow(0, "?", (("a",),), (tuple("abcde"),), tuple("123"), tuple("ABCDE"))
    false = balanced(row, "counterfactual", index, PassageChoice(5, noise / 5), "en_fact")
    for correct in range(1, 6 - noise):
        mixed = balanced(row, "counterfactual", index, PassageChoice(5, noise / 5, correct / 5), "en_fact")
        assert [reference.replace("positive:", "wrong:") for reference in mixed] == false
        assert sum(reference.startswith("positive:") for reference in mixed) == correct


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.integers(1, 8), st.sampled_from(RATIOS[:11]), st.integers(0, 99), st.data())
def test_balanced_gives_fewer_documents_and_never_one_of_the_other_kind(
    kind: Kind, passages: int, ratio: float, index: int, data: st.DataObject
) -> None:
    row = data.draw(questions(kind))
    chosen = balanced(row, kind, index, PassageChoice(passages, ratio), "en")
    negatives = sum(reference.startswith("negative:") for reference in chosen)
    assert negatives <= math.ceil(round(passages * ratio, 9))
    asked = max(passages - math.ceil(round(passages * ratio, 9)), len(row.positive) if kind == "integration" else 0)
    assert len(chosen) - negatives == min(asked, sum(map(len, row.positive)))


def test_balanced_rounds_shares_as_people_do() -> None:
    row = RGBRow(0, "?", (("a",),), (tuple(map(str, range(25))),), tuple(map(str, range(25))))
    negatives = [
        name for name in balanced(row, "base", 0, PassageChoice(25, 0.28), "en") if name.startswith("negative")
    ]
    assert len(negatives) == 7  # 25 × 0.28 is 7.000000000000001 in floats
    negatives = [name for name in official(row, "base", 0, PassageChoice(25, 0.28)) if name.startswith("negative")]
    assert len(negatives) == 8


@official_data
def test_in_zh_refine_the_official_place_of_the_answer_is_confounded_with_noise_and_the_balanced_is_not() -> None:
    data: RGBSet = read_rgb(rgb_files(SHARED)["zh_refine"])
    places: dict[str, Counter[int]] = {"official": Counter(), "balanced": Counter()}
    for name, counted in places.items():
        for index, row in enumerate(data.rows):
            chosen = SELECTIONS[name](row, data.kind, index, PassageChoice(5, 0.8), data.name)
            counted[next(i for i, reference in enumerate(chosen) if reference.startswith("positive"))] += 1
    assert places["official"] == {4: 300}
    assert places["balanced"] == dict.fromkeys(range(5), 60)


def test_what_is_out_of_range_is_told() -> None:
    for choice in ({"passages": -1}, {"noise_ratio": 1.2}, {"noise_ratio": float("nan")}, {"correct_rate": -0.1}):
        with pytest.raises(UsageError, match="expected"):
            PassageChoice(**choice)


def test_a_passage_carries_the_kind_that_the_data_give_it() -> None:
    row = RGBRow(0, "?", (("a",),), (("t",),), ("n", "m"), ("f",), kinds={"positive:0": "far", "negative:1": "rumour"})
    found = passages_of(row, "counterfactual", ["wrong:0", "negative:0", "negative:1"])
    assert [passage.meta for passage in found] == [{"kind": "far"}, {}, {"kind": "rumour"}]
