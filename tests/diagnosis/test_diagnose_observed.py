"""A diagnosis names what was observed: the step that dropped a passage, the search that a system does not use as it
is, the reader that misses a short passage. It names no part that a system may not have, and no step that leads back."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose
from ragstone.diagnosis.sections import question_html
from ragstone.report.section import Canvas

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
SIZE = 12
REFUSAL = {"en": "The documents do not contain the answer.", "zh": "文档中没有答案。"}


def text_of(number: int, language: str) -> str:
    if language == "en":
        return (
            f"Tower {number}x stands beside the mill. It was built by monks. It is {300 + number} feet high. "
            "Its bell is old."
        )
    return f"塔{number}号位于城东的磨坊旁边。它由僧人建造。它高{300 + number}尺。它的钟很古老。"


def asked(number: int, language: str) -> str:
    return f"How high is tower {number}x?" if language == "en" else f"塔{number}号有多高？"


def rows(language: str) -> list[dict[str, Any]]:
    return [
        {"id": f"q{n}", "question": asked(n, language), "reference": str(300 + n),
         "reference_contexts": [text_of(n, language)]}
        for n in range(10, 10 + SIZE)
    ]  # fmt: skip


def number_in(question: str) -> int:
    return int((re.search(r"\d+", question) or ["10"])[0])


def found(question: str, language: str, k: int = 5) -> list[str]:
    """The passage of the tower that is asked about, then those of the next ones."""
    first = number_in(question)
    return [text_of(n, language) for n in range(first, first + k)]


def read(question: str, texts: Sequence[str], language: str) -> str:
    name = f"ower {number_in(question)}x" if language == "en" else f"塔{number_in(question)}号"
    own = next((text for text in texts if name in text), "")
    high = re.search(r"is (\d+) feet" if language == "en" else r"高(\d+)尺", own)
    return high[1] if high else REFUSAL[language]


def causes(result: DiagnosisResult) -> set[str]:
    return {cause.name for cause in result.causes().values() if cause.name != "healthy"}


def actions(result: DiagnosisResult, language: str) -> list[str]:
    with result.open() as opened:
        (summary,) = opened.summaries(language=language).values()
    return [action.text for action in summary.actions]


def affected(question: str) -> bool:
    return number_in(question) % 2 == 0


@LANGUAGES
@pytest.mark.parametrize("form", [list, "\n\n".join], ids=["passages", "text"])
def test_a_passage_that_is_dropped_between_search_and_prompt_is_lost_there_though_it_was_returned(
    form: Callable[[list[str]], Any], language: str, tmp_path: Path
) -> None:
    """It returns what was searched, and its prompt has less: a larger k brings the passage, and the same step drops it
    again."""

    def ask(question: str, passages: list[str] | None = None, k: int = 5) -> Any:
        texts = found(question, language, k) if passages is None else passages
        kept = texts[1:] if passages is None and affected(question) else texts
        return {"answer": read(question, kept, language), "contexts": texts, "stages": {"prompt": form(kept)}}

    result = diagnose(rows(language), ask, retriever=lambda question, k=5: found(question, language, k),
                      run=tmp_path / "d.run")  # fmt: skip
    assert causes(result) == {"reranking"}
    assert result.alarms() == ()
    (fix,) = result.fixes()
    assert fix.tried
    assert fix.gain is not None
    assert fix.gain.value == pytest.approx(0.5)
    page = result.write_report(tmp_path / "d.html", language=language).read_text("utf-8")
    assert ("fetched at rank 1" if language == "en" else "检索排名第 1") in page


@LANGUAGES
def test_a_prompt_in_which_no_passage_is_found_does_not_show_that_the_right_one_was_there(
    language: str, tmp_path: Path
) -> None:
    def ask(question: str) -> Any:
        answer = REFUSAL[language] if affected(question) else str(300 + number_in(question))
        return {"answer": answer, "contexts": found(question, language), "stages": {"prompt": "A summary: old towers."}}

    result = diagnose(rows(language), ask, run=tmp_path / "d.run")
    assert {item.evidence.value("prompted") for item in result.questions} == {"missing"}
    assert "generation" not in causes(result)


@LANGUAGES
def test_what_an_alarm_keeps_from_being_measured_is_not_measured_by_the_same_command(
    language: str, tmp_path: Path
) -> None:
    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = found(question, language) if passages is None else passages
        lost = passages is None and number_in(question) % 4 > 0
        return {"answer": "7" if lost else read(question, texts, language), "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "d.run")
    assert {alarm.name for alarm in result.alarms()} == {"not_neutral"}
    assert {step.missing for step in result.waterfall().steps} - {""} == {"measure_alarm"}
    (action,) = actions(result, language)
    assert ("do first what the alarm says" if language == "en" else "请先按上面的警报处理") in action
    requests = len(result.to_pandas())
    again = diagnose(rows(language), ask, run=tmp_path / "d.run")
    assert (len(again.to_pandas()), actions(again, language)) == (requests, [action])


def searched(question: str, language: str, k: int = 5) -> list[str]:
    """What the system itself searches for half of the questions: an index without their passages."""
    return found(question, language, k + 1)[1:] if affected(question) else found(question, language, k)


@LANGUAGES
@pytest.mark.parametrize(
    ("query", "cause", "said"),
    [
        (None, "search_mismatch", {"en": "Search for the question as asked", "zh": "用原问题检索"}),
        ("", "filtered", {"en": "finds the passage for the same query", "zh": "用同一查询"}),
        ("old towers", "rewriting", {"en": "Search for the question as asked", "zh": "用原问题检索"}),
    ],
    ids=["no query recorded", "the question recorded", "another query recorded"],
)
def test_a_rewriter_is_blamed_only_where_another_query_was_recorded(
    query: str | None, cause: str, said: dict[str, str], language: str, tmp_path: Path
) -> None:
    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = searched(question, language) if passages is None else passages
        stages = {} if query is None else {"stages": {"query": query or question}}
        return {"answer": read(question, texts, language), "contexts": texts, **stages}

    result = diagnose(rows(language), ask, retriever=lambda question, k=5: found(question, language, k),
                      run=tmp_path / "d.run")  # fmt: skip
    assert causes(result) == {cause}
    (action,) = actions(result, language)
    assert said[language] in action
    assert cause == "rewriting" or not re.search("rewrit|改写", action)


NAMES = {
    "en": ("Arvo", "Belka", "Cirro", "Dulan", "Evtar", "Forno", "Gorma", "Hesta", "Ilvar", "Jotun"),
    "zh": ("阿沃", "贝卡", "西罗", "杜兰", "埃塔", "福诺", "戈玛", "赫斯", "伊瓦", "约顿"),
}
PUMPS = {
    "en": ("The {name} pump of the north works weighs {n} kg.", "How much does the {name} pump weigh?", "How much"),
    "zh": ("北厂的{name}泵重{n}公斤。", "{name}泵有多重？", "有多"),
}


@LANGUAGES
def test_a_system_that_finds_the_same_for_other_words_drops_words_though_it_records_no_query(
    language: str, tmp_path: Path
) -> None:
    """Half of its questions lose their subject on the way to its search, which itself sees it."""
    form, question_form, stub = PUMPS[language]
    texts = [form.format(name=name, n=310 + 7 * n) for n, name in enumerate(NAMES[language])]

    def search(question: str, k: int = 4) -> list[str]:
        names = [name for name in NAMES[language] if name in question]
        return sorted(texts, key=lambda text: (not any(name in text for name in names), text[::-1]))[:k]

    def ask(question: str, passages: list[str] | None = None) -> Any:
        lost = not any(name in question for name in NAMES[language][1::2])
        own = (search(stub)[:3] if lost else search(question)) if passages is None else passages
        named = next((name for name in NAMES[language] if name in question), "?")
        figures = [figure for text in own if named in text for figure in re.findall(r"\d+", text)]
        return {"answer": figures[0] if figures else REFUSAL[language], "contexts": own}

    data = [
        {"id": f"q{n}", "question": question_form.format(name=name), "reference": str(310 + 7 * n),
         "reference_contexts": [texts[n]]}
        for n, name in enumerate(NAMES[language])
    ]  # fmt: skip
    result = diagnose(data, ask, retriever=search, run=tmp_path / "d.run")
    lost = {name: cause.name for name, cause in result.causes().items() if cause.name != "healthy"}
    assert len(lost) >= 3
    assert set(lost.values()) == {"rewriting"}


@LANGUAGES
def test_a_short_passage_that_is_read_wrongly_is_no_chunk_that_is_too_large(language: str, tmp_path: Path) -> None:
    """The reader takes the second sentence; from the sentence with the answer alone it is right. The page of a case
    says the same as the diagnosis."""

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = found(question, language, 1) if passages is None else passages
        sentences = [part for part in re.split(r"(?<=[.。])\s*", texts[0]) if part] if texts else [""]
        return {"answer": sentences[min(1, len(sentences) - 1)], "contexts": texts}

    result = diagnose(rows(language), ask, run=tmp_path / "d.run")
    assert causes(result) == {"reading"}
    meaning = "even the right passage alone is answered wrongly" if language == "en" else "只给正确段落仍答错"
    with result.open() as opened:
        answers = [one for one in opened.run.records() if one.case.sample.id == "q10"]
        html = question_html(Canvas(language), opened.benchmark, answers, opened.run)
    assert meaning in html.lower()
    assert not any(re.search("chunk|切", action) for action in actions(result, language))


FIRMS = {
    "en": ("About the net profit of firm {n}x. It spent {a} crowns on its new plant.",
           "The net profit of firm {n}x was {b} crowns.", "What was the net profit of firm {n}x?"),
    "zh": ("关于第{n}号公司净利润的报道。公司在新工厂上投入了{a}元。",
           "第{n}号公司的净利润为{b}元。", "第{n}号公司的净利润是多少？"),
}  # fmt: skip


@LANGUAGES
@pytest.mark.parametrize("contradicts", [True, False])
def test_a_passage_contradicts_only_by_a_statement_about_the_same(
    contradicts: bool, language: str, tmp_path: Path
) -> None:
    """The system takes the last sentence of the first passage. Whether that passage is outdated or about something
    else, the answer is right without it: only an outdated one is to be removed."""
    other, right, question = FIRMS[language]

    def texts_of(n: int) -> list[str]:
        rival = right.format(n=n, b=7100 + n) if contradicts else other.format(n=n, a=7100 + n)
        return [rival, right.format(n=n, b=400 + n)]

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = texts_of(number_in(question)) if passages is None else passages
        parts = [part for part in re.split(r"(?<=[.。])\s*", texts[0]) if part] if texts else []
        answer = parts[-1] if parts else REFUSAL[language]
        return {"answer": answer, "contexts": [{"id": f"note{at}.md", "text": text} for at, text in enumerate(texts)]}

    data = [
        {"id": f"q{n}", "question": question.format(n=n), "reference": str(400 + n),
         "reference_contexts": [right.format(n=n, b=400 + n)]}
        for n in range(10, 10 + SIZE)
    ]  # fmt: skip
    result = diagnose(data, ask, run=tmp_path / "d.run")
    if contradicts:
        assert causes(result) == {"contradiction"}
    else:
        assert causes(result)
        assert causes(result) <= {"noise", "position"}
        assert not any(re.search("Check: |请核对", action) for action in actions(result, language))


def test_an_extractive_reader_is_not_told_to_change_its_prompt(tmp_path: Path) -> None:
    handbook = Path(__file__).parents[2] / "examples" / "handbook"
    system = "rag(retriever=bm25, model=local/extractive, k=3)"
    result = diagnose(handbook / "questions.csv", system, corpus=handbook / "docs", run=tmp_path / "d.run")
    assert causes(result) & {"reading", "noise"}
    for language, said, other in (
        ("en", "this system has none, it copies one sentence", "model or prompt|tell the model|instruct"),
        ("zh", "该系统不含语言模型", "其他模型|要求模型"),
    ):
        tables = [table for table in result.tables(language=language) if table.id == "diagnosis-fixes"]
        shown = [cell.text for table in tables for row in table.rows for cell in row.cells]
        for text in (" ".join(actions(result, language)), " ".join(shown)):
            assert said in text
            assert not re.search(other, text)
