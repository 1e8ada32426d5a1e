"""Whether what an answer says is backed by what it cites."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._citations import backing, cited
from ragstone.metrics._matrix import NO_CLAIMS, FromMatrix, check_sentences
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class CitationRecall(FromMatrix):
    """`citation_recall`: the share of the answer's claims whose sentence cites a passage that supports them.

    Formula: claims whose sentence cites at least one passage that supports them / answer claims.
    Range: 0 to 1, higher is better.
    Needs: the answer, passages; a judge. Citations are read by rule: [1], [1,2], 【1】, (来源1), [^1]…; numbers count
    the passages from 1.
    Evidence: {"what": "answer_claims", "counted": ids of those claims, "of": how many there are, "citations": for each
    sentence the numbers that it cites, "verdicts"}.
    Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations" (ALCE). Theirs asks
    whether all cited passages together entail a whole statement; here by claim and by passage. A claim that takes
    several passages together counts where its sentence cites all of them.

    | case | result |
    |---|---|
    | the answer declines | the claims that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable |
    | the answer cites nothing | 0 |
    | no passages | not applicable |
    | nothing was retrieved | no claim has support |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "citation_recall"
    rests_on: ClassVar[tuple[str, ...]] = ("answer",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.PASSAGES})

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        claims, citations = judged.answer_claims, cited(judged.sentences)
        if not claims:
            return Score.not_applicable(NO_CLAIMS)
        if any(citations):
            check_sentences(claims)
        backed = [claim.id for claim in claims if backing(claim, citations)]
        evidence = {"what": "answer_claims", "counted": backed, "of": len(claims), "citations": citations}
        reason = "" if any(citations) else "the answer cites nothing"
        return Score.of(len(backed) / len(claims), evidence=evidence, reason=reason)


PLUGINS = {"citation_recall": CitationRecall}
