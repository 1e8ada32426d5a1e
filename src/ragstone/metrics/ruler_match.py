"""Whether an answer has the references, as RULER counts it."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._references import NO_REFERENCE, filled
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class RulerMatch:
    """`ruler.match`: the share of the references that the answer has in it, letter for letter in any case.

    Formula: slots of which any alias is a substring of the answer / slots. With one alias a slot this is
    string_match_all; with one slot it is string_match_part, as for questions on documents. What else the answer says
    does not count against it, so an answer that lists everything gets 1.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference.
    Evidence: {"found": for each slot, whether the answer has it}.
    Source: Hsieh et al. 2024, "RULER: What's the Real Context Size of Your Long-Context Language Models?".

    | case | result |
    |---|---|
    | the answer declines | 0, unless it has the references all the same |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable: a control has no needle |
    """

    name: ClassVar[str] = "ruler.match"
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        slots = filled(case.sample)
        if not slots:
            return Score.not_applicable(NO_REFERENCE)
        answer = response.answer.lower()
        found = [any(alias.lower() in answer for alias in slot) for slot in slots]
        return Score.of(sum(found) / len(found), evidence={"found": found})


PLUGINS = {"ruler.match": RulerMatch()}
