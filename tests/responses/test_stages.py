"""The stages that adapters record: ids that a framework loses come back by the text."""

import pytest

from ragstone.responses.outputs import response_of
from ragstone.responses.stages import StageRecorder, passages_at
from ragstone.types import Passage, Response, Usage


def test_reranked_passages_have_the_ids_that_they_were_fetched_with() -> None:
    recorder = StageRecorder("why", queries=["why exactly"])
    recorder.fetch([Passage("a", "One."), Passage("b", "二。")], 0.5)
    recorder.fetch([Passage("x", "One."), Passage("a", "Three.")])  # another retriever, with ids of its own
    recorder.rerank([Passage("text-1", "二。"), Passage("text-2", "One.")])
    recorder.prompts.append("Answer from: 二。")
    recorder.count({"input_tokens": 7})
    recorder.count({"completion_tokens": 2})
    response = recorder.response(Response("A", (Passage("text-3", "二。"),)))
    fetched = passages_at(response, "fetch")
    assert fetched is not None
    assert [passage.text for passage in fetched] == ["One.", "二。", "Three."]
    assert len({passage.id for passage in fetched}) == 3
    assert [passage.id for passage in passages_at(response, "rerank") or ()] == ["b", "a"]
    assert [passage.id for passage in passages_at(response, "prompt") or ()] == ["b"]
    assert [passage.id for passage in response.passages] == ["b"]
    assert response.usage == Usage(7, 2, requests=2)
    assert response.steps[0].output == ["why exactly"]


def test_what_is_returned_in_the_same_order_is_no_stage_of_its_own() -> None:
    recorder = StageRecorder("why")
    recorder.fetch([Passage("a", "One.")])
    response = recorder.response(Response("A", (Passage("other", "One.", score=0.5),)))
    assert [step.name for step in response.steps] == ["fetch"]
    assert [passage.id for passage in response.passages] == ["a"]


def test_a_retriever_that_returned_nothing_is_a_search_that_found_nothing() -> None:
    recorder = StageRecorder("why?")
    recorder.fetch([])
    response = recorder.response(Response("I do not know."))
    assert (response.empty_retrieval, passages_at(response, "fetch"), response.passages) == (True, (), ())
    unseen = StageRecorder("why?").response(Response("I do not know."))
    assert (unseen.empty_retrieval, passages_at(unseen, "fetch")) == (False, None)


def test_a_stage_that_leaves_every_passage_out_is_seen_where_the_system_says_that_it_has_none() -> None:
    recorder = StageRecorder("why?", prompts=["Answer: why?"])
    recorder.fetch([Passage("a", "The first text.")])
    response = recorder.response(Response("I do not know.", empty_retrieval=True))
    assert (passages_at(response, "rerank"), response.passages, response.empty_retrieval) == ((), (), True)
    silent = StageRecorder("why?")
    silent.fetch([Passage("a", "The first text.")])
    assert [one.id for one in silent.response(Response("I do not know.")).passages] == ["a"]


def test_the_stage_of_the_prompt_has_as_much_of_each_passage_as_the_prompt() -> None:
    belka = "Pumps\nThe Belka pump weighs 317 kg, as its plate says."
    arvo = "Pumps\nThe Arvo pump is green and stands in hall 3."
    for prompt, parts in {
        f"[1] {belka}\n[2] {arvo}\n\nQ: why": [belka, arvo],
        f"[1] {belka}\n[2] {arvo[:30]}\n\nQ: why": [belka, arvo[:30].rstrip()],
        f"[1] {belka[:26]}…\n[2] {arvo[:26]}…\n\nQ: why": [belka[:26].rstrip(), arvo[:26].rstrip()],
        f"[1] {belka}\n\nQ: why": [belka],  # the same heading is no part of the other one
    }.items():
        recorder = StageRecorder("why", prompts=[prompt])
        recorder.fetch([Passage("a", belka), Passage("b", arvo)])
        response = recorder.response(Response("A"))
        assert [one.text.rstrip() for one in passages_at(response, "prompt") or ()] == parts
        assert [one.text for one in response.passages] == [belka, arvo][: len(parts)]


@pytest.mark.parametrize(("question", "asked_for", "other"), [
    ("How much does the Belka pump weigh?", "The Belka pump weighs 317 kg.", "The Arvo pump is green."),
    ("仓库里的贝卡型号的水泵现在的重量是多少？", "贝卡型号的水泵现在的重量是317公斤。", "阿沃型号的水泵是绿色的。"),
])  # fmt: skip
def test_words_of_the_question_in_a_prompt_are_no_beginning_of_a_passage(
    question: str, asked_for: str, other: str
) -> None:
    """A prompt without the passage that the question is about had its first words, as they stand in the question."""
    faq = f"{question} {asked_for}"

    def prompted(*texts: str, last: str = question) -> list[str]:
        recorder = StageRecorder(question, prompts=["\n\n".join([*texts, last])])
        recorder.fetch([Passage("a", asked_for), Passage("b", other), Passage("c", faq)])
        shown = [one.text for one in passages_at(recorder.response(Response("A")), "prompt") or ()]
        told = response_of({"answer": "A", "stages": {"fetch": [asked_for, other, faq], "prompt": recorder.prompts[0]}},
                           question)  # fmt: skip
        assert [one.text for one in passages_at(told, "prompt") or ()] == shown
        return shown

    assert prompted(other) == [other]
    assert prompted(other, asked_for) == [other, asked_for]
    assert prompted(faq[:-4]) == [faq[:-4]]  # a passage that begins with the question, without its end
