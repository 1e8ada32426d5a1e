"""RGB files are read to the character, and what is wrong with one is told with its file, line and field."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.datasets.rgb import (
    NAMES,
    Kind,
    RGBRow,
    name_of,
    official_kind,
    read_rgb,
    read_row,
    rgb_files,
    rgb_set,
    row_to_json,
)  # fmt: skip
from ragstone.errors import DataError

SHARED = Path(__file__).parents[3] / "shared" / "data" / "rgb"
official_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the official RGB files are not beside the repository")

BASE: dict[str, Any] = {
    "id": 0,
    "query": "Who won?",
    "answer": ["Anna", ["7", "seven"]],
    "positive": ["Anna won by seven."],
    "negative": ["Ben lost."],
}
INTEGRATION = BASE | {"answer": ["Anna", "Ben"], "answer1": ["Anna"], "positive": [["Anna."], ["Ben.", "It was Ben."]]}
FACT = BASE | {"answer": "Anna", "fakeanswer": "Clara", "positive_wrong": ["Clara won."], "positive": ["Anna won."]}

texts = st.text(st.characters(exclude_categories=()), max_size=20)
filled = texts.filter(str.strip)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_base_row_is_read_as_it_stands(tmp_path: Path) -> None:
    data = read_rgb(write(tmp_path / "en.json", BASE))
    assert (data.name, data.language, data.kind) == ("en", "en", "base")
    assert data.rows == (
        RGBRow(0, "Who won?", (("Anna",), ("7", "seven")), (("Anna won by seven.",),), ("Ben lost.",)),
    )


def test_groups_and_false_answers_are_read(tmp_path: Path) -> None:
    whole = read_rgb(write(tmp_path / "zh_int.json", INTEGRATION))
    assert whole.kind == "integration"
    assert whole.rows[0].positive == (("Anna.",), ("Ben.", "It was Ben."))
    fact = read_rgb(write(tmp_path / "en_fact.json", FACT | {"fakeanswer": ["Clara", "Clare"]}))
    assert fact.kind == "counterfactual"
    assert (fact.rows[0].slots, fact.rows[0].fake) == ((("Anna",),), ("Clara", "Clare"))
    assert fact.rows[0].positive_wrong == ("Clara won.",)


@pytest.mark.parametrize(
    ("name", "row", "kind", "language"),
    [
        ("mine", BASE, "base", "en"),
        ("mine", INTEGRATION, "integration", "en"),
        ("mine", FACT, "counterfactual", "en"),
        ("mine", BASE | {"query": "谁赢了？"}, "base", "zh"),
        ("interest", BASE | {"query": "谁赢了？"}, "base", "zh"),  # "int" in a name of one's own says nothing
        ("my-zh-questions", BASE, "base", "zh"),
    ],
)
def test_kind_and_language_of_a_file_of_ones_own_follow_from_its_content(
    tmp_path: Path, name: str, row: dict[str, Any], kind: str, language: str
) -> None:
    data = read_rgb(write(tmp_path / f"{name}.jsonl", row))
    assert (data.kind, data.language) == (kind, language)


def test_the_name_is_the_files_up_to_the_first_dot() -> None:
    assert name_of("data/zh_int.head30.json") == "zh_int"
    kinds = Counter(official_kind(name) for name in NAMES)
    assert kinds == {"base": 4, "integration": 2, "counterfactual": 2}
    assert official_kind("mine_int") is None


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"id": None}, "id", "found null; expected a whole number or a text"),
        ({"id": True}, "id", "found true or false"),
        ({"id": 1.5}, "id", "found a number"),
        ({"query": " "}, "query", "found an empty text; expected the question"),
        ({"answer": []}, "answer", "found an empty list"),
        ({"answer": ["Anna", [1]]}, "answer", "found a number at index 1"),
        ({"answer": ["Anna", []]}, "answer", "the slot at index 1 is empty"),
        ({"answer": ""}, "answer", "found an empty text"),
        ({"positive": "Anna won."}, "positive", "found a text; expected a list of texts"),
        ({"positive": [["Anna won."]]}, "positive", "found a list at index 0; expected a list of texts"),
        ({"negative": ["x", None]}, "negative", "found null at index 1"),
        ({"kinds": ["rumour"]}, "kinds", "expected an object of texts"),
    ],
)
def test_a_wrong_field_is_told_with_file_line_and_what_was_expected(
    tmp_path: Path, change: dict[str, Any], field: str, says: str
) -> None:
    path = write(tmp_path / "en.json", BASE, BASE | {"id": 1} | change)
    with pytest.raises(DataError) as caught:
        read_rgb(path)
    assert (caught.value.path, caught.value.line, caught.value.field) == (str(path), 2, field)
    assert str(caught.value).startswith(f"{path}, line 2, field '{field}': ")
    assert says in str(caught.value)


@pytest.mark.parametrize("field", ["id", "query", "answer", "positive", "negative", "positive_wrong"])
def test_a_missing_field_is_told(tmp_path: Path, field: str) -> None:
    row = {key: value for key, value in FACT.items() if key != field}
    with pytest.raises(DataError, match="is missing; expected") as caught:
        read_rgb(write(tmp_path / "en_fact.json", row))
    assert caught.value.field == field


@pytest.mark.parametrize("positive", [["Anna."], [["Anna."], "Ben."], [["Anna.", 3]], "Anna."])
def test_an_integration_set_has_groups(tmp_path: Path, positive: object) -> None:
    with pytest.raises(DataError, match="expected a list of groups") as caught:
        read_rgb(write(tmp_path / "en_int.json", INTEGRATION | {"positive": positive}))
    assert caught.value.field == "positive"


def test_every_false_text_has_its_true_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 2 texts; expected as many as `positive` has \(1\)"):
        read_rgb(write(tmp_path / "en_fact.json", FACT | {"positive_wrong": ["Clara.", "It was Clara."]}))


def test_an_id_that_occurs_twice_is_told_with_both_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3, field 'id': 0 is the id of line 1 too"):
        read_rgb(write(tmp_path / "en.json", BASE, BASE | {"id": "0"}, BASE))


def test_broken_json_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "en.json"
    path.write_text(json.dumps(BASE) + "\n\n" + "[" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 3: nested too deeply"):
        read_rgb(path)
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no rows"):
        read_rgb(path)


def test_a_folder_may_hold_any_subset_and_other_files(tmp_path: Path) -> None:
    write(tmp_path / "zh_refine.json", BASE)
    write(tmp_path / "en.json", BASE)
    write(tmp_path / "mine.jsonl", BASE)
    write(tmp_path / "package.json", {"name": "x"})
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / ".hidden.json").write_text("{", encoding="utf-8")
    (tmp_path / "LICENSE.txt").write_text("…", encoding="utf-8")
    files = rgb_files(tmp_path)
    assert list(files) == ["en", "zh_refine", "mine"]
    assert read_rgb(files["mine"]).kind == "base"


def test_an_official_file_that_is_broken_is_never_passed_over(tmp_path: Path) -> None:
    (tmp_path / "en.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"en\.json, line 1: not JSON"):
        read_rgb(rgb_files(tmp_path)["en"])


def test_the_whole_file_comes_before_a_part_of_it_and_two_parts_are_refused(tmp_path: Path) -> None:
    for name in ("zh_int.head30.json", "zh_int.json", "zh_int.tail.json"):
        write(tmp_path / name, INTEGRATION)
    assert [path.name for path in rgb_files(tmp_path).values()] == ["zh_int.json"]
    (tmp_path / "zh_int.json").unlink()
    with pytest.raises(DataError, match=r"zh_int\.head30\.json has the name 'zh_int' too"):
        read_rgb(rgb_files(tmp_path)["en"])


def test_generated_and_read_sets_have_one_hash_however_the_file_is_written(tmp_path: Path) -> None:
    rows = [BASE | {"query": f"第{i}个问题 \ud800?", "id": i} for i in range(3)]
    plain = read_rgb(write(tmp_path / "en.json", *rows))
    other = tmp_path / "other" / "en.json"
    other.parent.mkdir()
    lines = [json.dumps(dict(reversed(row.items())), indent=None, separators=(" ,", " :")) for row in rows]
    other.write_text("\ufeff\n" + "\r\n\r\n".join(lines), encoding="utf-8")
    assert read_rgb(other) == plain == rgb_set("en", rows)
    changed = [*rows[:2], rows[2] | {"negative": ["Ben lost"]}]
    assert rgb_set("en", changed).sha256 != plain.sha256


slots = st.lists(st.lists(filled, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)
some_texts = st.lists(texts, max_size=3).map(tuple)


@settings(deadline=None)
@given(st.sampled_from(("base", "integration", "counterfactual")), st.data())
def test_writing_and_reading_a_row_gives_the_same_row(kind: Kind, data: st.DataObject) -> None:
    groups = data.draw(st.lists(some_texts, max_size=3).map(tuple) if kind == "integration" else st.tuples(some_texts))
    false = kind == "counterfactual"
    row = RGBRow(
        id=data.draw(st.integers() | texts),
        query=data.draw(filled),
        slots=data.draw(slots),
        positive=groups,
        negative=data.draw(some_texts),
        positive_wrong=tuple(reversed(groups[0])) if false else (),
        fake=data.draw(some_texts) if false else (),
        kinds=data.draw(st.dictionaries(texts, texts, max_size=2)),
    )
    written = json.loads(json.dumps(row_to_json(row, kind)))
    assert read_row(written, kind) == (row, [])


@official_data
@pytest.mark.parametrize(("name", "rows", "kind"), [
    ("zh_refine", 300, "base"), ("zh_int", 30, "integration"), ("en_fact", 100, "counterfactual"),
])  # fmt: skip
def test_the_official_files_are_read_whole_and_to_the_character(name: str, rows: int, kind: Kind) -> None:
    path = next(SHARED.glob(f"{name}.*json"))
    data = read_rgb(path)
    assert (data.name, data.kind, len(data.rows), data.language) == (name, kind, rows, name[:2])
    for line, row in zip(path.read_bytes().split(b"\n"), data.rows, strict=False):
        raw = json.loads(line)
        assert (row.id, row.query, list(row.negative)) == (raw["id"], raw["query"], raw["negative"])
        grouped = [list(group) for group in row.positive]
        assert grouped == (raw["positive"] if kind == "integration" else [raw["positive"]])
        assert list(row.positive_wrong) == raw.get("positive_wrong", [])
        answer = raw["answer"] if isinstance(raw["answer"], list) else [raw["answer"]]
        assert [list(slot) for slot in row.slots] == [s if isinstance(s, list) else [s] for s in answer]
        assert read_row(row_to_json(row, kind), kind)[0] == row


@official_data
def test_reading_leaves_the_file_alone() -> None:
    path = SHARED / "en_fact.json"
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_rgb(path) == read_rgb(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
