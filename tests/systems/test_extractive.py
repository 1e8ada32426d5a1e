"""The deterministic floor: it quotes, it refuses, and it scores well above zero."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.datasets.fictional import fictional_rgb
from ragstone.errors import UsageError
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.structs import to_json
from ragstone.systems.extractive import REFUSALS, Extractive
from ragstone.types import Case, Passage, Query, Sample, System, Usage

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "rgb"


def query(question: str, *texts: str, language: str = "") -> Query:
    return Query(
        question, tuple(Passage(f"positive:{place}", text) for place, text in enumerate(texts)), language=language
    )


async def answer(question: str, *texts: str) -> str:
    return (await Extractive().answer(query(question, *texts))).answer


BRIDGE = (
    "The Ostrava Vale bridge is 812 metres long. The Ostrava Vale bridge was opened on 4 May 2011. Critics like it."
)
OTHER = "Many towns in the valley have a market. The mayor of Tolm is a keen cyclist."
EXPO = "2019年岚川书展在榆港举行。2019年岚川书展的参展商共有348家。闭幕式上下了一场小雨。"
RUMOUR = "据传2019年岚川书展的参展商可能达到500家，尚未得到证实。"


@pytest.mark.parametrize(
    ("question", "texts", "expected"),
    [
        (
            "When was the Ostrava Vale bridge opened?",
            (OTHER, BRIDGE),
            "The Ostrava Vale bridge was opened on 4 May 2011.",
        ),
        ("How long is the Ostrava Vale bridge?", (BRIDGE, OTHER), "The Ostrava Vale bridge is 812 metres long."),
        ("2019年岚川书展的参展商有多少家？", (RUMOUR, EXPO), "2019年岚川书展的参展商共有348家。"),
        ("2019年岚川书展在哪里举行？", (EXPO,), "2019年岚川书展在榆港举行。"),
    ],
)
async def test_it_answers_with_the_sentence_that_matches_best(
    question: str, texts: tuple[str, ...], expected: str
) -> None:
    assert await answer(question, *texts) == expected


@pytest.mark.parametrize(
    ("question", "texts", "language"),
    [
        ("When was the Ostrava Vale bridge opened?", (OTHER, "Lamps are sold in boxes of six."), "en"),
        ("When was the Ostrava Vale bridge opened?", (), "en"),
        ("2019年岚川书展的参展商有多少家？", ("闭幕式上下了一场小雨。", "榆港的早市很热闹。"), "zh"),
        ("2019年岚川书展的参展商有多少家？", (), "zh"),
        ("2019年岚川书展的参展商有多少家？", ("", "   ", "。。。"), "zh"),
    ],
)
async def test_it_refuses_in_the_official_words_of_the_questions_language(
    question: str, texts: tuple[str, ...], language: str
) -> None:
    assert await answer(question, *texts) == REFUSALS[language]


async def test_a_question_of_two_parts_is_answered_with_two_sentences() -> None:
    texts = (
        "The 2011 film Ash Harbour was directed by Lena Orvik. It rained for most of the shoot.",
        "The music of the 2011 film Ash Harbour was composed by Tomas Reuel. Critics liked it.",
    )
    both = await answer('Who directed the 2011 film "Ash Harbour", and who composed its music?', *texts, OTHER)
    assert "Lena Orvik" in both
    assert "Tomas Reuel" in both
    chinese = ("2011年电影《灰港》由欧岚执导。", "2011年电影《灰港》的票房是3.2亿元。", "这座城市常常下雨。")
    both = await answer("2011年电影《灰港》的导演和票房分别是什么？", *chinese)
    assert "欧岚" in both
    assert "3.2亿元" in both


async def test_a_query_without_passages_to_search_in_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="has no retriever"):
        await Extractive().answer(Query("Who won?"))


async def test_it_is_a_system_that_names_itself_and_costs_nothing() -> None:
    system = Extractive()
    assert isinstance(system, System)
    assert to_json(dict(system.spec)) == '{"kind":"extractive","version":1}'
    response = await system.answer(query("How long is the Ostrava Vale bridge?", BRIDGE))
    assert response.model == system.id == "local/extractive"
    assert response.usage == Usage()


async def test_labels_and_ids_of_passages_change_nothing() -> None:
    texts = (OTHER, BRIDGE)
    labelled = tuple(Passage(f"negative:{text[:3]}", text, relevant=False, meta={"kind": "rumour"}) for text in texts)
    asked = query("When was the Ostrava Vale bridge opened?", *texts)
    assert await Extractive().answer(asked) == await Extractive().answer(Query(asked.question, labelled))


@settings(deadline=None)
@given(st.text(max_size=40), st.lists(st.text(max_size=80), max_size=4), st.sampled_from(["", "en", "zh"]))
async def test_any_question_and_any_passages_get_an_answer(question: str, texts: list[str], language: str) -> None:
    asked = query(question, *texts, language=language)
    first = await Extractive().answer(asked)
    assert first.answer
    assert first == await Extractive().answer(asked)


def slots(row: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    given = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
    return tuple((slot,) if isinstance(slot, str) else tuple(slot) for slot in given)


async def shares(rows: Iterable[dict[str, Any]], positives: int) -> tuple[float, float]:
    """(right, refused) over rows asked with this many positives among five passages."""
    order = random.Random(7)
    right = refused = total = 0
    for row in rows:
        texts: Sequence[str] = [*row["positive"][:positives]]
        texts = [*texts, *row["negative"][: 5 - len(texts)]]
        passages = [Passage(str(place), text) for place, text in enumerate(texts)]
        order.shuffle(passages)
        case = Case("c", Sample("s", row["query"], slots(row)), {}, Query(row["query"], tuple(passages)))
        response = await Extractive().answer(case.query)
        right += AnswerMatch().score(case, response).value == 1.0
        refused += response.answer in REFUSALS.values()
        total += 1
    return right / total, refused / total


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_on_fictional_news_it_is_far_above_zero_in_answering_and_in_refusing(language: str) -> None:
    rows = list(fictional_rgb(f"{language}_refine", seed=5, size=60))
    right, _ = await shares(rows, 3)
    hard, _ = await shares(rows, 1)
    _, refused = await shares(rows, 0)
    assert right >= 0.45
    assert hard >= 0.08
    assert hard < right
    assert refused >= 0.05


@pytest.mark.parametrize(("name", "right", "refused"), [("zh_refine", 0.6, 0.35), ("en_fact", 0.6, 0.2)])
async def test_on_the_published_sets_it_is_far_above_zero_too(name: str, right: float, refused: float) -> None:
    path = SHARED / f"{name}.json"
    if not path.is_file():
        pytest.skip("RGB's files are not here: they are pulled by their users")
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][:100]
    assert (await shares(rows, 3))[0] >= right
    assert (await shares([row for row in rows if row["negative"]], 0))[1] >= refused


def test_answers_do_not_depend_on_the_order_of_sets() -> None:
    """Sets of texts are in another order in each process."""
    program = (
        "import asyncio, hashlib\n"
        "from tests.benchmarks.factory import make\n"
        "from ragstone.systems.extractive import Extractive\n"
        "made = make('rgb', data_languages=['zh'], abilities=['noise'], noise_ratios=[0.0], fictional_size=60)\n"
        "async def go():\n"
        "    return [(await Extractive().answer(case.query)).answer for case in made.cases()]\n"
        "print(hashlib.sha256(repr(asyncio.run(go())).encode()).hexdigest())\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1


async def test_it_answers_all_the_same_where_the_prompt_does_not_ask_for_refusals() -> None:
    query = Query(
        "Who won the Oskarholm regatta of 1998?", (Passage("a", "The harbour is old. In the end it was Mira Soll."),)
    )
    assert (await Extractive().answer(query)).answer == REFUSALS["en"]
    assert (await Extractive(refuses=False).answer(query)).answer in (
        "The harbour is old.",
        "In the end it was Mira Soll.",
    )
    assert Extractive(refuses=False).spec != Extractive().spec
    assert (await Extractive(refuses=False).answer(Query("Who won?", ()))).answer == REFUSALS["en"]
