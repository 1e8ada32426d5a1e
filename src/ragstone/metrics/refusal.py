"""Whether an answer declines for lack of information, by phrase, in English and Chinese.

The rule, clause by clause: a statement that the question as a whole cannot be answered (or the official refusal) is a
refusal, unless an answer is expressly given after it ("however, from general knowledge the answer is …"). A gap in
the documents ("they do not mention the date") is a refusal only where no answer came before it and none follows after
a "but". So an answer that also names a gap is no refusal.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._clauses import Clause, clauses
from ragstone.metrics._open_questions import open_spans
from ragstone.metrics._phrases import phrases
from ragstone.text.characters import HAN
from ragstone.text.folding import fold_characters
from ragstone.types import Case, Need, Response, Score

# Nobody declines after this many characters of one clause; it bounds the time that any answer can take.
_LONGEST = 600
_TITLE = re.compile("《[^《》]{1,60}》")
_LETTERS = re.compile(r"\w")
# Phrases of a language are looked for only in clauses of its script; a question mark alone is read as English.
_SCRIPTS = (("en", re.compile("[a-z?]")), ("zh", re.compile(f"[{HAN}]")))


def refusal_spans(answer: str, question: str = "") -> list[tuple[int, int]]:
    """Where `answer` declines for lack of information, as (start, end); [] if it does not decline. With the question,
    a gap also counts after side facts, and does not where it is one of something else."""
    found = _by_phrase(answer)
    if question:
        read = open_spans(answer, question, by_phrase=bool(found))
        return found if read is None or (read and found) else read
    return found


def _by_phrase(answer: str) -> list[tuple[int, int]]:
    if not phrases("refusal.hint").search(fold_characters(answer).text):
        return []
    spans: list[tuple[int, int]] = []
    answered = given_after_all = False
    declined = ""
    for clause in clauses(answer):
        kind, start, end = _kind(clause)
        if (kind == "whole" and not given_after_all) or (kind == "gap" and not answered):
            declined = "whole" if "whole" in (kind, declined) else "gap"
            spans.append(clause.span(start, end))
        elif kind == "statement":
            expressly = phrases("refusal.answers").search(clause.text) is not None
            if not declined or expressly or (declined == "gap" and clause.contrast):
                given_after_all = given_after_all or bool(declined)
                answered, declined, spans = True, "", []
    return spans


def declines_whole(answer: str) -> bool:
    """Whether some clause says that the question as a whole cannot be answered, or nothing else is said."""
    kinds = [_kind(clause)[0] for clause in clauses(answer)]
    return "whole" in kinds or "statement" not in kinds


def _kind(clause: Clause) -> tuple[str, int, int]:
    """What a clause does: "whole" (declines), "gap", "empty" or "statement", and where its words for it stand."""
    # What stands in title marks is a name: 《不知道》 is a song.
    text = _TITLE.sub(lambda title: "某" * len(title.group()), clause.text[:_LONGEST])
    languages = [code for code, letter in _SCRIPTS if letter.search(text)]
    for language in languages:
        if match := phrases(f"refusal.only.{language}").fullmatch(text):
            return "gap", *match.span()
    for kind in ("whole", "gap"):
        for language in languages:
            if match := phrases(f"refusal.{kind}.{language}").search(text):
                return kind, *match.span()
    if not _LETTERS.search(text) or any(phrases(f"refusal.empty.{language}").search(text) for language in languages):
        return "empty", 0, 0
    return "statement", 0, 0


@dataclass(frozen=True)
class Refusal:
    """`refusal`: 1.0 if the answer declines for lack of information, else 0.0.

    Formula: 1 if a phrase declines and no answer is given all the same, else 0. What counts is the phrase and where in
    the answer it stands (see the module).
    Range: 0 or 1; which is better depends on whether the passages hold an answer.
    Needs: the answer.
    Evidence: {"spans": [[start, end], …]}, the words that decline.
    Source: ragstone's counterpart of the phrase test of Chen et al. 2024, which knows one wording a language.

    | case | result |
    |---|---|
    | the answer declines | 1 |
    | the answer is empty | 0: it says nothing |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    """

    name: str = "refusal"
    version: int = 3
    better: ClassVar[Literal["higher", "lower", "neither"]] = "neither"
    needs: frozenset[Need] = frozenset({Need.ANSWER})

    def score(self, case: Case, response: Response, /) -> Score:
        spans = refusal_spans(response.answer, case.sample.question)
        return Score.of(bool(spans), evidence={"spans": [list(span) for span in spans]})


PLUGINS = {"refusal": Refusal()}
