"""Gold passages are found in a corpus by id or by text, among thousands, too; a stand-in is of the answer's kind."""

import itertools

import pytest

from ragstone.benchmarks.interventions.conditions import StandIns
from ragstone.benchmarks.interventions.gold import CorpusIndex, holds
from ragstone.types import Passage, Sample

ENGLISH = "The Belka pump stands in hall 3. It weighs 317 kg, and needs oil every four weeks of service."
CHINESE = "贝卡泵是北厂生产的泵，安装在三号车间。它重317公斤，每四周需要加一次油，由北厂的技术人员负责维护和检查。"
TEXTS = [
    ENGLISH,
    "the BELKA pump stands in hall 3; it weighs 317 kg and needs oil every four weeks of service",
    "Belka.",
    CHINESE,
    f"A note on pumps of the north works. {ENGLISH} {CHINESE}",
    "hall 3. It weighs 317 kg, and needs oil every four weeks of",
    "The Cirro pump stands in hall 4. It weighs 324 kg, and needs oil every five weeks of service.",
    "The Belka pump stands in hall 3. … needs oil every four weeks of service.",
    "",
]


def test_the_corpus_is_searched_as_if_each_chunk_was_compared() -> None:
    chunks = [Passage(f"doc{n // 2}#{n % 2}", text) for n, text in enumerate(TEXTS)]
    slots = [["317"]]
    found = 0
    for text, name in itertools.product(TEXTS, ("doc1", "doc1#1", "elsewhere")):
        gold = Passage(name, text)
        expected = next((chunk for chunk in chunks if holds(chunk, gold, slots)), None)
        assert CorpusIndex.of([], chunks).indexed(gold, slots) == expected
        found += expected is not None
    assert found > 10


def sample(name: str, *references: str, language: str = "en") -> Sample:
    return Sample(name, "?", references=tuple((one,) for one in references), language=language)


@pytest.mark.parametrize(
    ("right", "language", "kind"),
    [("1998", "en", {"2004"}), ("317 kg", "en", {"450 kg"}), ("Anna Lind", "en", {"Bo Ek", "Hall 3"}),
     ("李雷", "zh", {"韩梅"}), ("三百公斤", "zh", {"五百公斤"}), ("1998年", "zh", {"2004年"})],
)  # fmt: skip
def test_a_stand_in_is_an_answer_of_the_same_kind_and_language(right: str, language: str, kind: set[str]) -> None:
    english = ["1998", "2004", "317 kg", "450 kg", "Anna Lind", "Bo Ek", "Hall 3"]
    chinese = ["李雷", "韩梅", "三百公斤", "五百公斤", "1998年", "2004年"]
    samples = [sample(f"e{n}", one) for n, one in enumerate(english)]
    samples += [sample(f"z{n}", one, language="zh") for n, one in enumerate(chinese)]
    assert StandIns(samples).of(sample("new", right, language=language)) in kind


def test_without_another_answer_or_with_several_parts_there_is_no_stand_in() -> None:
    assert StandIns([sample("a", "317 kg")]).of(sample("a", "317 kg")) == ""
    assert StandIns([sample("a", "one", "two"), sample("b", "Bo")]).of(sample("a", "one", "two")) == ""
    assert StandIns([Sample("a", "?"), sample("b", ""), sample("c", "Bo")]).of(Sample("a", "?")) == ""
