"""Test questions from documents: by rules end to end, resumed, extended, and each gate with an item that it catches."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragstone.construction.build_questions import build_questions, build_questions_async
from ragstone.construction.builders.passes import distinct
from ragstone.construction.builders.questions.items import Draft, Fact, types_of
from ragstone.construction.builders.questions.pipeline import QuestionSettings, questions_pipeline
from ragstone.construction.builders.template_model import TemplateModel
from ragstone.construction.construction import construct
from ragstone.construction.construction_estimate import expected
from ragstone.engine.execute import RunOptions
from ragstone.errors import UnknownName, UsageError
from ragstone.models.scripted import Scripted
from ragstone.types import Completion, Passage, Request

PLACES = ("Arden", "Brill", "Corvin", "Dunmore", "Elsted", "Farrow", "Gilden", "Harrow")


ALL = "; ".join(f"{310 + 7 * number} metres" for number in range(24))


def place(number: int) -> str:
    return f"{PLACES[number % 8]} {'East' if number < 8 else 'West' if number < 16 else 'North'}"


def documents(count: int = 24) -> list[Passage]:
    """Chunks with one fact each, none of which another one states."""
    return [
        Passage(
            f"doc{number}#1",
            f"The tower of {place(number)} was finished late. It is {310 + 7 * number} metres tall.",
            title=f"Tower {place(number)}",
            meta={"document": f"doc{number}"},
        )
        for number in range(count)
    ]


def changed(**rules: Any) -> Scripted:
    """`local/template` whose replies to some steps a rule (shown, reply) → reply changes."""
    template = TemplateModel()

    async def script(request: Request) -> Completion:
        request = replace(request, messages=tuple(turn for turn in request.messages if turn.content[:1] == "{"))
        if request.messages[-1].role == "assistant":  # asked again
            request = replace(request, messages=request.messages[:-1])
        completion = await template.generate(request)
        rule = rules.get(request.schema_name)
        if rule is None:
            return completion
        shown = json.loads(request.messages[-1].content)
        return replace(completion, text=json.dumps(rule(shown, json.loads(completion.text))))

    return Scripted(script, id="scripted/changed")


def reasons(tmp_path: Path, settings: QuestionSettings | None = None, **rules: Any) -> Mapping[str, int]:
    """How many items of a construction with these replies were rejected, by reason."""
    found: dict[str, int] = {}
    pipeline = questions_pipeline(documents(), settings or QuestionSettings(10, {"single": 1.0}))
    done = asyncio.run(
        construct(
            pipeline, dict.fromkeys(("writer", "checker"), changed(**rules)), how=RunOptions(run=tmp_path / "b.run")
        )
    )
    assert done.complete
    for item in done.state.rejected:
        found[item.reason] = found.get(item.reason, 0) + 1
    return {**found, "accepted": len(done.state.items)}


def test_good_questions_pass_all_gates(tmp_path: Path) -> None:
    assert reasons(tmp_path)["accepted"] == 10


@pytest.mark.parametrize(
    ("reason", "rules"),
    [
        ("evidence_not_in_text", {"facts": lambda _, r: {"facts": [{**f, "evidence": "No one"} for f in r["facts"]]}}),
        ("value_not_in_evidence", {"facts": lambda _, r: {"facts": [{**f, "value": "9 miles"} for f in r["facts"]]}}),
        ("incomplete_fact", {"facts": lambda _, r: {"facts": [{**f, "subject": " "} for f in r["facts"]]}}),
        ("same_fact", {"facts": lambda _, r: {"facts": [*r["facts"], *r["facts"]]}}),
        ("answer_in_question", {"question": lambda s, r: {**r, "question": f"Is it {s['facts'][0]['value']}?"}}),
        ("answer_not_in_evidence", {"question": lambda _, r: {**r, "answers": [["9 miles"]]}}),
        ("wrong_number_of_answers", {"question": lambda _, r: {**r, "answers": []}}),
        ("near_duplicate", {"question": lambda _, r: {**r, "question": "How tall is the tower that was finished?"}}),
        ("not_answerable_from_gold", {"read": lambda s, r: {"answer": "", "found": False}}),
        ("known_without_documents", {"read": lambda s, r: r if s["passages"] else {"answer": ALL, "found": True}}),
        ("evidence_not_needed", {"read": lambda s, r: {"answer": ALL, "found": True} if _cut(s) else r}),
        ("ambiguous", {"read": lambda s, r: {"answer": "3", "found": True} if "“" in s["question"] else r}),
        ("no_usable_reply", {"question": lambda _, r: {"question": ""}}),
    ],
)  # fmt: skip
def test_a_gate_catches_its_kind(tmp_path: Path, reason: str, rules: dict[str, Any]) -> None:
    found = reasons(tmp_path, **rules)
    assert found.get(reason), found
    assert found["accepted"] < 10 or reason == "same_fact"


def _cut(shown: Mapping[str, Any]) -> bool:
    return any("…" in text for text in shown["passages"].values())


def test_another_passage_that_answers_becomes_gold(tmp_path: Path) -> None:
    other = Passage("copy#1", "In short: the tower of Brill East is 317 metres tall, and 317 metres it stays.")
    pipeline = questions_pipeline([*documents(4), other], QuestionSettings(4, {"single": 1.0}))

    def answering(shown: Mapping[str, Any], reply: Any) -> Any:
        numbers = [int(n) for n, text in shown["passages"].items() if shown["answer"][0] in text]
        return {"passages": numbers}

    models: Any = dict.fromkeys(("writer", "checker"), changed(answering=answering))
    done = asyncio.run(construct(pipeline, models, how=RunOptions(run=tmp_path / "b.run")))
    gold = {draft.references[0][0]: [passage.id for passage in draft.gold] for draft in done.state.items}
    assert gold["317 metres"] == ["doc1#1", "copy#1"]
    assert gold["310 metres"] == ["doc0#1"]


def test_an_unanswerable_question_that_another_passage_answers_is_dropped(tmp_path: Path) -> None:
    settings = QuestionSettings(5, {"unanswerable": 1.0})
    blank = {"question": lambda s, r: {**r, "question": f"Who built {s['facts'][0]['subject']}?", "answers": []}}
    good = reasons(tmp_path / "a", settings, **blank)
    assert good["accepted"] == 5
    bad = reasons(tmp_path / "b", settings, **blank, answering=lambda s, r: {"passages": [1]})
    assert bad["accepted"] == 0
    assert bad["answerable_elsewhere"] == 24  # while questions are missing, the next fact is tried


def test_what_a_reader_declines_is_not_answered_whatever_it_says(tmp_path: Path) -> None:
    found = reasons(tmp_path, read=lambda s, r: {**r, "found": False})
    assert found["not_answerable_from_gold"] == 24  # of every fact


def test_questions_known_by_heart_can_be_marked_instead_of_dropped(tmp_path: Path) -> None:
    rules = {"read": lambda s, r: r if s["passages"] else {"answer": ALL, "found": True}}
    models: Any = dict.fromkeys(("writer", "checker"), changed(**rules))
    pipeline = questions_pipeline(documents(), QuestionSettings(10, {"single": 1.0}, contaminated="mark"))
    done = asyncio.run(construct(pipeline, models, how=RunOptions(run=tmp_path / "b.run")))
    assert [draft.marks for draft in done.state.items] == [("contaminated",)] * 10


def test_only_texts_that_share_most_of_their_words_are_near_duplicates() -> None:
    def text(number: int, changed: int) -> str:
        return " ".join(f"w{number}x{place}{'y' * (place < changed)}" for place in range(40))

    kept, repeated = distinct([text(n, c) for n in range(60) for c in (0, 1, 7)], str)
    assert len(repeated) == 60  # one word of 40: 37 of 39 runs of three words are the same
    assert len(kept) == 120  # seven words at one end: 31 of 45


def test_the_same_command_asks_nothing_again_and_a_larger_size_goes_on(tmp_path: Path) -> None:
    model = changed()
    models: Any = dict.fromkeys(("writer", "checker"), model)
    chunks, path = documents(), tmp_path / "b.run"

    def build(size: int) -> list[str]:
        pipeline = questions_pipeline(chunks, QuestionSettings(size, {"single": 1.0}))
        return [draft.id for draft in asyncio.run(construct(pipeline, models, how=RunOptions(run=path))).state.items]

    small = build(5)
    asked = len(model.requests)
    assert build(5) == small
    assert len(model.requests) == asked
    large = build(10)
    assert large[:5] == small
    assert len(large) == 10


def test_a_changed_document_changes_only_its_questions(tmp_path: Path) -> None:
    model, chunks, path = changed(), documents(8), tmp_path / "b.run"
    models: Any = dict.fromkeys(("writer", "checker"), model)

    def build() -> dict[str, str]:
        pipeline = questions_pipeline(chunks, QuestionSettings(16, {"single": 1.0}))
        state = asyncio.run(construct(pipeline, models, how=RunOptions(run=path))).state
        return {f"{draft.facts[0].document} {draft.facts[0].attribute}": draft.id for draft in state.items}

    before, asked = build(), len(model.requests)
    chunks[3] = replace(chunks[3], text=chunks[3].text.replace("331", "335"))
    after = build()
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == {name for name in before if "doc3" in name}
    again = [request.schema_name for request in model.requests[asked:]]
    assert again.count("facts") == again.count("question") == again.count("paraphrase") == 1
    assert len(again) < asked / 2


def test_the_dry_run_counts_what_the_run_then_asks(tmp_path: Path) -> None:
    model = changed()
    models: Any = dict.fromkeys(("writer", "checker"), model)
    pipeline = questions_pipeline(documents(), QuestionSettings(10, {"single": 1.0}))
    planned = asyncio.run(expected(pipeline, models))
    asyncio.run(construct(pipeline, models, how=RunOptions(run=tmp_path / "b.run")))
    assert planned.total("likely").requests == len(model.requests)
    assert planned.total("least").requests <= len(model.requests) <= planned.total("most").requests
    left = asyncio.run(expected(pipeline, models, tmp_path / "b.run"))
    assert left.total("most").requests == 0


def test_the_handbook_becomes_a_test_set_by_rules(tmp_path: Path) -> None:
    built = build_questions("examples/handbook/docs", tmp_path / "set", "local/template", size=30)
    assert built.questions is not None
    rows = [json.loads(line) for line in built.questions.read_text("utf-8").splitlines()]
    assert len(rows) == built.accepted >= 20
    assert {row["language"] for row in rows} == {"en", "zh"}
    covered = {row.cells[0].text: row.cells[1] for row in built.tables(language="en")[2].rows}
    assert covered["documents"].total == 40
    assert covered["documents"].scored == len({name for row in rows for name in row["document"].split("; ")})
    assert 0 < (covered["facts"].scored or 0) < (covered["facts"].total or 0)
    for row in rows:
        assert any(row["reference"][0][0] in one["text"] for one in row["evidence"])
        assert row["document"].startswith(f"{row['language']}/")
    rejected = [json.loads(line) for line in (tmp_path / "set" / "rejected.jsonl").read_text("utf-8").splitlines()]
    assert {row["reason"] for row in rejected} >= {"wrong_number_of_answers"}
    assert {row["type"] for row in rows} <= {"single", "several", "follow_up", "two_in_one", "time"}  # what rules word
    for language, word in (("en", "a smoke test"), ("zh", "仅供试跑")):
        assert word in " ".join(note for table in built.tables(language=language) for note in table.notes)


async def test_a_built_set_is_asked_and_diagnosed_at_once(tmp_path: Path) -> None:
    import ragstone

    built = await build_questions_async("examples/handbook/docs/en", tmp_path / "set", size=8, types={"single": 1})
    assert built.questions is not None
    system = "rag(retriever=bm25,model=local/extractive,k=3)"
    documents = "examples/handbook/docs/en"
    result = await ragstone.diagnose_async(built.questions, system, corpus=documents, run=tmp_path / "d.run")
    assert result.outcome.complete
    assert {item.found for item in result.questions} == {"labels"}


def questions_of(path: Path | None) -> list[str]:
    assert path is not None
    return [json.loads(line)["question"] for line in path.read_text("utf-8").splitlines()]


def test_an_extended_set_keeps_the_old_questions_and_repeats_none(tmp_path: Path) -> None:
    first = build_questions("examples/handbook/docs/en", tmp_path / "a", size=5, types={"single": 1})
    second = build_questions(
        "examples/handbook/docs", tmp_path / "b", size=12, types={"single": 1}, extend=tmp_path / "a"
    )
    old, new = (questions_of(built.questions) for built in (first, second))
    assert new[: len(old)] == old
    assert len(set(new)) == len(new) > len(old)


def test_a_retriever_that_does_not_exist_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    model = changed()
    with pytest.raises(UnknownName, match="retriever"):
        build_questions("examples/handbook/docs/en", tmp_path / "a", model, size=5, retriever="nosuch")
    assert not model.requests


def test_unknown_types_and_styles_are_one_line() -> None:
    with pytest.raises(UnknownName, match="question type"):
        types_of({"singel": 1})
    with pytest.raises(UsageError, match="sum to 0"):
        types_of({"single": 0})
    with pytest.raises(UnknownName, match="style"):
        QuestionSettings(styles=("loud",)).check()


def test_every_type_finds_its_groups_of_facts() -> None:
    from ragstone.construction.builders.questions.selection import SelectFacts

    chunks = {name: Passage(f"{name}#1", "…", meta={"document": name}) for name in "abc"}
    facts = [
        Fact("1", chunks["a"], "Heron", "price", "389 euros", "It costs 389 euros.", language="en"),
        Fact("2", chunks["a"], "Heron", "maker", "Larkfield", "It is made by Larkfield.", language="en"),
        Fact("3", chunks["b"], "Larkfield", "seat", "Odense", "Its seat is Odense.", language="en"),
        Fact("4", chunks["b"], "Osprey", "price", "90 euros", "| Osprey | 90 euros |", language="en"),
        Fact("5", chunks["c"], "Heron", "price", "459 euros", "From May 459 euros.", "May", language="en"),
        Fact("6", chunks["c"], "Heron", "price", "400 euros", "It costs 400 euros.", language="en"),
    ]
    shares = types_of(None)
    drafts, _ = asyncio.run(SelectFacts(200, 200, shares, again=True).finish(facts, {}, None))  # type: ignore[arg-type]
    found: dict[str, set[tuple[str, ...]]] = {name: set() for name in shares}
    for draft in drafts:
        assert isinstance(draft, Draft)
        found[draft.type].add(tuple(fact.id for fact in draft.facts))
    assert found["bridge"] == {("2", "3")}
    assert found["comparison"] >= {("1", "4"), ("4", "6")}
    assert found["time"] == {("1", "5"), ("6", "5")}  # the second value says its time
    assert found["contradiction"] == {("1", "6")}
    assert found["table"] == {("4",)}
    assert ("1", "2") in found["several"]
    assert all(found.values())
