"""With the true documents as corpus and what the system can find as index, missing, old and contradicting documents are
named, over any kind of system, in any chunking and under any ids."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.indexed_world import (
    CHUNKERS,
    FAULTS,
    ID_SCHEMES,
    QUESTIONS,
    Application,
    expected,
    index_of,
    served,
)
from tests.diagnosis.indexed_world import truth as true_documents

from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose
from ragstone.diagnosis.interventions.details import details
from ragstone.diagnosis.interventions.summary import summary_of
from ragstone.errors import RunMismatch
from ragstone.retrieval.corpus import Corpus, read_corpus
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RagTarget
from ragstone.types import Passage


@pytest.fixture
def truth(tmp_path: Path) -> Corpus:
    file = tmp_path / "truth.jsonl"
    rows = [json.dumps({"id": one.id, "text": one.text}) for one in true_documents()]
    file.write_text("\n".join(rows), encoding="utf-8")
    return read_corpus(file)


def failed(result: DiagnosisResult) -> dict[str, str]:
    return {name: cause.name for name, cause in result.causes().items() if cause.name != "healthy"}


def of_function(chunks: list[Any], tmp_path: Path, truth: Corpus, **options: Any) -> DiagnosisResult:
    application = Application(chunks)
    return diagnose(
        QUESTIONS, application.ask, retriever=application.search, corpus=truth, run=tmp_path / "f.run", **options
    )  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("chunker", CHUNKERS)
@pytest.mark.parametrize("ids", ID_SCHEMES)
def test_what_is_wrong_with_an_index_is_named_in_any_chunking_and_under_any_ids(
    fault: str, chunker: str, ids: str, tmp_path: Path, truth: Corpus
) -> None:
    index = index_of(fault, chunker, ids)
    assert failed(of_function(index, tmp_path, truth, index=index)) == expected(fault)


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_a_sound_index_is_blamed_for_nothing(chunker: str, tmp_path: Path, truth: Corpus) -> None:
    index = index_of("", chunker, "other")
    result = of_function(index, tmp_path, truth, index=index, plan="full")
    assert failed(result) == {}
    assert {item.evidence.value("in_index") for item in result.questions} == {"yes"}


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_named_of_a_system_behind_http(fault: str, tmp_path: Path, truth: Corpus) -> None:
    index = index_of(fault, "paragraphs", "other")
    with served(Application(index)) as address:
        system = HttpTarget(address, body='{"question": "{question}", "passages": "{passages}", "k": "{k}"}')
        result = diagnose(QUESTIONS, system, corpus=truth, index=index, run=tmp_path / "h.run")
    assert failed(result) == expected(fault)


@pytest.mark.parametrize("fault", ["missing", "old"])
def test_it_is_named_of_rag_over_the_index(fault: str, tmp_path: Path, truth: Corpus) -> None:
    found = failed(diagnose(
        QUESTIONS, "rag(retriever=bm25, k=4)", corpus=truth, index=index_of(fault, "whole"), run=tmp_path / "r.run"
    ))  # fmt: skip
    right = expected(fault)
    assert Counter(found.get(name) == cause for name, cause in right.items())[True] >= 0.9 * len(right), found
    assert not set(found.values()) & {"not_retrieved", "contradiction"}


def test_the_index_of_a_pipeline_with_documents_of_its_own_are_these(tmp_path: Path, truth: Corpus) -> None:
    indexed = Corpus("indexed", tuple(index_of("missing", "whole")), "of a test")
    result = diagnose(QUESTIONS, RagTarget(indexed), corpus=truth, run=tmp_path / "own.run")
    assert failed(result) == expected("missing")


def test_without_an_index_nothing_is_said_to_be_missing(tmp_path: Path, truth: Corpus) -> None:
    result = of_function(index_of("missing"), tmp_path, truth)
    assert set(failed(result).values()) == {"not_retrieved"}, "no search returns it: a filter, or missing"
    assert {item.evidence.value("in_index") for item in result.questions if item.cause.name != "healthy"} == {"missing"}
    assert "Whether the index has them is not known for 10 of 10: name --index." in details(
        "not_retrieved", result.questions
    )
    for language, advice in (("en", "check with --index whether the index has"), ("zh", "先用 --index 核对索引中")):
        rows = next(one for one in result.tables(language=language) if one.id == "diagnosis-fixes").rows
        assert [row.cells[1].text.startswith(advice) for row in rows] == [True]  # on the page
        summary = summary_of(result.questions, "s", language=language)
        assert summary.actions[0].text.lower().startswith(advice)  # and in the terminal


def test_a_passage_whose_id_is_a_number_is_named_by_its_first_words(tmp_path: Path, truth: Corpus) -> None:
    result = of_function(index_of("missing", ids="numbers"), tmp_path, truth)
    nearest = next(line for line in details("not_retrieved", result.questions) if line.startswith("Found in their"))
    names = re.findall(r"(\d+) “([^”]+)…”", nearest)
    assert len(names) == 2
    texts = {one.id: " ".join(one.text.split()) for one in index_of("missing", ids="numbers")}
    assert all(texts[number].startswith(words) for number, words in names)


def test_of_documents_that_were_not_found_an_old_version_that_was_is_named(tmp_path: Path, truth: Corpus) -> None:
    """Without an index, passages or a search nobody knows whether the right version is there, too."""
    application = Application(index_of("old", "whole"))

    def ask(question: str) -> dict[str, Any]:  # takes no passages
        return application.ask(question)

    result = diagnose(QUESTIONS, ask, corpus=truth, run=tmp_path / "old.run")
    assert failed(result)["q00"] == "not_retrieved"
    line = details("not_retrieved", result.questions)[0]
    assert "Found with another value, which may be an old version: plants/00.md" in line
    assert "which states “The main boiler of Arvo weighs 9000 kg without its feet.” (plants/00.md: “310”)" in line
    assert "可能是旧版本：plants/00.md" in details("not_retrieved", result.questions, language="zh")[0]


@pytest.mark.parametrize(("fault", "cause"), [("old", "stale"), ("draft", "contradiction")])
def test_what_searches_return_is_known_without_an_index(fault: str, cause: str, tmp_path: Path, truth: Corpus) -> None:
    chunks = index_of(fault, ids="other")
    result = of_function(chunks, tmp_path, truth)
    assert set(failed(result).values()) == {cause}
    stages = result.stages()
    (row,) = stages.rows
    cells = dict(zip(stages.columns, row.cells, strict=True))
    listed = cells["In the index"]  # what nobody looked up is not counted, and said to be unknown
    assert (listed.text, listed.note) == (("10/10", "10 not known") if fault == "old" else ("20/20", ""))


def test_the_advice_names_the_document_and_what_both_state(tmp_path: Path, truth: Corpus) -> None:
    index = index_of("draft")
    result = of_function(index, tmp_path, truth, index=index)
    (english,) = details("contradiction", result.questions)
    assert "drafts/00.txt, which states “The inspector writes: the main boiler of Arvo weighs 9000 kg" in english
    assert "(plants/00.md: “310”)" in english
    (chinese,) = details("contradiction", result.questions, language="zh")
    assert "请核对：drafts/00.txt，其中写的是" in chinese
    base, (fix,) = result.waterfall().steps[0], result.fixes()
    assert base.gain is not None
    assert base.gain.value == pytest.approx(0.5)
    assert fix.cause == "contradiction"
    assert fix.gain is not None
    assert fix.gain.value == pytest.approx(0.5)


_RULES = {
    "考勤.md": ("# 考勤制度\n\n云栖公司的上班时间为上午八点四十分。打卡机设在门厅。", "上午八点四十分", "上午九点"),
    "报销.md": ("# 报销办法\n\n招待费须事先批准。发票须在三十天内提交。", "三十天", "十五天"),
    "leave.md": ("# Leave\n\nForms are green. New staff have 14 days of leave each year.", "14 days", "11 days"),
}
_ASKED = {"考勤.md": "公司的上班时间是几点？", "报销.md": "发票须在多少天内提交？",
          "leave.md": "How many days of leave do new staff have?"}  # fmt: skip


@pytest.mark.parametrize("wrong", ["{old}", "根据资料，无法回答这个问题。"])
def test_of_a_system_that_takes_no_passages_the_sentence_with_the_old_value_is_quoted(
    wrong: str, tmp_path: Path
) -> None:
    """Only the list of the index shows it; a heading says nothing, whatever was answered."""
    documents = {name: text for name, (text, _, _) in _RULES.items()}
    outdated = {name: text.replace(value, old) for name, (text, value, old) in _RULES.items()}
    name_of = {question: name for name, question in _ASKED.items()}

    def ask(question: str) -> dict[str, Any]:
        name = name_of[question]
        return {"answer": wrong.format(old=_RULES[name][2]), "contexts": [{"id": name, "text": outdated[name]}]}

    rows = [{"id": name, "question": _ASKED[name], "reference": value} for name, (_, value, _) in _RULES.items()]
    corpus = Corpus("true", tuple(Passage(name, text) for name, text in documents.items()), "of a test")
    index = [Passage(name, text) for name, text in outdated.items()]
    result = diagnose(rows, ask, corpus=corpus, index=index, run=tmp_path / "old.run")
    assert failed(result) == dict.fromkeys(_RULES, "stale")
    (line,) = details("stale", result.questions)
    assert "考勤.md, which states “云栖公司的上班时间为上午九点。” (考勤.md: “上午八点四十分”)" in line
    assert "报销.md, which states “发票须在十五天内提交。”" in line
    assert "leave.md, which states “New staff have 11 days of leave each year.”" in line


def test_another_index_is_another_question(tmp_path: Path, truth: Corpus) -> None:
    index = index_of("missing")
    of_function(index, tmp_path, truth, index=index)
    with pytest.raises(RunMismatch, match="index"):
        of_function(index, tmp_path, truth, index=index_of(""))
