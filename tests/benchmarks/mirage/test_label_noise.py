"""Labels that the text speaks against: what counts as holding an answer, and what does not."""

import pytest

from ragstone.benchmarks.mirage.data import Doubt, label_noise
from ragstone.datasets.fictional.pools import fictional_pool
from ragstone.datasets.mirage import MirageChunk, MirageQuestion
from ragstone.datasets.pools import Pool, PoolQuestion, mirage_pool
from ragstone.types import Passage


def pool(*chunks: tuple[str, int], query: str = "Who?", answer: tuple[str, ...] = ("Ada Vells", "Vells")) -> Pool:
    """One question with these chunks and labels."""
    made = [MirageChunk("q", text, support=support) for text, support in chunks]
    return mirage_pool("made", [MirageQuestion("q", query, answer)], made, {"q": made[0]}, language="en")


def test_labels_that_agree_with_the_text_are_in_no_doubt() -> None:
    found = label_noise(pool(("Ada Vells won.", 1), ("Nobody won.", 0)))
    assert (found.unlabelled, found.mislabelled, found.inside) == ((), (), ())
    assert (found.questions, found.supported, found.unsupported) == (1, 1, 1)


def test_an_unsupported_chunk_that_holds_an_alias_is_named_with_the_place() -> None:
    found = label_noise(pool(("Vells won.", 1), ("Then came vells.", 0), ("And rain.", 0)))
    assert found.unlabelled == (Doubt("q", "q#1", "Vells", 10, 15),)


def test_a_supported_chunk_that_holds_none_is_named() -> None:
    found = label_noise(pool(("Vells won.", 1), ("She won.", 1), ("And rain.", 0)))
    assert found.mislabelled == (Doubt("q", "q#1"),)


@pytest.mark.parametrize(
    ("text", "answer", "held", "inside"),
    [
        ("It was a party.", "art", 0, 1),
        ("It was Art.", "art", 1, 0),
        ("In 2012 it rained.", "12", 0, 1),
        ("Twelve people came.", "12", 1, 0),
        ("About 3,500 came.", "3500", 1, 0),
        ("It rained.", "art", 0, 0),
    ],
)
def test_an_alias_is_whole_words_and_whole_numbers_and_the_rest_is_told_apart(
    text: str, answer: str, held: int, inside: int
) -> None:
    found = label_noise(pool((f"{answer} it is.", 1), (text, 0), answer=(answer,)))
    assert (len(found.unlabelled), len(found.inside)) == (held, inside)


def test_an_alias_that_the_question_holds_is_marked() -> None:
    found = label_noise(pool(("Vells is.", 1), ("Vells again.", 0), query="Is it Vells or Brook?", answer=("Vells",)))
    assert [doubt.echoed for doubt in found.unlabelled] == [True]


def test_chunks_that_are_needed_together_lack_the_answer_only_if_all_do() -> None:
    def judged(first: str, second: str) -> tuple[Doubt, ...]:
        made = [MirageChunk("q", first, support=1), MirageChunk("q", second, support=1)]
        asked = MirageQuestion("q", "Who?", ("Vells",))
        return label_noise(mirage_pool("made", [asked], made, {"q": made})).mislabelled

    assert judged("The final was in 2003.", "Vells won in 2003.") == ()
    assert judged("The final was in 2003.", "She won in 2003.") == (Doubt("q", "q#0"), Doubt("q", "q#1"))


def test_supporting_passages_that_are_the_oracle_themselves_are_judged_one_by_one() -> None:
    passages = (Passage("a", "Vells won."), Passage("b", "She won."))
    asked = PoolQuestion("q", "Who?", ("Vells",), gold=("a", "b"), mapped=("a", "b"), oracle=passages)
    assert label_noise(Pool("beir", (asked,), passages)).mislabelled == (Doubt("q", "b"),)


def test_questions_without_an_answer_are_counted_and_left_out() -> None:
    passages = (Passage("a", "Vells won."),)
    asked = [
        PoolQuestion(str(n), "Who?", answers, gold=("a",), mapped=("a",)) for n, answers in enumerate([(), (" ",)])
    ]
    found = label_noise(Pool("beir", tuple(asked), passages))
    assert (found.questions, found.without_answers, found.supported) == (0, 2, 0)


@pytest.mark.parametrize("code", ["en", "zh"])
def test_an_invented_pool_has_no_noise(code: str) -> None:
    found = label_noise(fictional_pool(150, seed=6, language=code, multi_hop=0.3))
    assert (found.unlabelled, found.mislabelled, found.inside) == ((), (), ())
    assert found.questions == 150
    assert found.supported + found.unsupported == 750


def test_in_an_invented_pool_with_labels_turned_round_every_chunk_is_in_doubt() -> None:
    made = fictional_pool(40, seed=6)
    turned = tuple(
        PoolQuestion(one.id, one.text, one.answers, gold=tuple(set(one.mapped) - set(one.gold)), mapped=one.mapped)
        for one in made.questions
    )
    found = label_noise(Pool("turned", turned, made.passages))
    assert len(found.unlabelled) == found.unsupported > 0
    assert len(found.mislabelled) == found.supported > 0
