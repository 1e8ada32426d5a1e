"""Needles: what is hidden, what is asked about it, and what the answer must state.

`sandwich` is the original sentence (Kamradt 2023), `number` the later one: a random number with a random city, new in
each cell (Dhinakaran 2024). Several needles follow RULER (Hsieh et al. 2024), needles that share no word with their
question NoLiMa (Modarressi et al. 2025); their texts are ours. A cell's needle depends on the seed and the cell alone.
"""

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.storage import check_regular
from ragstone.types import Frozen

__all__ = ["KINDS", "Asked", "cities", "make_needle", "read_needles"]

KINDS = ("number", "sandwich", "topic", "multi", "distractor", "chain", "paraphrase", "file")


class Asked(Frozen, frozen=True):
    """A question with its needles; `answers` has a slot a fact that is asked for, with its aliases. `distractors` are
    of the needles' form and about something else."""

    question: str
    needles: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The needles that hold an answer, as one text: what a judge compares with."""
        aliases = [alias for slot in self.answers for alias in slot]
        return " ".join([text for text in self.needles if any(one in text for one in aliases)] or self.needles)

    def places(self, placed: Sequence[str]) -> list[int]:
        """Which of the needles in a context (with distractors, in its order) an answer needs: of several facts those
        that are asked for; of a chain every link."""
        aliases = [alias for slot in self.answers for alias in slot]
        several = len(self.answers) > 1
        wanted = {text for text in self.needles if not several or any(one in text for one in aliases)}
        return [at for at, text in enumerate(placed) if text in (wanted or self.needles)]


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
    "en": Asked(
        "What is the best thing to do in San Francisco?",
        ("The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day.",),
        (("eat a sandwich", "eating a sandwich", "have a sandwich"), ("Dolores Park",), ("sunny day",)),
    ),
    "zh": Asked(
        "在旧金山最值得做的事是什么？",
        ("在旧金山，最值得做的事就是在阳光明媚的日子里吃个三明治，坐在多洛雷斯公园里。",),
        (("三明治",), ("多洛雷斯公园",), ("阳光明媚", "晴天", "晴朗")),
    ),
}
# Sentences that could stand in the essays.
_TOPIC: Mapping[str, tuple[Asked, ...]] = {
    "en": (
        Asked(
            "What did the harbour master keep under his bed?",
            ("The harbour master kept a jar of sea glass under his bed.",),
            (("sea glass",),),
        ),
        Asked(
            "What colour was the ink of the catalogue's first cards?",
            ("The first cards of the catalogue were written in violet ink.",),
            (("violet",),),
        ),
        Asked(
            "What did the bakers whistle while the dough was resting?",
            ("While the dough was resting, the bakers whistled an old waltz.",),
            (("waltz",),),
        ),
        Asked(
            "What was the inspectors' dog called?",
            ("The inspectors had a dog called Rivet, who waited at the end of the bridge.",),
            (("Rivet",),),
        ),
        Asked(
            "What did the beekeeper hang beside the hives?",
            ("Beside the hives the beekeeper hung a copper bell.",),
            (("copper bell", "bell of copper"),),
        ),
    ),
    "zh": (
        Asked(
            "外婆把什么埋在井边？",
            ("外婆在井边埋了一坛梅子酒。",),
            (("梅子酒",),),
        ),
        Asked(
            "裁缝铺的门帘是什么颜色的？",
            ("裁缝铺的门帘是靛蓝色的。",),
            (("靛蓝",),),
        ),
        Asked(
            "钟楼的屋檐下养着什么鸟？",
            ("钟楼的屋檐下养着一对灰鸽子。",),
            (("灰鸽子", "鸽子"),),
        ),
        Asked(
            "舅公在豆腐坊的墙上挂了什么？",
            ("舅公在豆腐坊的墙上挂了一把旧二胡。",),
            (("二胡",),),
        ),
        Asked(
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
# A landmark and the place that one must know to answer: question and needle share no content word.
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
    """The cities that numbers belong to."""
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
    own: tuple[Asked, ...] = (),
    taken: frozenset[str] = frozenset(),
) -> Asked:
    """The needle of one cell. `keys`, `values`, `queries`: of "multi", how many cities have numbers, how many each, and
    after how many is asked. `own`: of "file". `taken`: numbers of the haystack, which no needle has. Raises
    UsageError."""
    if kind == "sandwich":
        return _SANDWICH[language]
    if kind == "topic":
        return rng.choice(_TOPIC[language])
    if kind == "file":
        if not own:
            raise UsageError("Needles of a file: name it with --needle-file FILE.")
        return rng.choice(own)
    if kind == "paraphrase":
        name = rng.choice(_PEOPLE[language])
        needle, question = rng.choice(_KNOWN[language])
        return Asked(question, (needle.format(name=name),), ((name,),))
    if kind not in KINDS:
        raise UnknownName("needle", kind, KINDS)
    return _of_numbers(kind, language, rng, keys, values, queries, distractors, taken)


def _of_numbers(
    kind: str,
    language: str,
    rng: random.Random,
    keys: int,
    values: int,
    queries: int,
    distractors: int,
    taken: frozenset[str],
) -> Asked:
    if not 1 <= queries <= keys <= len(cities(language)) or not 1 <= values <= 20:
        raise UsageError(
            f"--keys {keys} --values {values} --queries {queries}: at least 1 each, at most {len(cities(language))} "
            "keys and 20 values, and no more queries than keys."
        )
    needle, question = _NUMBER[language]
    several = {"multi": keys, "distractor": 1 + distractors}.get(kind, 1)
    chosen = rng.sample(cities(language), min(several, len(cities(language))))
    each = values if kind == "multi" else 1
    numbers = rng.sample(range(1_000_000, 10_000_000), len(chosen) * each)
    while taken and any(str(number) in taken for number in numbers):
        numbers = rng.sample(range(1_000_000, 10_000_000), len(chosen) * each)
    held = {city: [str(numbers[at * each + n]) for n in range(each)] for at, city in enumerate(chosen)}
    told = {city: [needle.format(city=city, number=number) for number in held[city]] for city in chosen}
    first = chosen[0]
    if kind == "chain":
        name = rng.choice(_PEOPLE[language])
        one, two, ask = (text.format(city=first, name=name, number=held[first][0]) for text in _CHAIN[language])
        return Asked(ask, (one, two), ((held[first][0],),))
    if kind == "multi":
        asked = chosen[:queries]
        return Asked(
            _MULTI[language].format(cities=_JOINED[language].join(asked)),
            tuple(text for city in chosen for text in told[city]),
            tuple((number,) for city in asked for number in held[city]),
        )
    others = tuple(text for city in chosen[1:] for text in told[city])
    return Asked(question.format(city=first), (told[first][0],), ((held[first][0],),), others)


def read_needles(path: Path) -> tuple[Asked, ...]:
    """The user's own: JSON lines of `{"needle": text or list, "question": …, "answer": text or list of aliases}`.

    Raises DataError naming the line."""
    found = []
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
            asked = Asked(row["question"], needles, (aliases,))
            texts = (asked.question, *needles, *aliases)
            if not needles or not aliases or not all(isinstance(text, str) and text.strip() for text in texts):
                raise ValueError("a text is empty or missing")
            "".join(texts).encode()  # half a character can be sent to nobody
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DataError(path, f"expected needle, question and answer ({error}).", line=number) from None
        found.append(asked)
    if not found:
        raise DataError(path, "it holds no needle.")
    return tuple(found)
