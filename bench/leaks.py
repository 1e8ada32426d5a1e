"""What an adversary reaches on the fictional RGB data without reading it, beside chance.

    python -m bench.leaks [--questions 300] [--learn 1] [--attack 0] [--languages en,zh] [--json]

Everything is learned on the questions of one seed and tried on those of another:

- words: naive Bayes on single passages, without the question: which of them answer? (AUC; chance 0.5)
- depth: where in its passage an answer stands, by fifths (χ² against a uniform share; positives alone)
- filter: keep the passages that hold the question's years and its rarest words, against BM25 (AUC within a question)
- regex: read nothing, print the value of the asked type that most passages hold (share right, by noise ratio)
- rank: how often the answer is the most frequent value, the second, and so on
- forms: the share of passages with a table, a list… and whether that tells answers from others
- sentences: how many come again, letter for letter, in more than three passages
- values: how many values of the asked type a passage holds, and the share of related negatives with at least one

`tests/bench/test_leaks.py` holds the figures that are reached; the goals are printed beside them.
"""

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.pages import DIFFICULTIES, Difficulty
from ragstone.text import find_answer, sentences, words

KINDS = ("rumour", "other_year", "other_category", "related")
RATIOS = (0.2, 0.4, 0.6, 0.8)
FIFTHS = 5
MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
NAME = r"(?:[A-Z][\w'’-]+ )+[A-Z][\w'’-]+"
# What is asked for, by how the question begins or ends, and how its values look: a few lines, as an adversary would.
READERS: Mapping[str, Sequence[tuple[str, str]]] = {
    "en": (
        (r"\b[Ww]hen\b|\bdate\b|\bday\b", rf"\b(?:{MONTH} \d{{1,2}}, \d{{4}}|\d{{1,2}} {MONTH} \d{{4}})"),
        (r"revenue|profit|sales|price|sum|paid|pay|cost|money|turnover|much", r"\$[\d.,]+(?: [mb]illion)?"),
        (r"per cent|share|percentage|turnout", r"\d+(?:\.\d+)?(?: per cent|%| percent)"),
        (r"[Hh]ow (?:many|long|high|strong|deep|old|heavy|wide)|number", r"(?<![\w$.,])\d[\d,]*(?:\.\d+)?(?![\w%])"),
        (r"", NAME),
    ),
    "zh": (
        (r"什么时候|何时|哪一天|哪天|日期|几月几", r"\d{4}年\d{1,2}月\d{1,2}日"),
        (r"多少|几|多大|多高|多长|多重|多深|票房|收入|利润|价", r"\d[\d,.]*(?:万|亿)?[\u4e00-\u9fff%％]"),
        (r"", r"[\u4e00-\u9fff]{2,4}"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Text:
    """A passage of a question. `kind`: "positive", or why it does not answer."""

    question: int
    text: str
    kind: str


@dataclass(frozen=True)
class Set:
    """The base questions of one seed: the questions, their answers' aliases, their passages."""

    language: str
    queries: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    texts: tuple[Text, ...]

    def of(self, question: int, *kinds: str) -> list[Text]:
        """The passages of a question, of these kinds."""
        return [text for text in self.by_question[question] if text.kind in kinds]

    @property
    def by_question(self) -> Mapping[int, list[Text]]:
        """The passages by question."""
        return _grouped(self.texts)


def _grouped(texts: Iterable[Text]) -> dict[int, list[Text]]:
    groups: dict[int, list[Text]] = defaultdict(list)
    for text in texts:
        groups[text.question].append(text)
    return groups


def generated(language: str, seed: int, questions: int, difficulty: Difficulty = "easy") -> Set:
    """The fictional base questions of a seed."""
    queries, answers, texts = [], [], []
    for number, row in enumerate(fictional_rgb(language, seed=seed, size=questions, difficulty=difficulty)):
        queries.append(row["query"])
        answers.append(_aliases(row["answer"]))
        for place, kind in row["kinds"].items():
            side, _, at = place.partition(":")
            texts.append(Text(number, row[side][int(at)], "positive" if side == "positive" else kind))
    return Set(language, tuple(queries), tuple(answers), tuple(texts))


def _aliases(answer: Any) -> tuple[str, ...]:
    return tuple([answer] if isinstance(answer, str) else answer[0] if isinstance(answer[0], list) else answer[:1])


# Words alone


def features(text: str) -> set[str]:
    """The words of a text and their pairs, numbers masked."""
    masked = ["#" if any(map(str.isdigit, word)) else word for word in words(text)]
    return {*masked, *map(" ".join, pairwise(masked))}


def naive_bayes(yes: Sequence[str], no: Sequence[str]) -> Mapping[str, float]:
    """The log odds of each feature (Bernoulli, add one half)."""
    there, absent = (Counter(feature for text in side for feature in features(text)) for side in (yes, no))
    return {
        feature: math.log((there[feature] + 0.5) / (len(yes) + 1)) - math.log((absent[feature] + 0.5) / (len(no) + 1))
        for feature in there.keys() | absent.keys()
        if there[feature] + absent[feature] > 2
    }


def auc(yes: Sequence[float], no: Sequence[float]) -> float:
    """The chance that a random one of `yes` is above a random one of `no`; ties count half."""
    order = sorted([(value, 1) for value in yes] + [(value, 0) for value in no])
    ranks, at = 0.0, 0
    while at < len(order):
        end = at
        while end < len(order) and order[end][0] == order[at][0]:
            end += 1
        ranks += sum(label for _, label in order[at:end]) * (at + end + 1) / 2
        at = end
    return (ranks - len(yes) * (len(yes) + 1) / 2) / (len(yes) * len(no)) if yes and no else float("nan")


def word_attack(learn: Set, attack: Set) -> dict[str, float]:
    """The AUC of naive Bayes between positives and each kind of negative."""
    found = {}
    for kind in (*KINDS, "negative"):
        kinds = KINDS if kind == "negative" else (kind,)
        weights = naive_bayes(
            [text.text for text in learn.texts if text.kind == "positive"],
            [text.text for text in learn.texts if text.kind in kinds],
        )
        scored = [(sum(weights.get(each, 0.0) for each in features(text.text)), text.kind) for text in attack.texts]
        found[kind] = auc(
            [score for score, of in scored if of == "positive"], [score for score, of in scored if of in kinds]
        )
    return found


# Where the answer stands


def depths(data: Set) -> list[int]:
    """How many answers stand first in each fifth of their passages."""
    counts = [0] * FIFTHS
    for text in data.texts:
        if text.kind == "positive":
            spans = [find_answer(alias, text.text, data.language) for alias in data.answers[text.question]]
            starts = [spans_of[0][0] for spans_of in spans if spans_of]
            if starts:
                counts[min(FIFTHS - 1, int(FIFTHS * min(starts) / len(text.text)))] += 1
    return counts


def chi_square(counts: Sequence[int]) -> float:
    """The statistic against equal shares: with four degrees of freedom, 9.49 is exceeded in 5% of uniform samples."""
    expected = sum(counts) / len(counts)
    return sum((count - expected) ** 2 for count in counts) / expected if expected else 0.0


# The question's words as a filter


def rarities(data: Set) -> Mapping[str, float]:
    """How rare each word of the questions is among them."""
    counts = Counter(word for query in data.queries for word in set(words(query)))
    return {word: math.log(len(data.queries) / count) for word, count in counts.items()}


def keys_of(query: str, rare: Mapping[str, float], most: int = 3) -> set[str]:
    """The years of a question and its rarest words."""
    found = words(query)
    named = sorted({word for word in found if not word.isdigit()}, key=lambda word: (-rare.get(word, 9.9), word))
    return {*re.findall(r"\d{4}", query), *named[:most]}


def filter_attack(data: Set) -> dict[str, float]:
    """What share of each kind holds the question's year and names, and the AUC of that and of BM25 (k1 0.9, b 0.4)."""
    rare = rarities(data)
    kept: dict[str, list[float]] = defaultdict(list)
    inside: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for number, texts in data.by_question.items():
        keys = keys_of(data.queries[number], rare)
        bags = [Counter(words(text.text)) for text in texts]
        ranked = bm25(words(data.queries[number]), bags)
        holds = [float(all(key in text.text.lower() for key in keys)) for text in texts]
        for text, held in zip(texts, holds, strict=True):
            kept[text.kind].append(held)
        yes = [text.kind == "positive" for text in texts]
        for name, scores in (("filter", holds), ("bm25", ranked)):
            right = [score for score, is_yes in zip(scores, yes, strict=True) if is_yes]
            inside[name].append((auc(right, [s for s, is_yes in zip(scores, yes, strict=True) if not is_yes]), True))
    share = {f"kept {kind}": sum(values) / len(values) for kind, values in sorted(kept.items())}
    return share | {f"auc {name}": sum(v for v, _ in values) / len(values) for name, values in inside.items()}


def bm25(query: Sequence[str], bags: Sequence[Counter[str]], k1: float = 0.9, b: float = 0.4) -> list[float]:
    """The scores of a question's passages, with the words' rarity among them."""
    mean = sum(map(Counter.total, bags)) / len(bags)
    scores = []
    for bag in bags:
        total = 0.0
        for word in set(query):
            holding = sum(1 for other in bags if word in other)
            idf = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
            total += idf * bag[word] * (k1 + 1) / (bag[word] + k1 * (1 - b + b * bag.total() / mean))
        scores.append(total)
    return scores


# Values of the asked type


def pattern_of(query: str, language: str) -> str:
    """How values of the type that a question asks for look."""
    return next(looks for asked, looks in READERS[language] if re.search(asked, query))


def values_in(query: str, text: str, language: str) -> list[str]:
    """The values of the asked type in a text that are not in the question."""
    found = re.findall(pattern_of(query, language), text)
    return [value for value in dict.fromkeys(found) if value not in query]


def regex_reader(query: str, passages: Sequence[str], language: str, keys: set[str]) -> str:
    """The value of the asked type that most passages hold; those that name the question's keys count three times."""
    votes: Counter[str] = Counter()
    for passage in passages:
        weight = 3 if all(key in passage.lower() for key in keys) else 1
        for value in values_in(query, passage, language):
            votes[value] += weight
    return votes.most_common(1)[0][0] if votes else ""


def regex_attack(data: Set, *, passages: int = 5, seed: int = 7) -> dict[float, float]:
    """The share of right answers of `regex_reader` by noise ratio."""
    rare, rng = rarities(data), random.Random(seed)
    right: dict[float, list[bool]] = defaultdict(list)
    for number, texts in data.by_question.items():
        yes = [text.text for text in texts if text.kind == "positive"]
        no = [text.text for text in texts if text.kind != "positive"]
        for ratio in RATIOS:
            noise = round(passages * ratio)
            shown = rng.sample(yes, min(passages - noise, len(yes))) + rng.sample(no, min(noise, len(no)))
            rng.shuffle(shown)
            answer = regex_reader(data.queries[number], shown, data.language, keys_of(data.queries[number], rare))
            right[ratio].append(_right(answer, data.answers[number]))
    return {ratio: sum(values) / len(values) for ratio, values in right.items()}


def values_held(data: Set) -> dict[str, float]:
    """By kind, the share of passages with at least one value of the asked type, and the mean number of them."""
    held: dict[str, list[int]] = defaultdict(list)
    for text in data.texts:
        held[text.kind].append(len(values_in(data.queries[text.question], text.text, data.language)))
    return {
        name: value
        for kind, counts in sorted(held.items())
        for name, value in (
            (f"{kind}: with a value", sum(map(bool, counts)) / len(counts)),
            (f"{kind}: values", sum(counts) / len(counts)),
        )
    }


# Sentences again


def recurrence(data: Set, most: int = 3) -> dict[str, float]:
    """The share of all sentences that stand, letter for letter, in more than `most` passages, and in ten or more."""
    counts = Counter(sentence.strip() for text in data.texts for sentence in sentences(text.text))
    total = counts.total()
    return {
        f"in more than {most}": sum(count for count in counts.values() if count > most) / total,
        "in ten or more": sum(count for count in counts.values() if count >= 10) / total,
        "most": float(max(counts.values())),
    }


# Forms of discourse


LOOKS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "table": r"(?m)^.* \| ",
        "list": r"(?m)^(?:[•–]|\d\.) ",
        "chronology": r"(?m)^(?:Chronology|Dates to remember|1[89]\d\d: )",
        "interview": r"(?m)^Q: ",
        "announcement": r"RELEASE|NOTICE|[Aa]nnouncement|[Nn]otice to|newsrooms|Public information|newsletter no",
    },
}


def forms(data: Set) -> dict[str, float]:
    """The share of passages with a part of each form, and how much of it tells answers from others (AUC)."""
    shares: dict[str, float] = {}
    for name, looks in LOOKS.get(data.language, {}).items():
        found = [(float(bool(re.search(looks, text.text))), text.kind == "positive") for text in data.texts]
        shares[name] = sum(value for value, _ in found) / len(found)
        shares[f"{name} (AUC)"] = auc(
            [value for value, yes in found if yes], [value for value, yes in found if not yes]
        )
    return shares


def ranks(data: Set, *, passages: int = 5, noise: int = 1, seed: int = 7) -> dict[str, float]:
    """How often the answer is the value of each rank by frequency: no rank may be a way to it."""
    rng, counts = random.Random(seed), Counter[int]()
    for number, texts in data.by_question.items():
        yes = [text.text for text in texts if text.kind == "positive"]
        no = [text.text for text in texts if text.kind != "positive"]
        shown = rng.sample(yes, passages - noise) + rng.sample(no, noise)
        rng.shuffle(shown)
        votes = Counter(value for text in shown for value in values_in(data.queries[number], text, data.language))
        order = [value for value, _ in votes.most_common(5)]
        counts[next((at for at, value in enumerate(order, 1) if _right(value, data.answers[number])), 0)] += 1
    return {f"rank {rank}": counts[rank] / counts.total() for rank in range(1, 6)}


def _right(value: str, answers: Sequence[str]) -> bool:
    return any(alias in value for alias in answers)


def attack(language: str, *, questions: int, learn: int, target: int, difficulty: Difficulty) -> dict[str, Any]:
    """All figures of a language."""
    learned, attacked = (generated(language, seed, questions, difficulty) for seed in (learn, target))
    counts = depths(attacked)
    return {
        "words (AUC)": word_attack(learned, attacked),
        "depth (fifths)": {str(place): float(count) for place, count in enumerate(counts)}
        | {"chi2 (9.49)": chi_square(counts)},
        "filter": filter_attack(attacked),
        "regex (right)": {str(ratio): share for ratio, share in regex_attack(attacked).items()},
        "rank of the answer": ranks(attacked),
        "forms": forms(attacked),
        "sentences": recurrence(attacked),
        "values": values_held(attacked),
    }


def main() -> None:
    """Prints the figures of each language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--learn", type=int, default=1)
    parser.add_argument("--attack", type=int, default=0)
    parser.add_argument("--languages", default="en,zh")
    parser.add_argument("--difficulty", choices=DIFFICULTIES, default="easy")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = {
        language: attack(
            language, questions=args.questions, learn=args.learn, target=args.attack, difficulty=args.difficulty
        )
        for language in args.languages.split(",")
    }
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for language, groups in found.items():
        for group, figures in groups.items():
            print(f"{language}  {group}")
            print("    " + "   ".join(f"{name} {value:.3g}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
