"""An answer that may stand in place of another: that of another question, of the same language and kind."""

import hashlib
import re
from collections.abc import Sequence

from ragstone.text import find_answer
from ragstone.types import Sample

_YEAR, _NUMERAL = re.compile(r"(1[5-9]|20)\d\d年?"), re.compile(r"[^\w]*[\d一二三四五六七八九十百千万亿]")


def _kind(answer: str) -> str:
    """The kind of an answer: a year, a number or date, or a name."""
    return "year" if _YEAR.fullmatch(answer) else "number" if _NUMERAL.match(answer) else "name"


class StandIns:
    """The answers of all questions by language and kind, to find one that may stand in place of another."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        answers = {(sample.language, right[0]) for sample in samples if (right := _one_answer(sample))}
        self._pools: dict[tuple[str, str], list[str]] = {}
        for language, answer in sorted(answers):
            self._pools.setdefault((language, _kind(answer)), []).append(answer)

    def of(self, sample: Sample) -> str:
        """The answer of another question of the same language and kind, by chance; "" if there is none."""
        right = _one_answer(sample)
        pool = self._pools.get((sample.language, _kind(right[0])), []) if right else []
        start = number_of(sample, "stand-in", len(pool))
        others = (pool[(start + n) % len(pool)] for n in range(len(pool)))
        return next((other for other in others if not _overlap(other, right)), "")


def _one_answer(sample: Sample) -> Sequence[str]:
    """The wordings of the reference; () if it has several parts or is empty."""
    return [alias for alias in sample.references[0] if alias.strip()] if len(sample.references) == 1 else ()


def _overlap(answer: str, right: Sequence[str]) -> bool:
    return any(find_answer(answer, alias) or find_answer(alias, answer) for alias in right)


def exchanged(text: str, slots: Sequence[Sequence[str]], other: str) -> str:
    """A text with another answer wherever it has one of these."""
    spans = {span for slot in slots for alias in slot for span in find_answer(alias, text)}
    end = len(text)
    for start, stop in sorted(spans, reverse=True):
        if stop <= end:
            text, end = text[:start] + other + text[stop:], start
    return text


def number_of(sample: Sample, what: str, size: int) -> int:
    """A number below `size` that depends on the question only."""
    digest = hashlib.sha256(f"{sample.id}\0{what}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % size if size else 0
