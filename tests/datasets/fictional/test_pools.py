"""What every invented pool promises, in both languages: exact labels, questions that share no event, two chunks where
two are needed, sizes, the same bytes for the same seed anywhere."""

import contextlib
import hashlib
import os
import re
import statistics
import subprocess
import sys
from collections import Counter

import msgspec
import pytest

from ragstone.datasets.fictional.engine import flaw, language
from ragstone.datasets.fictional.parts import DuplicateEvent, GeneratedItem, Unmet, seeded
from ragstone.datasets.fictional.pools import MiragePool, fictional_pool, make_pool, pool_flaw
from ragstone.datasets.mirage import MirageChunk
from ragstone.errors import UnknownName, UsageError
from ragstone.text import estimate_tokens, find_answer

LANGUAGES = ["en", "zh"]


@pytest.fixture(scope="module", params=LANGUAGES)
def made(request: pytest.FixtureRequest) -> tuple[str, MiragePool]:
    return request.param, make_pool(300, seed=5, language=request.param, multi_hop=0.3)


def by_question(pool: MiragePool) -> dict[str, list[MirageChunk]]:
    found: dict[str, list[MirageChunk]] = {question.query_id: [] for question in pool.questions}
    for chunk in pool.pool:
        found[chunk.mapped_id].append(chunk)
    return found


def states(text: str, aliases: tuple[str, ...], code: str) -> tuple[bool, bool]:
    """By MIRAGE's rule, and by ragstone's."""
    return any(one.lower() in text.lower() for one in aliases), any(find_answer(one, text, code) for one in aliases)


def test_a_chunk_supports_a_question_exactly_if_it_states_the_answer(made: tuple[str, MiragePool]) -> None:
    code, pool = made
    chunks = by_question(pool)
    for question in pool.questions:
        if question.query_id in pool.multi_hop:
            continue
        for chunk in chunks[question.query_id]:
            assert states(chunk.doc_chunk, question.answer, code) == (bool(chunk.support),) * 2, (question, chunk)


def test_of_two_chunks_that_are_needed_one_states_the_answer_and_the_other_what_the_question_names(
    made: tuple[str, MiragePool],
) -> None:
    code, pool = made
    chunks = by_question(pool)
    assert len(pool.multi_hop) == 90
    for question in pool.questions:
        if question.query_id not in pool.multi_hop:
            continue
        first, second = pool.oracle[question.query_id]
        supporting = [chunk for chunk in chunks[question.query_id] if chunk.support]
        assert sorted(supporting, key=str) == sorted([first, second], key=str)
        assert first.doc_name == second.doc_name
        holders = [one for one in chunks[question.query_id] if any(states(one.doc_chunk, question.answer, code))]
        assert holders == [second]


# What tells an edition from the others, in a title: its year, or the number of a model, a probe, a part or a stage.
EDITION = {
    "en": re.compile(r"\d+(?= \()|\d{4}(?=\))"),
    "zh": re.compile(r"\d{4}年|[一二三四五六七八九十]+[号次期]|\d+$|《.*》|(?:试验|先导|延长)|(?:桥|道|路)$"),
}


def test_what_tells_the_edition_stands_in_both_chunks_and_not_in_the_question(made: tuple[str, MiragePool]) -> None:
    code, pool = made
    for question in pool.questions:
        if question.query_id not in pool.multi_hop:
            continue
        first, second = pool.oracle[question.query_id]
        marks = EDITION[code].findall(first.doc_name)
        assert marks, first.doc_name
        for chunk in (first, second):
            assert any(mark in chunk.doc_chunk for mark in marks), (question, chunk)
        years = re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", first.doc_name)
        assert not any(year in question.query for year in years), question


def test_no_question_its_titles_or_its_distractors_give_the_answer_away(made: tuple[str, MiragePool]) -> None:
    code, pool = made
    chunks = by_question(pool)
    for question in pool.questions:
        around = [question.query, *(chunk.doc_name for chunk in chunks[question.query_id])]
        assert not any(any(states(text, question.answer, code)) for text in around), question


def test_no_chunk_tells_of_the_event_of_another_question(made: tuple[str, MiragePool]) -> None:
    _, pool = made
    titles: dict[str, set[str]] = {}
    for chunk in pool.pool:
        titles.setdefault(chunk.doc_name, set()).add(chunk.mapped_id)
    assert all(len(questions) == 1 for questions in titles.values())
    assert len({question.query for question in pool.questions}) == len(pool.questions)


def test_a_question_has_five_chunks_in_a_row_and_none_twice(made: tuple[str, MiragePool]) -> None:
    _, pool = made
    assert [chunk.mapped_id for chunk in pool.pool] == [q.query_id for q in pool.questions for _ in range(5)]
    assert len({chunk.doc_chunk for chunk in pool.pool}) == len(pool.pool)
    chunks = by_question(pool)
    for question in pool.questions:
        assert question.num_doc_labels == sum(chunk.support for chunk in chunks[question.query_id])
        assert 1 <= question.num_doc_labels <= 4
        assert all(chunk in chunks[question.query_id] and chunk.support for chunk in pool.oracle[question.query_id])


def test_sources_are_filled_as_unevenly_as_the_papers_and_each_has_questions_of_two_chunks(
    made: tuple[str, MiragePool],
) -> None:
    _, pool = made
    found = Counter(question.source for question in pool.questions)
    expected = {"public": 142, "business": 122, "culture": 23, "science": 10, "sport": 3}
    assert found.keys() == expected.keys()
    assert all(abs(found[source] - count) <= 1 for source, count in expected.items())
    two = Counter(question.source for question in pool.questions if question.query_id in pool.multi_hop)
    assert two["public"] > 30
    assert two["business"] > 25
    assert len(two) >= 4


def test_as_many_chunks_support_a_question_as_in_the_paper() -> None:
    found = Counter(question.num_doc_labels for question in make_pool(2000, seed=1).questions)
    assert 0.80 < found[1] / 2000 < 0.88
    assert 0.10 < found[2] / 2000 < 0.16
    assert found[3] > found[4] > 0


def test_distractors_are_about_the_event_its_editions_and_another_category(made: tuple[str, MiragePool]) -> None:
    _, pool = made
    assert len(pool.kinds) == len(pool.pool)
    found = Counter(kind for kind, chunk in zip(pool.kinds, pool.pool, strict=True) if not chunk.support)
    assert found.keys() == {"other_year", "other_category", "rumour", "related"}
    assert min(found.values()) > 150
    starts = range(0, len(pool.pool), 5)
    needing = [set(pool.kinds[at : at + 5]) for at in starts if pool.pool[at].mapped_id in pool.multi_hop]
    assert all("other_year" in kinds for kinds in needing)


def test_a_chunk_has_at_most_about_330_tokens_and_mostly_more_than_200(made: tuple[str, MiragePool]) -> None:
    _, pool = made
    lengths = [estimate_tokens(chunk.doc_chunk) for chunk in pool.pool]
    assert max(lengths) < 360
    assert statistics.median(lengths) > 230
    assert statistics.quantiles(lengths, n=10)[0] > 60
    assert statistics.quantiles(lengths, n=5)[0] > 180


@pytest.mark.parametrize("code", LANGUAGES)
def test_more_questions_go_on_where_fewer_ended(code: str) -> None:
    few, more = (make_pool(size, seed=9, language=code, multi_hop=0.25) for size in (12, 40))
    assert more.questions[:12] == few.questions
    assert more.pool[:60] == few.pool


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_same_seed_gives_the_same_bytes_in_every_process_and_another_seed_others(code: str) -> None:
    script = (
        "import hashlib, msgspec\n"
        "from ragstone.datasets.fictional.pools import make_pool\n"
        f"pool = make_pool(20, seed=4, language={code!r}, multi_hop=0.5)\n"
        "print(hashlib.sha256(msgspec.json.encode([pool.questions, pool.pool, pool.oracle])).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    here, other = (make_pool(20, seed=seed, language=code, multi_hop=0.5) for seed in (4, 3))
    assert found == {
        hashlib.sha256(msgspec.json.encode([here.questions, here.pool, here.oracle])).hexdigest(),
    }
    assert not {question.query for question in here.questions} & {question.query for question in other.questions}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("chunks", [2, 3, 8, 30])
def test_a_question_may_have_fewer_or_more_chunks(code: str, chunks: int) -> None:
    pool = make_pool(20, language=code, chunks_per_query=chunks, multi_hop=0.2 if chunks > 2 else 0)
    assert all(len(found) == chunks for found in by_question(pool).values())
    assert all(0 < sum(chunk.support for chunk in found) < chunks for found in by_question(pool).values())


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_pool_for_benchmarks_has_ids_golds_and_the_hash_of_its_content(code: str) -> None:
    pool = fictional_pool(20, seed=2, language=code, multi_hop=0.5)
    assert pool.name == f"fictional-{code}"
    assert len({passage.id for passage in pool.passages}) == 100
    for question in pool.questions:
        assert question.language == code
        assert len(question.mapped) == 5
        assert len(question.oracle) == (2 if question.id.endswith("-two") else 1)
        assert {passage.text for passage in question.oracle} <= {
            passage.text for passage in pool.passages if passage.id in question.gold
        }
    assert sum(question.id.endswith("-two") for question in pool.questions) == 10
    assert pool.sha256 == fictional_pool(20, seed=2, language=code, multi_hop=0.5).sha256
    assert pool.sha256 != fictional_pool(20, seed=3, language=code, multi_hop=0.5).sha256


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"questions": 0}, "cannot have 0 questions"),
        ({"questions": -3}, "cannot have -3 questions"),
        ({"questions": 3, "multi_hop": 1.5}, "expected 0 to 1"),
        ({"questions": 3, "multi_hop": float("nan")}, "expected 0 to 1"),
        ({"questions": 3, "chunks_per_query": 1}, "takes 2 to 100"),
        ({"questions": 3, "chunks_per_query": 101}, "takes 2 to 100"),
        ({"questions": 3, "chunks_per_query": 2, "multi_hop": 0.5}, "takes 3 to 100"),
    ],
)
def test_numbers_that_cannot_be_are_refused(options: dict[str, float], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make_pool(**options)  # type: ignore[arg-type]


def test_a_language_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="'fr'"):
        make_pool(3, language="fr")


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_domain_is_of_one_source(code: str) -> None:
    spoken = language(code)
    listed = [name for names in spoken.sources.values() for name in names]
    assert sorted(listed) == sorted(spoken.names)


@pytest.mark.parametrize("code", LANGUAGES)
def test_questions_of_two_chunks_are_asked_in_every_domain(code: str) -> None:
    spoken = language(code)
    asked: Counter[str] = Counter()
    for source, domains in spoken.sources.items():
        for number in range(12 * len(domains)):
            with contextlib.suppress(Unmet):
                item = spoken.collect(seeded("two", source, number), source, 5, 1, multi_hop=True)
                asked[item.domain] += not pool_flaw(item, code)
    assert asked.keys() == set(spoken.names)
    assert min(asked.values()) > 3


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("code", LANGUAGES)
def test_no_question_tells_again_of_what_another_told(code: str, two: bool) -> None:
    spoken, source = language(code), "culture"
    number = 0
    while True:
        with contextlib.suppress(Unmet):
            item = spoken.collect(seeded("told", number), source, 5, 1, multi_hop=two)
            break
        number += 1
    for name in item.names:
        with pytest.raises(DuplicateEvent):
            spoken.collect(seeded("told", number), source, 5, 1, multi_hop=two, reserved={name})
    assert spoken.collect(seeded("told", number), source, 5, 1, multi_hop=two, reserved={"another"}) == item


def test_a_look_at_the_letters_settles_no_more_than_find_answer_would() -> None:
    pool = make_pool(100, seed=8, language="zh", multi_hop=0.3)
    for place, question in enumerate(pool.questions):
        for chunk in pool.pool[5 * place : 5 * place + 10]:
            held = any(find_answer(alias, chunk.doc_chunk, "zh") for alias in question.answer)
            item = GeneratedItem(chunk.doc_chunk, (question.answer,), ((),), (), "")
            assert bool(flaw(item, "zh")) >= held


@pytest.mark.slow
@pytest.mark.parametrize("code", LANGUAGES)
def test_a_hundred_thousand_chunks_have_as_many_texts_and_twenty_thousand_questions(code: str) -> None:
    pool = make_pool(20_000, language=code, multi_hop=0.1)
    assert len({chunk.doc_chunk for chunk in pool.pool}) == 100_000
    assert len({question.query for question in pool.questions}) == 20_000
    assert len(pool.multi_hop) == 2_000
