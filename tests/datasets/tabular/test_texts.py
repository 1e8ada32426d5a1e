"""Encodings, and CSV as programs write it and people break it."""

import codecs
import csv
import io
import sys
from pathlib import Path

import pytest
from tests.datasets.tabular.samples import answer, texts

from ragstone.datasets.tabular import read_eval_data
from ragstone.datasets.tabular.csvfiles import csv_rows
from ragstone.datasets.tabular.rows import repeated
from ragstone.datasets.tabular.texts import encoding_of
from ragstone.errors import DataError
from ragstone.retrieval.corpus_rows import read_table

CHINESE = "问题,答案\n图书馆周一开放吗？,不开放，周一闭馆。\n"


@pytest.mark.parametrize(
    ("mark", "encoding", "found"),
    [
        (b"", "utf-8", "utf-8"),
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (b"", "gb18030", "gb18030"),
        (b"", "gbk", "gb18030"),
    ],
)
def test_each_encoding_is_found(tmp_path: Path, mark: bytes, encoding: str, found: str) -> None:
    (tmp_path / "a.csv").write_bytes(mark + CHINESE.encode(encoding))
    assert encoding_of(tmp_path / "a.csv")[0] == found
    data = read_eval_data(tmp_path / "a.csv")
    assert answer(data).answer == "不开放，周一闭馆。"
    assert [warning for warning in data.warnings if "GB18030" in warning] == (
        ["the file is not UTF-8; read as GB18030 (Chinese). If the text looks wrong, save it as UTF-8."]
        if found == "gb18030"
        else []
    )


def test_a_character_over_two_blocks_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * ((1 << 20) - 1) + "图".encode() + b"y" * (1 << 20) + "书馆".encode())
    assert encoding_of(tmp_path / "a.txt") == ("utf-8", "")


@pytest.mark.parametrize(
    "content",
    [
        CHINESE.encode()[:-8] + b"\n" + CHINESE.encode() * 3,  # cut within a character
        CHINESE.encode() * 5 + b"\xff\n",
        "question,answer\nWhere is the café?,À côté\n".encode("latin-1"),
        "question,answer\nWo liegt Köln?,Über Bonn, schön grün\n".encode("cp1252"),
        b"question,answer\nx,\x80\n",
    ],
    ids=["cut", "stray", "french", "german", "byte"],
)
def test_damage_and_western_encodings_are_told_and_never_read_as_chinese(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"line \d+: the byte 0x[0-9A-F]{2} is not UTF-8 and not GB18030\. Save it as"):
        read_eval_data(tmp_path / "a.csv")


def test_the_line_of_the_first_wrong_byte_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"question": "a"}\n' * 70_000 + b"\xff\n")
    with pytest.raises(DataError, match="line 70001: the byte 0xFF"):
        read_eval_data(tmp_path / "a.jsonl")


def test_utf_16_that_is_cut_or_has_no_mark_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(codecs.BOM_UTF16_LE + CHINESE.encode("utf-16-le")[:-1])
    with pytest.raises(DataError, match="is not UTF-16"):
        read_eval_data(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes("question,answer\nWhere?,Here\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="NUL in every few bytes"):
        read_eval_data(tmp_path / "a.csv")


def test_quoted_lines_quotes_and_delimiters_are_part_of_the_text(tmp_path: Path) -> None:
    rows = [["question", "answer", "context"], ['A,\nB;\t"C"?', "line 1\r\nline 2\rline 3", "x\u2028y\x0bz"]]
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    data = read_eval_data(tmp_path / "a.csv")
    assert data.items[0].sample.question == rows[1][0]
    assert answer(data).answer == rows[1][1]
    assert texts(data) == ["x\u2028y\x0bz"]


def test_rows_are_called_by_the_line_where_they_begin(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('question,answer\n"a\nb",1\n\nc,2\n,,\n"d\n\n",3\n')
    assert [item.where for item in read_eval_data(tmp_path / "a.csv").items] == ["line 2", "line 5", "line 7"]


def test_a_cell_may_be_larger_than_pythons_reader_allows(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    (tmp_path / "a.csv").write_text(f"question,answer\nQ?,{'x' * 300_000}\n")
    assert len(answer(read_eval_data(tmp_path / "a.csv")).answer) == 300_000
    assert csv.field_size_limit() == before


def test_readers_that_nobody_reads_to_the_end_leave_the_limit_of_the_process(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    (tmp_path / "a.csv").write_text(f"id,text\n1,{'x' * 300_000}\n2,y\n")
    documents, rows = read_table(tmp_path / "a.csv", "a.csv"), iter(csv_rows(tmp_path / "a.csv").rows)
    assert len(next(documents).text) == 300_000
    assert len(next(rows).cells["text"]) == 300_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("question,answer\na,b,c\nd,e\n", "line 2: has 3 fields for 2 columns; expected .*commas"),
        ('question,answer\na,"b\nc,d\n', "line 2: a quotation mark is opened and never closed"),
        ('question,answer\na,"b" c\n', "line 2: a quotation mark stands inside a quoted field"),
        ("question,question\na,b\n", "line 1: the column 'question' occurs twice"),
        ("a,b\nc,d\n", "no column is the question; the columns are: 'a', 'b'"),
        ("question,answer\n", "has no rows"),
    ],
)
def test_broken_csv_names_line_and_cause(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DataError, match=told) as caught:
        read_eval_data(tmp_path / "a.csv")
    assert len(str(caught.value).splitlines()) == 1


def test_fields_that_are_lacking_at_the_end_are_empty_and_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer,topic\na,b\nc,d,e\n")
    data = read_eval_data(tmp_path / "a.csv")
    assert [dict(item.extra) for item in data.items] == [{}, {"topic": "e"}]
    assert data.warnings == ("line 2: fewer fields than columns; the rest is taken as empty.",)


def test_spaces_after_commas_are_no_part_of_names_and_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('question, answer, topic\nQ?, "a, b", t\n')
    data = read_eval_data(tmp_path / "a.csv")
    assert (answer(data).answer, data.items[0].extra) == ("a, b", {"topic": "t"})


def test_the_delimiter_follows_from_names_that_are_known_or_mapped(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("q;a,b\nwhat;here, there\n")
    data = read_eval_data(tmp_path / "a.csv", mapping={"question": "q", "answer": "a,b"})
    assert answer(data).answer == "here, there"


def test_an_empty_cell_of_a_table_is_no_answer_and_an_empty_text_of_json_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('question,answer,id\nQ?,"",1\n')
    assert read_eval_data(tmp_path / "a.csv").items[0].response is None
    (tmp_path / "a.jsonl").write_text('{"question": "Q?", "answer": ""}\n')
    assert answer(read_eval_data(tmp_path / "a.jsonl")).answer == ""


def test_a_table_of_one_column_is_one(tmp_path: Path) -> None:
    stream = io.StringIO()
    csv.writer(stream).writerows([["question"], ["a, b?"], ["c"]])
    (tmp_path / "a.csv").write_text(stream.getvalue())
    assert [item.sample.question for item in read_eval_data(tmp_path / "a.csv").items] == ["a, b?", "c"]


class Counted(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__

    def strip(self, chars: str | None = None, /) -> "Counted":
        return self


def test_the_work_of_a_wide_table_grows_with_its_columns(tmp_path: Path) -> None:
    names = [Counted(f"c{number}") for number in range(4_000)]
    Counted.compared = 0
    assert repeated(names) is None
    assert repeated([*names, Counted("c7"), Counted("c8")]) == "c7"
    assert Counted.compared < 4 * len(names)
    calls = {}
    for width in (1_000, 2_000, 4_000):
        path = tmp_path / f"{width}.csv"
        heads, cells = (",".join(f"{letter}{number}" for number in range(width)) for letter in "cx")
        path.write_text(f"question,answer,{heads}\n" + f"q?,a,{cells}\n" * 2, encoding="utf-8")
        made = 0

        def count(*_: object) -> None:
            nonlocal made
            made += 1

        sys.setprofile(count)
        try:
            data = read_eval_data(path)
        finally:
            sys.setprofile(None)
        assert len(data.items[0].extra) == width
        calls[width] = made
    assert calls[4_000] - calls[2_000] < 2.5 * (calls[2_000] - calls[1_000])


def test_a_table_of_eighty_thousand_columns_is_read_and_one_that_repeats_is_told(tmp_path: Path) -> None:
    heads = ",".join(f"c{number}" for number in range(80_000))
    (tmp_path / "wide.csv").write_text(f"question,answer,{heads}\nq?,a\n", encoding="utf-8")
    assert len(read_eval_data(tmp_path / "wide.csv").items) == 1
    (tmp_path / "twice.csv").write_text(f"question,answer,{heads},c79998\nq?,a\n", encoding="utf-8")
    with pytest.raises(DataError, match="the column 'c79998' occurs twice"):
        read_eval_data(tmp_path / "twice.csv")
