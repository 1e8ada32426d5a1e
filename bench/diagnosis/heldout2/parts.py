"""What the applications have in common: words, a search, a second stage, and the steps that can be broken."""

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bench.diagnosis.heldout2.world import REFUSALS, Chunk, World, share

STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by do does for from give has have how in into is it its may much of off on one or "
        "out than that the their there they this to up what when where which while who whom with",
    )
)
COMMON = {"en": ("house", "people", "things"), "zh": ("地方", "东西", "时候")}


def stem(word: str) -> str:
    """A word without its ending."""
    return re.sub(r"(ies|ing|ed|es|s|y)$", "", word) if len(word) > 4 else word


def words(text: str) -> list[str]:
    """The stems of an English text, the pairs of characters of a Chinese one."""
    found = [stem(word) for word in re.findall(r"[a-z]+|\d+", text.lower()) if word not in STOP]
    for run in re.findall(r"[\u4e00-\u9fff]+", text):
        found += [run[at : at + 2] for at in range(len(run) - 1)]
    return found


@dataclass
class Setup:
    """What an application is made from: an index, a model, and the faults that are switched on."""

    world: World
    chunks: list[Chunk]
    faults: frozenset[str]
    model: Callable[[str], str]
    k: int = 5
    notice: str = ""
    demand: str = ""
    title: str = ""
    searches: Counter[str] = field(default_factory=Counter)
    conversation: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.k = 1 if self.on("stingy") else self.k
        self.pool = max(12, 3 * self.k)
        self.df = Counter(word for chunk in self.chunks for word in set(words(chunk.text)))
        self.rare = {word: math.log(1 + len(self.chunks) / n) for word, n in self.df.items()}

    def on(self, fault: str) -> bool:
        """Whether a fault is switched on."""
        return fault in self.faults

    def tokens(self, text: str, query: bool = False) -> list[str]:
        """Words of an index or a query."""
        if query and self.on("mismatch"):
            return [word + "_q" if len(word) > 3 else word for word in re.findall(r"\w+", text.lower())]
        return words(text)

    def vector(self, text: str, query: bool = False) -> list[float]:
        """Hashed words, weighted by how rare they are, of length one."""
        made = np.zeros(256)
        for word in self.tokens(text, query):
            made[zlib.crc32(word.encode()) % 256] += self.rare.get(word, 0.3)
        made[0] += 1e-3
        unit: list[float] = (made / np.linalg.norm(made)).tolist()
        return unit

    def bm25(self, query: str, n: int) -> list[Chunk]:
        """The chunks that share words with the query, the best first."""
        if not hasattr(self, "_counts"):
            self._counts = [Counter(self.tokens(chunk.text)) for chunk in self.chunks]
            self._mean = sum(sum(c.values()) for c in self._counts) / len(self._counts)
        scores = []
        for at, count in enumerate(self._counts):
            norm = 0.4 + 0.6 * sum(count.values()) / self._mean
            hit = sum(self.rare.get(w, 0) * count[w] * 2.2 / (count[w] + 1.2 * norm) for w in self.tokens(query, True))
            scores.append((-hit, at))
        return [self.chunks[at] for score, at in sorted(scores)[:n] if score < 0]

    def audience(self, doc: str) -> str:
        """Who may read a document."""
        docs = list(self.world.docs)
        return "trustees" if self.on("members_only") and doc in docs and docs.index(doc) % 3 == 1 else "everyone"

    def answering(self, query: str, doc: str) -> bool:
        """Whether the part of the index that has a document answers; some calls reach half of it."""
        if not self.on("shards"):
            return True
        return share(query, self.searches[query], "shard") > 0.5 or share(doc, "side") < 0.5

    def query(self, question: str) -> str:
        """The query of a question: translated, and with its spelling corrected."""
        asked = self.world.find(question)
        if asked and not self.on("untranslated"):
            question = asked.text
        if self.on("spelling"):
            rare = r"[A-Za-z]{4,}" if self.world.lang == "en" else r"[\u4e00-\u9fff]{2}"
            parts = sorted(set(re.findall(rare, question)), key=lambda w: (self.df[stem(w.lower())], -len(w)))
            for part, other in zip(parts[:3], COMMON[self.world.lang], strict=False):
                question = question.replace(part, other)
        return question

    def overlap(self, question: str, text: str) -> float:
        """The share of the question's words that a text has, in [0, 1]."""
        asked = set(words(self.query(question)))
        return len(asked & set(words(text))) / max(1, len(asked))

    def second(self, question: str, found: Sequence[tuple[str, str]], k: int | None = None) -> list[int]:
        """The order of what was found, as (document, text): places in `found`, those that are kept."""
        seen = [text[:4] if self.on("skims") else text for _, text in found]
        scores = [self.overlap(question, text) for text in seen]
        order = sorted(range(len(found)), key=lambda at: (-scores[at], found[at][1][::-1] if self.on("skims") else ""))
        if self.on("recency"):
            order = sorted(order, key=lambda at: -int(8 * share(found[at][0], "year")))
        if self.on("threshold"):
            order = [at for at in order if scores[at] > 0.55]
        return order[: self.k if k is None else k]

    def shown(self, texts: list[str]) -> list[str]:
        """The passages as they stand in the prompt."""
        length = 95 if self.world.lang == "en" else 34
        return [text[:length] for text in texts] if self.on("snippets") else texts

    def rules(self) -> str:
        """What the prompt asks for beside an answer."""
        return self.title if self.on("titles") else ""

    def earlier(self) -> str:
        """The earlier turns that the prompt repeats."""
        one, two = ("User", "Helper") if self.world.lang == "en" else ("提问", "助手")
        last = self.conversation[-1:] if self.on("thread") else []
        return "".join(f"{one}: {question}\n{two}: {answer}\n" for question, answer in last)

    def talk(self, prompt: str) -> str:
        """The model's answer; with a fault it is asked once more after a refusal."""
        answer = self.model(prompt)
        if self.on("insists") and REFUSALS.search(answer):
            answer = self.model(self.demand + "\n" + prompt)
        return answer

    def finish(self, question: str, answer: str) -> str:
        """The answer as it is sent."""
        if self.on("redacted"):
            answer = re.sub(r"£[\d.,]*\d|\d[\d,.]* ?元|[A-Z][a-z]+ [A-Z][a-z]+(?=[,. ]|$)", "[***]", answer)
            answer = re.sub("|".join(["祝长青", "孟小满", "石文秀"]), "[***]", answer)
        self.conversation.append((question, answer))
        return answer


def text_of(passage: Any) -> str:
    """The text of a passage that was handed over, in whatever form."""
    if isinstance(passage, dict):
        return str(passage.get("text") or passage.get("content") or "")
    return str(getattr(passage, "text", passage))
