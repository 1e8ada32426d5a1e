"""One run file grows by later commands, and nothing is asked twice."""

from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone import bench, bench_async
from ragstone.errors import RunMismatch, UsageError
from ragstone.models import ModelOptions
from ragstone.models.scripted import Scripted
from ragstone.runs import Outcome
from ragstone.systems.reader import Reader
from ragstone.systems.template import prompt_template
from ragstone.types import System

SMALL: dict[str, Any] = {"fictional_size": 3}


def reader(model: Scripted) -> System:
    return Reader(model, prompt_template("paper"))


class Growing:
    """A run file, and two models that count what they are asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first, self.second = (Scripted(lambda _: "It is 7.", id=f"scripted/{name}") for name in ("one", "two"))

    def run(self, *models: Scripted, judge: str | None = None, **options: Any) -> Outcome:
        systems = [reader(model) for model in models or (self.first,)]
        calling = ModelOptions(cache=None)
        result = bench("rgb", model=systems, run=self.path, judge=judge, model_options=calling, **(SMALL | options))
        assert result.outcome.complete, result.outcome
        return result.outcome

    @property
    def asked(self) -> tuple[int, int]:
        return len(self.first.requests), len(self.second.requests)


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path / "a.run")


def cases(**options: Any) -> int:
    return int(make("rgb", **(SMALL | options)).size)


def test_the_same_again_asks_nothing(growing: Growing) -> None:
    growing.run(limit=1)
    outcome = growing.run(limit=1)
    assert (outcome.asked, outcome.already) == (0, cases(limit=1))
    assert growing.asked == (cases(limit=1), 0)


def test_another_model_is_asked_and_the_first_is_not(growing: Growing) -> None:
    growing.run(limit=1)
    growing.run(growing.second, limit=1)
    growing.run(growing.first, growing.second, limit=1)
    assert growing.asked == (cases(limit=1), cases(limit=1))


def test_a_larger_limit_wider_noise_and_repeats_ask_what_is_new(growing: Growing) -> None:
    growing.run(limit=1, noise_ratios=(0.4,))
    growing.run(limit=2, noise_ratios=(0.4,))
    assert growing.asked[0] == cases(limit=2, noise_ratios=(0.4,))
    growing.run(limit=2, noise_ratios=(0, 0.4, 0.6))
    assert growing.asked[0] == cases(limit=2, noise_ratios=(0, 0.4, 0.6))
    growing.run(limit=2, noise_ratios=(0, 0.4, 0.6), repeat=2)
    assert growing.asked[0] == cases(limit=2, noise_ratios=(0, 0.4, 0.6), repeat=2)
    growing.run(limit=1, noise_ratios=(0.6,))  # smaller than what is there
    assert growing.asked[0] == cases(limit=2, noise_ratios=(0, 0.4, 0.6), repeat=2)


def test_one_language_first_and_both_later(growing: Growing) -> None:
    growing.run(limit=1, data_languages=("en",))
    assert growing.asked[0] == cases(limit=1, data_languages=("en",))
    growing.run(limit=1)
    assert growing.asked[0] == cases(limit=1)
    growing.run(limit=1, data_languages=("zh",))
    assert growing.asked[0] == cases(limit=1)


def test_one_ability_first_and_more_later(growing: Growing) -> None:
    growing.run(limit=1, abilities=("rejection",))
    growing.run(limit=1, abilities="integration")
    growing.run(limit=1)
    assert growing.asked[0] == cases(limit=1)


def test_a_judge_that_comes_later_scores_the_answers_that_are_there(growing: Growing, tmp_path: Path) -> None:
    judge = tmp_path / "judge.jsonl"
    judge.write_text('{"contains": "has not identified", "text": "has not identified"}\n{"default": "not addressed"}\n')
    growing.run(limit=1)
    growing.run(limit=1, judge=f"scripted/{judge}")
    assert growing.asked[0] == cases(limit=1)
    with bench("rgb", model=[reader(growing.first)], run=growing.path, limit=1, **SMALL).open() as run:
        scores = [name for record in run.run.records() for name in record.scores]
        assert scores.count("rgb.judge.rejection") >= 2
        assert run.run.meta["question"]["judge"]["model"] == f"scripted/{judge}"
    other = tmp_path / "other.jsonl"
    other.write_text('{"default": "Yes"}\n')
    with pytest.raises(RunMismatch, match="judge"):
        growing.run(limit=1, judge=f"scripted/{other}")


def test_a_grown_file_is_read_as_the_whole_of_what_it_holds(growing: Growing, tmp_path: Path) -> None:
    growing.run(limit=1, data_languages=("en",), noise_ratios=(0,))
    growing.run(limit=2)
    whole = Growing(tmp_path / "b.run")
    whole.run(limit=2)
    with bench("rgb", model=[reader(growing.first)], run=growing.path, limit=2, **SMALL).open() as run:
        grown = run.tables()
    with bench("rgb", model=[reader(whole.first)], run=whole.path, limit=2, **SMALL).open() as run:
        assert run.tables() == grown


def test_other_data_in_a_language_that_is_there_are_another_question(growing: Growing) -> None:
    growing.run(limit=1, data_languages=("en",))
    with pytest.raises(RunMismatch, match=r"data\.sha256\.en_int"):
        growing.run(limit=1, fictional_seed=9)
    assert growing.asked[0] == cases(limit=1, data_languages=("en",))


async def test_in_a_running_loop_the_async_form_is_named(tmp_path: Path) -> None:
    model = Scripted(lambda _: "7", id="scripted/x")
    with pytest.raises(UsageError, match="bench_async"):
        bench("rgb", model=reader(model), run=tmp_path / "a.run")
    result = await bench_async("rgb", model=reader(model), run=tmp_path / "a.run", limit=1, **SMALL)
    assert result.outcome.complete
    assert {"rgb-summary", "rgb-table7"} <= {table.id for table in result.tables()}


def test_names_are_checked_before_data_are_made() -> None:
    for models, words in (([], "No model"), (["local/extractive"] * 2, "named twice"), ("opnai/x", "openai")):
        with pytest.raises(UsageError, match=words):
            bench("rgb", model=models, data="nowhere")
