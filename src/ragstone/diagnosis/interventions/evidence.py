"""What the answers to one question under all conditions tell, as fields of which each has a few values. The table of
causes and the plan of what to ask next read nothing else."""

from collections.abc import Callable, Mapping

from ragstone.diagnosis.interventions.fields import answer, application, prompt, search
from ragstone.diagnosis.interventions.observations import MISSING, Observations
from ragstone.diagnosis.interventions.question import asked_model
from ragstone.diagnosis.interventions.shared import Facts
from ragstone.diagnosis.interventions.substitutes import LONGEST_MESSAGE, message_of
from ragstone.diagnosis.interventions.unfinished import stops_within

FIELDS: Mapping[str, tuple[str, ...]] = {
    "as_is": ("right", "wrong", "refused", "error", "unscored"),
    "again": ("right", "wrong", MISSING),
    "answerable": ("yes", "no"),
    "gold": ("yes", MISSING),
    "in_index": ("yes", "no", MISSING),
    "fetched": ("yes", "no", MISSING),
    "prompted": ("yes", "no", MISSING),
    "added": ("right", "wrong", MISSING),
    "asked": ("yes", "no", MISSING),
    "reworked": ("yes", "no"),
    "lowered": ("yes", "no", MISSING),
    "demoted": ("yes", "no", MISSING),
    "left_out": ("yes", "no"),
    "by_reference": ("yes", "no", MISSING),
    "reach": ("yes", "no", MISSING),
    "alone": ("right", "wrong", "refused", MISSING),
    "indexed": ("right", "wrong", "refused", MISSING),
    "contradicted": ("yes", "no", MISSING),
    "own": ("right", "wrong", MISSING),
    "split": ("yes", "no"),
    "dated": ("yes", "no"),
    "large": ("yes", "no"),
    "sentence": ("right", "wrong", MISSING),
    "rows_mixed": ("yes", "no"),
    "moved": ("right", "wrong", MISSING),
    "recalled": ("yes", "no", MISSING),
    "partial": ("yes", "no"),
    "in_doubt": ("yes", "no"),
    "reread": ("right", "unit", "no"),
    "unfinished": ("value", "sentence", "no"),
    "explicit": ("detail", "form", "language", "no"),
    "cut": ("yes", "no"),
    "clipped": ("yes", "no"),
    "unread_end": ("yes", "no"),
    "narrowed": ("yes", "no"),
    "curtailed": ("yes", "no"),
    "deaf": ("yes", "no"),
    "guarded": ("yes", "no", MISSING),
    "stock": ("yes", "no"),
    "crowded": ("yes", "no", MISSING),
    "excluded": ("yes", "no", MISSING),
    "barrier": ("yes", "no", MISSING),
    "stuck": ("yes", "no", MISSING),
    "reworded": ("right", "own", "wrong", MISSING),
    "probed": ("yes", "no"),
    "carried": ("yes", "no", MISSING),
    "unburdened": ("right", "wrong", MISSING),
}
"""Each field and its values; `docs/diagnosis.md` says what they mean."""

_READERS: Mapping[str, Callable[[Observations], str | None]] = {
    "as_is": answer.as_is, "again": answer.again, "answerable": answer.answerable, "gold": answer.gold,
    "in_index": search.in_index, "fetched": search.fetched, "prompted": search.prompted, "added": prompt.added,
    "asked": search.asked, "reworked": search.reworked,
    "lowered": search.lowered, "demoted": search.demoted, "left_out": search.left_out,
    "by_reference": search.by_reference, "reach": search.reach, "alone": prompt.alone, "indexed": prompt.indexed,
    "contradicted": prompt.contradicted, "own": prompt.own, "split": prompt.split, "dated": prompt.dated,
    "large": prompt.large, "sentence": prompt.sentence, "rows_mixed": prompt.rows_mixed, "moved": prompt.moved,
    "recalled": answer.recalled, "partial": answer.partial, "in_doubt": answer.in_doubt, "reread": answer.reread,
    "unfinished": answer.unfinished, "explicit": answer.explicit, "cut": prompt.cut,
    "clipped": prompt.clipped, "unread_end": prompt.unread_end, "narrowed": search.narrowed,
    "curtailed": search.curtailed, "deaf": search.deaf, "guarded": application.guarded,
    "stock": application.stock, "crowded": search.crowded, "excluded": search.excluded, "barrier": search.barrier,
    "stuck": application.stuck, "reworded": application.reworded, "probed": application.probed,
    "carried": application.carried, "unburdened": application.unburdened,
}  # fmt: skip
"""How each field is read."""


class Evidence(Observations):
    """The answers to one question, with its fields."""

    def read(self, name: str) -> str | None:
        return _READERS[name](self)


def facts_of(evidence: Evidence) -> Facts:
    """The facts of a question."""
    known = evidence.gold and evidence.value("in_index") != "no" and evidence.value("fetched") in ("yes", "no")
    language = (search.foreign(evidence) == "yes", evidence.value("fetched") == "yes") if known else None
    first, outcome = evidence.first, evidence.value("as_is")
    if first is None or not evidence.slots:
        return Facts(language, prompt=None if first is None else asked_model(first))
    wrong, message = outcome in ("wrong", "refused"), message_of(first)
    return Facts(
        language, message if wrong and len(message) <= LONGEST_MESSAGE else "",
        hash(tuple(map(tuple, evidence.slots))), None if outcome in ("refused", "error") else hash(message),
        outcome == "right", asked_model(first), tuple(alias for slot in evidence.slots for alias in slot),
        hash(tuple(item.text for item in first.passages)) if first.passages else None, search.reranked(evidence),
        len(first.passages), wrong and application.is_heading(evidence, first.answer),
        stops_within(first.answer, evidence.gold, evidence.slots) if outcome == "wrong" else "",
        search.ignores_words(evidence),
        None if outcome in ("refused", "error", "unscored") else application.reply_of(first),
    )  # fmt: skip
