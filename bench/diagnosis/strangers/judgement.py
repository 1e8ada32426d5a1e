"""Whether an answer is right, by knowledge of the facts; and the file of questions that a user would have."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING

from bench.diagnosis.strangers import texts
from bench.diagnosis.strangers.reader import distort
from bench.diagnosis.strangers.settings import share

if TYPE_CHECKING:
    from pathlib import Path

    from bench.diagnosis.strangers.settings import Settings
    from bench.diagnosis.strangers.texts import Question

_REFUSES = re.compile(
    r"do not know|don't know|do not say|cannot answer|没有相关信息|无法回答|不知道|没有说明", re.IGNORECASE
)


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return re.sub(r"\s+", " ", re.sub(r"(?<=[\u4e00-\u9fff])\s+|\s+(?=[\u4e00-\u9fff])", "", text))


def states(answer: str, value: str) -> bool:
    """Whether the answer states a value, and not one that only begins or ends like it."""
    wanted = re.escape(_plain(value))
    return re.search(rf"(?<![\d.,a-z]){wanted}(?!\d|[.,]\d|[a-z])", _plain(answer)) is not None


def right(question: Question, answer: str | None) -> bool:
    """Whether an answer is right: it states all values in any notation, or refuses where the documents do not say."""
    if not answer:
        return False
    if not question.keys:
        return _REFUSES.search(answer) is not None
    stated = [any(states(answer, value) for value in (fact.value, fact.other)) for fact in question.facts()]
    return all(stated) and _REFUSES.search(answer) is None


def doubtful(question: Question) -> bool:
    """Whether the fault `wrong_reference` falsifies the reference of this question."""
    return bool(question.keys) and share("reference", question.text) < 0.35


def write_questions(path: Path, settings: Settings, which: str = "questions") -> list[Question]:
    """Write the questions as a user has them; some references have a second wording."""
    asked = list(texts.questions(settings.language, which))
    with path.open("w", encoding="utf-8") as file:
        for number, question in enumerate(asked):
            reference: str | list[str] = question.reference()
            if settings.has("wrong_reference") and doubtful(question):
                wrong = [distort(fact.value, settings.language) for fact in question.facts()]
                reference = texts.join(wrong, settings.language)
            elif question.second:
                reference = [question.reference(), question.second]
            row: dict[str, object] = {"id": f"q{number:02}", "question": question.text, "reference": reference}
            if question.document:
                row["document"] = question.document
            else:  # a reference that says so is not enough: the tool took refusals for wrong answers
                row["answerable"] = False
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return asked


def write_documents(folder: Path, language: str) -> None:
    """Write the true documents into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.true_documents(language).items():
        (folder / name).write_text(text, encoding="utf-8")
