"""Cells: lists that became texts, passages in every form, references, ids, conversations, languages."""

import ast
import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.tabular import fields
from ragstone.datasets.tabular.cells import is_missing, listed, plain, scalar, text
from ragstone.datasets.tabular.problems import CellError
from ragstone.types import Turn

TEXTS = st.lists(st.text(), max_size=6)


def told(value: Any, sep: str | None = None) -> list[str | None]:
    return [None if one is None else one.text for one in fields.passages(value, sep=sep)[0]]


@given(TEXTS)
def test_a_list_survives_its_repr(wanted: list[str]) -> None:
    assert listed(repr(wanted)) == wanted


@given(TEXTS)
def test_a_list_survives_json(wanted: list[str]) -> None:
    assert listed(json.dumps(wanted)) == wanted
    assert listed(f"  {json.dumps(wanted, ensure_ascii=False)}\n") == wanted


@given(st.lists(st.text(), min_size=1, max_size=6))
def test_a_list_survives_what_numpy_prints(wanted: list[str]) -> None:
    array = np.array([*wanted, None], dtype=object)[:-1]
    assert listed(str(array)) == wanted
    assert listed(repr(array)) == wanted


SPELLS_NOTHING = ("", "none", "null", "nan", "<na>", "nat")


@given(st.text().filter(lambda text: text.strip()[:1] not in ("[", "{")))
def test_a_text_without_brackets_is_kept_as_it_is(written: str) -> None:
    assert listed(written) == (None if written.strip().lower() in SPELLS_NOTHING else written)


@pytest.mark.parametrize("written", [*SPELLS_NOTHING, " \n", "None", "NaN", " NULL "])
def test_a_text_that_says_that_there_is_nothing_is_nothing(written: str) -> None:
    assert listed(written) is None


@given(st.text().map("[{}]".format))
def test_what_is_read_of_brackets_is_a_list_that_json_or_python_spells_or_else_the_text(written: str) -> None:
    found = listed(written)
    if found == written:
        with pytest.raises((ValueError, SyntaxError, MemoryError)):
            json.loads(written)
    else:
        assert isinstance(found, list)


@pytest.mark.parametrize(
    "written",
    [
        "[1] Ferry timetable, page 3 [2]",
        "[see the annex]",
        "[",
        "]",
        "[]x",
        "{braces} in a {text}",
        "[[[[",
        "[" * 5000 + "]" * 5000,
        "['a', __import__('os').system('false')]",
        "['a' + 'b']",
        "[open('x')]",
        "[print(sep='x', *[1])]",
        "[os.system(command='x')]",
        "[f(**{'a': 1})]",
        "[{**{}}]",
        "[x for x in y]",
        "['it's']",
        "[\\]",
        "['\\']",
        "array(1)",
        "['a' 'b' ... 'c']",
    ],
)
def test_what_only_looks_like_a_list_stays_the_text_it_is(written: str) -> None:
    assert listed(written) == written


@pytest.mark.parametrize("written", ["", "  ", "nan", "NaN", "None", "null", "<NA>", "NaT"])
def test_what_says_nothing_is_no_passage(written: str) -> None:
    assert fields.passages(written) == ([], False)


def test_adjacent_texts_of_an_array_are_not_joined() -> None:
    assert ast.literal_eval("['a' 'b']") == ["ab"], "what Python would make of it"
    assert listed("['a' 'b'\n 'c']") == ["a", "b", "c"]
    assert listed("array(['a', 'b'], dtype='<U1')") == ["a", "b"]
    assert listed("array(['a', \"b's\"], dtype=object)") == ["a", "b's"]


def test_documents_that_became_texts_are_passages() -> None:
    cell = """[Document(id='d1', metadata={'source': 'a.pdf', 'score': nan}, page_content="It's 8."), 'b']"""
    [one, other], as_text = fields.passages(cell)
    assert one is not None
    assert other is not None
    assert (one.id, one.text, one.meta, other.text, as_text) == ("d1", "It's 8.", {"source": "a.pdf"}, "b", False)


def test_backslashes_of_a_text_are_no_warning() -> None:
    assert listed("['C:\\data', 'x']") == ["C:\\data", "x"]


PASSAGES: list[tuple[Any, list[str | None]]] = [
    (["a", "b"], ["a", "b"]),
    (("a", "b"), ["a", "b"]),
    (np.array(["a", "b"]), ["a", "b"]),
    (pd.Series(["a", "b"]), ["a", "b"]),
    (["a", None, float("nan"), pd.NA], ["a", None, None, None]),
    (["", " "], ["", " "]),
    ([1, 2.5, True], ["1", "2.5", "true"]),
    ([{"text": "a"}, {"page_content": "b"}, {"content": "c"}, {"内容": "d"}], ["a", "b", "c", "d"]),
    ({"text": ["a", "b"], "id": ["1", "2"]}, ["a", "b"]),
    ({"text": "a"}, ["a"]),
    ({"d1": "a", "d2": "b"}, ["a", "b"]),
    (json.dumps([{"text": "a"}, "b"]), ["a", "b"]),
    (str([{"text": "a's"}, "b"]), ["a's", "b"]),
    ("one text", ["one text"]),
    (None, []),
    (float("nan"), []),
    (pd.NaT, []),
    ([], []),
    (7, None),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("value", "wanted"), PASSAGES)
def test_passages_in_every_form(value: Any, wanted: list[str | None] | None) -> None:
    if wanted is None:
        with pytest.raises(CellError, match="found a number; expected a list of texts, or of objects with a text"):
            fields.passages(value)
    else:
        assert told(value) == wanted


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([["a"]], "passage|found"),
        ([{"foo": 1}], "passage 1 has no text"),
        ([{"text": ["a"]}], "found a list; expected a text as passage 1"),
        ({"text": ["a"], "id": ["1", "2"]}, "different lengths"),
        ({"foo": 1}, "object without a text"),
        ([b"\xff"], "not UTF-8"),
    ],
)
def test_passages_that_are_none_say_what_is_wrong(value: Any, problem: str) -> None:
    with pytest.raises(CellError, match=problem):
        fields.passages(value)


def test_a_separator_parts_a_text_and_leaves_lists_alone() -> None:
    assert told("a || b||\n||c ", "||") == ["a", "b", "c"]
    assert told("['a || b']", "||") == ["a || b"]
    assert fields.passages("a b")[1]
    assert not fields.passages("a b", sep="||")[1]


def test_what_an_object_tells_of_a_passage_is_kept() -> None:
    [one], _ = fields.passages(
        [{"doc_id": 7, "text": "a", "title": "T", "score": 0.5, "metadata": {"source": "x.pdf", "page": 3, "v": [1]}}]
    )
    assert one is not None
    assert (one.id, one.text, one.title, one.score, one.meta) == ("7", "a", "T", 0.5, {"source": "x.pdf", "page": 3})
    [hit], _ = fields.passages([{"document": {"id": "d", "content": "b"}, "score": 1}])
    assert hit is not None
    assert (hit.id, hit.text, hit.score) == ("d", "b", 1.0)
    [node], _ = fields.passages([{"node": {"text": "c", "id_": "n"}, "score": None}])
    assert node is not None
    assert node.text == "c"
    [named], _ = fields.passages([{"id": "only"}])
    assert named is not None
    assert (named.id, named.text) == ("only", "")


@dataclass
class Document:
    """As LangChain has them."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


def test_documents_of_a_library_are_passages() -> None:
    [one], _ = fields.passages([Document("a", {"id": "d1", "source": "s"})])
    assert one is not None
    assert (one.id, one.text, one.meta) == ("d1", "a", {"source": "s"})


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("a", (("a",),)),
        (" a ", ((" a ",),)),
        (["a", "b", "a"], (("a", "b"),)),
        ([["a", "b"], ["c"]], (("a", "b"), ("c",))),
        (["a", ["b", "c"]], (("a",), ("b", "c"))),
        ("['Ann', 'Anne']", (("Ann", "Anne"),)),
        ('[["a"], ["b"]]', (("a",), ("b",))),
        ("[1, 2]", (("[1, 2]",),)),
        ("[note] yes", (("[note] yes",),)),
        ("None", (("None",),)),
        (5, (("5",),)),
        (5.0, (("5",),)),
        (0.1, (("0.1",),)),
        (True, (("true",),)),
        ([2015, 2016], (("2015", "2016"),)),
        ({"text": ["a", "b"], "answer_start": [1, 2]}, (("a", "b"),)),
        ({"value": "a", "aliases": ["b"]}, (("a", "b"),)),
        (np.array(["a", "b"]), (("a", "b"),)),
        ("", ()),
        ("  ", ()),
        ([], ()),
        ([""], ()),
        ([None, "a"], (("a",),)),
        (None, ()),
        (float("nan"), ()),
        (pd.NA, ()),
    ],
)
def test_references_in_every_form(value: Any, wanted: tuple[tuple[str, ...], ...]) -> None:
    assert fields.references(value) == wanted


def test_a_reference_that_is_none_of_these_is_told() -> None:
    with pytest.raises(CellError, match="found an object; expected a text, a list of aliases, or a list of slots"):
        fields.references({"foo": 1})
    with pytest.raises(CellError, match="found an object; expected a text"):
        fields.references([{"foo": 1}])


def test_ids_in_every_form() -> None:
    assert fields.ids(["a", 1, 2.0]) == ["a", "1", "2"]
    assert fields.ids("['a', 'b']") == ["a", "b"]
    assert fields.ids("a, b;c") == ["a", "b", "c"]
    assert fields.ids("a, b // c", sep="//") == ["a, b", "c"]
    assert fields.ids(7) == ["7"]
    assert fields.ids(None) == fields.ids("") == []


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("en", "en"), ("EN-us", "en"), ("English", "en"), ("英文", "en"), ("zh", "zh"), ("zh_CN", "zh"), ("Chinese", "zh"),
     ("中文", "zh"), ("简体中文", "zh"), ("fr", ""), ("", None), (None, None), (float("nan"), None)],
)  # fmt: skip
def test_languages_by_their_names(value: Any, wanted: str | None) -> None:
    assert fields.language(value) == wanted


SAID = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi."},
    {"role": "tool", "content": "{}"},
    {"role": "user", "content": [{"type": "text", "text": "When?"}]},
]


@pytest.mark.parametrize("value", [SAID, json.dumps(SAID), str(SAID)], ids=["list", "json", "repr"])
def test_the_users_last_message_is_the_question(value: Any) -> None:
    found = fields.conversation(value)
    assert (found.question, found.reply, found.tools) == ("When?", None, 1)
    assert found.history == (Turn("system", "Be brief."), Turn("user", "Hello"), Turn("assistant", "Hi."))


def test_ragas_messages_and_a_reply_at_the_end() -> None:
    found = fields.conversation([{"type": "human", "content": "When?"}, {"type": "ai", "content": "At 8."}])
    assert (found.question, found.history, found.reply) == ("When?", (), "At 8.")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([{"role": "assistant", "content": "x"}], "no message is the user's"),
        ([{"role": "boss", "content": "x"}], "message 1 is of the role 'boss'; expected user, assistant or system"),
        (["x"], "message 1 is a text; expected an object"),
        ([{"role": "user", "content": {}}], "as the content of message 1"),
        ({"a": 1}, "found an object; expected the question"),
        (5, "found a number; expected the question"),
        (np.float64(0.5), "found a number; expected the question"),
        (True, "found true or false; expected the question"),
        ([], "no message is the user's"),
    ],
)
def test_conversations_that_are_none_say_why(value: Any, problem: str) -> None:
    with pytest.raises(CellError, match=problem):
        fields.conversation(value)


def test_values_of_other_libraries_are_pythons_own() -> None:
    assert plain(np.int64(3)) == 3
    assert type(plain(np.str_("a"))) is str
    assert type(scalar(np.float64(0.5))) is float
    assert scalar(np.bool_(True)) is True
    assert plain(datetime(2025, 1, 2, 3, tzinfo=UTC)) == "2025-01-02T03:00:00+00:00"
    assert plain(date(2025, 1, 2)) == plain(pd.Timestamp("2025-01-02")) == "2025-01-02"
    assert plain(Decimal("1.50")) == 1.5
    assert (plain(Decimal(2)), plain(Decimal("NaN"))) == (2, None)
    assert plain(timedelta(seconds=1)) == "0:00:01"
    assert plain(b"caf\xc3\xa9") == "café"
    assert all(map(is_missing, (None, float("nan"), np.nan, pd.NA, pd.NaT, plain(np.float32("nan")))))
    assert scalar(float("inf")) is None
    assert scalar([1]) is None


def test_numbers_become_the_texts_that_people_wrote() -> None:
    assert [text(value, "x") for value in (5, 5.0, 0.1, 1e300, False, None)] == [
        "5", "5", "0.1", "1e+300", "false", None
    ]  # fmt: skip
    assert (text(10**5000, "x") or "").startswith("0x")
    with pytest.raises(CellError, match="found a list; expected the answer"):
        text([], "the answer")


@given(st.text(), st.text())
def test_passages_with_equal_texts_have_equal_ids(one: str, other: str) -> None:
    assert fields.passage_id(one) == fields.passage_id(f" {one}\n")
    assert (fields.passage_id(one) == fields.passage_id(other)) == (one.split() == other.split())
