"""A prompt that is cut at its length, of a system that reports its prompts: the page shows what stood there, and the
advice is about the cut."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.report.test_page import text_of

from ragstone.datasets.tabular.eval_data import read_data
from ragstone.diagnosis.changes import proposed
from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose, plan_diagnosis
from ragstone.diagnosis.interventions.summary import summary_of
from ragstone.diagnosis.interventions.tables import tables_of
from ragstone.display import Summary
from ragstone.engine.judge_tools import Judging
from ragstone.messages import messages
from ragstone.retrieval.corpus import Corpus
from ragstone.types import Passage

_NAMES: Mapping[str, Sequence[str]] = {
    "en": ("Arvo", "Belka", "Cirro", "Dulan", "Evtar", "Forno", "Gorma", "Hesta", "Ilvar", "Jotun", "Kelda", "Lomar"),
    "zh": ("阿沃", "贝卡", "西罗", "杜兰", "埃塔", "福诺", "戈玛", "赫斯", "伊瓦", "约顿", "凯达", "罗玛"),
}
_LIMIT = {"en": 130, "zh": 45}  # characters of a prompt
_FIRST = 6  # of these documents the answer stands at the end
_REFUSAL = {"en": "The documents do not say.", "zh": "文档中没有答案。"}


def _document(language: str, n: int) -> str:
    name, weight = _NAMES[language][n], 310 + 7 * n
    if language == "en":
        answer = f"The boiler of {name} weighs {weight} kg."
        rest = f"The {name} plant stands at the river. Each spring its people paint the gates in green. Visitors ring."
        return f"{rest} {answer}" if n < _FIRST else f"{answer} {rest}"
    answer, rest = (
        f"{name}厂的锅炉重{weight}公斤。",
        f"{name}厂位于河边的高地上。每年春天人们给所有的栅栏刷上绿漆。来访者要按铃。",
    )
    return f"{rest}{answer}" if n < _FIRST else f"{answer}{rest}"


def _rows(language: str) -> list[dict[str, Any]]:
    return [
        {"id": f"q{n:02d}", "reference": f"{310 + 7 * n} kg" if language == "en" else f"{310 + 7 * n}公斤",
         "question": f"How much does the boiler of {name} weigh?" if language == "en" else f"{name}厂的锅炉有多重？",
         "document": f"{name}.md"}
        for n, name in enumerate(_NAMES[language])
    ]  # fmt: skip


def _corpus(language: str) -> Corpus:
    names = _NAMES[language]
    return Corpus("true", tuple(Passage(f"{name}.md", _document(language, n)) for n, name in enumerate(names)), "t")


def _application(language: str, dropping: range = range(0)) -> Callable[..., dict[str, Any]]:
    """Finds the document of the question first, drops it for some, and cuts its prompt."""
    names = _NAMES[language]

    def ask(question: str, passages: Any = None) -> dict[str, Any]:
        number = next(n for n, name in enumerate(names) if name in question or n == len(names) - 1)
        order = [number, *(n for n in range(len(names)) if n != number)][:4]
        found = [{"id": f"{names[n]}.md", "text": _document(language, n)} for n in order]
        if passages is not None:
            found = [{"id": str(n), "text": getattr(one, "text", one)} for n, one in enumerate(passages)]
        kept = found[1:] if passages is None and number in dropping else found
        context = "\n\n".join(one["text"] for one in kept)[: _LIMIT[language]]
        stated = re.search(rf"{names[number]}(?: weighs|厂的锅炉重) ?(\d+ ?(?:kg|公斤))", context)
        prompt = f"Answer from the documents only.\n\n{context}\n\nQuestion: {question}"
        stages = {"fetch": found, "rerank": kept, "prompt": prompt}
        return {"answer": stated[1] if stated else _REFUSAL[language], "contexts": kept, "stages": stages}

    return ask


def _diagnosed(language: str, tmp_path: Path, dropping: range = range(0)) -> DiagnosisResult:
    ask = _application(language, dropping)
    return diagnose(_rows(language), ask, corpus=_corpus(language), run=tmp_path / "cut.run")


def _summary(result: DiagnosisResult, language: str) -> Summary:
    return summary_of(result.questions, "s", language=language)


_RAISE = {
    "en": "Raise the token limit of the prompt: it cuts the passages that it is given.",
    "zh": "请提高提示词的词元上限：给定的段落被截断了。",
}


def _remedies(result: DiagnosisResult, language: str) -> set[str]:
    tables = {table.id: table for table in tables_of({"s": result.questions}, language=language)}
    return {row.cells[3].text for row in tables["diagnosis-withdrawn"].rows}


@pytest.fixture(scope="module", params=["en", "zh"])
def cut(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, DiagnosisResult]:
    return request.param, _diagnosed(request.param, tmp_path_factory.mktemp("cut"))


def test_the_verdict_and_the_advice_are_about_the_cut(cut: tuple[str, DiagnosisResult]) -> None:
    language, result = cut
    failed = {name: cause.name for name, cause in result.causes().items() if cause.name != "healthy"}
    assert failed == {f"q{n:02d}": "prompt_cut" for n in range(_FIRST)}
    found = _summary(result, language)
    named, advice, raised = {
        "en": ("Most frequent: “the prompt is cut”, 6 of 6", "Raise the token limit of the prompt",
               "To measure it, first raise the token limit of the prompt, which cuts given passages, too."),
        "zh": ("最常见的原因是“提示词被截断”", "提高提示词的词元上限", "要测量，请先提高提示词的词元上限"),
    }[language]  # fmt: skip
    assert named in found.verdict
    assert found.actions[0].text.startswith(advice)
    assert raised in " ".join(found.notes)
    assert _remedies(result, language) == {_RAISE[language]}


def test_a_case_shows_what_stood_in_the_prompt_and_what_the_cut_took(
    cut: tuple[str, DiagnosisResult], tmp_path: Path
) -> None:
    language, result = cut
    with result.open() as run:
        html = run.write_report(tmp_path / "r.html", language=language).read_text("utf-8")
    case = html.split('id="case-q00"')[1].split("</details>")[0]
    prompt, lost = text_of(case).split(
        "Right passages that the prompt lacked" if language == "en" else "缺少的正确段落"
    )
    assert ("the prompt has only this beginning" if language == "en" else "提示词中只有这个开头") in prompt
    assert ("holds the answer" if language == "en" else "含有答案") not in prompt
    assert "310" in lost  # the end of the document, which the prompt did not have
    assert not re.search("weighs 310 kg|重310公斤", prompt.split("as is" if language == "en" else "原样", 1)[1])


def test_fewer_passages_are_proposed_against_a_cut(cut: tuple[str, DiagnosisResult]) -> None:
    """Four were handed over, whatever was left of them."""
    language, result = cut
    plan = plan_diagnosis(
        read_data(_rows(language)), _application(language), None, Judging(), corpus=_corpus(language)
    )  # fmt: skip
    assert proposed(result, plan, frozenset({"passages"})) == ["top=1", "top=3"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_of_two_faults_bar_and_advice_have_one_gain_and_no_two_bars_one_name(language: str, tmp_path: Path) -> None:
    """Passages that are added are cut off as others are; those in the order of the search bring what was dropped."""
    result = _diagnosed(language, tmp_path, dropping=range(4, 9))
    (fix, *_), step = result.fixes(), result.waterfall().steps[2]
    assert (fix.cause, fix.change) == ("reranking", "unranked")
    assert fix.gain is not None
    assert step.gain is not None
    assert fix.gain.value == pytest.approx(step.gain.value) == pytest.approx(3 / 12)
    found = _summary(result, language)
    labels = [bar.label for bar in found.bars]
    assert len(labels) == len(set(labels)), labels
    tried = {"en": "tried on the 3 of 12 questions that it changes: 3 righted, 0 broken",
             "zh": "已在受影响的 3 题（共 12 题）上试过：3 题改对，0 题改错"}[language]  # fmt: skip
    assert tried in found.actions[0].text
    assert _remedies(result, language) == {_RAISE[language]}  # also of what is wholly behind the cut


def test_what_would_measure_something_is_something_to_do() -> None:
    """The texts stand after “To measure it,”."""
    first = {
        "en": r"(label|return|name|let|fix|run|have|do|make|first) ", "zh": "请",
    }  # fmt: skip
    for language, pattern in first.items():
        words = messages("ragstone.diagnosis.interventions.summary", language)
        keys = [key for key in words if key.startswith("measure_")]
        assert len(keys) >= 10
        assert [words[key] for key in keys if not re.match(pattern, words[key])] == []
