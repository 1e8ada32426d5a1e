"""Each row of a built test set says where its evidence stands: document, page, heading and characters."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ragstone.construction.build_questions import build_questions
from ragstone.construction.builders.questions.boilerplate import drop_boilerplate
from ragstone.construction.builders.questions.places import place_of, with_headings
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.retrieval.corpus import read_corpus

WORDS = {
    "en": (
        "Heron manual", "Battery", "Charging", "A full charge of the Heron takes 11 hours at room temperature.",
        "After 12 months in a drawer half of the energy is gone.", "The lamp is green once 13 cells are full.",
        "Use a cable that carries at least 14 amperes.", "Below freezing, wait 15 minutes before you plug it in.",
    ),
    "zh": (
        "苍鹭手册", "电池", "充电", "苍鹭在室温下完全充电需要11小时。", "在抽屉里存放12个月后，电量只剩一半。",
        "13个电芯充满之后，指示灯变为绿色。", "请使用至少能承受14安培电流的原装电缆。",
        "气温低于零度时，请等待15分钟再插上插头。",
    ),
}  # fmt: skip


def write_pdf(path: Path, title: str, chapter: str, heading: str, sentence: str) -> None:
    """Two pages, the second with a chapter and a section in the outline."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen.canvas import Canvas

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    canvas = Canvas(str(path))
    canvas.setFont("STSong-Light", 12)
    canvas.drawString(50, 700, title)
    canvas.showPage()
    canvas.setFont("STSong-Light", 12)
    for place, text in enumerate([chapter, heading, sentence]):
        canvas.drawString(50, 700 - 30 * place, text)
    for level, text in enumerate([chapter, heading]):
        canvas.bookmarkPage(text)
        canvas.addOutlineEntry(text, text, level=level)
    canvas.save()


def write_all(folder: Path, language: str) -> None:
    """The same manual as Markdown, HTML, Word, PowerPoint and PDF, each with another number."""
    import docx
    import pptx

    title, chapter, heading, *texts = WORDS[language]
    folder.mkdir()
    (folder / "a.md").write_text(f"# {title}\n\n## {chapter}\n\n### {heading}\n\n{texts[0]}\n", "utf-8")
    (folder / "b.html").write_text(
        f"<title>{title}</title><body><h1>{title}</h1><p>…</p><div><h2><a>{chapter}</a></h2><p>…</p><h3>\n{heading}\n"
        f"</h3><p>{texts[1]}</p></div></body>", "utf-8",
    )  # fmt: skip
    word = docx.Document()
    for level, text in enumerate([title, chapter, heading]):
        word.add_heading(text, level)
    word.add_paragraph(texts[2])
    word.save(str(folder / "c.docx"))
    show = pptx.Presentation()
    for name, text in ((title, chapter), (heading, texts[3])):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = name, text
    show.save(str(folder / "d.pptx"))
    write_pdf(folder / "e.pdf", title, chapter, heading, texts[4])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_evidence_of_every_format_has_its_page_heading_and_characters(tmp_path: Path, language: str) -> None:
    write_all(tmp_path / "docs", language)
    built = build_questions(tmp_path / "docs", tmp_path / "set", size=8, types={"single": 1})
    assert built.questions is not None
    rows = {row["document"]: row for row in map(json.loads, built.questions.read_text("utf-8").splitlines())}
    title, chapter, heading, *_ = WORDS[language]
    path = f"{title} > {chapter} > {heading}"
    places = {name: (row["page"], row["heading"]) for name, row in rows.items()}
    assert places == {
        "a.md": (None, path), "b.html": (None, path), "c.docx": (None, path), "d.pptx#slide=2": (2, heading),
        "e.pdf#page=2": (2, f"{chapter} > {heading}"),
    }  # fmt: skip
    texts = {passage.id: passage.text for passage in read_corpus(tmp_path / "docs").passages}
    chunks = {row["id"] for row in map(json.loads, (tmp_path / "set/corpus.jsonl").read_text("utf-8").splitlines())}
    for row in rows.values():
        (evidence,) = row["evidence"]
        assert texts[evidence["document"]][evidence["start"] : evidence["end"]] == evidence["text"]
        assert row["reference"][0][0] in evidence["text"]
        assert evidence["passage"] in chunks


def test_characters_are_those_of_the_document_though_lines_were_cut_and_chunks_begin_later(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(3):
        body = "\n".join(f"Pump {number}-{line} has {line}{number} valves in all." for line in range(12))
        text = f"# One\n{body}\n# Two\nThe last pump {number} is new.\nPage {number}"
        (tmp_path / "docs" / f"{number}.txt").write_text(f"Larkfield Instruments, all rights reserved\n{text}", "utf-8")
    corpus = read_corpus(tmp_path / "docs")
    cleaned = drop_boilerplate(with_headings(corpus.passages, corpus.headings))
    assert len(cleaned.lines) == 2
    chunks = chunk_passages(cleaned.passages, size=60)
    assert len(chunks) > 6
    for chunk in chunks:
        original = next(one.text for one in corpus.passages if one.id == chunk.meta["document"])
        for line in chunk.text.splitlines():
            start = chunk.text.index(line)
            place = place_of(chunk, start, start + len(line))
            assert original[place.start : place.end] == line
            assert place.heading == ("Two" if "last" in line or "Two" in line else "One")


def test_a_repeated_table_header_has_a_heading_but_no_characters() -> None:
    from ragstone.types import Passage

    rows = "\n".join(f"| part {n} | {n} euros |" for n in range(40))
    text = f"# Prices\n\n| Part | Price |\n| --- | --- |\n{rows}\n"
    (document,) = with_headings([Passage("t.md", text)], {"t.md": ((0, 1, "Prices"),)})
    chunk: Any = chunk_passages([document], size=80)[1]
    assert chunk.text.startswith("| Part | Price |")
    assert place_of(chunk, 0, 10).start is None
    at = chunk.text.index("| part", 40)
    place = place_of(chunk, at, at + 12)
    assert text[place.start : place.end] == chunk.text[at : at + 12]
    assert place.heading == "Prices"


def test_rows_of_a_web_table_are_lines_with_cells(tmp_path: Path) -> None:
    (tmp_path / "t.html").write_text(
        "<table><tr><th>Part</th><th>Price\n in euros</th></tr><tr><td><p>Seal</p></td><td>12</td></tr></table>"
        f"<table><tr><td>{'layout ' * 80}<p>x</p></td><td>y</td></tr></table>", "utf-8",
    )  # fmt: skip
    lines = read_corpus(tmp_path / "t.html").passages[0].text.splitlines()
    assert lines[:2] == ["Part | Price in euros", "Seal | 12"]
    assert lines[-1] == "y"
    assert not any("|" in line for line in lines[2:])


def test_a_damaged_outline_costs_no_text(tmp_path: Path) -> None:
    write_pdf(tmp_path / "e.pdf", *WORDS["en"][:4])
    whole = (tmp_path / "e.pdf").read_bytes()
    assert any(read_corpus(tmp_path / "e.pdf").headings.values())
    damaged = re.sub(rb"/Dest \[[^\]]*\]", lambda found: b"/Dest (x)".ljust(len(found[0])), whole)
    assert damaged != whole
    (tmp_path / "e.pdf").write_bytes(damaged)
    corpus = read_corpus(tmp_path / "e.pdf")
    assert len(corpus.passages) == 2
    assert not any(corpus.headings.values())
