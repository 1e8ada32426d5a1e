"""RULER's thirteen tasks: what is asked stands where it should and nowhere else, as often as the protocol says."""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from tests.benchmarks.factory import make, make_async

from ragstone.benchmarks.niah.benchmark import expand_query
from ragstone.benchmarks.niah.ruler.texts import keys, other_keys, prompts, words
from ragstone.datasets.fictional.parts import seeded
from ragstone.metrics.needle import NeedleFound
from ragstone.metrics.ruler_match import RulerMatch
from ragstone.models import ModelOptions
from ragstone.models.tokenizers import open_counter
from ragstone.types import Case, Response

LENGTHS = (3000, 4096, 10_000)
GRID: dict[str, Any] = {"lengths": LENGTHS, "depths": "0,50,100", "data_languages": ["en", "zh"]}
# Hsieh et al. 2024, synthetic.yaml: keys, values and queries.
NEEDLES = {
    "niah_single_1": (1, 1, 1), "niah_single_2": (1, 1, 1), "niah_single_3": (1, 1, 1), "niah_multikey_1": (4, 1, 1),
    "niah_multikey_2": (1, 1, 1), "niah_multikey_3": (1, 1, 1), "niah_multivalue": (1, 4, 1),
    "niah_multiquery": (4, 1, 4),
}  # fmt: skip
OTHERS = ("vt", "cwe", "fwe", "qa_1", "qa_2")
AMONG_NEEDLES = ("niah_multikey_2", "niah_multikey_3")
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@cache
def suite(**more: Any) -> Any:
    return make("niah", suite="ruler", **GRID | more)


@cache
def cases() -> dict[str, list[tuple[Case, str]]]:
    """The cases of each task, each with its context."""
    made = suite()
    found: dict[str, list[tuple[Case, str]]] = {}
    for case in made.cases():
        passages = expand_query(case.query, made.haystacks or {}).passages or ()
        found.setdefault(str(case.condition["needle"]), []).append((case, passages[0].text))
    return found


def recipe(case: Case) -> dict[str, Any]:
    assert case.query.passages
    found: dict[str, Any] = case.query.passages[0].meta["recipe"]
    return found


def before(case: Case) -> str:
    assert case.query.passages
    return str(case.query.passages[0].meta.get("before", ""))


def answers(case: Case) -> list[str]:
    return [slot[0] for slot in case.sample.references]


def test_the_suite_has_the_thirteen_tasks_in_both_languages_at_each_length() -> None:
    assert set(cases()) == {*NEEDLES, *OTHERS}
    for of_task in cases().values():
        asked = Counter((case.sample.language, case.condition["length"]) for case, _ in of_task)
        assert asked == {(language, length): 3 for language in ("en", "zh") for length in LENGTHS}


@pytest.mark.parametrize("task", NEEDLES)
def test_a_task_has_as_many_keys_values_and_queries_as_the_protocol(task: str) -> None:
    number_of_keys, values, queries = NEEDLES[task]
    form = UUID if task in ("niah_single_3", "niah_multikey_3") else r"\d{7}"
    for case, text in cases()[task]:
        placed = recipe(case)["needles"]
        assert len(placed) == number_of_keys * values
        assert len(answers(case)) == queries * values
        assert all(re.search(form, needle) and text.count(needle) == 1 for needle in placed)


@pytest.mark.parametrize("task", NEEDLES)
def test_each_value_stands_once_in_the_context_and_in_nothing_else_of_the_prompt(task: str) -> None:
    for case, text in cases()[task]:
        for value in answers(case):
            assert text.count(value) == 1
            assert value not in case.query.question + before(case)


@pytest.mark.parametrize("task", AMONG_NEEDLES)
def test_among_needles_every_line_is_one_and_no_two_have_a_key_or_a_value_in_common(task: str) -> None:
    form = re.compile(r"One of the special magic \w+ for (\S+) is: (\S+)\.|(\S+)的神奇\w+之一是：(\S+)。")
    for _, text in cases()[task]:
        lines = text.rstrip("\n").split("\n")
        pairs = [[part for part in match.groups() if part] for line in lines if (match := form.fullmatch(line))]
        assert len(pairs) == len(lines) > 30
        assert all(len(set(column)) == len(lines) for column in zip(*pairs, strict=True))


def test_keys_that_are_asked_for_are_never_those_of_other_needles() -> None:
    for language in ("en", "zh"):
        rng = seeded("test")
        others = set(other_keys(language, rng))
        assert len(others) > 20_000
        assert not others & {key for _ in range(300) for key in keys(language, rng, 4)}


def test_no_word_is_part_of_another() -> None:
    for language in ("en", "zh"):
        every = [word for part in words(language) for word in part]
        joined = "\n".join(every)
        assert len(set(every)) == len(every) > 500
        assert all(joined.count(word) == 1 for word in every)


@pytest.mark.parametrize("task", ["niah_single_1", "niah_single_2", "niah_multikey_1", "niah_multikey_2", "qa_1"])
def test_a_single_answer_stands_at_the_depth_of_its_cell(task: str) -> None:
    for case, text in cases()[task]:
        depth, length = float(case.condition["depth"]), int(case.condition["length"])
        part = 25 if task == "qa_1" else 5  # percent of a short context that one document or sentence takes
        assert abs(float(case.condition["depth_reached"]) - depth) <= part * 3000 / length
        place = min(text.find(alias) for alias in case.sample.references[0] if alias in text)
        assert abs(100 * place / len(text) - depth) <= 2 * part * 3000 / length + 3


@pytest.mark.parametrize("task", ["niah_multivalue", "niah_multiquery", "vt", "qa_2", "cwe", "fwe"])
def test_tasks_with_several_answers_have_samples_instead_of_depths(task: str) -> None:
    for case, _ in cases()[task]:
        assert "depth" not in case.condition
    assert sorted({int(case.condition["repeat"]) for case, _ in cases()[task]}) == [0, 1, 2]


def resolved(text: str) -> dict[str, str]:
    """The value of each variable, by the assignments in their order."""
    values: dict[str, str] = {}
    for name, number, other in re.findall(r"(?:VAR|变量) ([A-Z]+) = (?:(\d+)|(?:VAR|变量) ([A-Z]+))", text):
        values[name] = number or values[other]
    return values


def test_a_program_that_follows_the_assignments_finds_the_variables() -> None:
    for case, text in cases()["vt"]:
        values = resolved(text)
        assert len(values) == 5
        assert list(values) == answers(case)
        assert all(value in case.query.question for value in set(values.values()))
        assert len(set(values.values())) == 1


def test_variable_tracking_is_preceded_by_an_example_that_is_solved() -> None:
    for case, _ in cases()["vt"]:
        example = resolved(before(case))
        assert len(example) == 5
        assert " ".join(example) in before(case)
        assert not set(example) & set(answers(case))


def test_common_words_occur_30_times_and_others_3_times() -> None:
    for case, text in cases()["cwe"]:
        often, seldom = (6, 1) if int(case.condition["length"]) < 4096 else (30, 3)
        numbers, listed = zip(*re.findall(r"(\d+)\. (\S+)", text), strict=True)
        assert list(map(int, numbers)) == list(range(1, len(listed) + 1))
        counts = Counter(listed)
        assert len(answers(case)) == 10
        assert {counts.pop(word) for word in answers(case)} == {often}
        assert set(counts.values()) == {seldom}
        assert len(counts) > 20


def test_common_words_are_preceded_by_an_example_of_other_words() -> None:
    for case, _ in cases()["cwe"]:
        listed = Counter(word for _, word in re.findall(r"(\d+)\. (\S+)", before(case)))
        often, seldom = (3, 1) if int(case.condition["length"]) < 4096 else (10, 3)
        assert sorted(Counter(listed.values()).items()) == [(seldom, 10 if often == 3 else 30), (often + 1, 10)]
        assert not set(listed) & set(answers(case))


def test_coded_words_are_as_frequent_as_a_zeta_distribution_says() -> None:
    for case, text in cases()["fwe"]:
        counts = Counter(text.split())
        (noise, most), *ranked = counts.most_common()
        assert noise == prompts().fwe[case.sample.language].noise
        assert [word for word, _ in ranked[:3]] == answers(case)
        assert ranked[2][1] > ranked[3][1]
        total = most * 3.141592653589793**2 / 6
        for rank, (_, count) in enumerate(ranked, start=2):
            assert abs(count - total / (rank**2 * 3.141592653589793**2 / 6)) <= 1.5


@pytest.mark.parametrize("task", ["qa_1", "qa_2"])
def test_documents_are_numbered_and_only_those_that_are_needed_state_the_answer(task: str) -> None:
    for case, text in cases()[task]:
        numbers = re.findall(r"(?:Document|文档) (\d+)[:：]\n", text)
        assert list(map(int, numbers)) == list(range(1, len(numbers) + 1))
        documents = re.split(r"(?:^|\n\n)(?:Document|文档) \d+[:：]\n", text.strip())[1:]
        assert len(set(documents)) == len(documents) == len(numbers) > 4
        (aliases,) = case.sample.references
        stating = [document for document in documents if any(alias.lower() in document.lower() for alias in aliases)]
        assert len(stating) == 1


def test_two_documents_are_needed_where_the_question_is_in_two_steps() -> None:
    for task, number in (("qa_1", 1), ("qa_2", 2)):
        for case, _ in cases()[task]:
            wanted = set(recipe(case)["needles"])
            assert len(wanted) >= number + 1  # beside them is one of the same subject that does not answer
    assert {case.query.question for case, _ in cases()["qa_1"]}.isdisjoint(
        case.query.question for case, _ in cases()["qa_2"]
    )


@pytest.mark.parametrize("tokenizer", ["ragstone/estimate", "openai/o200k_base"])
async def test_prompts_leave_room_for_the_answer_and_waste_little(tokenizer: str) -> None:
    made = await make_async(
        "niah", suite="ruler", tokenizer=tokenizer, **GRID | {"lengths": (4096, 9000), "depths": "50"}
    )
    async with open_counter(tokenizer, ModelOptions(), explicit=True) as counter:
        for case in made.cases():
            turns = made.template.messages(expand_query(case.query, made.haystacks))
            (tokens,) = await counter.count(["\n".join(turn.content for turn in turns)])
            length = int(case.condition["length"])
            assert tokens <= length - 128
            assert tokens <= int(case.condition["length_reached"])
            whole = str(case.condition["needle"]).startswith("qa")
            assert tokens >= 0.98 * length - 128 - 64 - (450 if whole else 100)


def test_the_same_options_ask_the_same_and_another_seed_asks_something_else() -> None:
    small: dict[str, Any] = {"lengths": (3000,), "depths": "50", "data_languages": ["en"]}
    first, again = (list(make("niah", suite="ruler", **GRID | small).cases()) for _ in range(2))
    other = list(make("niah", suite="ruler", seed=1, **GRID | small).cases())
    assert first == again
    unchanged = [
        one.id for one, two in zip(first, other, strict=True) if one.sample.references == two.sample.references
    ]
    assert not unchanged


def scores(task: str, reader: Callable[[Case, str], str]) -> tuple[float, float]:
    """The mean by our scoring and by RULER's."""
    means = []
    for metric in (NeedleFound(), RulerMatch()):
        values = [metric.score(case, Response(reader(case, text))).value for case, text in cases()[task]]
        means.append(sum(value or 0.0 for value in values) / len(values))
    return means[0], means[1]


@pytest.mark.parametrize("task", [*NEEDLES, *OTHERS])
def test_a_right_answer_gets_everything(task: str) -> None:
    assert scores(task, lambda case, _: ", ".join(answers(case))) == (1.0, 1.0)
    assert scores(task, lambda case, _: "\n".join(f"{at}. {word}" for at, word in enumerate(answers(case), 1))) == (
        1.0,
        1.0,
    )
    assert scores(task, lambda *_: "UNANSWERABLE") == (0.0, 0.0)


# By our scoring; where nothing else of the form is in the context, to print all of it is to find what is asked for.
EVERYTHING = {
    "niah_multikey_1": 0.25, "niah_multikey_2": 0.02, "niah_multikey_3": 0.02, "cwe": 0.1, "fwe": 0.02, "qa_1": 0.34,
    "qa_2": 0.34,
}  # fmt: skip


@pytest.mark.parametrize("task", [*NEEDLES, *OTHERS])
def test_a_reader_that_prints_everything_has_all_by_rulers_scoring_and_little_by_ours(task: str) -> None:
    ours, official = scores(task, lambda _, text: text)
    assert official == 1.0
    assert ours <= EVERYTHING.get(task, 1.0)


def test_four_values_need_their_keys_or_the_order_of_the_question() -> None:
    def reversed_order(case: Case, _: str) -> str:
        return ", ".join(reversed(answers(case)))

    def wrong_keys(case: Case, _: str) -> str:
        names = case.sample.meta["keys"]
        return "; ".join(
            f"{key}: {value}" for key, value in zip(names, [*answers(case)[1:], answers(case)[0]], strict=True)
        )

    assert scores("niah_multiquery", reversed_order) == (0.0, 1.0)
    assert scores("niah_multiquery", wrong_keys) == (0.0, 1.0)
    assert scores("niah_multivalue", reversed_order) == (1.0, 1.0)


@pytest.mark.parametrize(("task", "half"), [("vt", 0.4), ("cwe", 0.4), ("fwe", 1 / 3), ("niah_multivalue", 0.5)])
def test_a_part_of_the_answer_counts_in_part(task: str, half: float) -> None:
    ours, official = scores(task, lambda case, _: ", ".join(answers(case)[: round(half * len(answers(case)))]))
    assert ours == pytest.approx(half)
    assert official == pytest.approx(half)


def test_a_value_beside_the_right_one_halves_the_score() -> None:
    for task, other in (("niah_multikey_2", "1000001"), ("niah_multikey_3", "0" * 8 + "-0000" * 3 + "-" + "0" * 12)):
        assert scores(task, lambda case, _, other=other: f"{answers(case)[0]}, {other}") == (0.5, 1.0)  # type: ignore[misc]


def test_a_long_answer_counts_by_its_beginning() -> None:
    assert scores("qa_1", lambda case, _: f"{answers(case)[0]}, says the first document. {'And so on. ' * 40}") == (
        1.0,
        1.0,
    )
    assert scores("qa_1", lambda case, _: f"{'Let me think. ' * 40} {answers(case)[0]}") == (0.0, 1.0)
