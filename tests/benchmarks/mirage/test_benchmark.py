"""Which cases MIRAGE asks, in which settings, and what each is given."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace
from tests.benchmarks.mirage.small import plugins, small_pool

from ragstone.benchmarks.mirage.benchmark import MIRAGE
from ragstone.benchmarks.mirage.retrieval_pass import ChunkedPool, RetrievalPass
from ragstone.benchmarks.mirage.template import ALONE
from ragstone.errors import UsageError
from ragstone.retrieval import RETRIEVERS
from ragstone.retrieval.chunkers import Chunking, chunk, named_tokenizer
from ragstone.structs import to_json
from ragstone.types import Case, Resources


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the retrievers `first` and `last` were asked."""
    questions: list[str] = []
    monkeypatch.setitem(RETRIEVERS.__dict__, "_plugins", plugins(questions))
    return questions


async def made(**options: Any) -> dict[str, Case]:
    benchmark = MIRAGE(small_pool(), **options)
    await benchmark.prepare(Resources())
    cases = list(benchmark.cases())
    assert len(cases) == benchmark.size == len(list(benchmark.planned()))
    assert len({case.id for case in cases}) == len(cases)
    return {case.id: case for case in cases}


def shown(case: Case) -> list[tuple[str, bool | None]]:
    return [(passage.id, passage.relevant) for passage in case.query.passages or ()]


async def test_base_oracle_and_mixed_are_asked_once_whatever_the_number_of_retrievers(asked: list[str]) -> None:
    cases = await made(retrievers=("first", "last"), ks=(1, 3))
    assert sum(key.startswith(("base/", "oracle/", "mixed/")) for key in cases) == 2 * 3
    assert sum(key.startswith("retrieved/") for key in cases) == 2 * 2 * 2
    assert cases["base/000000"].query.passages == ()
    assert shown(cases["oracle/000001"]) == [("q2#oracle", True)]
    assert shown(cases["mixed/000001"]) == [("q2#0", True), ("q2#1", False), ("q2#2", False)]
    assert len(asked) == 4


async def test_the_oracle_s_chunk_stands_alone_and_nothing_else_does(asked: list[str]) -> None:
    for key, case in (await made(retrievers=("first",))).items():
        alone = [bool(passage.meta.get(ALONE)) for passage in case.query.passages or ()]
        assert alone == ([True] if key.startswith("oracle/") else [False] * len(alone))


async def test_a_retrieved_case_says_what_was_found_and_whether_a_gold_chunk_is_among_what_is_given(
    asked: list[str],
) -> None:
    cases = await made(retrievers=("first", "last"), ks=(1, 3))
    case = cases["retrieved/last/1/000001"]
    assert shown(case) == [("q2#2", False)]
    assert case.condition == {
        "setting": "retrieved", "retriever": "last", "k": 1, "chunk": 0, "source": "drop", "language": "en",
        "contexts": 1, "gold": False, "found": "00100", "labels": 1,
    }  # fmt: skip
    assert cases["retrieved/last/3/000001"].condition["gold"] is True
    assert [passage.score for passage in cases["retrieved/first/3/000000"].query.passages or ()] == [1.0, 0.5, 1 / 3]
    assert "gold" not in cases["base/000000"].condition


async def test_a_wider_k_leaves_the_cases_of_a_smaller_one_as_they_were(asked: list[str]) -> None:
    small = await made(retrievers=("first",), ks=(1,))
    wide = await made(retrievers=("first",), ks=(1, 6))
    assert {key: to_json(wide[key]) for key in small} == {key: to_json(case) for key, case in small.items()}
    assert len(str(wide["retrieved/first/6/000000"].condition["found"])) == 6


async def test_retrieval_alone_is_one_case_a_question_and_retriever(asked: list[str]) -> None:
    cases = await made(retrievers=("first", "last"), alone=True)
    assert sorted(cases) == [f"retrieved/{name}/5/00000{at}" for name in ("first", "last") for at in (0, 1)]


async def test_chunks_are_cut_and_a_part_supports_where_it_states_the_answer(asked: list[str]) -> None:
    cases = await made(retrievers=("first",), ks=(1,), chunks=(0, 7), settings=("retrieved",))
    cut = cases["retrieved/first/1/c7/000000"]
    assert [passage.text for passage in cut.query.passages or ()] == ["Ada is an engineer."]
    assert (cut.condition["chunk"], cut.condition["labels"], cut.condition["found"]) == (7, 1, "10000")


def test_where_no_part_states_the_answer_all_parts_of_the_labelled_chunk_count() -> None:
    pool = small_pool()
    question = pool.questions[0].__class__(
        **{name: getattr(pool.questions[0], name) for name in pool.questions[0].__struct_fields__}
        | {"answers": ("sailor",)}
    )  # fmt: skip
    held = ChunkedPool(pool, 7)
    assert {held.passages[held.places[key]].meta["document"] for key in held.gold(question)} == {"q1#0"}
    assert len(held.gold(question)) == 2


async def test_harder_negatives_replace_the_noise_and_never_state_the_answer(asked: list[str]) -> None:
    cases = await made(negatives=("last",), settings=("base",))
    first = cases["negatives/last/000000"]
    # q2#2 states "engineer", so it is no negative of the first question.
    assert shown(first) == [("q1#0", True), ("q2#1", False), ("q2#0", False)]
    assert (first.condition["retriever"], first.condition["k"]) == ("negatives(last)", 3)
    assert "found" not in first.condition


async def test_the_probe_asks_invented_questions_without_context(asked: list[str]) -> None:
    probe = tuple(
        replace(one, id=f"x{at}", gold=(f"x{at}#0",), mapped=(f"x{at}#0", f"x{at}#1"))
        for at, one in enumerate(small_pool().questions)
    )
    cases = await made(probe=probe, settings=("base",))
    assert cases["probe/000001"].query.passages == ()
    assert cases["probe/000001"].condition["probe"] == "fictional"
    assert cases["probe/000001"].sample.passages == ()


async def test_repeats_are_cases_of_their_own_and_a_limit_leaves_the_pool_whole(asked: list[str]) -> None:
    cases = await made(retrievers=("last",), limit=1, repeat=2, ks=(1,))
    assert cases["retrieved/last/1/000000/r1"].query.repeat == 1
    assert shown(cases["retrieved/last/1/000000"]) == [("q2#2", False)]
    assert len(cases) == 2 * 4


async def test_the_question_does_not_say_what_may_grow() -> None:
    small, wide = MIRAGE(small_pool(), limit=1), MIRAGE(small_pool(), ks=(1, 9), retrievers=("first",))
    assert small.question == wide.question


def test_a_run_tells_how_it_was_made() -> None:
    benchmark = MIRAGE(small_pool(), retrievers=("bm25",), ks=(1, 3), limit=2, scoring="official")
    again = MIRAGE.from_meta({"options": benchmark.options})
    assert (again.retrievers, again.ks, again.scoring, again.limit) == (("bm25",), (1, 3), "official", 2)
    assert list(again.cases()) == []


async def test_chunks_are_cut_as_was_asked_and_another_way_is_another_question(asked: list[str]) -> None:
    plain = MIRAGE(small_pool(), retrievers=("first",), chunks=(7,))
    cut = Chunking("token", 3, "local/e5-small")
    made = MIRAGE(small_pool(), retrievers=("first",), ks=(1,), chunks=(7,), search=RetrievalPass(chunking=cut))
    await made.prepare(Resources())
    texts = [passage.text for passage in made.search.cut(small_pool(), 7).passages]
    assert texts == [one.text for passage in small_pool().passages for one in chunk(
        passage.text, size=7, overlap=3, method="token", tokenizer=named_tokenizer("local/e5-small"))]  # fmt: skip
    assert ("chunking" in plain.question, made.question["chunking"]) == (
        False, {"method": "token", "overlap": 3, "tokenizer": "local/e5-small"},
    )  # fmt: skip
    assert MIRAGE.from_meta({"options": made.options}).search.chunking == cut
    assert plain.options["chunking"]["tokenizer"] == "ragstone/estimate"
    assert "chunking" not in MIRAGE(small_pool(), retrievers=("first",)).options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"settings": ("mixd",)}, "No setting named 'mixd'"),
        ({"limit": 0}, "limit of 0"),
        ({"ks": (0,)}, "1 to 10,000"),
        ({"settings": ("retrieved",)}, "There are no cases"),
        ({"alone": True}, "There are no cases"),
        (
            {"chunks": (0, 20), "search": RetrievalPass(chunking=Chunking(overlap=20))},
            "overlap of 20 tokens",
        ),
        ({"chunks": (20,), "search": RetrievalPass(chunking=Chunking(tokenizer="none"))}, "none"),
        ({"search": RetrievalPass(chunking=Chunking("token"))}, "add --chunk"),
    ],
)
def test_what_cannot_be_asked_is_told_at_once(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        MIRAGE(small_pool(), **options)


async def test_facts_of_the_retrievers_are_kept(asked: list[str]) -> None:
    benchmark = dataclasses.replace(MIRAGE(small_pool(), retrievers=("first",)))
    await benchmark.prepare(Resources())
    (facts,) = benchmark.preparation["retrievers"].values()
    assert facts["bytes"] == 7
    assert facts["seconds_per_question"] >= 0
