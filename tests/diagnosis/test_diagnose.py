"""`diagnose` names planted faults of a system, prices them, resumes, and asks no more than it needs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.diagnosis.planted import SIZE, Planted, documents, questions
from tests.evaluation.judging import scripted_judge

from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose
from ragstone.diagnosis.interventions.benchmark import Interventions
from ragstone.diagnosis.interventions.conditions import ASKED_AGAIN, CONDITIONS, ORDERED, SEARCHES
from ragstone.diagnosis.interventions.details import details
from ragstone.engine.gates import check_gates
from ragstone.errors import UsageError
from ragstone.report.named_run import named_run
from ragstone.runs import open_run
from ragstone.types import Passage, Query, Response

FAULTS = {
    "missing": "not_in_index",
    "stale": "stale",
    "lost": "filtered",
    "rewriter": "rewriting",
    "reranker": "reranking",
    "k": "k_too_small",
    "last": "ranking",
    "middle": "position",
    "confused": "noise",
    "always_refuses": "refused_wrongly",
    "memory": "memory",
    "flaky": "unstable",
    "never_refuses": "should_have_refused",
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "documents.jsonl"
    rows = [json.dumps({"id": item.id, "text": item.text}, ensure_ascii=False) for item in documents()]
    folder.write_text("\n".join(rows), encoding="utf-8")
    return folder


def indexed(folder: Path, faults: frozenset[str]) -> Path:
    """The documents as the faulty system has them."""
    system = Planted(faults)
    rows = [json.loads(line) for line in folder.read_text(encoding="utf-8").splitlines()]
    kept = [row for n, row in enumerate(rows) if not system.has("missing", n)]
    for row in kept:
        if system.has("stale", int(row["id"][3:])):
            row["text"] = row["text"].replace(str(310 + 7 * int(row["id"][3:])), "999")
    path = folder.with_name("indexed.jsonl")
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in kept), encoding="utf-8")
    return path


def labelled() -> list[dict[str, Any]]:
    """The questions with their gold passages written out, so that a missing or changed document can be told."""
    texts = {item.id: item.text for item in documents()}
    rows = []
    for row in questions():
        document = row.pop("document", None)
        gold = {"reference_contexts": [texts[document]], "reference_context_ids": [document]} if document else {}
        rows.append({**row, **gold})
    return rows


def run(
    tmp_path: Path, corpus: Path, *faults: str, name: str = "d.run", **options: Any
) -> tuple[Planted, DiagnosisResult]:
    system = Planted(frozenset(faults))
    documents_now = indexed(corpus, system.faults)
    return system, diagnose(
        labelled(), system, corpus=corpus, index=documents_now, run=tmp_path / name, **options
    )  # fmt: skip


def failed(result: DiagnosisResult) -> dict[str, str]:
    return {name: cause.name for name, cause in result.causes().items() if cause.name != "healthy"}


@pytest.mark.parametrize(("fault", "cause"), FAULTS.items())
def test_a_planted_fault_is_named(fault: str, cause: str, tmp_path: Path, corpus: Path) -> None:
    system, result = run(tmp_path, corpus, fault)
    expected = {"u0", "u1"} if fault == "never_refuses" else {f"q{n:02d}" for n in system.concerned}
    assert failed(result) == dict.fromkeys(expected, cause)


def test_a_sound_system_is_blamed_for_nothing(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus)
    assert failed(result) == {}
    assert result.fixes() == []
    assert result.waterfall().as_is.value == 1.0


def test_two_faults_are_both_named_in_the_order_of_their_size(tmp_path: Path, corpus: Path) -> None:
    system = Planted(frozenset({"lost"}), concerned=range(8))
    inner = Planted(frozenset({"always_refuses"}), concerned=range(20, 23))

    class Both:
        id, spec, accepts = "both", {"kind": "both"}, system.accepts

        async def answer(self, query: Any) -> Any:
            number = next((n for n in range(20, 23) if documents()[n].text.partition("是")[0] in query.question), None)
            return await (inner if number is not None else system).answer(query)

    result = diagnose(labelled(), Both(), corpus=corpus, index=corpus, run=tmp_path / "both.run")
    assert [(fix.cause, len(fix.cases)) for fix in result.fixes()] == [("filtered", 8), ("refused_wrongly", 3)]


def test_the_waterfall_sums_to_the_whole_and_its_gain_is_that_of_the_repair(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, "lost", "never_refuses")
    fall = result.waterfall()
    total = (fall.as_is.value or 0.0) + sum(len(step.lost) for step in fall.steps) / (SIZE + 2)
    total += sum(share.value or 0.0 for share in fall.remaining.values())
    assert total == pytest.approx(1.0)
    search = next(step for step in fall.steps if step.name == "search")
    _, repaired = run(tmp_path, corpus, "never_refuses", name="repaired.run")
    true_gain = (repaired.waterfall().as_is.value or 0) - (fall.as_is.value or 0)
    assert search.gain is not None
    assert search.gain.known is not None
    gain, low, high = search.gain.known
    assert gain == pytest.approx(true_gain)
    assert low <= true_gain <= high


def test_the_adaptive_plan_asks_little_and_finds_what_the_full_plan_finds(tmp_path: Path, corpus: Path) -> None:
    faults = ("lost", "middle")
    system, adaptive = run(tmp_path, corpus, *faults, name="adaptive.run")
    requests = sum(not query.retrieve_only for query in system.asked)
    assert requests <= 6 * (SIZE + 2)
    full_system, full = run(tmp_path, corpus, *faults, name="full.run", plan="full")
    assert adaptive.causes() == full.causes()
    assert sum(not query.retrieve_only for query in full_system.asked) > requests
    asked = {name for item in full.questions for name in item.evidence.records}
    inapplicable = {"again_2", "again_3", "indexed_only", "without_rivals", "chunk_only", "evidence_only"}
    inapplicable |= {"no_history", *ORDERED}  # its rows have no history, and no answer is another question's
    inapplicable |= {"best_first", "unranked", "unrewritten", "distinct"}  # its reranker and rewriter do nothing
    inapplicable.add("two_rows")  # it has no tables
    inapplicable |= {"only_before", "only_after"}  # its gold stands at an end of the prompt
    inapplicable |= {name for names in ASKED_AGAIN.values() for name in names}  # its answers do not change
    assert asked >= {*CONDITIONS} - inapplicable - {"search_rewritten", "search_translated"}


def test_the_same_command_again_asks_nothing(tmp_path: Path, corpus: Path) -> None:
    _, first = run(tmp_path, corpus, "lost")
    again, second = run(tmp_path, corpus, "lost")
    assert again.asked == []
    assert second.causes() == first.causes()


def test_a_system_that_takes_no_passages_gets_the_stages_and_the_missing_field(tmp_path: Path, corpus: Path) -> None:
    system = Planted(frozenset({"lost", "always_refuses"}), concerned=range(4), accepts=frozenset())
    system.faults = frozenset({"lost"})
    result = diagnose(labelled(), system, corpus=corpus, run=tmp_path / "closed.run")
    assert failed(result) == {f"q{n:02d}": "not_retrieved" for n in range(4)}
    confused = Planted(frozenset({"confused"}), concerned=range(4), accepts=frozenset())
    result = diagnose(labelled(), confused, corpus=corpus, run=tmp_path / "confused.run")
    assert failed(result) == {f"q{n:02d}": "generation" for n in range(4)}
    assert not any(query.passages is not None for query in (*system.asked, *confused.asked))


def test_a_second_system_in_a_run_is_asked_only_what_it_takes(tmp_path: Path, corpus: Path) -> None:
    path = tmp_path / "both.run"
    diagnose(labelled(), Planted(frozenset({"lost"}), concerned=range(4)), corpus=corpus, run=path)
    closed = Planted(frozenset({"confused"}), concerned=range(4), accepts=frozenset())
    closed.id = "closed"
    result = diagnose(labelled(), closed, corpus=corpus, run=path)
    assert failed(result) == {f"q{n:02d}": "generation" for n in range(4)}
    assert not any(query.passages is not None for query in closed.asked)


def test_gates_and_comparisons_see_the_causes(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, "lost")
    gates = {gate.gate.metric: gate for gate in check_gates(result.run, {"cause.filtered": 0.1}, mode="point")}
    assert gates["cause.filtered"].verdict == "failed"
    assert gates["cause.filtered"].mean == pytest.approx(6 / 26)
    assert check_gates(result.run, {"cause.memory": 0.1}, mode="point")[0].verdict == "passed"


def test_the_gold_is_found_without_labels(tmp_path: Path, corpus: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "document"} for row in questions()]
    result = diagnose(rows, Planted(frozenset({"lost"})), corpus=corpus, index=corpus, run=tmp_path / "found.run")
    assert {item.found for item in result.questions if item.id.startswith("q")} == {"corpus"}
    assert failed(result) == {f"q{n:02d}": "filtered" for n in range(0, SIZE, 4)}


def test_without_gold_the_cause_is_unknown_and_the_missing_field_named(tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "document"} for row in questions()]
    result = diagnose(rows, Planted(frozenset({"lost"})), run=tmp_path / "unknown.run")
    causes = [cause for cause in result.causes().values() if cause.name != "healthy"]
    assert {(cause.name, cause.missing) for cause in causes} == {("unknown", "gold")}


def test_questions_without_references_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no references"):
        diagnose([{"question": "What?"}], Planted(), run=tmp_path / "none.run")


def test_the_counterfactual_names_another_answer_of_the_same_kind(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, plan="full")
    with open_run(result.run) as opened:
        changed = {
            record.case.sample.id: record for record in opened.records() if record.case.id.endswith("/counterfactual")
        }
    assert len(changed) == SIZE
    record = changed["q03"]
    assert record.case.query.passages is not None
    assert "331" not in record.case.query.passages[0].text
    assert record.response is not None
    assert "331" not in record.response.answer


def test_searches_ask_for_no_answer(tmp_path: Path, corpus: Path) -> None:
    system, result = run(tmp_path, corpus, "lost")
    with open_run(result.run) as opened:
        searches = [record for record in opened.records() if record.case.id.partition("/")[2] in SEARCHES]
    assert searches
    assert all(record.case.query.retrieve_only and record.response is not None for record in searches)
    assert sum(query.retrieve_only for query in system.asked) == len(searches) + 1  # one to find out that it can


async def answers_of(system: Planted) -> list[dict[str, Any]]:
    """The system's answers with their stages, as recorded data."""
    rows = []
    for row in labelled():
        response = await system.answer(Query(row["question"]))
        rows.append({**row, "answer": response.answer, "contexts": [item.text for item in response.passages],
                     "context_ids": [item.id for item in response.passages]})  # fmt: skip
    return rows


def test_recorded_answers_get_the_part_that_needs_no_asking(tmp_path: Path, corpus: Path) -> None:
    rows = asyncio.run(answers_of(Planted(frozenset({"lost"}))))
    result = diagnose(rows, corpus=corpus, run=tmp_path / "recorded.run")
    assert failed(result) == {f"q{n:02d}": "not_retrieved" for n in range(0, SIZE, 4)}
    with open_run(result.run) as opened:
        assert {record.case.id.partition("/")[2] for record in opened.records()} == {"as_is"}
    rows = asyncio.run(answers_of(Planted(frozenset({"always_refuses"}))))
    result = diagnose(rows, corpus=corpus, run=tmp_path / "refused.run")
    assert failed(result) == {f"q{n:02d}": "refused_wrongly" for n in range(0, SIZE, 4)}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [("missing", "doc00"), ("stale", "doc00"), ("lost", "These documents hold the answers: doc00"),
     ("rewriter", "Words that the rewritten queries lack: "), ("last", "stood at rank 10 (median; 10 to 10)"),
     ("k", "stood at rank 2 (median; 2 to 2). With 2 passages, 6 of 6 prompts had it, and 6 answers were right")],
)  # fmt: skip
def test_the_advice_is_specific(fault: str, expected: str, tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, fault)
    for language, cut in (
        ("en", expected),
        ("zh", expected.rpartition(" ")[2] if fault in ("missing", "stale") else ""),
    ):
        lines = details(FAULTS[fault], result.questions, language=language)
        assert lines
        assert cut in " ".join(lines)
    table = next(table for table in result.tables(language="en") if table.id == "diagnosis-details")
    assert expected in " ".join(row.cells[1].text for row in table.rows)


def test_the_judge_finds_gold_passages_that_state_the_reference_in_other_words(tmp_path: Path, corpus: Path) -> None:
    rows = [{"id": "q1", "question": "How much does the Belka pump weigh?",
             "reference": "317 kg it weighs the Belka pump of the north works a pump"}]  # fmt: skip
    system = Planted(frozenset({"lost"}), concerned=range(12))
    result = diagnose(
        rows, system, metrics="answer_match", judge=scripted_judge(), corpus=corpus, run=tmp_path / "judged.run"
    )
    assert [item.found for item in result.questions] == ["judge"]
    assert [gold.id for gold in result.questions[0].evidence.gold] == ["doc01#1"]
    assert result.causes()["q1"].lost == "not_retrieved"


def test_the_slice_that_a_fault_concerns_is_named(tmp_path: Path, corpus: Path) -> None:
    rows = [{**row, "site": "north" if row["id"] < "q10" else "south"} for row in labelled() if row["answerable"]]
    system = Planted(frozenset({"lost"}), concerned=range(10))
    result = diagnose(rows, system, corpus=corpus, run=tmp_path / "slices.run")
    assert {"site": "north"} in [dict(found.where) for found in result.slices().found]
    assert result.slices().samples == SIZE


@pytest.mark.parametrize(("language", "note"), [("en", "ignores the passages"), ("zh", "忽略给定的段落")])
def test_a_system_that_ignores_given_passages_is_found_out(
    language: str, note: str, tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", language)
    inner = Planted(frozenset({"confused"}))

    class Deaf:
        id, spec, accepts = "deaf", {"kind": "deaf"}, frozenset({"passages"})

        async def answer(self, query: Query) -> Response:
            return await inner.answer(replace(query, passages=None))

    result = diagnose(labelled(), Deaf(), corpus=corpus, run=tmp_path / "deaf.run")
    assert note in " ".join(result.warnings)
    assert failed(result) == {f"q{n:02d}": "generation" for n in range(0, SIZE, 4)}


@pytest.mark.parametrize("refusal", ["The documents do not contain the answer.", "文档中没有答案。"])
def test_a_system_that_always_refuses_does_not_show_that_passages_arrive(refusal: str, tmp_path: Path) -> None:
    """It is given some all the same, and then its cause is unknown, with the lines of code that would tell."""

    def ask(question: str, passages: list[str] | None = None) -> str:
        return refusal

    rows = [{"question": f"How high is tower {n}?", "reference": f"{n} metres", "reference_contexts": [f"Tower {n}."]}
            for n in range(30, 44)]  # fmt: skip
    result = diagnose(rows, ask, run=tmp_path / "refusing.run")
    assert {(cause.name, cause.missing) for cause in result.causes().values()} == {("unknown", "fetched")}
    assert {one.condition: (one.why, one.whole) for one in result.withdrawn()} == {"gold_only": ("same_answers", True)}
    assert len(result.withdrawn()[0].cases) == 4
    with result.open() as opened:
        (summary,) = opened.summaries(language="en").values()
    assert "def ask(question, passages=None):" in summary.alarms[0]


def test_no_index_of_the_corpus_is_built_for_labelled_questions(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the corpus is searched")

    monkeypatch.setattr("ragstone.diagnosis.gold_search.open_retriever", refuse)
    result = diagnose(labelled(), Planted(frozenset({"lost"})), corpus=corpus, run=tmp_path / "labelled.run")
    assert "not_retrieved" in {cause.name for cause in result.causes().values()}


def test_of_several_gold_passages_each_is_needed_where_only_all_of_them_right_the_answer(
    tmp_path: Path, corpus: Path
) -> None:
    """A question about two pumps: the search finds only the first; then any passage of one pump is enough."""
    first, second = (documents()[n] for n in (1, 2))

    class Two(Planted):
        def _read(self, query: Query, number: int | None, passages: Any) -> str:
            ids = {item.id for item in passages}
            if "or" in query.question.split():
                return "It weighs 317 kg." if first.id in ids or second.id in ids else "I do not know."
            return "317 kg and 324 kg." if {first.id, second.id} <= ids else "One weighs 317 kg."

        def _search(self, text: str, number: int | None, query: Query) -> list[Passage]:
            return [first, *documents()[12:18]]

    rows = [
        {"id": "each", "question": "How much do the Belka pump and the Cirro pump weigh?", "reference": "317",
         "reference_contexts": [first.text, second.text], "reference_context_ids": [first.id, second.id]},
        {"id": "any", "question": "Does the Belka pump or the Cirro pump weigh 317 kg?", "reference": "317",
         "reference_contexts": [first.text, second.text], "reference_context_ids": [first.id, second.id]},
    ]  # fmt: skip
    rows[0]["reference"] = "317 kg and 324 kg"
    result = diagnose(rows, Two(), corpus=corpus, run=tmp_path / "two.run")
    assert result.causes()["each"].name == "not_retrieved"
    assert result.causes()["any"].name == "healthy"
    assert {item.id: item.evidence.value("prompted") for item in result.questions} == {"each": "no", "any": "yes"}


def test_a_row_of_pandas_for_each_question(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, "lost")
    frame = result.to_pandas().set_index("id")
    assert len(frame) == SIZE + 2
    row = frame.loc["q00"]
    assert (row["cause"], row["lost"], row["as_is"], row["gold_added"]) == (
        "filtered", "filtered", "refused", "right"
    )  # fmt: skip


def test_a_system_under_a_short_label_is_diagnosed_as_by_its_id(tmp_path: Path) -> None:
    """Terminal and page show `app.py:ask` as `app:ask`; what the system takes is known by its id."""
    system = Planted(frozenset({"k"}), concerned=range(4), id="app.py:ask")
    result = diagnose(labelled()[:6], system, run=tmp_path / "d.run")
    with open_run(tmp_path / "d.run") as run:
        benchmark, shown = Interventions.from_meta(run.meta), named_run(run)
        (label,) = shown.systems
        items = {name: benchmark.diagnosed(found, name) for name, found in ((result.system, run), (label, shown))}
    assert label == "app:ask"
    seen = [[(item.evidence.takes, item.cause.name, item.untried) for item in found] for found in items.values()]
    assert "passages" in seen[0][0][0]
    assert seen[0] == seen[1]
