"""Needles: the hidden sentence, the question about it, and what the answer must state.

`sandwich` is the original sentence (Kamradt 2023); `number` is the later one: a random number with a random city, new
in each cell (Dhinakaran 2024). Multiple needles follow RULER (Hsieh et al. 2024), needles that share no word with their
question follow NoLiMa (Modarressi et al. 2025); their texts are ragstone's. A cell's needle depends only on the seed
and the cell."""

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.storage import check_regular
from ragstone.types import Frozen

__all__ = ["KINDS", "NeedleQuestion", "cities", "make_needle", "read_needles"]

KINDS = ("number", "sandwich", "topic", "multi", "distractor", "chain", "paraphrase", "file")


class NeedleQuestion(Frozen, frozen=True):
    """A question with its needles. `answers` has one slot of aliases per requested fact. `distractors` have the form of
    the needles but are about something else."""

    question: str
    needles: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...] = ()

    @property
    def answer_text(self) -> str:
        """The needles that contain an answer, as one text: the judge's reference."""
        aliases = [alias for slot in self.answers for alias in slot]
        return " ".join([text for text in self.needles if any(alias in text for alias in aliases)] or self.needles)

    def places(self, placed: Sequence[str]) -> list[int]:
        """Indexes of the needles in a context (in its order, with distractors) that an answer needs: the requested ones
        of several facts, or every link of a chain."""
        aliases = [alias for slot in self.answers for alias in slot]
        several = len(self.answers) > 1
        needed = {text for text in self.needles if not several or any(alias in text for alias in aliases)}
        return [at for at, text in enumerate(placed) if text in (needed or self.needles)]


_NUMBER = {
    "en": ("The special number of {city} is {number}.", "What is the special number of {city}?"),
    "zh": ("{city}的特别数字是{number}。", "{city}的特别数字是多少？"),
}
_MULTI = {
    "en": "What are the special numbers of {cities}? Name all of them.",
    "zh": "{cities}的特别数字分别是多少？请全部列出。",
}
_JOINED = {"en": " and ", "zh": "和"}
_SANDWICH = {
    "en": NeedleQuestion(
        "What is the best thing to do in San Francisco?",
        ("The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day.",),
        (("eat a sandwich", "eating a sandwich", "have a sandwich"), ("Dolores Park",), ("sunny day",)),
    ),
    "zh": NeedleQuestion(
        "在旧金山最值得做的事是什么？",
        ("在旧金山，最值得做的事就是在阳光明媚的日子里吃个三明治，坐在多洛雷斯公园里。",),
        (("三明治",), ("多洛雷斯公园",), ("阳光明媚", "晴天", "晴朗")),
    ),
}
# Sentences that fit into the essays.
_TOPIC: Mapping[str, tuple[NeedleQuestion, ...]] = {
    "en": (
        NeedleQuestion(
            "What did the harbour master keep under his bed?",
            ("The harbour master kept a jar of sea glass under his bed.",),
            (("sea glass",),),
        ),
        NeedleQuestion(
            "What colour was the ink of the catalogue's first cards?",
            ("The first cards of the catalogue were written in violet ink.",),
            (("violet",),),
        ),
        NeedleQuestion(
            "What did the bakers whistle while the dough was resting?",
            ("While the dough was resting, the bakers whistled an old waltz.",),
            (("waltz",),),
        ),
        NeedleQuestion(
            "What was the inspectors' dog called?",
            ("The inspectors had a dog called Rivet, who waited at the end of the bridge.",),
            (("Rivet",),),
        ),
        NeedleQuestion(
            "What did the beekeeper hang beside the hives?",
            ("Beside the hives the beekeeper hung a copper bell.",),
            (("copper bell", "bell of copper"),),
        ),
    ),
    "zh": (
        NeedleQuestion(
            "外婆把什么埋在井边？",
            ("外婆在井边埋了一坛梅子酒。",),
            (("梅子酒",),),
        ),
        NeedleQuestion(
            "裁缝铺的门帘是什么颜色的？",
            ("裁缝铺的门帘是靛蓝色的。",),
            (("靛蓝",),),
        ),
        NeedleQuestion(
            "钟楼的屋檐下养着什么鸟？",
            ("钟楼的屋檐下养着一对灰鸽子。",),
            (("灰鸽子", "鸽子"),),
        ),
        NeedleQuestion(
            "舅公在豆腐坊的墙上挂了什么？",
            ("舅公在豆腐坊的墙上挂了一把旧二胡。",),
            (("二胡",),),
        ),
        NeedleQuestion(
            "渡口的樟树上系着什么？",
            ("渡口的樟树上系着一条红布。",),
            (("红布",),),
        ),
    ),
}  # fmt: skip
_CHAIN = {
    "en": (
        "The courier from {city} handed the sealed letter to {name}.",
        "The letter that {name} was given bears the number {number}.",
        "Which number does the sealed letter bear that the courier from {city} handed over?",
    ),
    "zh": (
        "从{city}来的信使把封好的信交给了{name}。",
        "{name}收到的那封信上写着编号{number}。",
        "从{city}来的信使交出的那封信，编号是多少？",
    ),
}
_PEOPLE = {
    "en": ("Marta", "Yusuf", "Ingrid", "Tomas", "Leila", "Bruno", "Hanne", "Ravi", "Celia", "Anton", "Noor", "Piotr"),
    "zh": ("陈默", "林知夏", "周远", "沈清", "罗一鸣", "许安", "方若", "顾北", "宋词", "唐棠", "程野", "何田"),
}
# A landmark and its country: question and needle share no content word.
_KNOWN: Mapping[str, tuple[tuple[str, str], ...]] = {
    "en": (
        ("{name} rents a flat right beside the Colosseum.", "Which person has been to Italy?"),
        ("{name} sells postcards at the foot of the Eiffel Tower.", "Which person has been to France?"),
        ("{name} once slept in a tent next to Machu Picchu.", "Which person has been to Peru?"),
        ("{name} sings on Sundays in front of the Brandenburg Gate.", "Which person has been to Germany?"),
        ("{name} sketches the Taj Mahal every spring.", "Which person has been to India?"),
    ),
    "zh": (
        ("{name}在罗马斗兽场旁边租了一间小屋。", "谁去过意大利？"),
        ("{name}曾在埃菲尔铁塔下卖明信片。", "谁去过法国？"),
        ("{name}每年春天都去画泰姬陵。", "谁去过印度？"),
        ("{name}周日常在勃兰登堡门前唱歌。", "谁去过德国？"),
        ("{name}有一回在马丘比丘旁边搭帐篷过夜。", "谁去过秘鲁？"),
    ),
}


@cache
def cities(language: str) -> tuple[str, ...]:
    """The cities that can have a number."""
    text = (files("ragstone.benchmarks.niah") / f"names_{language}.txt").read_text(encoding="utf-8")
    return tuple(text.split())


def make_needle(
    kind: str,
    language: str,
    rng: random.Random,
    *,
    keys: int = 4,
    values: int = 1,
    queries: int = 2,
    distractors: int = 3,
    from_file: tuple[NeedleQuestion, ...] = (),
    excluded: frozenset[str] = frozenset(),
) -> NeedleQuestion:
    """The needle of one cell. For "multi": `keys` cities have `values` numbers each, and the question asks for
    `queries` of the cities. `from_file`: the needles for "file". `excluded`: numbers that occur in the haystack. Raises
    UsageError."""
    if kind == "sandwich":
        return _SANDWICH[language]
    if kind == "topic":
        return rng.choice(_TOPIC[language])
    if kind == "file":
        if not from_file:
            raise UsageError("--needle file needs a file: add --needle-file FILE.")
        return rng.choice(from_file)
    if kind == "paraphrase":
        name = rng.choice(_PEOPLE[language])
        needle, question = rng.choice(_KNOWN[language])
        return NeedleQuestion(question, (needle.format(name=name),), ((name,),))
    if kind not in KINDS:
        raise UnknownName("needle", kind, KINDS)
    return _of_numbers(kind, language, rng, keys, values, queries, distractors, excluded)


def _of_numbers(
    kind: str,
    language: str,
    rng: random.Random,
    keys: int,
    values: int,
    queries: int,
    distractors: int,
    excluded: frozenset[str],
) -> NeedleQuestion:
    if not 1 <= queries <= keys <= len(cities(language)) or not 1 <= values <= 20:
        raise UsageError(
            f"--keys {keys} --values {values} --queries {queries}: at least 1 each, at most {len(cities(language))} "
            "keys and 20 values, and no more queries than keys."
        )
    needle, question = _NUMBER[language]
    city_count = {"multi": keys, "distractor": 1 + distractors}.get(kind, 1)
    chosen = rng.sample(cities(language), min(city_count, len(cities(language))))
    per_city = values if kind == "multi" else 1
    numbers = rng.sample(range(1_000_000, 10_000_000), len(chosen) * per_city)
    while excluded and any(str(number) in excluded for number in numbers):
        numbers = rng.sample(range(1_000_000, 10_000_000), len(chosen) * per_city)
    numbers_of = {city: [str(numbers[at * per_city + n]) for n in range(per_city)] for at, city in enumerate(chosen)}
    texts_of = {city: [needle.format(city=city, number=number) for number in numbers_of[city]] for city in chosen}
    first = chosen[0]
    if kind == "chain":
        name = rng.choice(_PEOPLE[language])
        link, next_link, chain_question = (
            text.format(city=first, name=name, number=numbers_of[first][0]) for text in _CHAIN[language]
        )
        return NeedleQuestion(chain_question, (link, next_link), ((numbers_of[first][0],),))
    if kind == "multi":
        queried = chosen[:queries]
        return NeedleQuestion(
            _MULTI[language].format(cities=_JOINED[language].join(queried)),
            tuple(text for city in chosen for text in texts_of[city]),
            tuple((number,) for city in queried for number in numbers_of[city]),
        )
    distractor_texts = tuple(text for city in chosen[1:] for text in texts_of[city])
    return NeedleQuestion(
        question.format(city=first), (texts_of[first][0],), ((numbers_of[first][0],),), distractor_texts
    )


def read_needles(path: Path) -> tuple[NeedleQuestion, ...]:
    """The user's needles: JSON lines of `{"needle": text or list, "question": …, "answer": text or list of aliases}`.

    Raises DataError with the line."""
    questions = []
    try:
        check_regular(path)
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read ({error}).") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            needles, aliases = row["needle"], row["answer"]
            needles = (needles,) if isinstance(needles, str) else tuple(needles)
            aliases = (aliases,) if isinstance(aliases, str) else tuple(aliases)
            question = NeedleQuestion(row["question"], needles, (aliases,))
            texts = (question.question, *needles, *aliases)
            if not needles or not aliases or not all(isinstance(text, str) and text.strip() for text in texts):
                raise ValueError("a text is empty or missing")
            "".join(texts).encode()  # a lone surrogate cannot be sent
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DataError(path, f"expected needle, question and answer ({error}).", line=number) from None
        questions.append(question)
    if not questions:
        raise DataError(path, "contains no needle.")
    return tuple(questions)
