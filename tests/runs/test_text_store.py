"""A long text of a passage is in the run file once, and nobody who reads the run can tell."""

import json
import random
import sqlite3
import tracemalloc
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs.doubles import Echo, Length, case, new_file, records

from ragstone.errors import DataError, RunMismatch, UsageError
from ragstone.runs import open_run, run_cases
from ragstone.runs.schema import LAYOUT, decode_fast
from ragstone.runs.text_store import LARGEST_PACK, SHORTEST, intern, load, references, unpacked
from ragstone.storage import connect
from ragstone.structs import to_json
from ragstone.types import Case, Passage, Query, Response, Sample, Step

LONG = '河边的磨坊 \ud800 \0 "quoted" \\' + "the mill by the river " * 40
BOMB = zlib.compress(f'["{"x" * LARGEST_PACK}"]'.encode()).hex()
LIKE_A_REFERENCE = "texts:3:" + "0" * 24


def chunk(number: int, text: str = LONG) -> Passage:
    return Passage(f"doc-{number}", f"{number} {text}", meta={"text": text, "n": [number]})


def sweep(count: int, chunks: int = 3, text: str = LONG) -> list[Case]:
    """Cases that share a few chunks, some of them short and some that look like a reference."""
    found = []
    for number in range(count):
        passages = (chunk(number % chunks, text), Passage("short", "A short text."), Passage("odd", LIKE_A_REFERENCE))
        sample = Sample(f"q-{number}", f"Question {number}?", passages=passages[:1])
        found.append(Case(f"{number:05d}", sample, {"k": 3}, Query(f"Question {number}?", passages)))
    return found


@dataclass
class Retrieving(Echo):
    """Answers with passages that it found itself, in its response and in a step."""

    async def answer(self, query: Query, /) -> Response:
        answer = await super().answer(query)
        passages = (chunk(len(self.asked) % 3), chunk(7))
        return Response(answer.answer, passages, steps=(Step("retrieve", {"text": LONG}, to_plain(passages)),))


def to_plain(value: Any) -> Any:
    return json.loads(to_json(value))


def tables(path: Path) -> Mapping[str, list[tuple[Any, ...]]]:
    connection = sqlite3.connect(path)
    found = {
        name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in ("cases", "records", "texts", "packs")
    }
    connection.close()
    return found


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.text(min_size=1, max_size=4).map(lambda text: text * SHORTEST)
    | st.just(LIKE_A_REFERENCE),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["text", 'a"text', "\\", "text\\", "x"]), inner),
    max_leaves=12,
)


@given(json_values)
def test_what_is_taken_out_of_any_json_comes_back(value: Any) -> None:
    texts: dict[str, str] = {}
    payload = intern(to_json(value), texts, {})
    assert references(payload).keys() == texts.keys()
    assert {digest: len(text) for digest, text in texts.items()} == references(payload)
    json.loads(payload)
    assert to_json(load(payload, {digest: json.loads(text) for digest, text in texts.items()})) == to_json(value)


@pytest.mark.parametrize(
    "text", ['"' * 300, "\\" * 301, '\\"' * 300, "字" * 100, "x" * 199 + "\\", '","text":"' * 50, "\ud800" * 60]
)
def test_a_long_text_is_taken_out_whole_whatever_its_quotes(text: str) -> None:
    texts: dict[str, str] = {}
    payload = intern(to_json([{"text": text, "title": text}, {"text": text}]), texts, {})
    assert [json.loads(held) for held in texts.values()] == [text]
    assert len(references(payload)) == 1
    assert to_json(text) in payload, "a title stays where it is"


def test_a_short_text_stays_where_it_is() -> None:
    texts: dict[str, str] = {}
    for text in ("", "x", "x" * SHORTEST, "text", "字" * (SHORTEST // 6)):
        payload = to_json({"text": text})
        assert intern(payload, texts, {}) == payload
    assert texts == {}
    intern(to_json({"text": "x" * (SHORTEST + 1)}), texts, {})
    assert len(texts) == 1


def test_texts_of_stages_and_notes_are_read_as_fast_as_those_of_passages() -> None:
    stages = (
        Step("fetch", "A pump?", to_plain((chunk(1), chunk(2)))),
        Step("prompt", {"text": LONG.replace("\ud800", "")}),
    )
    response = Response("The mill.", (Passage("1", "the mill " * 40),), stages)
    response = json.loads(to_json(response).replace("\\ud800", ""))
    texts: dict[str, str] = {}
    payload = intern(to_json(response), texts, {})
    known = {digest: json.loads(text) for digest, text in texts.items()}
    assert len(known) == 4
    assert "the mill by" not in payload
    assert to_plain(decode_fast(payload, Response, known)) == response


async def test_a_text_that_many_cases_and_responses_hold_is_in_the_file_once(tmp_path: Path) -> None:
    path, system = tmp_path / "a.run", Retrieving()
    with new_file(path, system) as file:
        await run_cases(file, lambda: sweep(60), systems=[system], metrics=[Length()])
    found = tables(path)
    texts = [text for _, pack in found["packs"] for text in unpacked(pack)]
    wanted = {f"{number} {LONG}" for number in (0, 1, 2, 7)} | {LONG, LIKE_A_REFERENCE}
    assert len(texts) == len(found["texts"]) == len(wanted)
    assert set(texts) == wanted
    assert "the river the mill" not in str(found["cases"] + found["records"])
    assert [record.case for record in records(path)] == sweep(60)
    for record in records(path):
        assert record.response is not None
        assert record.response.passages[1] == chunk(7)
        assert record.response.steps[0].input == {"text": LONG}
        assert record.response.steps[0].output == to_plain(record.response.passages)


async def test_a_run_that_goes_on_knows_its_cases_and_answers_again(tmp_path: Path) -> None:
    path, system = tmp_path / "a.run", Retrieving()
    with new_file(path, system) as file:
        await run_cases(file, lambda: sweep(20), systems=[system], metrics=[])
    given = list[Response]()

    @dataclass(frozen=True)
    class Sees(Length):
        def score(self, case: Case, response: Response, /) -> Any:
            given.append(response)
            return super().score(case, response)

    with new_file(path, system) as file:
        outcome = await run_cases(file, lambda: sweep(30), systems=[system], metrics=[Sees()])
    assert (outcome.already, outcome.asked, outcome.done) == (0, 10, 30)
    assert len(system.asked) == 30
    assert sorted(map(to_json, given)) == sorted(to_json(record.response) for record in records(path))
    assert len(tables(path)["texts"]) == 6


async def test_a_changed_passage_is_refused_with_the_difference_in_words(tmp_path: Path) -> None:
    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(file, lambda: sweep(3), systems=[echo], metrics=[])
    with new_file(path, echo) as file, pytest.raises(RunMismatch) as caught:
        await run_cases(file, lambda: sweep(3, text=LONG + "sank"), systems=[echo], metrics=[])
    old, new = caught.value.differences["cases.00000.query.passages.0.text"]
    assert "sank" in str(new)
    assert "sank" not in str(old)
    assert "texts:" not in str(caught.value)


async def test_records_share_one_text_in_memory(tmp_path: Path) -> None:
    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(file, lambda: sweep(300, 1), systems=[echo], metrics=[])
    texts = [(record.case.query.passages or ())[0].text for record in records(path)]
    assert len(texts) == 300
    assert len(set(map(id, texts))) == 1


async def test_a_page_is_as_large_as_its_texts(tmp_path: Path) -> None:
    """Rows of references are short, and the texts behind them are not: what is read at one go stays bounded."""
    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(
            file, lambda: (case(number, text="x" * 500_000) for number in range(80)), systems=[echo], metrics=[]
        )
    tracemalloc.start()
    with open_run(path) as run:
        assert sum(1 for _ in run.records()) == 80
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6


async def test_a_run_of_an_older_format_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    new_file(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=2")
    connection.close()
    before = path.read_bytes()
    for write in (False, True):
        with pytest.raises(UsageError, match=r"run file of an older ragstone \(format 2.*Use a new file"):
            connect(path, LAYOUT, write=write)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM texts", "DELETE FROM packs", "UPDATE packs SET texts = '['", "UPDATE packs SET texts = '[]'",
        "UPDATE packs SET texts = substr(texts, 1, 9)", "UPDATE packs SET texts = x'00'",
        f"UPDATE packs SET texts = x'{BOMB}'",
    ],
)  # fmt: skip
async def test_a_lost_text_is_one_line_that_names_the_case(tmp_path: Path, damage: str) -> None:
    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(file, lambda: sweep(2), systems=[echo], metrics=[])
    connection = sqlite3.connect(path)
    connection.execute(damage)
    connection.commit()
    connection.close()
    with pytest.raises(DataError, match=r"the file is damaged: case '00000' cannot be read .the text .* is missing"):
        records(path)


async def test_texts_are_compressed(tmp_path: Path) -> None:
    path, echo, draw = tmp_path / "a.run", Echo(), random.Random(5)
    words = ["".join(draw.choices("etaoinshrdlu", k=6)) for _ in range(4_000)]
    texts = [" ".join(draw.choices(words, k=100)) for _ in range(200)]
    with new_file(path, echo) as file:
        await run_cases(
            file, lambda: (case(number, text=text) for number, text in enumerate(texts)), systems=[echo], metrics=[]
        )
    assert sum(len(pack) for _, pack in tables(path)["packs"]) < 0.75 * sum(map(len, texts))
    assert [text for _, pack in tables(path)["packs"] for text in unpacked(pack)] == [
        f"{text} {number}" for number, text in enumerate(texts)
    ]


async def test_a_shared_text_costs_its_reference(tmp_path: Path) -> None:
    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(file, lambda: sweep(400, 4, "x" * 20_000), systems=[echo], metrics=[])
    assert path.stat().st_size < 1_000_000
