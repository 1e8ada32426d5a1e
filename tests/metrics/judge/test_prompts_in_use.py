"""The examples of the prompts beside what a judge really sends and takes: they are of one form, to the key."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from ragstone.metrics.judge import Judged, MatrixJudge
from ragstone.metrics.judge.envelope import opened
from ragstone.metrics.judge.prompts import LANGUAGES, Prompts
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Passage, Query, Request, Response, Sample

OURS = Prompts.load()
EXAMPLES = {
    name: [
        pytest.param(language, example.input, example.output, id=f"{language}-{number}")
        for language in LANGUAGES
        for number, example in enumerate(OURS.get(name, language).shown_examples, start=1)
    ]
    for name in ("decompose", "verify", "verify_passage", "verify_reference")
}


class Judge(Scripted):
    """Replies to each step as it is told, and keeps what it was shown."""

    def __init__(self, replies: Mapping[str, Any]) -> None:
        self.shown: dict[str, Any] = {}
        self._said = replies
        super().__init__(self._reply)

    def _reply(self, request: Request) -> str:
        self.shown[request.schema_name] = opened(request.messages[-1].content)
        return json.dumps(self._said[request.schema_name], ensure_ascii=False)


def claimed(shown: Mapping[str, Any]) -> dict[str, Any]:
    """A reply to `decompose` with the claims of an example of a later step."""
    answer = [{"sentence": 1, "text": text, "relevant": True} for text in shown["answer_claims"].values()]
    reference = [{"text": text} for text in shown["reference_claims"].values()]
    return {"answer_claims": answer, "reference_claims": reference, "questions": [], "noncommittal": False}


async def verified(
    judge: Judge, shown: Mapping[str, Any], passages: Sequence[str], how: Literal["joint", "separate"], language: str
) -> Judged:
    references = ((shown["reference"],),) if shown["reference"] else ()
    case = Case("c", Sample("s", shown["question"], references), {}, Query(shown["question"], language=language))
    given = tuple(Passage(f"p{place}", text) for place, text in enumerate(passages))
    answer = "\n".join(shown["answer_claims"].values())
    return await MatrixJudge(judge, prompts=OURS, verify=how).verify(case, Response(answer, given))


@pytest.mark.parametrize(("language", "shown", "reply"), EXAMPLES["decompose"])
async def test_an_example_of_decompose_is_what_is_sent_and_taken(language: str, shown: Any, reply: Any) -> None:
    answer = (" " if language == "en" else "").join(shown["answer"].values())
    references = ((shown["reference"],),) if shown["reference"] else ()
    case = Case("c", Sample("s", shown["question"], references), {}, Query(shown["question"]))
    judge = Judge({"decompose": reply})
    judged = await MatrixJudge(judge, prompts=OURS).decompose(case, Response(answer))
    assert judge.shown == {"decompose": shown}
    assert len(judge.requests) == 1
    assert [claim.text for claim in judged.answer_claims] == [claim["text"] for claim in reply["answer_claims"]]
    assert (list(judged.questions), judged.noncommittal) == (reply["questions"], reply["noncommittal"])


@pytest.mark.parametrize(("language", "shown", "reply"), EXAMPLES["verify"])
async def test_an_example_of_verify_is_what_is_sent_and_taken(language: str, shown: Any, reply: Any) -> None:
    judge = Judge({"decompose": claimed(shown), "verify": reply})
    judged = await verified(judge, shown, list(shown["passages"].values()), "joint", language)
    assert judge.shown["verify"] == shown
    assert len(judge.requests) == 2
    assert [list(claim.supported_by) for claim in judged.answer_claims] == [
        claim["supported_by"] for claim in reply["answer_claims"]
    ]
    assert [claim.quote for claim in judged.answer_claims] == [claim["quote"] for claim in reply["answer_claims"]]
    assert [passage.useful for passage in judged.passages] == [passage["useful"] for passage in reply["passages"]]


@pytest.mark.parametrize(("language", "shown", "reply"), EXAMPLES["verify_passage"])
async def test_an_example_of_one_passage_is_what_is_sent_and_taken(language: str, shown: Any, reply: Any) -> None:
    against = {
        side: [{"id": int(number), key: True} for number in shown[side]]
        for side, key in (("answer_claims", "in_reference"), ("reference_claims", "in_answer"))
    }
    judge = Judge({"decompose": claimed(shown), "verify_passage": reply, "verify_reference": against})
    judged = await verified(judge, shown, [shown["passage"]], "separate", language)
    assert judge.shown["verify_passage"] == shown
    supported = [claim["verdict"] == "supported" for claim in reply["answer_claims"]]
    contradicted = [claim["verdict"] == "contradicted" for claim in reply["answer_claims"]]
    assert [bool(claim.supported_by) for claim in judged.answer_claims] == supported
    assert [bool(claim.contradicted_by) for claim in judged.answer_claims] == contradicted


@pytest.mark.parametrize(("language", "shown", "reply"), EXAMPLES["verify_reference"])
async def test_an_example_of_the_comparison_is_what_is_sent_and_taken(language: str, shown: Any, reply: Any) -> None:
    judge = Judge({"decompose": claimed(shown), "verify_reference": reply})
    judged = await verified(judge, shown, [], "joint", language)
    assert judge.shown["verify_reference"] == shown
    assert [claim.in_reference for claim in judged.answer_claims] == [
        claim["in_reference"] for claim in reply["answer_claims"]
    ]
    assert [claim.in_answer for claim in judged.reference_claims] == [
        claim["in_answer"] for claim in reply["reference_claims"]
    ]
