"""The prompts of retrieval: whole, alike in both languages, and each example of the form that is asked for."""

import asyncio
import json
import re

import pytest

from ragstone.models.concurrency import gather_all
from ragstone.retrieval.llm_ranking import LANGUAGES, NAMES, prompt_for, read_prompt

KEYS = {"rerank_list": "ranking", "rerank_point": "grade", "rewrite": "query", "multiquery": "queries"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_says_the_form_and_shows_it(name: str, language: str) -> None:
    prompt = read_prompt(name, language)
    assert prompt.version >= 1
    assert f'"{KEYS[name]}"' in prompt.instruction
    assert "{problem}" in prompt.again
    assert prompt.examples
    for example in prompt.examples:
        assert list(example.output) == [KEYS[name]]
    roles = [turn.role for turn in prompt.turns({"query": "q"})]
    assert roles == ["system", *["user", "assistant"] * len(prompt.examples), "user"]


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_ask_for_the_same(name: str) -> None:
    english, chinese = (read_prompt(name, language) for language in LANGUAGES)
    assert english.version == chinese.version
    assert [one.input.keys() for one in english.examples] == [one.input.keys() for one in chinese.examples]
    if name.startswith("rerank"):
        assert [one.output for one in english.examples] == [one.output for one in chinese.examples]
    assert not re.search("[\u4e00-\u9fff]", english.instruction)
    assert len(re.findall("[\u4e00-\u9fff]", chinese.instruction)) > 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_lists_rank_every_passage_once(language: str) -> None:
    for example in read_prompt("rerank_list", language).examples:
        assert sorted(map(str, example.output["ranking"])) == sorted(example.input["passages"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_of_queries_are_as_many_as_wanted_and_in_the_language(language: str) -> None:
    for example in read_prompt("multiquery", language).examples:
        assert len(example.output["queries"]) == example.input["wanted"]
        assert all(prompt_for("rewrite", query).language == language for query in example.output["queries"])


def test_no_text_of_a_question_begins_a_line() -> None:
    (turn,) = read_prompt("rewrite", "en").turns({"question": 'a\nb\r\nc "d"'})[-1:]
    assert json.loads(turn.content) == {"question": 'a\nb\r\nc "d"'}
    assert turn.content.count("\n") == 2


async def test_where_one_call_fails_its_error_is_raised_and_none_goes_on() -> None:
    ended: list[str] = []

    async def fails() -> None:
        raise ValueError("mine")

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(ValueError, match="mine"):
        await gather_all(waits(), fails())
    assert ended == ["cancelled"]
