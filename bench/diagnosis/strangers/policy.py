"""What the teams of all applications share: rewriting, filters, the context's layout, caches, guards, with faults."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, TypeVar

from bench.diagnosis.strangers import texts
from bench.diagnosis.strangers.ingest import POPULAR
from bench.diagnosis.strangers.settings import share
from bench.diagnosis.strangers.texts import join
from bench.diagnosis.strangers.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.diagnosis.strangers.settings import Settings

Passage = TypeVar("Passage")
TOP = 5
WIDE = 15


class Unavailable(RuntimeError):
    """The model's provider does not answer."""


def query(question: str, settings: Settings) -> str:
    """The words that are searched for: the question, made shorter by a rewriter that should leave its subject alone."""
    if settings.has("rewriter_drops_subject"):
        if settings.language == "zh":
            return "".join(re.findall(r"多少|第几|几|谁|哪|什么|多久|每|公司", question)) + "规定"
        kept = sorted(question.rstrip("?").split(), key=len)
        return " ".join(kept[: max(2, len(kept) // 3)])
    if settings.has("query_truncated"):
        return question[:2] if settings.language == "zh" else " ".join(question.split()[:4])
    return question


def allowed(department: str, settings: Settings) -> bool:
    """Whether the filter on metadata lets a row pass."""
    return not settings.has("metadata_filter") or department == "hr"


def weight(document: str, settings: Settings) -> float:
    """The factor of the rank for popular pages."""
    return 8.0 if settings.has("popularity_boost") and document in POPULAR else 1.0


def top(settings: Settings) -> int:
    """How many passages the prompt gets."""
    return 1 if settings.has("k_too_small") else TOP


def relevant(question: str, text: str, settings: Settings) -> bool:
    """What the grader of passages thinks of one."""
    wanted = set(words(question))
    part = len(wanted & set(words(text))) / max(1, len(wanted))
    return part >= (0.75 if settings.has("grader_strict") else 0.08)


def overlap(question: str, text: str) -> float:
    """The score of the reranker: the share of the question's words, rare ones first, in the passage."""
    wanted, has = set(words(question)), set(words(text))
    return sum(len(word) for word in wanted & has) / (1 + 0.002 * len(text))


def reranked(question: str, found: Sequence[tuple[str, Passage]], settings: Settings) -> list[Passage]:
    """The passages (with their texts) in the reranker's order."""
    up = settings.has("reranker_inverted")
    order = sorted(found, key=lambda pair: overlap(question, pair[0]) * (1 if up else -1))
    return [passage for _, passage in order]


def arranged(passages: Sequence[Passage], settings: Settings) -> list[Passage]:
    """The order of passages in the prompt: the best first, or by mistake in the middle."""
    if settings.has("middle_lost") and len(passages) > 3:
        return [passages[2], *passages[3:-1], *passages[:2], passages[-1]]
    return list(passages)


def snippet(text: str, settings: Settings) -> str:
    """A passage as the prompt shows it."""
    if settings.has("snippets"):
        return text[: 80 if settings.language == "en" else 24] + "…"
    return text


def clipped(context: str, settings: Settings) -> str:
    """The passages of the prompt, within the limit of tokens."""
    return context[: 330 if settings.language == "en" else 110] if settings.has("token_limit") else context


class Desk:
    """What stands around the model: an answer cache, a guard, an error page, and the conversation."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.lock = threading.Lock()
        self.cache: dict[str, str] = {}
        self.turns: list[tuple[str, str]] = []
        if settings.has("stale_cache", "coarse_cache"):
            self._warm()

    def _warm(self) -> None:
        """Answers of yesterday: saved before the documents changed, or right ones under keys that are too coarse."""
        for which in ("questions", "fresh"):
            for asked in texts.questions(self.settings.language, which):
                if self.settings.has("coarse_cache"):
                    self.cache.setdefault(self._key(asked.text), asked.reference())
                elif asked.keys and share("cached", asked.text) < 0.4:
                    self.cache[asked.text] = join([fact.old for fact in asked.facts()], self.settings.language)

    def _key(self, question: str) -> str:
        if self.settings.has("coarse_cache"):
            return question[:4] if self.settings.language == "zh" else " ".join(question.lower().split()[:2])
        return question

    def before(self, question: str) -> str | None:
        """An answer without a model: from the cache, or that of an error."""
        settings = self.settings
        english, down = settings.language == "en", share("down", settings.app, question) < 0.4
        if down and settings.has("error_text"):
            return "Sorry, something went wrong. Please try again later." if english else "抱歉，系统繁忙，请稍后再试。"
        if down and settings.has("empty_reply"):
            return ""
        if down and settings.has("raises"):
            raise Unavailable("502 Bad Gateway from the model's provider")
        if settings.has("stale_cache", "coarse_cache"):
            with self.lock:
                return self.cache.get(self._key(question))
        return None

    def after(self, question: str, answer: str) -> str:
        """The answer as it leaves the house."""
        settings = self.settings
        english = settings.language == "en"
        if settings.has("coarse_cache"):
            with self.lock:
                self.cache.setdefault(self._key(question), answer)
        if settings.has("history_leaks"):
            with self.lock:
                self.turns = [(question, answer)]
        if settings.has("guard_blocks") and re.search(
            r"EUR|\d元|[A-Z][a-z]+ [A-Z][a-z]+|hours?\b|小时|公斤|天", answer
        ):
            return "This reply was withheld by the content filter." if english else "该回复已被内容安全策略拦截。"
        return answer

    def conversation(self) -> str:
        """The turns that the prompt repeats; nobody clears them between two users."""
        asked, said = ("User", "Assistant") if self.settings.language == "en" else ("用户", "助手")
        with self.lock:
            return "".join(f"{asked}: {turn[0]}\n{said}: {turn[1]}\n" for turn in self.turns)
