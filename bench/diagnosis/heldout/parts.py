"""What the applications have in common: the embedding, words, and steps that can be broken."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from bench.diagnosis.heldout.reader import Reader
from bench.diagnosis.heldout.world import Chunk, World, share

SIZE = 1024
STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been before by do does for from how in is it its long many may most much must of on one "
        "or out than that the their them they to up what when where which who with have",
    )
)


def words(text: str) -> list[str]:
    """The words of an English text, the pairs of characters of a Chinese one."""
    found = [re.sub(r"(ing|es|s)$", "", w) for w in re.findall(r"[a-z]+|\d+", text.lower()) if w not in STOP]
    for run in re.findall(r"[\u4e00-\u9fff]+", text):
        found += [run[at : at + 2] for at in range(len(run) - 1)]
    return found


class Vectors:
    """Hashed words, weighted by how rare they are in the index. Some texts may hold vectors of an older model."""

    def __init__(self, texts: Sequence[str], outdated: frozenset[str] = frozenset()) -> None:
        self.outdated = outdated
        self.rare: dict[str, float] = {}
        for text in set(texts):
            for word in set(words(text)):
                self.rare[word] = self.rare.get(word, 0) + 1
        self.rare = {word: float(np.log(1 + len(set(texts)) / n)) for word, n in self.rare.items()}

    def embed(self, text: str, stored: bool = False) -> list[float]:
        """The vector of a text, of length one; a stored text may be outdated."""
        vector = np.zeros(SIZE)
        salt = "v1:" if stored and text in self.outdated else "v2:"
        for word in words(text):
            vector[zlib.crc32((salt + word).encode()) % SIZE] += self.rare.get(word, 0.3)
        vector[0] += 1e-3
        unit: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return unit


@dataclass
class Setup:
    """What an application is made from: an index, a reader, and the faults that are switched on."""

    world: World
    chunks: list[Chunk]
    faults: frozenset[str]
    reader: Reader
    k: int = 5
    log: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        old = [c.text for c in self.chunks if "embedding" in self.faults and c.doc in list(self.world.docs)[::2]]
        self.vectors = Vectors([c.text for c in self.chunks], frozenset(old))
        self.k = 1 if "small_k" in self.faults else self.k
        self.limit = int(1.8 * max(len(c.text) for c in self.chunks))

    def on(self, fault: str) -> bool:
        """Whether a fault is switched on."""
        return fault in self.faults

    def season(self, doc: str) -> str:
        """A field of the metadata; a third of the documents never got the right one."""
        return "2019" if self.on("filter") and list(self.world.docs).index(doc) % 3 == 2 else "2026"

    def rewrite(self, question: str) -> str:
        """The query that is searched for; a broken rewriter keeps the words that ask, and not those asked about."""
        if not self.on("rewriter"):
            return question
        if self.world.lang == "zh":
            return question[-len(question) // 3 :]
        return " ".join(question.split()[:3])

    def order(self, texts: list[str]) -> list[str]:
        """The order of the passages in the prompt: the best first, unless something else is done."""
        if self.on("middle"):
            return sorted(texts, key=share)
        return texts[::-1] if self.on("cut") else texts

    def cut(self, context: str) -> str:
        """The context within the limit of the prompt."""
        return context[: self.limit] if self.on("cut") else context

    def brief(self, question: str) -> bool:
        """Whether a template for short answers is taken, which a router does for questions about amounts."""
        return self.on("brief") and re.search(r"[Hh]ow (long|much|many|late|often)|多少|多久", question) is not None

    def cached(self, question: str) -> str | None:
        """An answer from a cache that was filled before the documents were revised."""
        asked = self.world.find(question)
        if not self.on("cache") or not asked or not asked.facts or share(question, "cache") > 0.45:
            return None
        text = self.world.join([fact.old for fact in asked.facts])
        return f"According to our rules it is {text}." if self.world.lang == "en" else f"按规定是{text}。"

    def overloaded(self, question: str) -> bool:
        """Whether the provider of the model turns this question away."""
        return self.on("overload") and share(question, "overload") < 0.35

    def guarded(self, answer: str) -> str:
        """The answer behind a filter that takes prices and times for personal data."""
        if self.on("guard") and re.search(r"euros|minutes|元|小时", answer):
            return "[Removed by the safety filter]" if self.world.lang == "en" else "【内容已被安全过滤器移除】"
        return answer

    def earlier(self) -> str:
        """The last turn of whoever asked before, which does not belong into the prompt of this question."""
        if not self.on("history") or not self.log:
            return ""
        question, answer = self.log[-1]
        if self.world.lang == "en":
            return f"User: {question}\nAssistant: {answer}\n\n"
        return f"用户：{question}\n客服：{answer}\n\n"


def overlap(question: str, text: str) -> float:
    """How many words of the question a text has, for rerankers."""
    asked = set(words(question))
    return len(asked & set(words(text))) / (1 + len(asked))
