"""A stand-in is of the kind of the answer."""

import pytest

from ragstone.diagnosis.interventions.stand_ins import StandIns
from ragstone.types import Sample


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
