"""What the tables of a MIRAGE run say, from answers whose truth is known."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.benchmarks.mirage.handmade import GOLD, NOISE, HandmadeRun, found_by, labelled, record

from ragstone.benchmarks.mirage import official
from ragstone.benchmarks.mirage.extra_tables import on_front
from ragstone.benchmarks.mirage.published import paper
from ragstone.benchmarks.mirage.retrieved import mean_of
from ragstone.benchmarks.mirage.tables import tables
from ragstone.display import Table
from ragstone.errors import UnknownName
from ragstone.stats import count_interval
from ragstone.structs import to_json
from ragstone.types import Passage, Record, Usage

NO_GOLD = (NOISE, Passage("p3", "A green door.", relevant=False))


def by_id(records: Iterable[Record], language: str = "en", **options: Any) -> dict[str, Table]:
    return {table.id: table for table in tables(HandmadeRun(records, options), language=language)}


def values(table: Table, *keys: str) -> list[float | None]:
    """The values of the row whose first cells are these."""
    rows = [row for row in table.rows if tuple(cell.text for cell in row.cells[: len(keys)]) == keys]
    assert len(rows) == 1, [[cell.text for cell in row.cells] for row in table.rows]
    return [cell.value for cell in rows[0].cells[table.keys :]]


def everything() -> list[Record]:
    """A run with all that can be in one."""
    records = labelled({"010": 2, "011": 5, "100": 1})
    for k, right in ((1, 3), (3, 5)):
        records += [
            record(
                "retrieved", f"q{n:03d}", n < right, retriever="bm25", k=k, given=(GOLD,) if n < 4 else NO_GOLD,
                found="10000" if n < 4 else "00000", labels=1, usage=Usage(100 * k, 10), seconds=0.5 * k,
            )
            for n in range(8)
        ]  # fmt: skip
    records += [record("base", f"p{n}", n == 0, probe="fictional", source="fictional") for n in range(4)]
    records += [
        record("retrieved", f"q{n:03d}", n < 4, retriever="negatives(bm25)", k=2, source="popqa") for n in range(8)
    ]
    for setting, right in (("base", False), ("oracle", True), ("mixed", True)):
        given = {"oracle": (GOLD, GOLD), "mixed": (GOLD, GOLD)}.get(setting)
        records.append(record(setting, "h1", right, source="drop", given=given, aliases=("Bo", "Bob")))
    return records


def test_each_setting_of_a_model_has_its_share_by_each_rule() -> None:
    records = labelled({"010": 1, "011": 2, "110": 1}, default=False)
    table = by_id(records, scoring="official")["mirage-models"]
    assert values(table, "m", "EM loose (official)") == [0.25, 1.0, 0.5]
    assert values(table, "m", "Answer stated (ragstone)") == [0.25, 1.0, 0.0]
    assert values(table, "m", "EM strict (official)") == [0.0, 0.0, 0.0]
    assert values(table, "m", "F1 (official)") == [0.125, 0.5, 0.25]
    assert [row.cells[1].text for row in table.rows][:2] == ["EM loose (official)", "Answer stated (ragstone)"]
    assert by_id(records)["mirage-models"].rows[0].cells[1].text == "Answer stated (ragstone)"


def test_a_setting_that_was_not_asked_says_so_and_a_missing_answer_is_counted() -> None:
    records = [record("base", "q1", True), record("base", "q2", None, error="timed_out: no answer")]
    row = by_id(records)["mirage-models"].rows[0]
    assert [cell.text for cell in row.cells[3:]] == ["not asked", "not asked"]
    assert (row.cells[2].scored, row.cells[2].total) == (1, 2)


def test_retriever_scores_are_those_of_the_official_program() -> None:
    found = {"q1": "10010", "q2": "00000", "q3": "01100", "q4": "11111"}
    labels = {"q1": 2, "q2": 1, "q3": 3, "q4": 5}
    table = by_id([found_by("bm25", q, one, labels[q]) for q, one in found.items()], ks=[1, 3, 5])["mirage-retrievers"]
    lists = {q: [c == "1" for c in one] for q, one in found.items()}
    for k in (1, 3, 5):
        wanted = official.retrieval_scores(lists, labels, k)
        names = ("f1", "precision", "recall", "ndcg", "ndcg_textbook")
        assert values(table, "bm25", str(k)) == pytest.approx([wanted[name] for name in names])


def test_the_official_ideal_is_of_five_chunks_whatever_the_largest_k() -> None:
    deep = [found_by("bm25", "q1", "0000010", 2, k=7), found_by("bm25", "q2", "1000010", 2, k=7)]
    flat = [found_by("bm25", "q1", "00000", 2), found_by("bm25", "q2", "10000", 2)]
    one, two = (values(by_id(records, ks=[5])["mirage-retrievers"], "bm25", "5") for records in (deep, flat))
    assert one == two


def test_lists_that_are_all_perfect_are_not_certain_to_be() -> None:
    lists = [found_by("bm25", f"q{number}", "11111", 5) for number in range(10)]
    (row,) = [row for row in by_id(lists, ks=[5])["mirage-retrievers"].rows if not row.published]
    for cell in [cell for cell in row.cells if cell.value is not None]:
        assert (cell.value, cell.high) == (1.0, 1.0)
        assert cell.low == pytest.approx(count_interval(10, 10)[0])
    assert mean_of(Counter()).value is None


def test_the_repeats_of_a_question_are_one_unit_of_strict_em_f1_and_negatives() -> None:
    once = [(repeat, number) for repeat in range(1) for number in range(12)]
    again = [(repeat, number) for repeat in range(3) for number in range(12)]
    plain, repeated = (
        by_id(
            [
                made
                for repeat, number in pairs
                for made in (
                    record("base", f"q{number}", number % 3 == 0, f1=number / 12, repeat=repeat),
                    record("mixed", f"q{number}", number % 2 == 0, repeat=repeat),
                    record("retrieved", f"q{number}", number < 4, retriever="negatives(bm25)", k=2, repeat=repeat),
                )
            ]
        )
        for pairs in (once, again)
    )
    for name, key in (("mirage-models", 2), ("mirage-negatives", 2)):
        for few, many in zip(plain[name].rows, repeated[name].rows, strict=True):
            for one, three in zip(few.cells[key:], many.cells[key:], strict=True):
                assert (three.value, three.text) == (one.value, one.text)
                assert (three.low, three.high) == pytest.approx((one.low, one.high), nan_ok=True), (name, few)
    strict = plain["mirage-models"].rows
    assert any(row.cells[2].high is not None and row.cells[2].value == 0.0 for row in strict)


def test_adaptability_has_a_line_for_each_context_and_rule() -> None:
    table = by_id(everything())["mirage-adaptability"]
    assert values(table, "m", "Mixed", "–", "official") == pytest.approx([2 / 9, 6 / 9, 0.0, 1 / 9, 6 / 9 - 3 / 9])
    assert values(table, "m", "bm25", "1", "official")[:2] == [4 / 8, 3 / 8]
    assert values(table, "m", "bm25", "3", "ragstone")[:2] == [2 / 8, 5 / 8]
    assert values(table, "m", "harder negatives (bm25)", "2", "official")[:2] == [3 / 8, 4 / 8]


def test_the_flaws_stand_beside_the_official_figures() -> None:
    table = by_id(everything())["mirage-flaws"]
    official_nv, missed, noise, given_gold, without, total, twice = values(table, "m", "bm25", "1")
    assert (official_nv, missed, noise) == (4 / 8, 3 / 8, 1 / 8)
    assert given_gold == 1 / 4
    assert without == 0.0
    assert total == pytest.approx(twice)


def test_questions_that_the_official_scores_treat_oddly_are_counted_and_left_out() -> None:
    records = [record("mixed", f"q{n}", False) for n in range(3)]
    records += [record("mixed", "s", True, aliases=("ab",), default=False), record("base", "e", True, asked="Ada?")]
    table = by_id(records)["mirage-flawed"]
    assert values(table, "m", "an alias of at most two characters", "Mixed") == [1.0, 0.25, 0.0, 1.0, 0.0]
    assert values(table, "m", "the question contains an answer", "Base") == [1.0, 1.0, None, 1.0, 1.0]


def test_the_groups_are_written_base_oracle_mixed() -> None:
    table = by_id(labelled({"010": 2, "011": 3, "100": 1}))["mirage-groups"]
    assert table.columns[-9:] == ("000", "001", "010", "011", "100", "101", "110", "111", "n")
    assert values(table, "m", "Mixed", "–", "official") == [0, 0, 2, 3, 1, 0, 0, 0, 6]


def test_sources_stand_apart_and_are_averaged() -> None:
    found = by_id(everything())
    accepted = values(found["mirage-sources"], "m", "Mixed", "–", "Context acceptability")
    assert accepted == pytest.approx([6 / 9, (5 / 8 + 1) / 2, 1.0, 5 / 8])
    assert set(found["mirage-sources"].columns[-2:]) == {"popqa", "drop"}
    assert "fictional" not in found["mirage-sources"].columns
    right = values(found["mirage-model-sources"], "m", "Mixed", "–")
    assert right == pytest.approx([6 / 9, (5 / 8 + 1) / 2, 1.0, 5 / 8])
    lists = [found_by("bm25", "q1", "10000", 1), found_by("bm25", "q2", "00000", 1, source="drop")]
    lists += [found_by("bm25", "q3", "10000", 1)]
    alone = by_id(lists, ks=[1])["mirage-retriever-sources"]
    assert values(alone, "bm25", "1") == pytest.approx([2 / 3, 1 / 2, 1.0, 0.0])


def test_one_source_needs_no_table_of_sources() -> None:
    assert "mirage-sources" not in by_id(labelled({"011": 2}))


def test_questions_that_need_several_chunks_stand_apart() -> None:
    table = by_id(everything())["mirage-hops"]
    assert values(table, "m", "Mixed", "–") == [5 / 8, 1.0, 1.0, 1.0]
    assert values(table, "m", "Base", "–") == [1 / 8, 0.0, None, None]
    assert "mirage-hops" not in by_id(labelled({"011": 2}))


def test_what_was_known_beforehand_is_told_beside_invented_questions() -> None:
    table = by_id(everything())["mirage-contamination"]
    assert values(table, "m", "official") == pytest.approx([1 / 9, 1 / 4, 1 / 9 - 1 / 4])


def test_harder_negatives_are_compared_question_by_question() -> None:
    row = by_id(everything())["mirage-negatives"].rows[0]
    mixed, harder, difference = (cell.value for cell in row.cells[2:5])
    assert (mixed, harder) == (5 / 8, 4 / 8)
    assert difference == pytest.approx(-1 / 8)
    assert row.cells[5].text == "1"


def test_cost_says_what_is_on_the_front() -> None:
    table = by_id(everything())["mirage-cost"]
    assert values(table, "m", "bm25", "1")[1:4] == [110.0, 1.0, 0.5]
    assert [row.cells[-1].text for row in table.rows] == ["yes", "yes"]


def test_the_front_has_what_nothing_beats() -> None:
    assert on_front([(1, 0.5), (2, 0.5), (2, 0.7), (3, 0.6), (1, 0.5)]) == [True, False, True, False, True]
    assert on_front([]) == []


def test_rows_of_the_paper_stand_apart_from_other_data_and_say_why() -> None:
    records = everything()
    records += [found_by("bm25", f"q{n:03d}", "10000", 1) for n in range(8)]
    found = by_id(records)
    table = found["mirage-published-adaptability"]
    assert all(row.published for row in table.rows)
    assert "the data are different" in table.notes[0]
    assert {row.cells[2].text for row in table.rows} == {"1", "3", "5"}
    assert not any(row.published for row in found["mirage-adaptability"].rows)
    assert len(found["mirage-published-models"].rows) == 5


def test_rows_of_the_paper_stand_beside_ours_where_all_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    records = everything()
    run = HandmadeRun(records, {"data_name": "official"})
    run.meta = {**run.meta, "question": {"template": {"name": "official"}}}
    fewer = {table.id: table for table in tables(run)}["mirage-published-models"]
    assert "7,560" in fewer.notes[0]
    asked = len({one.case.sample.id for one in records if not one.case.condition.get("probe")})
    fitting = replace(paper(), questions=asked)
    monkeypatch.setattr("ragstone.benchmarks.mirage.published.paper", lambda: fitting)
    found = {table.id: table for table in tables(run)}
    assert not any(name.startswith("mirage-published") for name in found)
    assert sum(row.published for row in found["mirage-models"].rows) == 5
    assert values(found["mirage-models"], "GPT-4o", "EM loose (official)") == pytest.approx([0.4582, 0.9114, 0.8749])
    lost = values(found["mirage-adaptability"], "Llama-2-7B-Chat", "BGE-S", "1", "official")
    assert lost == [None, None, 0.1637, 0.0067, None]


def test_the_papers_figures_agree_with_each_other() -> None:
    held = paper()
    oracle = {one.model: one.oracle for one in held.models}
    whole = [one for one in held.adaptability if one.nv is not None and one.ca is not None]
    assert (len(held.adaptability), len(whole), len(held.retrievers)) == (60, 59, 33)
    for one in whole:
        assert one.nv is not None
        assert one.ca is not None
        assert one.nv + one.ca == pytest.approx(oracle[one.model], abs=0.02)
        assert one.nv + one.ca + one.ci + one.cm == pytest.approx(100, abs=0.02)
        assert one.total == pytest.approx(2 * one.ca - 100, abs=0.03)


PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "published" / "published.json"


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published figures are not beside the project")
def test_the_papers_figures_are_those_that_were_printed_and_where_two_tables_differ_it_is_said() -> None:
    printed = json.loads(PUBLISHED.read_text(encoding="utf-8"))["mirage"]
    held = paper()
    retrievers = {(one.retriever, one.k): (one.f1, one.precision, one.recall, one.ndcg) for one in held.retrievers}
    assert retrievers == {
        (row["retriever"], row["top_k"]): (row["F1"], row["precision"], row["recall"], row["NDCG"])
        for row in printed["table2_retrievers"]["rows"]
    }
    models = {one.model: (one.base, one.mixed, one.oracle) for one in held.models}
    assert models == {row["llm"]: (row["base"], row["mixed"], row["oracle"]) for row in printed["table3_llms"]["rows"]}
    shares = {(one.model, one.retriever, one.k): (one.nv, one.ca, one.ci, one.cm) for one in held.adaptability}
    tables = {
        number: {
            (row["llm"], row["retriever"], row["top_k"]): (row["NV"], row["CA"], row["CI"], row["CM"])
            for row in printed[f"table{number}_adaptability"]["rows"]
        }
        for number in (1, 9, 10, 11)
    }
    assert shares == tables[9] | tables[10] | tables[11]
    differ = {key for key, row in tables[1].items() if row != shares[key]}
    flags = {(flag.model, flag.retriever, flag.k) for flag in held.flags if "Table 1 prints" in flag.note["en"]}
    assert (len(differ), flags) == (3, differ)


def test_a_chunk_size_has_a_column_where_there_is_one() -> None:
    assert "Chunk" not in by_id(everything())["mirage-adaptability"].columns
    records = labelled({"011": 2}) + [
        record("retrieved", f"q{n:03d}", True, retriever="bm25", k=1, chunk=size) for n in range(2) for size in (0, 110)
    ]
    table = by_id(records)["mirage-adaptability"]
    assert values(table, "m", "bm25", "1", "110 tokens", "official")[1] == 1.0
    assert values(table, "m", "bm25", "1", "unchanged", "official")[1] == 1.0


def test_who_counted_the_tokens_of_chunks_and_how_they_were_cut_is_told() -> None:
    records = [found_by("bm25", "q1", "10010", 2, chunk=110)]
    (told,) = [note for note in by_id(records)["mirage-retrievers"].notes if note.startswith("Chunk:")]
    assert told.startswith("Chunk: the maximum number of tokens, counted by ragstone/estimate; cut between sentences")
    assert told.endswith("with an overlap of 0 tokens.")
    cut = {"method": "recursive", "overlap": 20, "tokenizer": "local/e5-small"}
    (told,) = [n for n in by_id(records, "zh", chunking=cut)["mirage-retrievers"].notes if n.startswith("段落大小")]
    assert told.startswith("段落大小：每个段落的词元数上限，由 local/e5-small 计数；")
    assert told.endswith("；依次按段落、行、句子切分，相邻两个段落重叠 20 个词元。")
    plain = by_id([found_by("bm25", "q1", "10010", 2)])["mirage-retrievers"]
    assert not any("tokens" in note for note in plain.notes)


def test_every_table_can_be_written_in_both_languages_and_has_whole_rows() -> None:
    records = everything()
    for language in ("en", "zh"):
        for table in tables(HandmadeRun(records), language=language):
            assert all(len(row.cells) == len(table.columns) for row in table.rows), table.id
            assert len(set(table.columns)) == len(table.columns), table.id
            assert to_json(table)
    with pytest.raises(UnknownName):
        tables(HandmadeRun(records), language="fr")


def test_an_empty_run_has_no_tables_and_one_pass_is_enough() -> None:
    assert tables(HandmadeRun([])) == []
    run = HandmadeRun(everything())
    tables(run)
    assert run.passes == 1
