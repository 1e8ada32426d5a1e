"""Lines that documents repeat at their top or bottom are dropped and listed; what a text says stays."""

import json
from pathlib import Path

import pytest

from ragstone.construction.build_questions import build_questions
from ragstone.construction.builders.questions.boilerplate import drop_boilerplate
from ragstone.retrieval.corpus import read_corpus
from ragstone.types import Passage

ENGLISH = (
    "Larkfield Instruments – Field notes, 2026 edition",
    "We use cookies to improve your experience. Read more.",
    "© Larkfield Instruments 2026",
    "Page {number} of 4",
)
CHINESE = (
    "示例科技有限公司员工手册（内部资料）",
    "我们使用 Cookie 改善您的体验。",
    "版权所有 © 示例科技 2026",
    "第{number}页 共4页",
)
TEXTS = {
    "en": (
        "Overview\nPump {name} runs at {number}0 bar, which {name} has checked.\nIt stands beside the mill of {name}.",
        ENGLISH,
    ),
    "zh": (
        "概述\n{name}泵的工作压力为{number}0巴，由{name}的工程师检查。\n它安装在{name}磨坊旁边的老厂房里。",
        CHINESE,
    ),
}


def documents(language: str, count: int = 4, name: str = "doc{number}.txt") -> list[Passage]:
    """Texts that differ, each with the same two lines above it, and two below it."""
    body, (above, cookies, below, page) = TEXTS[language]
    text = f"{above}\n{cookies}\n{body}\n{below}\n{page}"
    names = ["阿登", "布里尔", "科文", "邓莫尔"] if language == "zh" else ["Arden", "Brill", "Corvin", "Dunmore"]
    return [
        Passage(name.format(number=n), text.format(number=n, name=names[n - 1]), meta={"document": name})
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_headers_footers_cookie_lines_and_page_numbers_are_dropped_and_counted(language: str) -> None:
    body, lines = TEXTS[language]
    cleaned = drop_boilerplate(documents(language))
    assert cleaned.lines == {line.format(number=1): 4 for line in lines}
    assert cleaned.total == 4 * 7
    heading = body.split("\n")[0]
    for number, passage in enumerate(cleaned.passages, 1):
        assert passage.text.splitlines()[0] == heading
        assert f"{number}0" in passage.text
        assert len(passage.text.splitlines()) == 3


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_documents_lose_nothing(language: str) -> None:
    texts = documents(language, 2)
    cleaned = drop_boilerplate(texts)
    assert (cleaned.passages, cleaned.lines) == (tuple(texts), {})


TABLE = "| Part | Price |\n| --- | --- |\n| Seal, made of rubber | 12 euros |"
CODE = "```sh\npip install larkfield-tools==2.1\nlarkfield calibrate --all\n```"
ROWS = "Part | Price in euros\nSeal, made of rubber | 12"


@pytest.mark.parametrize("kept", ["Overview", "## Terms and conditions of sale", "概述与说明", TABLE, CODE, ROWS,
                                  "    larkfield calibrate --all --force"])  # fmt: skip
def test_headings_tables_and_code_stay_however_many_documents_have_them(kept: str) -> None:
    texts = [Passage(f"{n}.md", f"{kept}\n\nPump {n} of {name} runs well.\n{name} has checked it, and {name} again.")
             for n, name in enumerate(["Arden", "Brill", "Corvin", "Dunmore", "Elsted"])]  # fmt: skip
    cleaned = drop_boilerplate(texts)
    assert cleaned.passages == tuple(texts)


def test_copies_and_versions_of_a_text_keep_their_lines_whatever_else_is_there() -> None:
    handbook = "\n".join(f"Rule {n} of the house says {n * 7} things about order." for n in range(12))
    versions = [Passage(f"v{n}.md", handbook.replace("Rule 5 ", f"Rule 5 as of {2020 + n} ")) for n in range(4)]
    cleaned = drop_boilerplate([*versions, *documents("en")])
    assert cleaned.passages[:4] == tuple(versions)
    assert len(cleaned.lines) == 4


def test_a_line_inside_a_text_is_what_the_text_says() -> None:
    texts = [
        Passage(f"{name}.md", "\n".join([
            *(f"{name} has {n} wheels of its own." for n in range(4)), "The warranty lasts for 24 months.",
            *(f"{name} has {n} doors of its own." for n in range(4))]))
        for name in ("Heron", "Osprey", "Kestrel", "Merlin")
    ]  # fmt: skip
    assert drop_boilerplate(texts).lines == {}


def test_thin_pages_of_one_file_lose_their_headers() -> None:
    pages = [Passage(f"m.pdf#page={n}", f"Larkfield Instruments – Field notes, 2026 edition {n}\nPump {n} leaks.\n{n}",
                     meta={"page": n}) for n in (1, 2, 3)]  # fmt: skip
    assert [page.text.strip() for page in drop_boilerplate(pages).passages] == [f"Pump {n} leaks." for n in (1, 2, 3)]


def test_what_was_dropped_is_told_and_no_question_is_asked_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for language in ("en", "zh"):
        for number, passage in enumerate(documents(language, name="doc{number}")):
            (folder / f"{language}{number}.txt").write_text(passage.text, encoding="utf-8")
    built = build_questions(folder, tmp_path / "set", size=20, types={"single": 1})
    tables = {table.id: table for table in built.tables(language="en")}
    listed = {row.cells[0].text: row.cells[1].value for row in tables["construction-boilerplate"].rows}
    assert listed == {**dict.fromkeys((*ENGLISH[:3], *CHINESE[:3]), 4), "Page 1 of 4": 8}  # page numbers count as one
    first = [cell.text or cell.value for cell in tables["construction-passes"].rows[0].cells]
    assert first[:3] == ["boilerplate", 56, 24]
    rejected = [json.loads(line) for line in (tmp_path / "set" / "rejected.jsonl").read_text("utf-8").splitlines()]
    assert len([row for row in rejected if row["reason"] == "repeated_line"]) == 7
    assert built.questions is not None
    rows = [json.loads(line) for line in built.questions.read_text("utf-8").splitlines()]
    assert {row["language"] for row in rows} == {"en", "zh"}
    assert not [row for row in rows if any("2026" in one["text"] for one in row["evidence"])]


def test_the_handbook_has_no_boilerplate() -> None:
    assert drop_boilerplate(read_corpus("examples/handbook/docs").passages).lines == {}


@pytest.mark.parametrize("text", ["x" * 2_000_000, "中" * 2_000_000, " " * 2_000_000 + "x", "`" * 2_000_000])
def test_a_word_of_millions_of_letters_is_read_once(text: str) -> None:
    """With work that grows by the square it takes hours, and the time limit of a test ends it."""
    passages = [Passage(str(number), f"{text}\nThe fee is 7.") for number in range(3)]
    assert drop_boilerplate(passages).total == 6
