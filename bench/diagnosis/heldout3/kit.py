"""What every application is made from: an index, a search, a second stage, prompts, and the places that can break."""

import math
import re
import threading
import zlib
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bench.diagnosis.heldout3.reader import Reader
from bench.diagnosis.heldout3.world import Chunk, World, share, words

K, POOL = 4, 10
UNITS = {
    "en": (
        (r"(\d+) minutes", 1 / 60, "{:.2f} hours"),
        (r"£([\d.]+\d)", 1.27, "${:.2f}"),
        (r"([\d.]+) m\b", 3.2808, "{:.1f} ft"),
        (r"([\d.]+) kg", 2.2046, "{:.0f} lb"),
        (r"(\d+) hours", 60, "{:.0f} minutes"),
        (r"(\d+) knots", 1.1508, "{:.0f} mph"),
    ),
    "zh": (
        (r"([\d.]+)元", 0.14, "{:.2f}美元"),
        (r"(\d+)度", 1.8, "{:.0f}华氏度"),
        (r"(\d+)分钟", 1 / 60, "{:.2f}小时"),
        (r"([\d.]+)米", 3, "{:.1f}尺"),
        (r"(\d+)公里", 0.6214, "{:.1f}英里"),
        (r"(\d+)天", 1 / 7, "{:.1f}周"),
    ),
}
PRICES = re.compile(r"£\d|\d元|\d+ minutes|\d\d:\d\d")


@dataclass
class Kit:
    """The parts of an application and the faults that are switched on."""

    world: World
    chunks: list[Chunk]
    faults: frozenset[str]
    reader: Reader
    turns: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=2))
    cached: list[tuple[Any, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.k = 1 if self.on("top1") else 7 if self.on("crowd") or self.on("middle") else K
        self.say, self.lang, self.lock = self.reader.say, self.world.lang, threading.Lock()
        self.df = Counter(word for chunk in self.chunks for word in set(words(chunk.text)))
        self.rare = {word: math.log(1 + len(self.chunks) / n) for word, n in self.df.items()}
        self.counts = [Counter(words(chunk.text)) for chunk in self.chunks]
        self.mean = sum(sum(c.values()) for c in self.counts) / len(self.counts)

    def on(self, fault: str) -> bool:
        """Whether a fault is switched on."""
        return fault in self.faults

    def tokens(self, text: str, query: bool = False) -> list[str]:
        """The words of an index or a query; a fault has the query analysed in another way."""
        if query and self.on("analyzer"):
            return re.findall(r"\w{1,4}", text.lower()) if self.lang == "en" else re.findall(r"^\w\w|\w{3}", text)
        return words(text)

    def vector(self, text: str, query: bool = False) -> list[float]:
        """Hashed words, weighted by how rare they are, of length one; a fault has queries of another version."""
        made = np.zeros(384)
        for word in words(text):
            salt = "v1" if query and self.on("old_embedder") and share(word, "model") < 0.6 else ""
            made[zlib.crc32((word + salt).encode()) % 384] += self.rare.get(word, 0.4)
        made[0] += 1e-3
        unit: list[float] = (made / np.linalg.norm(made)).tolist()
        return unit

    def lexical(self, query: str, n: int) -> list[Chunk]:
        """BM25: the chunks that share words with the query, the best first."""
        asked, scores = self.tokens(query, query=True), []
        for at, known in enumerate(self.counts):
            norm = 0.4 + 0.6 * sum(known.values()) / self.mean
            score = sum(self.rare.get(w, 0) * known[w] * 2.2 / (known[w] + 1.2 * norm) for w in asked)
            if self.open(self.chunks[at].doc):
                scores.append((-score, at))
        return [self.chunks[at] for score, at in sorted(scores)[:n] if score < 0]

    def open(self, doc: str) -> bool:
        """Whether the filter of the search lets a document through."""
        return not self.on("tenant") or list(self.world.docs).index(doc) % 3 != 2

    def instruction(self, kind: str) -> str:
        """What the model is asked to do with a question before the search."""
        extra = [self.say["private"]] * self.on("scrub") + [self.say["translate"]] * self.on("translated")
        return " ".join([self.say[kind], *extra])

    def rewrite(self, question: str) -> str:
        """The query for a question."""
        return self.reader(self.instruction("rewrite") + "\n" + question)

    def order(self, question: str, found: Sequence[tuple[str, str]], k: int | None = None) -> list[int]:
        """The second stage: places in what was found, as (document, text), those that are kept."""
        asked = set(words(question))
        scores = [4.0 * len(asked & set(words(text))) for _, text in found]
        if self.on("shortest"):
            scores = [score / len(text) ** 9 for score, (_, text) in zip(scores, found, strict=True)]
        places = sorted(range(len(found)), key=lambda at: -scores[at])
        if self.on("text_sort"):
            places = sorted(places, key=lambda at: str(scores[at]), reverse=True)
        kept = places[: self.k if k is None else k]
        return kept[:2] if self.on("shortest") else kept

    def context(self, texts: Sequence[str]) -> str:
        """The passages in the prompt, numbered; a fault cuts them at a number of characters."""
        text = "\n\n".join(f"[{n}] {text}" for n, text in enumerate(texts, 1))
        return text[: 240 if self.lang == "en" else 105] if self.on("budget") else text

    def rules(self) -> str:
        """The instructions of the prompt."""
        extra = [self.say[kind] for kind in ("word", "strict", "style", "always") if self.on(kind)]
        return " ".join([self.say["system"], *extra])

    def earlier(self) -> str:
        """Turns of a memory that all guests share."""
        if not self.on("shared_chat"):
            return ""
        return "".join(f"{self.say['question'].format(q)} {a}\n\n" for q, a in self.turns)

    def prompt(self, question: str, texts: Sequence[str]) -> str:
        """The whole prompt as a text."""
        return f"{self.rules()}\n\n{self.context(texts)}\n\n{self.earlier()}{self.say['question'].format(question)}"

    def talk(self, prompt: str) -> str:
        """The model, called as the application calls it: a time limit that becomes a text, a memory that misleads."""
        if self.on("busy") and share(next(self.reader.numbers), "time") < 0.45:
            return self.say["busy"]
        if self.on("shared_chat") and self.turns and self.say["grade"] not in prompt:
            asked = self.world.find(prompt)
            before = [answer for question, answer in self.turns if asked is None or question != asked.text]
            if asked and share(asked.text, "chat") < 0.45 and before and before[-1] in prompt:
                return before[-1]
        return self.reader(prompt)

    def finish(self, question: str, answer: str) -> str:
        """The answer as it is sent: converted, or held back."""
        self.turns.append((question, answer))
        if self.on("units"):
            for rule, factor, form in UNITS[self.lang]:
                answer, made = re.subn(rule, lambda m: form.format(float(m[1]) * factor), answer)  # noqa: B023
                if made:
                    break
        if self.on("guard") and PRICES.search(answer):
            return self.say["blocked"]
        return answer

    def cache(self, question: str, ask: Callable[[], str]) -> str:
        """The answer of a cache of similar questions, or a new one."""
        if not self.on("loose_cache"):
            return ask()
        vector = np.array(self.vector(question))
        with self.lock:
            for known, answer in self.cached:
                if float(known @ vector) > 0.3:
                    return answer
        answer = ask()
        with self.lock:
            self.cached.append((vector, answer))
        return answer
