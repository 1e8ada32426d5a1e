"""Which documents of a question are shown, and in which order.

`official` reproduces the program of Chen et al. 2024 exactly: Python's generator is seeded with 2333 for every
question, so all questions with the same numbers of documents have the same order. In `zh_refine`, where no question
runs short, the only positive document at noise 0.8 is the last one in all 300 questions: the amount of noise and the
position of the answer are confounded.

`balanced`, the default, separates them. Every question has its own order of the n places in the prompt, and place k of
that order holds positive document k or negative document n − 1 − k, depending on the ratio. Therefore

- more noise replaces positives by negatives in place, and moves nothing else;
- the documents are the first ones of each kind, as stored (for base sets the official ones);
- each block of n questions is a Latin square: the k-th place of the order is each place of the prompt exactly once.
  The single positive document at the highest noise is first, second… equally often.

In counterfactual sets a larger share of correct documents replaces, in the same way, a text with the false answer by
the same text with the true one. Integration questions keep one document of every group, whatever the ratio.
If documents run short, `official` fills base and integration questions with the other kind, which changes the ratio;
`balanced` leaves the place empty, so that the question gets fewer documents, and the benchmark warns about it.

Documents are named by their reference as stored: `positive:3`, `positive:1:0` (group 1, document 0; integration),
`wrong:2`, `negative:7`. Nothing here changes a row.
"""

import hashlib
import math
import random
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from ragstone.datasets.rgb import Kind, RGBRow
from ragstone.errors import UsageError
from ragstone.structs import Frozen
from ragstone.types import Passage


class PassageChoice(Frozen, frozen=True):
    """The requested documents: `passages` of them (0: none), of which a share of `noise_ratio` is negative and, in
    counterfactual sets, `correct_rate` states the true answer. Shares are rounded up, as in the paper's program."""

    passages: int = 5
    noise_ratio: float = 0.0
    correct_rate: float = 0.0
    seed: int = 2333

    def __post_init__(self) -> None:
        if self.passages < 0:
            raise UsageError(f"{self.passages} passages: expected 0 or more.")
        for name, share in (("noise ratio", self.noise_ratio), ("share of correct passages", self.correct_rate)):
            if not 0 <= share <= 1:
                raise UsageError(f"A {name} of {share}: expected a number from 0 to 1.")


Selection: TypeAlias = Callable[[RGBRow, Kind, int, PassageChoice, str], list[str]]
"""(row, kind, index in the set, choice, name of the set) → references in the order of the prompt."""


def official(row: RGBRow, kind: Kind, index: int, choice: PassageChoice, dataset: str = "") -> list[str]:
    """The documents of the official program, which ignores `index` and `dataset`.

    Raises UsageError if there are more negative and correct documents than places, where the program itself fails."""
    if choice.passages == 0:
        return []
    rng = random.Random(choice.seed)
    total = choice.passages
    negatives = math.ceil(total * choice.noise_ratio)  # in floats, as in the program: 5 × 0.6000000000000001 gives 4
    positives = total - negatives
    if kind == "integration":
        chosen = _official_integration(row, total, positives, rng)
    elif kind == "counterfactual":
        correct = math.ceil(total * choice.correct_rate)
        _check_room(total, negatives, correct)
        chosen = _official_counterfactual(row, negatives, correct, positives - correct, rng)
    else:
        available_positives, available_negatives = len(row.positive[0]), len(row.negative)
        if choice.noise_ratio == 1:
            negatives, positives = total, 0
        elif negatives > available_negatives:
            negatives, positives = available_negatives, total - available_negatives
        elif positives > available_positives:
            negatives, positives = total - available_positives, available_positives
        chosen = [f"positive:{i}" for i in range(min(positives, available_positives))]
        chosen += _negatives(row, negatives)
    rng.shuffle(chosen)
    return chosen


def balanced(row: RGBRow, kind: Kind, index: int, choice: PassageChoice, dataset: str = "") -> list[str]:
    """The documents of the default selection (see the module). Raises UsageError like `official`."""
    if choice.passages == 0:
        return []
    total = choice.passages
    negatives, correct = _rounded_up(total, choice.noise_ratio), 0
    if kind == "integration":
        order = _by_turns([list(range(len(group))) for group in row.positive])
        positive = [f"positive:{group}:{inner}" for group, inner in order]
        group_count = sum(1 for group in row.positive if group)
        total = max(total, group_count)
        shown = max(total - negatives, group_count)
    else:
        shown = total - negatives
        positive = [f"positive:{i}" for i in range(len(row.positive[0]))]
        if kind == "counterfactual":
            correct = _rounded_up(total, choice.correct_rate)
            _check_room(total, negatives, correct)
            positive = [f"{'wrong' if i < shown - correct else 'positive'}:{i}" for i in range(len(row.positive_wrong))]
    places: list[str | None] = [None] * total
    for rank, place in enumerate(_order(total, index, choice.seed, dataset)):
        if rank < shown:
            places[place] = positive[rank] if rank < len(positive) else None
        elif (number := total - 1 - rank) < len(row.negative):
            places[place] = f"negative:{number}"
    return [reference for reference in places if reference is not None]


SELECTIONS: Mapping[str, Selection] = {"balanced": balanced, "official": official}


def document(row: RGBRow, kind: Kind, reference: str) -> str:
    """The text of a reference. KeyError or IndexError if there is none."""
    name, *numbers = reference.split(":")
    place = [int(number) for number in numbers]
    if name == "positive" and kind == "integration":
        return row.positive[place[0]][place[1]]
    source = {
        "positive": row.positive[0] if row.positive else (),
        "wrong": row.positive_wrong,
        "negative": row.negative,
    }
    return source[name][place[0]]


def passages_of(row: RGBRow, kind: Kind, references: list[str]) -> tuple[Passage, ...]:
    """The documents as passages. `relevant`: whether the text states the true answer (a `wrong` one states the false
    answer). `meta` has the kind of the document if the data have it."""
    passages = []
    for reference in references:
        meta: dict[str, Any] = {}
        # A text with the false answer has the kind of its original.
        if kind_of_document := row.kinds.get(reference) or row.kinds.get(reference.replace("wrong:", "positive:")):
            meta["kind"] = kind_of_document
        text = document(row, kind, reference)
        passages.append(Passage(reference, text, relevant=reference.startswith("positive:"), meta=meta))
    return tuple(passages)


def shortage(chosen: list[str], kind: Kind, choice: PassageChoice, *, filling: bool) -> Literal["", "fewer", "filled"]:
    """How a question was affected by too few documents: it got "fewer", or it was "filled" up at another noise ratio
    (if the selection fills up); "" if unaffected."""
    if len(chosen) < choice.passages:
        return "fewer"
    negatives = sum(reference.startswith("negative:") for reference in chosen)
    requested = math.ceil(choice.passages * choice.noise_ratio)
    # Integration questions have fewer negatives than requested if their groups need the places.
    is_other_ratio = negatives > requested if kind == "integration" else negatives != requested
    return "filled" if filling and is_other_ratio else ""


def available(row: RGBRow) -> tuple[int, int]:
    """The number of positive (in counterfactual sets: false) and negative documents of a question."""
    return sum(len(group) for group in row.positive), len(row.negative)


def _official_integration(row: RGBRow, total: int, positives: int, rng: random.Random) -> list[str]:
    """Shuffles the groups one after the other, then takes documents in turn, at least one of each group."""
    groups = []
    for group in row.positive:
        order = list(range(len(group)))
        rng.shuffle(order)
        groups.append(order)
    group_count = sum(1 for group in groups if group)
    chosen = [f"positive:{group}:{inner}" for group, inner in _by_turns(groups)[: max(group_count, positives)]]
    return chosen + _negatives(row, total - len(chosen))


def _official_counterfactual(row: RGBRow, negatives: int, correct: int, false: int, rng: random.Random) -> list[str]:
    """A sample of the texts with the false answer, and of the remaining true texts."""
    numbers = list(range(len(row.positive_wrong)))
    selected = rng.sample(numbers, min(len(numbers), false))
    chosen = [f"wrong:{i}" for i in selected]
    left = [i for i in numbers if i not in selected]
    if correct > 0 and left:  # an extra draw would change the order
        chosen += [f"positive:{i}" for i in rng.sample(left, min(len(left), correct))]
    return chosen + _negatives(row, negatives)


def _negatives(row: RGBRow, count: int) -> list[str]:
    return [f"negative:{i}" for i in range(min(max(count, 0), len(row.negative)))]


def _by_turns(groups: list[list[int]]) -> list[tuple[int, int]]:
    """The first of each group, then the second of each that has one…, as (group, document)."""
    longest = max(map(len, groups), default=0)
    return [(g, group[turn]) for turn in range(longest) for g, group in enumerate(groups) if turn < len(group)]


def _check_room(total: int, negatives: int, correct: int) -> None:
    if negatives + correct > total:
        raise UsageError(
            f"{negatives} negative and {correct} correct passages do not fit into {total}: "
            "lower the noise ratio or the share of correct passages, or use more passages."
        )


def _rounded_up(total: int, share: float) -> int:
    """ceil(total × share) without float error: 25 × 0.28 is 7 here, but 7.000000000000001 and so 8 in the program."""
    return math.ceil(round(total * share, 9))


@lru_cache(maxsize=4096)
def _order(places: int, index: int, seed: int, dataset: str) -> tuple[int, ...]:
    """The order of the places for this question: a shuffled order per block of `places` questions, rotated by a
    different number for each question of the block."""
    block, within = divmod(index, places)
    first = _shuffled(places, f"{seed}/{dataset}/{block}/order")
    shift = _shuffled(places, f"{seed}/{dataset}/{block}/shift")[within]
    return tuple((place + shift) % places for place in first)


def _shuffled(count: int, key: str) -> list[int]:
    """0 to count − 1 in an order that depends only on the key, equal on every machine and Python version."""
    return sorted(range(count), key=lambda i: hashlib.blake2b(f"{key}/{i}".encode(), digest_size=8).digest())
