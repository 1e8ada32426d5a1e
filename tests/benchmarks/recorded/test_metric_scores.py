"""Scores in a few bytes each say the same as lists of them would, whatever the order and repeats of samples."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs.doubles import Echo, Length, cases, new_file

from ragstone.benchmarks.recorded.aggregate import tally_scores
from ragstone.benchmarks.recorded.metric_scores import MetricScores
from ragstone.runs import RunReader, open_run, run_cases
from ragstone.stats import Estimate, Samples
from ragstone.stats.samples import draw_of
from ragstone.types import Record

SCORES = st.lists(st.tuples(st.sampled_from(["a", "字", "b\ud800", "", "c"]), st.sampled_from([0.0, 0.25, 0.5, 1.0])))


def scores_of(pairs: list[tuple[str, float]]) -> MetricScores:
    samples = Samples()
    scores = MetricScores(samples)
    for sample, value in pairs:
        scores.add(value, samples.add(sample))
    return scores


@given(SCORES, st.booleans())
def test_compact_scores_say_what_lists_say(pairs: list[tuple[str, float]], lower: bool) -> None:
    scores = scores_of(pairs)
    by_sample: dict[str, list[float]] = {}
    for sample, value in pairs:
        by_sample.setdefault(sample, []).append(value)
    groups, values = [sample for sample, _ in pairs], [value for _, value in pairs]
    assert scores.mean() == Estimate.of_mean(values, groups=groups, total=len(pairs))
    assert scores.repeated() == [several for several in by_sample.values() if len(several) > 1]
    means = {sample: sum(several) / len(several) for sample, several in by_sample.items()}
    low = sorted((sample for sample, mean in means.items() if mean < 0.8), key=means.__getitem__)
    assert scores.worst(3, below=0.8) == [(sample, means[sample]) for sample in low[:3]]
    drawn = sorted(pairs, key=lambda pair: draw_of(pair[0]), reverse=True)
    order = sorted(drawn, key=lambda pair: -pair[1] if lower else pair[1])
    wrong = dict.fromkeys(sample for sample, value in order if value != (0.0 if lower else 1.0))
    assert scores.extremes(3, lower=lower) == tuple(wrong)[:3]


async def test_records_are_read_once_for_all_tables_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, echo, read = tmp_path / "a.run", Echo(), list[int]()
    records = RunReader.records

    def counted(self: RunReader, **chosen: Any) -> Iterator[Record]:
        read.append(1)
        return records(self, **chosen)

    monkeypatch.setattr(RunReader, "records", counted)
    with new_file(path, echo) as file, open_run(path) as run:
        await run_cases(file, cases(3), systems=[echo], metrics=[Length()])
        assert [tally_scores(run)[echo.id].metrics["length"].total for _ in range(3)] == [3, 3, 3]
        assert len(read) == 1
        await run_cases(file, cases(5), systems=[echo], metrics=[Length()])
        assert tally_scores(run)[echo.id].metrics["length"].total == 5
