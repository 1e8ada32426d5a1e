"""What a killed process had received is not asked for again, and who is dead is known at once."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.runs.doubles import QUESTION, Echo, Length, case, cases, new_file, records

from ragstone.errors import FileDamaged, StorageError, UsageError
from ragstone.runs import open_run, outbox, run_cases
from ragstone.runs.entries import CaseResult, CaseRow, ScoreRow
from ragstone.runs.outbox import FILE_BYTES, Outbox, leftovers
from ragstone.runs.owners import forget, is_dead, left_part, mark, new_owner, remove_left
from ragstone.runs.schema import key_of
from ragstone.structs import to_json
from ragstone.types import Response, Score


def answered(number: int, text: str = "kept") -> CaseResult:
    row = ScoreRow("length", 1, "scored", to_json(Score.of(4.0)), ['"a verdict"'])
    return CaseResult("scripted/echo", f"noise/en/{number:05d}", to_json(Response(text)), None, [row])


async def left_behind(path: Path) -> Path:
    """A run file of five cases of which one is answered, and the outbox of a process that was killed."""
    echo, owner = Echo(), new_owner()
    with new_file(path, echo) as file:
        await run_cases(file, cases(1), systems=[echo], metrics=[Length()])
        box = Outbox(path, owner, file._outbox._file_id)
        for number in (0, 1, 2):
            part = box.put(answered(number))
        rows = [CaseRow(key_of(case.id), to_json(case)) for case in cases(5)()]
        await file.lease("scripted/echo", rows, frozenset())
    with part.path.open("ab") as stream:
        stream.write(b'not an answer\n["scripted/echo","noise/en/00003","{\\"answer\\":')  # cut off by the kill
    assert leftovers(path) == []
    forget(owner)
    assert leftovers(path) == [part.path]
    return part.path


async def test_the_next_process_takes_in_what_a_killed_one_left(tmp_path: Path) -> None:
    path, echo = tmp_path / "a.run", Echo()
    left = await left_behind(path)
    with new_file(path, echo) as file:
        outcome = await run_cases(file, cases(5), systems=[echo], metrics=[Length()])
    assert outcome.already == 3
    assert echo.asked == ["Question 3?", "Question 4?"]
    found = records(path)
    answers = [record.response.answer for record in found if record.response]
    assert answers == ["It is 0.", "kept", "kept", "It is 3.", "It is 4."]
    assert found[1].scores["length"].evidence == {"verdicts": ["a verdict"]}
    assert not left.exists()


async def test_answers_of_a_run_file_that_was_deleted_are_not_taken_for_those_of_the_next(tmp_path: Path) -> None:
    path, echo = tmp_path / "a.run", Echo()
    left = await left_behind(path)
    path.unlink()
    with new_file(path, echo, question={"another": 1}) as file:
        await run_cases(file, cases(5), systems=[echo], metrics=[])
    assert len(echo.asked) == 5
    assert not left.exists()


async def cut(path: Path, size: int, count: int = 60) -> Echo:
    """A run of so many cases whose file is cut to this size when half of them are asked."""

    async def before(question: str) -> None:
        if question == f"Question {count // 2}?":
            with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as other:
                other.execute("BEGIN IMMEDIATE")  # between two commits: what one is about to write hides the cut
                os.truncate(path, size)

    echo = Echo(before=before)
    with pytest.raises(FileDamaged) as caught, new_file(path, echo) as file:
        await run_cases(file, cases(count), systems=[echo], metrics=[Length()], concurrency=4)
    n = len(echo.answered)
    kept = f"{n} of the {n} answers of this command are kept beside it: move it away, then run the same command again."
    assert str(caught.value).endswith(kept)
    return echo


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("size", "part"), [(0, FILE_BYTES), (1_000, FILE_BYTES), (4_096, FILE_BYTES), (4_096, 500)])
async def test_a_file_that_was_cut_short_costs_no_answered_request(
    tmp_path: Path, size: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In many `part`s, too: what was committed long ago is lost with the file, unless it is beside it."""
    monkeypatch.setattr(outbox, "FILE_BYTES", part)
    path = tmp_path / "a.run"
    cut_off = await cut(path, size)
    if size:
        with pytest.raises(UsageError, match="damaged"):
            new_file(path, Echo())
        path.rename(tmp_path / "damaged.run")
    again = Echo()
    with new_file(path, again) as file:
        outcome = await run_cases(file, cases(60), systems=[again], metrics=[Length()])
    assert outcome.complete
    assert len(cut_off.answered) >= 30
    assert sorted(cut_off.answered + again.asked) == sorted(case.sample.question for case in cases(60)())
    assert [record.response.answer for record in records(path) if record.response] == [f"It is {n}." for n in range(60)]
    assert names(tmp_path) == ["a.run", *(["damaged.run"] if size else [])]


async def test_what_is_kept_of_a_lost_file_waits_for_its_cases(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    cut_off = await cut(path, 0)
    for count, already in ((10, 10), (60, len(cut_off.answered))):
        again = Echo()
        with new_file(path, again) as file:
            assert (await run_cases(file, cases(count), systems=[again], metrics=[])).done == count
        assert len(again.asked) == count - already
    assert names(tmp_path) == ["a.run"]


class Changed(Echo):
    """The same id, other settings."""

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "another"}


@pytest.mark.parametrize("other", ["question", "system", "case"])
async def test_answers_to_another_question_system_or_case_are_not_taken_over(tmp_path: Path, other: str) -> None:
    path = tmp_path / "a.run"
    await cut(path, 0)
    again = Changed() if other == "system" else Echo()
    question = {"another": 1} if other == "question" else QUESTION
    texts = [case(n, text="Another passage.") for n in range(60)]
    with new_file(path, again, question=question) as file:
        await run_cases(file, (lambda: iter(texts)) if other == "case" else cases(60), systems=[again], metrics=[])
    assert len(again.asked) == 60


def test_the_oldest_parts_go_when_they_are_committed_and_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "KEPT_BYTES", 2 * FILE_BYTES)
    box = Outbox(tmp_path / "a.run", new_owner(), "id")
    big = "x" * (FILE_BYTES // 2)
    parts = [box.put(answered(number, big)) for number in range(5)]
    assert [part.path.name[-2:] for part in parts] == ["-1", "-1", "-2", "-2", "-3"]
    for part in parts[:3]:
        box.done(part)
    assert not parts[0].path.exists()
    assert parts[2].path.exists()
    assert (box.answers, box.received) == (3, 5)
    for part in parts[3:]:
        box.done(part)
    assert parts[2].path.exists()  # there is room for it
    box.close()
    assert list(tmp_path.iterdir()) == []


def test_an_answer_may_be_committed_after_the_outbox_was_closed(tmp_path: Path) -> None:
    box = Outbox(tmp_path / "a.run", new_owner(), "file")
    part = box.put(answered(0))
    box.close()
    box.done(part)
    assert part.path.exists()


def test_an_answer_that_cannot_be_kept_is_one_line(tmp_path: Path) -> None:
    box = Outbox(tmp_path / "gone" / "a.run", new_owner(), "id")
    with pytest.raises(StorageError, match="an answer could not be kept beside it"):
        box.put(answered(1))


def test_an_owner_is_dead_when_its_process_is() -> None:
    owner = new_owner()
    place, pid, start, nonce = owner.split("|")
    assert not is_dead(owner)
    assert is_dead("|".join((place, pid, start, "another nonce of this process, given up")))
    assert not is_dead("|".join(("elsewhere", "1", start, nonce))), "nobody here knows"
    assert not is_dead("no owner at all")
    forget(owner)
    assert is_dead(owner)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_zombie_and_a_number_used_again_are_dead() -> None:
    code = "from ragstone.runs.owners import new_owner; print(new_owner(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as child:
        assert child.stdout is not None
        owner = child.stdout.readline().strip()
        place, pid, start, nonce = owner.split("|")
        assert not is_dead(owner)
        assert is_dead("|".join((place, pid, str(int(start) - 1), nonce)))
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and nobody has asked how it ended
        assert is_dead(owner)
    assert is_dead(owner)


def dead_part(path: Path) -> Path:
    """What a killed process left of a file that it was making."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    part = left_part(path)
    part = part.with_name(part.name.replace(mark(), mark().replace(f"-{os.getpid()}-", f"-{ended.pid}-")))
    part.touch()
    return part


@pytest.mark.parametrize("name", ["a.run", "my.parts.run", "x.part"])
def test_what_is_left_of_an_unfinished_file_is_known_whatever_its_name(tmp_path: Path, name: str) -> None:
    gone = dead_part(tmp_path / name)
    journal = gone.with_name(f"{gone.name}-journal")
    journal.touch()
    living = left_part(tmp_path / name)
    living.touch()
    remove_left(tmp_path)
    assert [*tmp_path.iterdir()] == [living]


def test_a_process_clears_up_once_in_each_folder_where_it_opens_a_run_file(tmp_path: Path) -> None:
    folders = [tmp_path / f"{number:03d}" for number in range(140)]  # more than a small cache would remember
    for folder in folders:
        folder.mkdir()
        new_file(folder / "a.run").close()
        dead_part(folder / "b.run")
        open_run(folder / "a.run").close()
        assert not [*folder.glob(".*.part")]
    part = dead_part(folders[0] / "b.run")
    open_run(folders[0] / "a.run").close()
    assert part.exists()  # reading again is only reading
