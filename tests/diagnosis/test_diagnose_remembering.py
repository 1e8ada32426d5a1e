"""What a system keeps between questions: an answer cache is named where it is shown, and not where the model errs."""

from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.test_diagnose_verified import LANGUAGES, World, rows

from ragstone.diagnosis.diagnose import diagnose


class Cached(World):
    """A pipeline with an answer cache that is asked before the model. `key`: what it keys by."""

    def __init__(self, language: str, kind: str) -> None:
        super().__init__(language)
        self.kind, self.cache = kind, dict[str, str]()
        if kind == "old":
            self.cache = {row["question"]: str(7 + n) for n, row in enumerate(rows(language)) if n % 3 == 0}

    def key(self, question: str) -> str:
        if self.kind == "coarse":  # its beginning, "How high is tower 1", or its end, "号有多高？"
            return question[:-3] if self.language == "en" else question[-5:]
        return question

    def answer(self, question: str, texts: list[str]) -> str:
        return self.cache.setdefault(self.key(question), self.read(question, texts))

    def ask(self, question: str, passages: list[str] | None = None) -> Any:
        texts = self.found(question) if passages is None else passages
        return {"answer": self.answer(question, texts), "contexts": texts}


@LANGUAGES
@pytest.mark.parametrize("kind", ["old", "coarse"])
def test_an_answer_cache_is_named_for_the_answers_that_it_spoils_and_for_no_other(
    kind: str, language: str, tmp_path: Path
) -> None:
    world = Cached(language, kind)
    result = diagnose(rows(language), world.ask, run=tmp_path / "cached.run")
    named = [name for name, cause in result.causes().items() if cause.name == "cached_answer"]
    wrong = [item.id for item in result.questions if item.right("as_is") == 0]
    assert named == wrong != []
    assert result.fixes()[0].cause == "cached_answer"
    assert result.fixes()[0].change == "reworded"
    assert result.alarms() == ()


@LANGUAGES
@pytest.mark.parametrize("errs", ["misreads", "remembers", "fragile"])
def test_a_model_that_errs_by_itself_is_no_answer_cache(errs: str, language: str, tmp_path: Path) -> None:
    """Also where other words around the question happen to right it."""
    world = World(language)
    own = {row["question"] for row in rows(language)}

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = world.found(question) if passages is None else passages
        number, answer = world.number(question), world.read(question, texts)
        often = errs == "remembers" or bool(texts and (errs == "misreads" or question in own))
        if number is not None and number % 3 == 0 and often:
            answer = str(number)
        return {"answer": answer, "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "errs.run")
    causes = {cause.name for cause in result.causes().values()} - {"healthy"}
    assert causes
    assert "cached_answer" not in causes


@LANGUAGES
def test_an_earlier_question_that_leaks_is_named_by_the_order_of_questions(language: str, tmp_path: Path) -> None:
    world, said = World(language), [""]

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = world.found(question) if passages is None else passages
        leaks = (world.number(question) or 0) % 3 == 0 and said[-1]
        said.append(said[-1] if leaks else world.read(question, texts))
        return {"answer": said[-1], "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "leaks.run", concurrency=4)
    causes = {name: cause.name for name, cause in result.causes().items() if cause.name != "healthy"}
    assert causes
    assert {*causes.values()} == {"history"}


@LANGUAGES
def test_a_history_of_the_row_is_named_where_the_answer_is_right_without_it(language: str, tmp_path: Path) -> None:
    world = World(language)
    data = rows(language)
    for row in data[::3]:
        turns = (("user", "?"), ("assistant", "7"), ("user", row["question"]))
        row["question"] = [{"role": role, "content": text} for role, text in turns]

    def ask(question: str, history: list[Any] | None = None, passages: list[str] | None = None) -> Any:
        texts = world.found(question) if passages is None else passages
        return {"answer": "7" if history else world.read(question, texts), "contexts": texts}

    result = diagnose(data, ask, run=tmp_path / "history.run")
    causes = {name: cause.name for name, cause in result.causes().items()}
    assert [name for name, cause in causes.items() if cause == "history"] == [row["id"] for row in data[::3]]
    assert {*causes.values()} == {"history", "healthy"}
