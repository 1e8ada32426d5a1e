"""Citations are read by rule, sentence by sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.matrices import STEPS, VERDICTS, StubJudge, case, made, resolve, response

from ragstone.metrics._citations import cited
from ragstone.metrics.judge.record import AnswerClaim, Judged
from ragstone.text import sentences
from ragstone.types import Score

FORMS = {
    "A [1].": [1],
    "A [1, 2] and b [3].": [1, 2, 3],
    "A [1][2].": [1, 2],
    "A [1] [1].": [1],
    "A [1-3].": [1, 2, 3],
    "A [5–6].": [5, 6],
    "A [3-1].": [3, 1],
    "A [1-999].": [1, 999],
    "A [^1].": [1],
    "A 【1】.": [1],
    "A 【1†source】.": [1],
    "A ［1］.": [1],
    "A [Source 1].": [1],
    "A [Source 1, Source 2].": [1, 2],
    "A (Source 2, Document 3).": [2, 3],
    "A (see document 4).": [4],
    "A [citation:3][citation:4].": [3, 4],
    "A [ID:2] (ref 3).": [2, 3],
    "x<sup>1</sup> y<sup>[2]</sup>": [1, 2],
    "A [1](https://example.org).": [1],
    "[1] says a.": [1],
    "In [2], a.": [2],
    "甲[1]，乙［2，３］。": [1, 2, 3],
    "甲（来源1）。": [1],
    "甲(来源：1、2)。": [1, 2],
    "甲【来源1】【文档 2】。": [1, 2],
    "甲（见资料1、2）。": [1, 2],
    "甲（參考文檔3）。": [],
    "甲（文檔3）。": [3],
    "根据[1]，甲。": [1],
    "甲[0]。": [0],
}
NONE = [
    "", "A.", "A (1).", "A (2021) [2021].", "A [a].", "A [12a].", "a[1,000]", "m² and x¹", "Result (1, 2).",
    "In context 1, a.",
    "[]", "[ ]", "[1", "1]", "甲（一）。", "甲（3人）。", "[-1]", "[1.5]", "(1)", "[^note]", "array[i]", "Section [IV]",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_a_citation_is_read_in_every_form(text: str) -> None:
    assert cited([text]) == [FORMS[text]]


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_citation_is_not_read_as_one(text: str) -> None:
    assert cited([text]) == [[]]


ANSWERS = {
    "Paris is large.[1] It grows.[2][3]": [[1], [2, 3]],
    "Paris is large [1]. It grows [2].": [[1], [2]],
    "Paris is large. [1] It grows. [2]": [[1], [2], []],
    "巴黎很大。[1]它还在扩大。[2]": [[1], [2], []],
    "巴黎很大[1]。它还在扩大。": [[1], []],
    "巴黎很大【1】。 【2】它还在扩大。": [[1], [2]],
    # The subject of its own sentence.
    "巴黎很大。[2]指出它还在扩大。": [[], [2]],
    "Paris is large [1]. [2] It grows.": [[1], [2]],
    # What only lists the sources.
    "A [1].\nReferences:\n[1] A title\n[2] Another": [[1], [], [], []],
    "甲[2]。\n\n**参考资料：**\n[1] 文章\n[2] 文章": [[2], [], [], []],
    "A [^1].\n[^1]: https://example.org": [[1], []],
    "Sources:\nA [1].": [[], [1]],
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_citation_belongs_to_the_sentence_that_a_reader_gives_it(answer: str) -> None:
    assert cited(sentences(answer)) == ANSWERS[answer]


@given(st.lists(st.text(alphabet="[]【】()（）^0123456789,、-a来源文档 .。†:<sup>/", max_size=60), max_size=6))
def test_any_text_is_read_and_each_number_once_a_sentence(parts: list[str]) -> None:
    found = cited(parts)
    assert len(found) == len(parts)
    assert all(0 <= number <= 999 and numbers.count(number) == 1 for numbers in found for number in numbers)


def test_a_text_made_to_be_slow_is_read_at_once() -> None:
    for text in (
        "[" + "1," * 50_000,
        "[1" + " " * 100_000,
        "(来源" + "1、" * 50_000,
        "【1†" * 20_000,
        "<sup>1" * 20_000,
    ):
        assert cited([text]) == [[]]


async def test_a_number_that_no_passage_has_is_a_wrong_citation() -> None:
    async def score(name: str, *cites: str) -> Score:
        claims = tuple(AnswerClaim(place, "a", place, True, (1,)) for place in range(1, len(cites) + 1))
        judged = Judged(claims, (), (), False, (), STEPS, cites)
        return await resolve(made(name, StubJudge(judged)).score(case(()), response()))

    assert (await score("citation_precision", "A [1].", "B [7].")).value == 0.5
    assert (await score("citation_recall", "A [1].", "B [7].")).value == 0.5
    assert (await score("citation_precision", "A [1][0].")).value == 0.5
    assert (await score("citation_recall", "A.", "B.")) == Score.of(
        0.0,
        reason="the answer cites nothing",
        evidence={"what": "answer_claims", "counted": [], "of": 2, "citations": [[], []], "verdicts": VERDICTS},
    )


async def test_a_claim_of_no_known_sentence_has_no_known_citation() -> None:
    judged = Judged((AnswerClaim(2, "b", 9, True, (1,)),), (), (), False, (), STEPS, ("[1]",))
    unknown = Judged((AnswerClaim(1, "a", 0, True, (1,)),), (), (), False, (), STEPS, ("[1]",))
    for name in ("citation_precision", "citation_recall"):
        assert (await resolve(made(name, StubJudge(judged)).score(case(()), response()))).value == 0.0
        score = await resolve(made(name, StubJudge(unknown)).score(case(()), response()))
        assert (score.status, score.reason) == ("failed", "The judge named no sentence of the answer for claim 1.")
