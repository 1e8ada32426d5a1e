"""Answers that stop within what the right passages state: a model that was told to be brief and an output with a limit
are told apart from a model that reads wrongly, by where several answers stop, and that they stop there again when the
question asks for all details."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
_MASONS = ("Ada Kern Holt", "Bram Ost Vale", "Cleo Finn Marsh", "Dirk Lund Oram", "Edda Roth Penn", "Falk Stein Ruud",
           "Greta Thal Sund", "Hugo Ulm Tarn")  # fmt: skip
_MASONS_ZH = ("欧阳青松石", "司马望江楼", "上官听雨轩", "诸葛怀远山", "皇甫若谷风", "慕容采薇园",
              "令狐知秋叶", "公孙照夜白")  # fmt: skip
REFUSAL = {"en": "The documents do not contain the answer.", "zh": "文档中没有答案。"}


def value(number: int, language: str) -> str:
    return _MASONS[number] if language == "en" else _MASONS_ZH[number]


def text_of(number: int, language: str) -> str:
    """The value stands behind many words, so that a limit of the output cuts the sentence before it."""
    if language == "en":
        return f"The stone arch of bridge {number}x over the northern canal was built by {value(number, language)}."
    return f"北运河上第{number}座古桥的石拱当年主持修建的工匠名叫{value(number, language)}。"


def rows(language: str) -> list[dict[str, Any]]:
    return [
        {"question": f"Who built bridge {n}x?" if language == "en" else f"第{n}座古桥由谁修建？",
         "reference": value(n, language), "reference_contexts": [text_of(n, language)]}
        for n in range(len(_MASONS))
    ]  # fmt: skip


def explained(language: str, say: Callable[[int, str], str], tmp_path: Path) -> DiagnosisResult:
    """The diagnosis of a function whose last step makes its answer of a sentence of its passages."""

    def ask(question: str, passages: list[str] | None = None) -> Any:
        number = next((n for n in range(8) if (f"{n}x" if language == "en" else f"第{n}座") in question), 0)
        texts = [text_of((number + n) % 8, language) for n in range(3)] if passages is None else passages
        own = text_of(number, language)
        answer = say(number, own) if any(own in text for text in texts) else REFUSAL[language]
        return {"answer": answer, "contexts": texts}

    return diagnose(rows(language), ask, run=tmp_path / "stopped.run")


def causes(result: DiagnosisResult) -> list[str]:
    return sorted(cause.name for cause in result.causes().values())


@LANGUAGES
def test_a_model_that_gives_the_first_words_of_each_value_was_told_to_be_brief(language: str, tmp_path: Path) -> None:
    def brief(number: int, text: str) -> str:
        return " ".join(value(number, language).split()[:2]) if language == "en" else value(number, language)[:3]

    assert causes(explained(language, brief, tmp_path)) == ["instruction"] * 8


@LANGUAGES
def test_an_output_that_ends_in_the_middle_of_a_sentence_lacks_a_part_and_the_advice_is_its_limit(
    language: str, tmp_path: Path
) -> None:
    result = explained(language, lambda number, text: f"OK! {text}"[: 45 if language == "en" else 19], tmp_path)
    assert causes(result) == ["integration"] * 8
    assert "limit of the output" in str(result)


@LANGUAGES
def test_a_few_answers_that_stop_are_misread(language: str, tmp_path: Path) -> None:
    """Of two questions nobody can tell a rule."""

    def seldom(number: int, text: str) -> str:
        return value(number, language)[:3] if number < 2 else value(number, language)

    assert causes(explained(language, seldom, tmp_path)) == ["healthy"] * 6 + ["reading"] * 2


@LANGUAGES
def test_other_values_whole_or_cut_are_misread(language: str, tmp_path: Path) -> None:
    def wrong(number: int, text: str) -> str:
        other = value((number + 3) % 8, language)
        return other[:3] if number % 2 else other

    assert causes(explained(language, wrong, tmp_path)) == ["reading"] * 8
