"""Labels of a question beside its primary cause: known kinds of errors, as far as the answers show them.

The kinds of noise and integration errors are those of RGB (Chen et al. 2024, Tables 2 and 6), the four kinds of
adaptability those of MIRAGE (Park et al. 2025, section 4.3). All are found by rules, so a label that is missing does
not mean that the error did not occur.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ragstone.analysis.gold_passages import holds, rank_of, states
from ragstone.benchmarks.source_attribution import Source
from ragstone.benchmarks.source_attribution import misleading as source_of
from ragstone.diagnosis.interventions.causes import Cause
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.text import find_answer, sentences, words
from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage

LABELS = (
    "lucky", "lost_in_middle", "memory_over_document", "document_over_memory", "misled", "long_distance",
    "uncertain_evidence", "concept_confusion", "noise_of_parts", "merged", "ignored", "misaligned",
    "noise_vulnerability", "context_acceptability", "context_insensitivity", "context_misinterpretation",
)  # fmt: skip

INTEGRATION_SHARES = {"noise_of_parts": 0.38, "merged": 0.28, "ignored": 0.28, "misaligned": 0.06}
"""Shares of all errors of information integration in the paper, where questions have several parts (ChatGLM2-6B, no
noise; Chen et al. 2024, section 4.4). The first are errors like those of noise robustness."""

_UNCERTAIN = re.compile(
    r"\b(?:expected|rumou?r(?:ed|s)?|reportedly|(?-i:may|might)|likely|predict(?:ed|s)?|believe[sd]?|unconfirmed"
    r"|speculat\w+|planned)\b|预计|据传|传闻|可能|或将|有望|未经证实|预测|计划",
    re.IGNORECASE,
)
_BOTH = ("both", "each", "都", "均", "两者")


def misleading(evidence: Evidence) -> Passage | None:
    """The passage of the prompt, not a gold one, that states the wrong answer."""
    source = _source(evidence)
    return None if source is None else source.passage


def _source(evidence: Evidence) -> Source | None:
    """The passage that misled, which has every number of the wrong answer, and the words that they share."""
    first, sample = evidence.first, evidence.sample
    if first is None or evidence.value("as_is") != "wrong":
        return None
    own = content_words(first.answer, sample.language) - content_words(sample.question, sample.language)
    numbers = frozenset(word for word in own if any(map(str.isdigit, word)))
    passages = [
        replace(item, relevant=any(holds(item, one, evidence.slots) for one in evidence.gold))
        for item in first.passages
        if numbers <= words_in(item.text, numbers, sample.language)
    ]
    source = source_of(sample.question, first.answer, passages, sample.language)
    return None if source is None or source.passage.relevant else source


def labels_of(evidence: Evidence, cause: Cause) -> tuple[str, ...]:
    """The labels that apply, in the order of `LABELS`."""
    found = {*_reading(evidence, cause), *_parts(evidence), *_adaptability(evidence)}
    return tuple(label for label in LABELS if label in found)


def _reading(evidence: Evidence, cause: Cause) -> Iterator[str]:
    first = evidence.first
    right = evidence.value("as_is") == "right"
    if right and evidence.value("prompted") == "no":
        yield "lucky"
    if cause.name == "memory":
        yield "memory_over_document"
    if not right and evidence.outcome("closed_book") == "right":
        yield "document_over_memory"
    if right or first is None:
        return
    if cause.name == "position":
        rank = rank_of(first.passages, evidence.gold, evidence.slots) or 0
        size = len(first.passages)
        if size >= 3 and size / 3 < rank <= size - size / 3:
            yield "lost_in_middle"
    source = _source(evidence)
    if source is not None:
        yield "misled"
    if cause.name == "noise":
        yield from _noise(evidence, source)


def _noise(evidence: Evidence, source: Source | None) -> Iterator[str]:
    """The kinds of noise errors; `source` misled."""
    if len(evidence.slots) > 1:
        yield "noise_of_parts"
    if _is_far(evidence):
        yield "long_distance"
    elif source is not None:
        parts, language = sentences(source.passage.text), evidence.sample.language
        stating = max(parts, key=lambda part: len(words_in(part, source.shared, language)), default="")
        yield "uncertain_evidence" if _UNCERTAIN.search(stating) else "concept_confusion"


def _is_far(evidence: Evidence) -> bool:
    """Whether the words of the question and the answer stand in different halves of the gold passage."""
    for item in evidence.gold:
        spans = [span for slot in evidence.slots for alias in slot for span in find_answer(alias, item.text)]
        parts = sentences(item.text)
        if not spans or len(parts) < 2:
            continue
        asked = set(words(evidence.sample.question))
        about = max(parts, key=lambda part: len(asked & set(words(part))))
        if abs(item.text.find(about) - spans[0][0]) > len(item.text) / 2:
            return True
    return False


def _parts(evidence: Evidence) -> Iterator[str]:
    """The kinds of errors of questions with several parts, from the answer with the gold alone where there is one: all
    parts stated, and still wrong: misaligned. Of those that name one part only: an answer about the other part is
    misaligned, an answer about both is merged; the rest ignores the other part."""
    name = "gold_only" if "gold_only" in evidence.records else "as_is"
    record = evidence.records[name]
    if len(evidence.slots) < 2 or evidence.outcome(name) != "wrong" or record.response is None:
        return
    match = AnswerMatch().score(record.case, record.response).evidence
    found = [bool(slot) for slot in match["slots"]] if isinstance(match, dict) else []
    if not any(found):
        return
    if all(found):
        yield "misaligned"
        return
    said = set(words(record.response.answer))
    stated, lacking = (_about(evidence, [n for n, one in enumerate(found) if one is side]) for side in (True, False))
    if said & (lacking - stated):
        yield "merged" if said & (stated - lacking) else "misaligned"
    else:
        yield "merged" if any(word in record.response.answer.lower() for word in _BOTH) else "ignored"


def _about(evidence: Evidence, slots: Sequence[int]) -> set[str]:
    """The words of the question that stand in the gold passages of these parts of the answer."""
    texts = [item for item in evidence.gold if states(item, [evidence.slots[n] for n in slots])]
    return set(words(evidence.sample.question)) & {word for item in texts for word in words(item.text)}


def _adaptability(evidence: Evidence) -> Iterator[str]:
    """MIRAGE's kinds, from the answers without documents, with the gold alone, and with the gold among others."""
    base, alone = evidence.outcome("closed_book"), evidence.value("alone")
    mixed = evidence.value("as_is") if evidence.value("prompted") == "yes" else evidence.value("added")
    if alone == "right" and mixed in ("right", "wrong", "refused"):
        yield "context_acceptability" if mixed == "right" else "noise_vulnerability"
    elif alone in ("wrong", "refused") and base in ("right", "wrong", "refused"):
        yield "context_misinterpretation" if base == "right" else "context_insensitivity"
