"""Whether what an answer cites backs what it says."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._citations import backing, cited
from ragstone.metrics._matrix import NO_CLAIMS, FromMatrix, check_sentences
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class CitationPrecision(FromMatrix):
    """`citation_precision`: the share of the answer's citations that support a claim of their sentence.

    Formula: citations whose passage supports at least one claim of their sentence / citations. A passage that one
    sentence cites twice is one citation; a number that no passage has is a citation that supports nothing.
    Range: 0 to 1, higher is better.
    Needs: the answer, passages; a judge. Citations are read by rule: [1], [1,2], 【1】, (来源1), [^1]…; numbers count
    the passages from 1.
    Evidence: {"what": "citations", "counted": [sentence, number] of those that support, "of": how many there are,
    "citations": for each sentence the numbers that it cites, "verdicts"}.
    Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations" (ALCE). As there, a
    citation that supports a claim only together with others counts where the sentence cites all of them.

    | case | result |
    |---|---|
    | the answer declines | the citations that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable |
    | the answer cites nothing | not applicable |
    | no passages | not applicable |
    | nothing was retrieved | no claim has support |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "citation_precision"
    rests_on: ClassVar[tuple[str, ...]] = ("answer",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.PASSAGES})

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        citations = cited(judged.sentences)
        if not judged.answer_claims:
            return Score.not_applicable(NO_CLAIMS)
        places = [(sentence, number) for sentence, cites in enumerate(citations, start=1) for number in cites]
        if not places:
            return Score.not_applicable("the answer cites nothing")
        check_sentences(judged.answer_claims)
        supports = {(claim.sentence, number) for claim in judged.answer_claims for number in backing(claim, citations)}
        counted = [list(place) for place in places if place in supports]
        evidence = {"what": "citations", "counted": counted, "of": len(places), "citations": citations}
        return Score.of(len(counted) / len(places), evidence=evidence)


PLUGINS = {"citation_precision": CitationPrecision}
