"""Labels of a question beside its primary cause: known kinds of errors, as far as the answers show them.

The kinds of noise and integration errors are those of RGB (Chen et al. 2024, Tables 2 and 6), the four kinds of
adaptability those of MIRAGE (Park et al. 2025, section 4.3). All are found by rules, so a label that is missing does
not mean that the error did not occur.
"""

import re
from collections.abc import Iterator

from ragstone.benchmarks.interventions.causes import Cause
from ragstone.benchmarks.interventions.evidence import Evidence
from ragstone.benchmarks.interventions.gold import holds, rank_of
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.text import find_answer, sentences, words
from ragstone.text.quoting import find_quote
from ragstone.types import Passage

__all__ = ["LABELS", "NOISE_SHARES", "labels_of", "misleading"]

LABELS = (
    "lucky", "lost_in_middle", "memory_over_document", "document_over_memory", "misled", "long_distance",
    "uncertain_evidence", "concept_confusion", "merged", "ignored", "misaligned", "noise_vulnerability",
    "context_acceptability", "context_insensitivity", "context_misinterpretation",
)  # fmt: skip

NOISE_SHARES = {"noise": 0.38, "merged": 0.28, "ignored": 0.28, "misaligned": 0.06}
"""Errors of integration by kind in the paper (ChatGLM2-6B, no noise; Chen et al. 2024, section 4.4)."""

_UNCERTAIN = re.compile(
    r"\b(?:expected|rumou?r(?:ed|s)?|reportedly|may|might|likely|predict(?:ed|s)?|unconfirmed|speculat\w+|planned)\b"
    r"|预计|据传|传闻|可能|或将|有望|未经证实|预测|计划",
    re.IGNORECASE,
)


def misleading(evidence: Evidence) -> Passage | None:
    """The passage of the prompt, not a gold one, that states the wrong answer."""
    first = evidence.first
    if first is None or evidence.value("as_is") != "wrong" or not first.answer.strip():
        return None
    others = [item for item in first.passages if not any(holds(item, one, evidence.slots) for one in evidence.gold)]
    answer = first.answer.strip().rstrip(".。")
    stated = next((item for item in others if find_quote(answer, item.text)), None)
    return stated or next((item for item in others if len(answer) < 40 and find_answer(answer, item.text)), None)


def labels_of(evidence: Evidence, cause: Cause) -> tuple[str, ...]:
    """The labels that apply, in the order of `LABELS`."""
    found = {*_reading(evidence, cause), *_parts(evidence, cause), *_adaptability(evidence)}
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
    passage = misleading(evidence)
    if passage is not None:
        yield "misled"
    if cause.name == "noise":
        if passage is None:
            if _is_far(evidence):
                yield "long_distance"
        else:
            yield "uncertain_evidence" if _UNCERTAIN.search(passage.text) else "concept_confusion"


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


def _parts(evidence: Evidence, cause: Cause) -> Iterator[str]:
    """The kinds of errors of questions with several parts."""
    record = evidence.records.get("gold_only") or evidence.records["as_is"]
    if cause.name != "integration" or record.response is None or len(evidence.slots) < 2:
        return
    match = AnswerMatch().score(record.case, record.response).evidence
    found = [bool(slot) for slot in match["slots"]] if isinstance(match, dict) else []
    statements = [part for part in sentences(record.response.answer) if part.strip()]
    if all(found) or not any(found):
        yield "misaligned" if all(found) else "merged"
    else:
        both = any(word in record.response.answer.lower() for word in ("both", "each", "都", "均", "两者"))
        yield "merged" if both or len(statements) > 1 else "ignored"


def _adaptability(evidence: Evidence) -> Iterator[str]:
    """MIRAGE's kinds, from the answers without documents, with the gold alone, and as is."""
    base, alone = evidence.outcome("closed_book"), evidence.value("alone")
    if base is None or alone in (None, "missing") or evidence.value("prompted") != "yes":
        return
    knows, reads, mixed = base == "right", alone == "right", evidence.value("as_is") == "right"
    if reads and not mixed:
        yield "noise_vulnerability"
    elif reads and mixed and not knows:
        yield "context_acceptability"
    elif not reads and not knows:
        yield "context_insensitivity"
    elif not reads and knows:
        yield "context_misinterpretation"
