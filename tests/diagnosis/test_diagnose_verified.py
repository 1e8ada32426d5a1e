"""A condition counts only where it is seen to have taken effect; contradictions are alarms in place of advice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose
from ragstone.display import Summary
from ragstone.runs import open_run

SIZE = 16
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
REFUSAL = {"en": "The documents do not contain the answer.", "zh": "文档中没有答案。"}


def text_of(number: int, language: str) -> str:
    if language == "en":
        return f"Tower {number}x stands in the east of the town, beside the mill. It is {300 + number} feet high."
    return f"塔{number}号位于城东的磨坊旁边，周围种满了高大的梧桐树，它高{300 + number}尺。"


def rows(language: str) -> list[dict[str, Any]]:
    return [
        {"id": f"q{n:02d}", "question": f"How high is tower {n}x?" if language == "en" else f"塔{n}号有多高？",
         "reference": str(300 + n), "reference_contexts": [text_of(n, language)]}
        for n in range(10, 10 + SIZE)
    ]  # fmt: skip


class World:
    """`found`: what the search finds for a question. `read`: the answer from texts; it knows these questions only."""

    def __init__(self, language: str, lost: Callable[[int], bool] = lambda n: False) -> None:
        self.language, self.lost = language, lost

    def number(self, question: str) -> int | None:
        names = {n: f"tower {n}x" if self.language == "en" else f"塔{n}号" for n in range(10, 10 + SIZE)}
        return next((n for n, name in names.items() if name in question), None)

    def found(self, question: str, k: int = 3) -> list[str]:
        n = self.number(question) or 10
        others = [text_of(m, self.language) for m in (n + 1, n + 2, n + 3, n + 4)]
        return ([] if self.lost(n) else [text_of(n, self.language)]) + others[: k - 1]

    def read(self, question: str, texts: list[str]) -> str:
        n = self.number(question)
        own = [text for text in texts if n is not None and f"{n}x" in text.replace("号", "x")]
        if not own:
            return REFUSAL[self.language]
        high = own[0].rpartition("is " if self.language == "en" else "高")[2]
        return f"{high.removesuffix('feet high.').removesuffix('尺。').strip()}"


def causes(result: DiagnosisResult) -> set[str]:
    return {cause.name for cause in result.causes().values() if cause.name != "healthy"}


def withdrawn(result: DiagnosisResult) -> dict[str, tuple[str, bool]]:
    return {one.condition: (one.why, one.whole) for one in result.withdrawn()}


@LANGUAGES
def test_a_function_that_returns_only_text_is_diagnosed_once_its_answers_follow_what_it_is_given(
    language: str, tmp_path: Path
) -> None:
    """It knows its own questions only, so a marked passage shows nothing; some of its answers do."""
    world, asked = World(language, lost=lambda n: n % 4 == 0), 0

    def ask(question: str, passages: list[str] | None = None) -> str:
        nonlocal asked
        asked += 1
        texts = world.found(question) if passages is None else passages
        return "7" if texts and world.number(question) == 13 else world.read(question, texts)

    result = diagnose(rows(language), ask, run=tmp_path / "text.run")
    assert withdrawn(result) == {}
    assert result.causes()["q13"].name == "reading"
    assert asked <= 6 * SIZE


@LANGUAGES
@pytest.mark.parametrize("returns", [True, False])
def test_a_system_that_ignores_what_it_is_given_is_not_judged_by_it(
    returns: bool, language: str, tmp_path: Path
) -> None:
    world, given = World(language, lost=lambda n: n % 2 == 0), 0

    def ask(question: str, passages: list[str] | None = None) -> Any:
        nonlocal given
        given += passages is not None
        found = world.found(question)
        answer = world.read(question, found)
        return {"answer": answer, "contexts": found} if returns else answer

    result = diagnose(rows(language), ask, run=tmp_path / "deaf.run")
    assert causes(result).isdisjoint({"reading", "refused_wrongly", "noise", "position", "memory"})
    assert given <= 10  # a few tell it
    assert "measure_again" not in {
        step.missing for step in result.waterfall().steps
    }  # asked again it would ignore them
    if not returns:
        assert withdrawn(result)["gold_only"] == ("same_answers", True)


@LANGUAGES
def test_a_service_that_adds_its_own_passages_to_the_given_ones_is_found_out(language: str, tmp_path: Path) -> None:
    world = World(language, lost=lambda n: n % 2 == 0)

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = [*(passages or []), *world.found(question)]
        return {"answer": "7" if len(texts) > 2 else world.read(question, texts), "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "adds.run")
    assert withdrawn(result)["gold_only"] == ("own_passages", True)
    assert "reading" not in causes(result)


@LANGUAGES
def test_passages_or_a_search_is_no_closed_book(language: str, tmp_path: Path) -> None:
    """`passages or search(question)` searches where it is given none: what it then says is not from memory."""
    world = World(language)

    def ask(question: str, passages: list[str] | None = None) -> str:
        texts = passages or world.found(question)
        return "7" if (world.number(question) or 0) % 3 == 0 else world.read(question, texts)

    result = diagnose(rows(language), ask, run=tmp_path / "or.run")
    assert causes(result) == {"reading"}
    assert withdrawn(result)["closed_book"] == ("nothing", True)


def test_more_passages_that_never_come_are_withdrawn(tmp_path: Path) -> None:
    world = World("en", lost=lambda n: n % 2 == 0)

    def ask(question: str, passages: list[str] | None = None, k: int = 3) -> Any:
        texts = world.found(question, min(k, 3)) if passages is None else passages
        return {"answer": world.read(question, texts), "contexts": texts}

    result = diagnose(rows("en"), ask, run=tmp_path / "k.run", plan="full")
    assert withdrawn(result)["k2"] == ("no_more", True)


def summary_of(result: DiagnosisResult, language: str) -> Summary:
    with result.open() as opened:
        (summary,) = opened.summaries(language=language).values()
    return summary


def alarmed(result: DiagnosisResult) -> set[tuple[str, str]]:
    return {(alarm.name, alarm.condition) for alarm in result.alarms()}


@LANGUAGES
def test_gold_that_does_worse_than_the_system_s_own_is_an_alarm(language: str, tmp_path: Path) -> None:
    world = World(language)

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = world.found(question) if passages is None else passages
        broken = (world.number(question) or 0) % 2 == 0 and len(texts) == 1
        return {"answer": "7" if broken else world.read(question, texts), "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "worse.run")
    assert alarmed(result) == {("gold_worse", "gold_only")}
    assert withdrawn(result)["gold_only"] == ("alarm", True)
    summary = summary_of(result, "zh")
    assert "16 个答案中有 8 个变错" in summary.alarms[0]
    assert not summary.actions
    page = result.write_report(tmp_path / "worse.html", language="zh").read_text("utf-8").split("<main")[1]
    assert 0 < page.index("16 个答案中有 8 个变错") < page.index('class="fall"')
    assert 'class="todo"' not in page


@LANGUAGES
def test_changes_that_are_all_refusals_are_an_alarm_and_no_advice_to_soften_anything(
    language: str, tmp_path: Path
) -> None:
    """The prompt is empty where passages are given, though the system returns what it was given."""
    world = World(language, lost=lambda n: n % 4 == 0)

    def ask(question: str, passages: list[str] | None = None) -> Any:
        if passages is None:
            found = world.found(question)
            answer = world.read(question, found)
            return {"answer": "7" if answer == REFUSAL[language] else answer, "contexts": found}
        return {"answer": REFUSAL[language], "contexts": passages}

    result = diagnose(rows(language), ask, run=tmp_path / "refusals.run")
    assert ("only_refusals", "gold_only") in alarmed(result)
    assert causes(result).isdisjoint({"refused_wrongly", "reading"})


@LANGUAGES
def test_a_system_that_reads_its_own_passages_differently_when_they_are_handed_back_is_an_alarm(
    language: str, tmp_path: Path
) -> None:
    world = World(language)

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = world.found(question) if passages is None else passages
        answer = "7" if passages and len(texts) > 1 else world.read(question, texts)
        return {"answer": answer, "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "back.run")
    assert alarmed(result) == {("not_neutral", "as_given")}


@LANGUAGES
def test_answers_that_get_worse_when_they_are_repeated_leave_no_advice(language: str, tmp_path: Path) -> None:
    world, times = World(language), dict[str, int]()

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = world.found(question) if passages is None else passages
        times[question] = times.get(question, 0) + (passages is None)
        worn = passages is None and times[question] > 1 and (world.number(question) or 0) % 2 == 0
        return {"answer": "7" if worn else world.read(question, texts), "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "worn.run")
    assert ("repeat_worse", "again") in alarmed(result)
    assert not summary_of(result, "en").actions


@LANGUAGES
def test_a_sound_system_has_no_alarm_and_nothing_withdrawn(language: str, tmp_path: Path) -> None:
    world = World(language)

    def ask(question: str, passages: list[str] | None = None, k: int = 3) -> Any:
        texts = world.found(question, k) if passages is None else passages
        return {"answer": world.read(question, texts), "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "sound.run", plan="full")
    assert (causes(result), alarmed(result)) == (set(), set())
    assert "gold_only" not in withdrawn(result)


def test_gold_passages_whose_texts_are_not_known_are_never_given(tmp_path: Path) -> None:
    """Without the documents only their ids are known: an empty passage would bring an empty answer."""
    handbook = Path(__file__).parents[2] / "examples" / "handbook"
    result = diagnose(
        handbook / "questions.csv", f"{handbook / 'app.py'}:ask", limit=6, run=tmp_path / "d.run"
    )  # fmt: skip
    with open_run(result.run) as run:
        given = [record.case.query.passages or () for record in run.records()]
    assert any(given)
    assert all(passage.text.strip() for passages in given for passage in passages)
    assert {step.missing for step in result.waterfall().steps if step.gain is None} == {"measure_texts"}
