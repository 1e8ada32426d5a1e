"""A diagnosis of many questions holds no texts but those of a few questions at a time."""

import dataclasses
import pickle
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tests.diagnosis.interventions.evidence import item_of
from tests.diagnosis.planted import SIZE, Planted
from tests.diagnosis.test_diagnose import corpus, labelled

from ragstone.diagnosis.diagnose import diagnose
from ragstone.diagnosis.interventions.benchmark import Interventions
from ragstone.diagnosis.interventions.diagnosed import of_questions
from ragstone.diagnosis.interventions.observations import PackedRecords
from ragstone.diagnosis.interventions.question import Question
from ragstone.runs import open_run
from ragstone.types import Record, Sample

__all__ = ["corpus"]


class _Counting:
    """A run that counts the records that are read of it."""

    def __init__(self, run: Any) -> None:
        self.run, self.path, self.read = run, run.path, 0

    def records(self, *, system: str | None = None, cases: Collection[str] | None = None) -> Iterator[Record]:
        for record in self.run.records(system=system, cases=cases):
            self.read += 1
            yield record


def test_a_round_reads_only_the_questions_of_which_something_was_asked_and_keeps_no_text(
    tmp_path: Path, corpus: Path
) -> None:
    diagnose(labelled(), Planted(frozenset({"lost"})), corpus=corpus, run=tmp_path / "d.run")
    with open_run(tmp_path / "d.run") as opened:
        run: Any = _Counting(opened)
        first = Interventions.from_meta(opened.meta).grown(run, "planted")
        assert run.read >= 3 * SIZE
        settled = {row: dataclasses.replace(one, new=False) for row, one in first.standings.items()}
        row = min(settled)
        one_open = {**settled, row: dataclasses.replace(settled[row], new=True)}
        run.read = 0
        questions = [Question(number, Sample(f"q{number}", "?")) for number in settled]
        dataclasses.replace(first, questions=questions, standings=one_open).grown(run, "planted")
        assert 0 < run.read <= 1 + len(settled[row].wanted)
    kept = pickle.dumps([dict(first.standings), first.answers])
    assert b"pump of the north" not in kept
    assert len(kept) < 1_000 * (SIZE + 2)


def test_diagnosed_questions_hold_their_records_packed_and_give_them_back() -> None:
    records = [item_of(f"q{number}", {"as_is": "right", "again": "wrong"}) for number in range(200)]
    items = of_questions(records, takes=frozenset(), gates=None, sure=False)
    for item, before in zip(items, records, strict=True):
        assert isinstance(item.evidence.records, PackedRecords)
        assert dict(item.evidence.records) == before
        assert (item.right("as_is"), item.right("again"), "k2" in item.evidence.records) == (1.0, 0.0, False)
