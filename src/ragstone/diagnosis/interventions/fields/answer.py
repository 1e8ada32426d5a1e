"""How the answer reads: whether it is right, changes by itself or was known by heart, what it lacks, and whether its
reference is to be doubted."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ragstone.analysis.gold_passages import evidence_of, states
from ragstone.analysis.statements import letters
from ragstone.diagnosis.interventions.conditions import ASKED_AGAIN, REPEATS
from ragstone.diagnosis.interventions.fields.search import prompted
from ragstone.diagnosis.interventions.observations import MISSING, Observations
from ragstone.diagnosis.interventions.question import asked_model
from ragstone.diagnosis.interventions.second_reading import in_other_form, reads_right
from ragstone.diagnosis.interventions.substitutes import message_of
from ragstone.diagnosis.interventions.unfinished import stops_within
from ragstone.diagnosis.interventions.wordings import stated_parts
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.answerable import answerable as is_answerable
from ragstone.metrics.reference_core import readings
from ragstone.metrics.refusal import refusal_spans
from ragstone.systems._cues import stop_words
from ragstone.text import detect, sentences, words
from ragstone.text.content_words import content_words, words_in
from ragstone.text.measures import in_other_form as differs_in_form
from ragstone.text.measures import measures
from ragstone.text.quotes import find_quote
from ragstone.types import Passage

_CLAUSES = re.compile(r"[,，;；]|\band\b|以及")
_ABOUT = 0.5  # of the weight of the sentence that is most about a question
_COPIED = 0.7  # share of the words of the gold in an answer that repeats the documents instead of answering
_FEWEST = 2  # words of the question that the sentence with the answer has, and that the other one lacks
_ENOUGH = 1 / 3  # of the words of an answer, which come with others that say nothing
_POINTS_BACK = re.compile(
    r"\W*(?:(?:it|its|he|his|she|her|they|their|this|these|that|those|both|the latter)\b|[它其该这那他她此])", re.I
)
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)


def as_is(observed: Observations) -> str:
    return observed.outcome("as_is") or "unscored"


def again(observed: Observations) -> str | None:
    return _ever_right(observed, "again", REPEATS)


def _ever_right(observed: Observations, name: str, conditions: Sequence[str]) -> str | None:
    """Whether an answer under any of these conditions, which tell this field, is right."""
    outcomes = [outcome for condition in conditions if (outcome := observed.told(condition)) not in (None, MISSING)]
    if "right" in outcomes:
        return "right"
    return observed.told_by(name, otherwise="wrong" if outcomes else MISSING)


def answerable(observed: Observations) -> str:
    return "no" if is_answerable(observed.records["as_is"].case) is False else "yes"


def gold(observed: Observations) -> str:
    return "yes" if observed.gold else MISSING


def recalled(observed: Observations) -> str | None:
    """Whether the answer from the gold claims what the system claims without any document, and no gold passage
    states. A refusal claims nothing. Where nothing asks the model without documents, as a system does that sends a
    fixed text then, it is asked with its own passages without the gold, which do not state it either."""
    read, name = observed.response("gold_only"), "closed_book"
    by_heart = observed.response(name)
    if by_heart is None or (observed.shared.prompts and not asked_model(by_heart)):
        name = "no_gold"
        by_heart = observed.response(name)
    if by_heart is None or read is None:
        return observed.told_by("recalled")
    if "refused" in (observed.outcome(name), observed.outcome("gold_only")):
        return "no"
    if message_of(read) in observed.shared.fixed:
        return "no"  # what many questions get is no knowledge
    given = () if name == "closed_book" or observed.first is None else observed.first.passages
    known = [observed.sample.question, *(f"{item.title}\n{item.text}" for item in (*observed.gold, *given))]
    claims, others = (_claims_of(response.answer, known) for response in (by_heart, read))
    numbers, others_numbers = ({word for word in some if any(map(str.isdigit, word))} for some in (claims, others))
    if numbers or others_numbers:
        return "yes" if numbers == others_numbers else "no"
    return "yes" if claims and others and (claims <= others or others <= claims) else "no"


def _claims_of(answer: str, known: Sequence[str]) -> set[str]:
    """The words by which an answer says something that neither the question nor a passage says; none in a refusal."""
    if refusal_spans(answer):
        return set()
    said = {word for text in known for word in words(text)}
    return {*words(answer)} - said - stop_words()


def _informed(observed: Observations) -> list[str]:
    """The answers, no refusals, that were given with the gold in the prompt."""
    names = ("as_is", *REPEATS) if prompted(observed) == "yes" else ()
    names = (*names, "gold_only", *ASKED_AGAIN["gold_only"])
    answers = [(observed.outcome(name), response.answer) for name in names if (response := observed.response(name))]
    return [answer for outcome, answer in answers if outcome in ("right", "wrong")]


def _most_in_part(observed: Observations) -> bool:
    """Whether most answers that were given with the gold have some parts of the reference and lack others."""
    slots, question, answers = observed.slots, observed.sample.question, _informed(observed)
    found = [stated_parts(slots, answer, question, observed.gold) for answer in answers]
    return 2 * sum(any(one) and not all(one) for one in found) > len(found)


def partial(observed: Observations) -> str:
    """Whether answers from the gold have some parts of the answer and lack others."""
    if _most_in_part(observed):
        return "yes"
    record = observed.records.get("gold_only") or observed.records["as_is"]
    if record.response is None:
        return "no"
    if len(observed.slots) < 2:
        return "no"
    match = AnswerMatch().score(record.case, record.response)
    evidence: Any = match.evidence
    found = [bool(slot) for slot in evidence.get("slots", [])] if isinstance(evidence, Mapping) else []
    scores = [score.value for score in record.scores.values() if score.value is not None]
    in_part = any(found) and not all(found)
    return "yes" if in_part or (not any(found) and any(0.25 < value < 1 for value in scores)) else "no"


def reread(observed: Observations) -> str:
    """Whether the answer as is is right by a second reading ("right"), or states the value in another unit, scale or
    number format, it or the one from the gold alone ("unit"); else "no"."""
    if observed.value("as_is") != "wrong":
        return "unit" if _in_other_form(observed, "gold_only") else "no"
    record = observed.records["as_is"]
    if reads_right(record, observed.gates, observed.gold):
        return "right"
    return "unit" if any(_in_other_form(observed, name) for name in ("as_is", "gold_only")) else "no"


def _in_other_form(observed: Observations, condition: str) -> bool:
    """Whether the answer under a condition is wrong, and right in another unit, scale or number format."""
    response = observed.response(condition)
    wrong = response is not None and observed.outcome(condition) == "wrong"
    return response is not None and wrong and in_other_form(response.answer, observed.slots, observed.gold)


def explicit(observed: Observations) -> str | None:
    """What the answer from the gold alone lacks that the system gives when the question asks for it: "detail", the
    "form" of its numbers, or the "language"; "no" if the request changes nothing, or any other words do as well."""
    if observed.value("alone") != "wrong":
        return "no"
    alone, asked = observed.response("gold_only"), observed.response("gold_explicit")
    outcome = observed.told("gold_explicit")
    if outcome != "right" or alone is None or asked is None:
        return observed.told_by("explicit", otherwise="no") if outcome is None else "no"
    if (neutral := observed.told("gold_neutral")) is None:
        return observed.told_by("explicit", otherwise="no")
    if neutral in ("right", MISSING) or _repeats(observed, asked.answer):
        return "no"
    if observed.value("reread") == "unit" or differs_in_form(asked.answer, alone.answer):
        return "form"
    reference = next((alias for slot in observed.slots for alias in slot), "")
    spoken = any(map(str.isalpha, alone.answer)) and any(map(str.isalpha, reference))
    return "language" if spoken and detect(alone.answer) != detect(reference) else "detail"


def unfinished(observed: Observations) -> str | None:
    """Where the answer from the gold alone stops within what the gold states ("value" or "sentence"), as those to other
    questions do, and stops there, too, when the question asks for all details; or the provider says that it was cut."""
    alone = observed.response("gold_only")
    if observed.value("alone") != "wrong" or alone is None:
        return "no"
    if alone.finish_reason == "length":
        return "sentence"
    place = stops_within(alone.answer, observed.gold, observed.slots)
    if place not in observed.shared.unfinished:
        return "no"
    asked = observed.response("gold_explicit")
    if asked is None:
        return observed.told_by("unfinished", otherwise="no")
    return place if stops_within(asked.answer, observed.gold, observed.slots) == place else "no"


def _repeats(observed: Observations, answer: str) -> bool:
    """Whether an answer repeats several sentences of the documents, which states whatever was asked for."""
    text = " ".join(item.text for item in observed.gold)
    known = set(words(text))
    return len(sentences(text)) > 3 and len(known & set(words(answer))) > _COPIED * len(known)


def in_doubt(observed: Observations) -> str | None:
    """Whether the gold passages state what most answers that were given with them say, but no part of the reference; or
    state the reference where they answer another question."""
    gold, answers, asked = observed.gold, _informed(observed), observed.sample.question
    if observed.value("as_is") != "wrong" or not gold:
        return "no"
    if any(states(item, observed.slots) for item in gold):
        return "no" if observed.value("reread") == "right" else _belongs_elsewhere(observed)
    if any(any(stated_parts(observed.slots, f"{item.title}\n{item.text}", asked, gold)) for item in gold):
        return "no"
    if any(states(item, sought) for slot in observed.slots for sought in readings(slot, asked) for item in gold):
        return "no"
    if observed.response("gold_only") is None and observed.open_conditions("in_doubt"):
        return None
    return "yes" if 2 * sum(_is_stated(answer, observed) for answer in answers) > len(answers) else "no"


def _is_stated(answer: str, observed: Observations) -> bool:
    """Whether the gold passages state an answer that is more than a part of the reference: word for word, or their
    sentences about the question have its figures."""
    gold, asked, plain = observed.gold, observed.sample.question, answer.strip().rstrip(".。")
    if any(letters(plain) in letters(alias) for slot in observed.slots for alias in slot):
        return False  # a part of the reference says nothing against it
    if plain and any(find_quote(plain, item.text) for item in gold):
        return True
    said = {(one.value, one.unit) for one in measures(answer)} - {(one.value, one.unit) for one in measures(asked)}
    near = {(one.value, one.unit) for text in _sentences(asked, gold) for one in measures(text)}
    near |= {(value, unit.partition("/")[0]) for value, unit in near}  # 75 kilometres an hour are said as 75 kilometres
    return bool(said) and said <= near


def _sentences(question: str, passages: Sequence[Passage]) -> list[str]:
    """The sentences of these passages that have most of the rarer words of the question, or of a clause of it."""
    clauses = dict.fromkeys((question, *_CLAUSES.split(question)))
    return [sentence for passage in passages for clause in clauses for sentence in _nearest(clause, passage.text)]


@lru_cache(maxsize=1024)
def _nearest(question: str, text: str) -> tuple[str, ...]:
    asked = content_words(question, "")
    found = [(sentence, asked & content_words(sentence, "")) for sentence in sentences(text)]
    frequency = Counter(word for _, shared in found for word in shared)
    weights = [sum(1 / frequency[word] for word in shared) for _, shared in found]
    best = max(weights, default=0.0)
    return tuple(one for (one, _), weight in zip(found, weights, strict=True) if weight >= _ABOUT * best > 0)


def _belongs_elsewhere(observed: Observations) -> str | None:
    """Whether the reference answers another question. The answer must be read from the passages, the same each time:
    the gold alone, or what was given with it, brings it, and no passages at all do not."""
    gold, first, asked = observed.gold, observed.first, observed.sample.question
    if (
        first is None
        or len(gold) != 1
        or observed.shared.headings
        or refusal_spans(first.answer)
        or not _is_answered(observed)
    ):
        return "no"
    alone, nothing = observed.response("gold_only"), observed.response("closed_book")
    if alone is None or nothing is None:
        return observed.told_by("in_doubt", otherwise="no")
    claims = _claims(first.answer, asked)
    in_gold = any(_says(sentence, claims) for sentence in _parts(gold))
    given = [first.answer, alone.answer] if in_gold else [first.answer]
    again = observed.response("again")
    given += [] if again is None else [again.answer]
    same = all(_says(answer, claims) for answer in given)
    return "yes" if same and observed.told("gold_only") != "right" and not _says(nothing.answer, claims) else "no"


def _is_answered(observed: Observations) -> bool:
    """Whether a sentence of the gold or the prompt has the answer and the words of the question, and the sentences that
    state the reference have at most half as many, with their headings. One that points back to another is not
    compared."""
    first, question = observed.first, observed.sample.question
    assert first is not None
    claims, asked = _claims(first.answer, question), content_words(question, "")
    parts = _parts([*observed.gold, *first.passages])
    best = max((len(words_in(part, asked, "")) for part in parts if _says(part, claims)), default=0)
    stating = [(one.text, gold) for gold in observed.gold for one in evidence_of(gold, observed.slots) if one.value]
    if not stating or any(_POINTS_BACK.match(text) for text, _ in stating):
        return False
    headed = ["\n".join((text, gold.title, *_HEADING.findall(gold.text))) for text, gold in stating]
    most = max(len(words_in(text, asked, "")) for text in headed)
    return best >= max(2 * most, most + _FEWEST)


def _parts(passages: Sequence[Passage]) -> list[str]:
    """The sentences and rows of some texts, each once."""
    texts = dict.fromkeys(part.strip() for one in passages for part in sentences(one.text))
    return [text for text in texts if text]


def _claims(answer: str, question: str) -> frozenset[str]:
    return frozenset(content_words(answer, "") - content_words(question, ""))


def _says(text: str, claims: frozenset[str]) -> bool:
    """Whether a text has enough of what an answer says beyond its question, and all of its figures."""
    figures = frozenset(word for word in claims if any(map(str.isdigit, word)))
    found = words_in(text, claims, "")
    return bool(claims) and len(found) >= _ENOUGH * len(claims) and figures <= found
