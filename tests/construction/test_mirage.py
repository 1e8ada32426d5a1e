"""MIRAGE's data set from published questions and a dump: mapping, labels, inference, and files that bench asks."""

import bz2
import json
import re
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import own_folders, ragstone
from tests.cli.test_commands import Ragstone
from tests.construction.test_questions import changed

from ragstone.construction.build_mirage import build_mirage
from ragstone.construction.builders.mirage.pipeline import map_questions
from ragstone.construction.builders.mirage.qa_sets import SourceQuestion, read_qa_set
from ragstone.datasets.mirage import read_oracle, read_pool, read_questions
from ragstone.datasets.wikipedia import read_articles, read_pages
from ragstone.errors import DataError, UsageError
from ragstone.labels import Label, LabelStore

__all__ = ["own_folders", "ragstone"]

TOWNS = ("Arden", "Brill", "Corvin", "Dunmore", "Elsted", "Farrow")
YEARS, WRONG = "; ".join(str(1310 + 7 * n) for n in range(6)), {"answer": "9", "found": True}
FILLER = "The town lies by a river and has a market, a school and a station. "


def page(title: str, text: str, *, ns: int = 0, redirect: str = "", changed: str = "2024-09-05T00:00:00Z") -> str:
    leads = f'<redirect title="{redirect}"/>' if redirect else ""
    return (
        f"<page><title>{title}</title><ns>{ns}</ns>{leads}<revision><timestamp>{changed}</timestamp>"
        f'<text xml:space="preserve">{text}</text></revision></page>'
    )


def written_dump(folder: Path) -> Path:
    """Articles of towns, each with its year; a redirect, a talk page, markup."""
    pages = [
        page(town, f"{{{{Infobox|x=1}}}} '''{town}''' is a [[town]].\n{FILLER * 12}\n"
             f"{town} was founded in {1310 + 7 * n}.&lt;ref&gt;x&lt;/ref&gt;\n{FILLER * 12}\n[[Category:Towns]]")
        for n, town in enumerate(TOWNS)
    ]  # fmt: skip
    pages += [page("Old Brill", "", redirect="Brill"), page("Talk:Arden", "founded in 1", ns=1)]
    text = f"<mediawiki xmlns='http://www.mediawiki.org/xml/export-0.11/'>{''.join(pages)}</mediawiki>"
    path = folder / "pages-articles.xml.bz2"
    path.write_bytes(bz2.compress(text.encode()))
    return path


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return written_dump(tmp_path)


def written_popqa(folder: Path) -> Path:
    """Questions about the towns, as PopQA writes them."""
    path = folder / "popqa.tsv"
    titles = [*TOWNS[:1], "Old Brill", *TOWNS[2:], "Nowhere", "Arden"]
    rows = ["id\tquestion\tpossible_answers\ts_wiki_title"]
    for n, title in enumerate(titles):
        year = json.dumps([str(1310 + 7 * n)])
        rows.append(f"{n}\tFill in the blank ({title}): {TOWNS[n % 6]} was founded in _____.\t{year}\t{title}")
    path.write_text("\n".join(rows), "utf-8")
    return path


@pytest.fixture
def popqa(tmp_path: Path) -> Path:
    return written_popqa(tmp_path)


def supporting(shown: Mapping[str, Any], reply: Any) -> Any:
    """A checker who finds the passages with the answer."""
    return {"passages": [int(number) for number, text in shown["passages"].items() if shown["answer"][0] in text]}


def test_a_dump_is_read_by_title_and_redirect(dump: Path) -> None:
    assert [one.title for one in read_pages(dump)] == [*TOWNS, "Old Brill"]
    articles = read_articles(dump, {"old brill", "corvin", "atlantis"})
    assert {name: article.title for name, article in articles.items()} == {
        "brill": "Brill", "old brill": "Brill", "corvin": "Corvin",
    }  # fmt: skip
    text = articles["corvin"].text
    assert text.startswith("Corvin is a town.")
    assert "founded in 1324." in text
    assert not any(mark in text for mark in ("{{", "[[", "<ref", "Category", "Infobox"))


def test_a_dump_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    body = "".join(page(f"Page {number}", FILLER * 60) for number in range(3_000))
    path.write_text(f"<mediawiki>{body}</mediawiki>", "utf-8")
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_pages(path)) == 3_000
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 5
    finally:
        tracemalloc.stop()


def test_the_official_files_are_built_checked_and_asked(dump: Path, popqa: Path, tmp_path: Path) -> None:
    import ragstone

    built = build_mirage(popqa, dump, tmp_path / "m", changed(answering=supporting))
    assert built.questions == 6
    questions, pool = read_questions(tmp_path / "m" / "dataset.json"), read_pool(tmp_path / "m" / "doc_pool.json")
    oracle = read_oracle(tmp_path / "m" / "oracle.json")
    assert {one.source for one in questions} == {"PopQA"}
    for one in questions:
        chunks = [chunk for chunk in pool if chunk.mapped_id == one.query_id]
        assert len(chunks) == 5
        assert sum(chunk.support for chunk in chunks) == one.num_doc_labels == 1
        assert all((one.answer[0] in chunk.doc_chunk) == bool(chunk.support) for chunk in chunks)
        assert oracle[one.query_id][0].doc_name == one.doc_name
    reasons = {json.loads(line)["reason"] for line in (tmp_path / "m" / "rejected.jsonl").read_text().splitlines()}
    assert {"no_article", "article_taken"} <= reasons
    result = ragstone.bench("mirage", model="local/extractive", data=tmp_path / "m", run=tmp_path / "m.run")
    assert result.outcome.complete
    questions_file, corpus = tmp_path / "m" / "questions.jsonl", tmp_path / "m" / "documents.jsonl"
    system = "rag(retriever=bm25,model=local/extractive,k=3)"
    found = ragstone.diagnose(questions_file, system, corpus=corpus, run=tmp_path / "d.run")
    assert found.outcome.complete
    assert [one.found for one in found.questions] == ["labels"] * 6


def test_experts_label_the_same_chunks_and_kappa_says_how_far_they_agree(
    dump: Path, popqa: Path, tmp_path: Path, ragstone: Ragstone
) -> None:
    build_mirage(popqa, dump, tmp_path / "m", changed(answering=supporting))
    path = tmp_path / "m" / "labels.sqlite"
    with LabelStore.open(path) as store:
        checked = {label.item: label.value for label in store.labels(expert="scripted/changed")}
        assert Counter(checked.values()) == {"yes": 6, "no": 24}
        while (work := store.next_item("ann")) is not None:
            differs = work.item.passages[0].title == "Brill" and checked[work.item.id] == "yes"
            store.put(Label(work.item.id, "relevant", "ann", "no" if differs else checked[work.item.id]))
    (line,) = ragstone("agreement", "experts", path, "--json").document["summary"]
    assert re.search(r"agree on 97% of 30 items .*, κ 0\.89 \[0\.\d\d, 1\.00\]", line)
    build_mirage(popqa, dump, tmp_path / "m", changed(answering=supporting))
    with LabelStore.open(path) as store:
        assert len(store.labels()) == 60


@pytest.mark.parametrize(
    ("reason", "rules"),
    [
        ("too_few_positive", {"answering": lambda s, r: {"passages": []}}),
        ("known_without_documents", {"read": lambda s, r: {"answer": YEARS, "found": True}}),
        ("not_answerable_from_gold", {"read": lambda s, r: {"answer": "", "found": False}}),
        ("wrong_among_near_misses", {"read": lambda s, r: r if len(s["passages"]) < 2 else WRONG}),
    ],
)  # fmt: skip
def test_bad_questions_are_rejected_with_their_reason(
    dump: Path, popqa: Path, tmp_path: Path, reason: str, rules: dict[str, Any]
) -> None:
    built = build_mirage(popqa, dump, tmp_path / "m", changed(**{"answering": supporting, **rules}))
    assert built.questions == 0
    found = [json.loads(line)["reason"] for line in (tmp_path / "m" / "rejected.jsonl").read_text().splitlines()]
    assert found.count(reason) == 6


def test_questions_without_a_title_are_mapped_by_their_words_and_checked_by_their_passage(dump: Path) -> None:
    questions = [
        SourceQuestion("1", "DROP", "When was Corvin founded?", ("1324",), "", "Corvin is a town founded in 1324."),
        SourceQuestion("2", "DROP", "Who ruled Dunmore?", ("X",), "", "A play in three acts by a poet."),
    ]  # fmt: skip
    mapped, dropped = map_questions(questions, dump)
    assert [(item.id, item.article.title) for item in mapped] == [("1", "Corvin")]
    assert [(item.id, item.reason) for item in dropped] == [("2", "no_article")]


def test_only_articles_that_changed_later_can_be_asked_for(dump: Path) -> None:
    question = SourceQuestion("1", "NQ", "When was Corvin founded?", ("1324",), "Corvin")
    assert len(map_questions([question], dump, changed_after="2024-09-01")[0]) == 1
    mapped, dropped = map_questions([question], dump, changed_after="2024-09-05")
    assert not mapped
    assert dropped[0].reason == "article_too_old"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"Data": [{"QuestionId": "q", "Question": "Q?", "Answer": {"Value": "A", "Aliases": ["A", "B"]},
                    "EntityPages": [{"Title": "T"}]}]}, ("TriviaQA", ("A", "B"), "T")),
        ({"p1": {"passage": "P", "qa_pairs": [{"question": "Q?", "answer": {"number": "3", "date": {}, "spans": []}}]}},
         ("DROP", ("3",), "")),
        ([{"id": 1, "question": "Q?", "answer": ["A"], "passage": "P"}], ("IfQA", ("A",), "")),
        ({"question": "Q?", "answer": ["A"]}, ("NQ", ("A",), "")),
        ({"question_text": "Q?", "document_text": "It is 7 here", "document_url": "https://x/w?title=My_Page&a=1",
          "annotations": [{"short_answers": [{"start_token": 2, "end_token": 3}]}]}, ("NQ", ("7",), "My Page")),
    ],
)  # fmt: skip
def test_each_published_format_is_read(tmp_path: Path, document: Any, expected: tuple[Any, ...]) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(document), "utf-8")
    (question,) = read_qa_set(path)
    assert (question.source, question.answers, question.title) == expected


def test_bad_files_are_one_line(tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text('[{"query": 1}]', "utf-8")
    with pytest.raises(DataError, match="entry 1"):
        read_qa_set(path)
    broken = tmp_path / "x.xml"
    broken.write_text("<mediawiki><page>", "utf-8")
    with pytest.raises(DataError, match="Wikipedia dump"):
        list(read_pages(broken))
    with pytest.raises(UsageError, match="no such file"):
        build_mirage(tmp_path / "none.tsv", dump, tmp_path / "m", changed())
