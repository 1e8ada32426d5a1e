"""What data and models may throw at a run: each is a round trip or one clear line, and never the end of other cases."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import examples
from tests.runs.doubles import QUESTION, Echo, Length, case, new_file, records

from ragstone.errors import UsageError
from ragstone.runs import RunFile, open_run, run_cases
from ragstone.runs.schema import key_of, text_of
from ragstone.types import Case, Passage, Query, Response, Sample, Step

HOSTILE = {
    "lone surrogates": "\ud800 and \udfff",
    "NUL": "a\0b\0",
    "line separators": "\u2028\u2029\x85\r\n\v\f",
    "directions and joiners": "\u202e\u200d\ufeff",
    "markup": "<script>alert(1)</script>]]>&amp;--'\"",
    "SQL": "'); DROP TABLE records; --",
    "10 MB": "x" * 10_000_000,
    "10 MB of Chinese": "雪" * 3_400_000,
    "nothing": "",
}


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


class Says(Echo):
    """Answers with what it is given."""

    response = Response("")

    async def answer(self, query: Query, /) -> Response:
        return self.response


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_any_text_makes_a_round_trip(tmp_path: Path, text: str) -> None:
    name = text[:1000]
    asked = Case(
        f"id {name}",
        Sample(name, name, references=((name,),), meta={name: name}),
        {"name": name},
        Query(name, (Passage(name, text, title=name, meta={"k": name}),)),
        name,
    )
    system = Says(f"system {name}")
    system.response = Response(text, steps=(Step(name, input=name, output={"k": name}),), reasoning=name, model=name)
    question = {**QUESTION, f"k{name}": name}
    with new_file(tmp_path / "a.run", system, question=question, note=name) as file:
        outcome = await run_cases(file, lambda: [asked], systems=[system], metrics=[Length()])
    assert outcome.complete
    with open_run(tmp_path / "a.run") as run:
        assert run.meta == {"question": question, "note": name}
        assert list(run.systems) == [system.id]
        (record,) = run.records(system=system.id)
    # How a case was grouped for the asking is no part of what was asked.
    assert (record.system_id, record.case, record.response) == (system.id, replace(asked, lane=""), system.response)
    with new_file(tmp_path / "a.run", system, question=question, note=name) as file:
        assert (await run_cases(file, lambda: [asked], systems=[system], metrics=[Length()])).already == 1


async def test_the_two_halves_of_a_character_are_the_character(tmp_path: Path) -> None:
    halves = "\ud83d" + "\ude00"  # as JSON writes it, and so not told apart by anything that reads JSON
    echo = Echo(f"system {halves}")
    for _ in range(2):
        with new_file(tmp_path / "a.run", echo, question={"k": halves}) as file:
            await run_cases(file, lambda: [case(1, text=halves)], systems=[echo], metrics=[])
    (record,) = records(tmp_path / "a.run")
    assert record.system_id == "system \U0001f600"
    assert len(echo.asked) == 1


async def test_text_in_an_error_makes_a_round_trip(tmp_path: Path) -> None:
    echo = Echo(fails=lambda _: ValueError("\ud800 \0 \u2028 end"))
    with new_file(tmp_path / "a.run", echo) as file:
        await run_cases(file, lambda: [case(1)], systems=[echo], metrics=[])
    assert [record.error for record in records(tmp_path / "a.run")] == ["value_error: \ud800 \0 end"]


@pytest.mark.parametrize(
    ("output", "said"),
    [(nested(100_000), "recursion_error"), (float("nan"), "not JSON compliant"), (object(), "type_error")],
    ids=["100,000 deep", "NaN", "no JSON"],
)
async def test_a_response_that_cannot_be_written_is_a_failed_case(tmp_path: Path, output: Any, said: str) -> None:
    good, bad = Says("good"), Says("bad")
    bad.response = Response("fine", steps=(Step("model", output=output),))
    with new_file(tmp_path / "a.run", good, bad) as file:
        outcome = await run_cases(file, lambda: [case(1)], systems=[good, bad], metrics=[Length()])
    assert (outcome.done, outcome.failed) == (1, 1)
    error = records(tmp_path / "a.run")[0].error
    assert error is not None
    assert error.startswith("unstorable: ")
    assert said in error
    assert len(error) < 300


@pytest.mark.parametrize(
    "value", [nested(100_000), float("nan"), float("inf")], ids=["100,000 deep", "NaN", "infinity"]
)
async def test_a_case_that_cannot_be_written_is_named(tmp_path: Path, value: Any) -> None:
    bad = Case("noise/17", Sample("17", "Why?", meta={"value": value}), {}, Query("Why?"))
    echo = Echo()
    with new_file(tmp_path / "a.run", echo) as file:
        with pytest.raises(UsageError, match="Case 'noise/17' cannot be written as JSON") as caught:
            await run_cases(file, lambda: [case(1), bad], systems=[echo], metrics=[])
        assert len(str(caught.value).splitlines()) == 1
        assert (await run_cases(file, lambda: [case(1)], systems=[echo], metrics=[])).complete
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        new_file(tmp_path / "a.run", echo, question={"value": value})


def test_odd_names_of_systems_touch_no_other_file(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    names = ["../../etc/passwd", "/root", "a/../b", "nul\0", "con", "*?[", "~", "$HOME", "\ud800"]
    with RunFile.create_or_open(folder / "a.run", question=QUESTION, info={}, systems={n: {"n": n} for n in names}):
        pass
    assert [file.name for file in tmp_path.rglob("*")] == ["runs", "a.run"]
    with open_run(folder / "a.run") as run:
        assert set(run.systems) == set(names)


@given(st.text(st.characters(), max_size=30), st.text(st.characters(), max_size=30))
@settings(max_examples=examples(300), deadline=None)
def test_keys_are_texts_to_sqlite_and_tell_ids_apart(one: str, other: str) -> None:
    assert text_of(key_of(one)) == one
    assert (key_of(one) == key_of(other)) == (one == other)
    assert "\0" not in key_of(one).encode().decode()
