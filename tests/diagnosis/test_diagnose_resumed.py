"""A diagnosis that is killed goes on where it was: nothing is lost, nothing asked twice, the causes are the same."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.planted import Planted
from tests.diagnosis.test_diagnose import corpus, labelled
from tests.evaluation.judging import scripted_judge

from ragstone import merge
from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose
from ragstone.errors import Unfinished
from ragstone.models import ModelOptions
from ragstone.models.scripted import Scripted
from ragstone.runs import open_run
from ragstone.structs import from_json, to_json
from ragstone.types import Query, Response

__all__ = ["corpus"]

ROOT = Path(__file__).parents[2]


class Logging(Planted):
    """Writes down every question it is asked, and kills its process when it has answered `left`."""

    def __init__(self, log: Path, left: int) -> None:
        super().__init__(frozenset({"lost", "middle", "never_refuses"}))
        self.log, self.left = log, left

    async def answer(self, query: Query, /) -> Response:
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(to_json(query)) + "\n")
        return await super().answer(query)


def run_once(folder: Path, documents: Path, left: int, shard: str = "") -> DiagnosisResult:
    run = folder / f"d{shard[:1]}.run"
    return diagnose(
        labelled(), Logging(folder / "log", left), corpus=documents, run=run, concurrency=1, shard=shard
    )  # fmt: skip


def run_and_die(folder: Path, documents: Path, left: int, shard: str = "") -> None:
    """The same in a process of its own, which is killed."""
    code = f"run_once(Path({str(folder)!r}), Path({str(documents)!r}), {left}, {shard!r})"
    code = f"from pathlib import Path; from tests.diagnosis.test_diagnose_resumed import run_once; {code}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def asked(folder: Path) -> Counter[str]:
    """What was asked, without the trials of what the system takes, which in a run of all are of the first question."""
    lines = (folder / "log").read_text(encoding="utf-8").splitlines()
    first = labelled()[0]["question"]
    queries = [from_json(json.loads(line), Query) for line in lines]
    return Counter(to_json(query) for query in queries if query.question != first)


def records(result: DiagnosisResult) -> dict[str, Any]:
    with open_run(result.run) as run:
        return {record.case.id: record.response and record.response.answer for record in run.records()}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_diagnosis_that_is_killed_three_times_equals_one_that_is_not(tmp_path: Path, corpus: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    expected = run_once(whole, corpus, -1)
    for left in (12, 25, 30):
        run_and_die(killed, corpus, left)
    result = run_once(killed, corpus, -1)
    assert result.outcome.complete
    assert records(result) == records(expected)
    assert asked(killed) == asked(whole)
    assert result.causes() == expected.causes()
    assert result.waterfall() == expected.waterfall()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_parts_of_a_diagnosis_that_are_killed_merge_into_one_that_is_not(tmp_path: Path, corpus: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    expected = run_once(whole, corpus, -1)
    for shard in ("1/2", "2/2"):
        for left in (8, 12):
            run_and_die(killed, corpus, left, shard)
    merge([killed / "d1.run", killed / "d2.run"], killed / "d.run")
    run_and_die(killed, corpus, 12)
    result = run_once(killed, corpus, -1)
    assert result.outcome.complete
    assert records(result) == records(expected)
    tried = [from_json(query, Query) for query in asked(killed) - asked(whole)]
    own = [query for query in tried if "Quolvar" not in query.question]
    assert len({query.question for query in own}) == 1, (
        "each part tries what the system takes with one question of its own"
    )
    assert all(query.passages == () or query.k or query.retrieve_only for query in own)
    assert not asked(whole) - asked(killed)
    assert result.causes() == expected.causes()


def test_what_the_system_does_not_take_is_told_by_every_command_on_the_run(tmp_path: Path) -> None:
    def ask(question: str) -> str:
        return "I do not know."

    rows = [{"question": "How tall is it?", "reference": "5 m"}]
    first, again = (diagnose(rows, ask, run=tmp_path / "d.run") for _ in range(2))
    assert len(first.warnings) == 3
    assert again.warnings == first.warnings
    chinese = diagnose(rows, ask, run=tmp_path / "d.run", language="zh")
    assert ["系统" in warning for warning in chinese.warnings] == [True] * 3


def test_a_judge_that_fails_on_gold_passages_stops_before_anything_is_asked(tmp_path: Path, corpus: Path) -> None:
    reference = "317 kg it weighs the Belka pump of the north works a pump"
    rows = [{"id": "q1", "question": "How much does the Belka pump weigh?", "reference": reference}]
    judge = scripted_judge()
    failing = Scripted(lambda request: "no JSON", id=judge.id)
    for model, found in ((failing, None), (judge, "judge")):
        system = Planted(frozenset({"lost"}), concerned=range(12))
        options: dict[str, Any] = {"metrics": "answer_match", "corpus": corpus, "run": tmp_path / "j.run"}
        if found is None:
            with pytest.raises(Unfinished, match="gold passages of 'q1'"):
                diagnose(rows, system, judge=model, **options)
            assert not system.asked
            assert not (tmp_path / "j.run").exists()
        else:
            result = diagnose(rows, system, judge=model, **options)
            assert [item.found for item in result.questions] == [found]


class _Failing(Planted):
    """Takes passages at first, and fails on them later."""

    async def answer(self, query: Query, /) -> Response:
        if query.passages is not None and len(self.asked) > len(labelled()) + 5:
            raise RuntimeError("out of memory")
        return await super().answer(query)


def test_a_condition_that_fails_blames_nobody_and_is_asked_again(tmp_path: Path, corpus: Path) -> None:
    options: dict[str, Any] = {"corpus": corpus, "index": corpus, "run": tmp_path / "f.run"}
    failing = diagnose(labelled(), _Failing(frozenset({"lost"})), **options)
    assert not failing.outcome.complete
    wrong = [cause for cause in failing.causes().values() if cause.name != "healthy"]
    assert {(cause.name, cause.lost) for cause in wrong} == {("filtered", "filtered")}
    search = failing.waterfall().steps[1]
    assert (search.gain, len(search.lost), search.missing) == (None, 6, "measure_error")
    resumed = diagnose(labelled(), Planted(frozenset({"lost"})), **options)
    assert resumed.outcome.complete
    search = resumed.waterfall().steps[1]
    assert search.gain is not None
    assert search.gain.value == pytest.approx(6 / 26)


def test_a_limit_on_requests_counts_system_and_judge_and_a_larger_one_goes_on(tmp_path: Path, corpus: Path) -> None:
    def diagnosed(name: str, most: int | None) -> tuple[DiagnosisResult, int]:
        judge, given = scripted_judge(), {"concurrency": 1, "model_options": ModelOptions(cache=None)}
        options: dict[str, Any] = {**given, "run": tmp_path / name, "max_requests": most, "corpus": corpus}
        system = Planted(frozenset({"lost"}))
        result = diagnose(labelled()[:10], system, judge=judge, **options)
        return result, len(judge.requests) + sum(not query.retrieve_only for query in system.asked)

    whole, requests = diagnosed("whole.run", None)
    stopped, first = diagnosed("cut.run", 30)
    assert first == 30
    assert [error.exit_code for error in stopped.outcome.refused] == [3]
    resumed, rest = diagnosed("cut.run", 500)
    assert resumed.outcome.complete
    # Nothing is paid for twice, but that without a cache a judge reads again what passages handed back were answered.
    assert first + rest <= requests + 2 * 5
    assert resumed.causes() == whole.causes()
