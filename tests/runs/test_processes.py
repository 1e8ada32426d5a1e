"""What no process can be asked to promise in one process: kills, full disks, Ctrl-C, and many at one file."""

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.runs.doubles import QUESTION, records, shown
from tests.runs.worker import Logged, lines, open_with, work

from ragstone.runs import RunFile
from ragstone.runs.merge import attached, copy_records
from ragstone.runs.schema import LAYOUT
from ragstone.storage import connect

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9, limits and mounts are POSIX's")

ROOT = Path(__file__).resolve().parents[2]
SPAWN = multiprocessing.get_context("forkserver")
SPAWN.set_forkserver_preload(["tests.runs.worker"])
IN_FLIGHT = 4


class Worker:
    """A real process at work on a run file."""

    def __init__(self, path: Path, count: int, log: Path, **options: Any) -> None:
        self.connection, theirs = SPAWN.Pipe(duplex=False)
        options.setdefault("concurrency", IN_FLIGHT)
        self.process = SPAWN.Process(target=work, args=(theirs, str(path), count, str(log), options), daemon=True)
        self.process.start()
        theirs.close()
        self.acknowledged: list[str] = []
        self.said: str | None = None

    def listen(self, most: int | None = None) -> bool:
        """Takes up to `most` acknowledgements (all there ever are by default); False when the process has ended."""
        taken = 0
        with contextlib.suppress(EOFError, OSError):
            while most is None or taken < most:
                message: str = self.connection.recv()
                taken += 1
                if message.startswith("end "):
                    self.said = message[4:]
                    return False
                self.acknowledged.append(message)
            return True
        return False

    def kill(self) -> None:
        """kill -9; what was acknowledged before it is still read."""
        self.process.kill()
        self.listen()
        self.process.join()

    def finish(self) -> str | None:
        self.listen()
        self.process.join()
        return self.said


def unbroken(tmp_path: Path, count: int, **options: Any) -> bytes:
    path = tmp_path / "unbroken.run"
    assert Worker(path, count, tmp_path / "unbroken.log", **options).finish() == ""
    return shown(path)


def check_battery(path: Path, log: Path, acknowledged: list[str], count: int, kills: int, **options: Any) -> None:
    """What must hold at the end of a run that was killed so often."""
    found = [record.case.id for record in records(path)]
    assert len(found) == len(set(found)) == count, "a record is lost or there twice"
    assert len(acknowledged) == len(set(acknowledged)), "a record was acknowledged twice"
    requests = lines(log)
    asked = [line for line in requests if line.startswith("Question")]
    judged = [line for line in requests if line.startswith("judge")]
    assert count <= len(asked) <= count + kills * IN_FLIGHT
    assert len(judged) <= count + kills * IN_FLIGHT
    assert shown(path) == unbroken(path.parent, count, **options)
    assert not list(path.parent.glob("a.run-*")), "a finished run is one file"


@pytest.mark.parametrize(
    ("kills", "count"), [(12, 300), pytest.param(70, 1200, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
@pytest.mark.parametrize("judged", [False, True])
def test_kill_9_loses_no_acknowledged_record_and_asks_no_more_than_it_must(
    tmp_path: Path, kills: int, count: int, judged: bool
) -> None:
    path, log, chance = tmp_path / "a.run", tmp_path / "a.log", random.Random(kills)
    acknowledged: list[str] = []
    done = 0
    while done < kills:
        worker = Worker(path, count, log, judged=judged)
        if not worker.listen(chance.randrange(12)):
            pytest.fail(f"the run ended before it was killed {kills} times: {worker.said}")
        worker.kill()
        done += 1
        acknowledged += worker.acknowledged
        if path.exists() and path.stat().st_size:
            assert set(acknowledged) <= {record.case.id for record in records(path)}
    last = Worker(path, count, log, judged=judged)
    assert last.finish() == ""
    check_battery(path, log, acknowledged + last.acknowledged, count, kills, judged=judged)


def test_kill_9_loses_no_acknowledged_record_of_answers_that_come_at_once(tmp_path: Path) -> None:
    path, log, chance, count = tmp_path / "a.run", tmp_path / "a.log", random.Random(3), 1500
    acknowledged: list[str] = []
    for _ in range(4):
        worker = Worker(path, count, log, seconds=-1.0)
        assert worker.listen(chance.randrange(1, 150)), worker.said
        worker.kill()
        acknowledged += worker.acknowledged
        assert set(acknowledged) <= {record.case.id for record in records(path)}
    last = Worker(path, count, log, seconds=-1.0)
    assert last.finish() == ""
    acknowledged += last.acknowledged
    assert len(acknowledged) == len(set(acknowledged)), "a record was acknowledged twice"
    assert shown(path) == unbroken(tmp_path, count, seconds=-1.0)
    assert not list(tmp_path.glob("a.run-*")), "a finished run is one file"


@pytest.mark.parametrize(
    ("kills", "count"), [(8, 1200), pytest.param(70, 6000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_kill_9_of_any_of_four_processes_loses_nothing(tmp_path: Path, kills: int, count: int) -> None:
    path, log, chance = tmp_path / "a.run", tmp_path / "a.log", random.Random(kills)
    acknowledged: list[str] = []
    workers = [Worker(path, count, log, seconds=0.15) for _ in range(4)]
    for _ in range(kills):
        place = chance.randrange(4)
        if not workers[place].listen(chance.randrange(6)):
            pytest.fail(f"the run ended before {kills} kills: {workers[place].said}")
        workers[place].kill()
        acknowledged += workers[place].acknowledged
        workers[place] = Worker(path, count, log, seconds=0.15)
    for worker in workers:
        assert worker.finish() == ""
        acknowledged += worker.acknowledged
    check_battery(path, log, acknowledged, count, kills)


@pytest.mark.parametrize(
    ("kills", "count", "judged"),
    [
        (6, 150, True),
        *(
            pytest.param(60, 900, judged, marks=[pytest.mark.slow, pytest.mark.timeout(600)])
            for judged in (False, True)
        ),
    ],
)
def test_kill_9_in_parts_and_in_the_run_that_they_are_merged_into_loses_nothing(
    tmp_path: Path, kills: int, count: int, judged: bool
) -> None:
    path, log, chance = tmp_path / "a.run", tmp_path / "a.log", random.Random(kills)
    parts = [tmp_path / f"part{number}.run" for number in range(3)]
    acknowledged: list[str] = []

    def killed(file: Path, **options: Any) -> None:
        worker = Worker(file, count, log, judged=judged, **options)
        assert worker.listen(chance.randrange(1, 8)), f"it ended before it was killed: {worker.said}"
        worker.kill()
        acknowledged.extend(worker.acknowledged)

    for number in range(kills // 2):
        killed(parts[number % 3], part=(number % 3, 3))
    join(path, parts, log)
    assert set(acknowledged) <= {record.case.id for record in records(path)}
    for _ in range(kills // 2):
        killed(path)
    last = Worker(path, count, log, judged=judged)
    assert last.finish() == ""
    check_battery(path, log, acknowledged + last.acknowledged, count, kills, judged=judged)


def join(path: Path, parts: Sequence[Path], log: Path) -> None:
    """Merges parts that may be unfinished, with what the last kill left beside them."""
    system = Logged(id="scripted/logged", log=str(log))
    RunFile.create_or_open(path, question=QUESTION, info={}, systems={system.id: system.spec}).close()
    for part in parts:
        with contextlib.closing(connect(path, LAYOUT)) as connection, attached(connection, path, part):
            copy_records(connection, part)


def killed_parts(tmp_path: Path, count: int, log: Path, chance: random.Random, **options: Any) -> list[str]:
    """What three parts acknowledged before each of them was killed; they are merged into a.run."""
    parts, acknowledged = [tmp_path / f"part{number}.run" for number in range(3)], list[str]()
    for number, part in enumerate(parts):
        worker = Worker(part, count, log, part=(number, 3), **options)
        assert worker.listen(chance.randrange(1, 8)), f"it ended before it was killed: {worker.said}"
        worker.kill()
        acknowledged += worker.acknowledged
    join(tmp_path / "a.run", parts, log)
    return acknowledged


def test_kill_9_in_parts_loses_no_acknowledged_record_of_answers_that_come_at_once(tmp_path: Path) -> None:
    path, log, chance, count = tmp_path / "a.run", tmp_path / "a.log", random.Random(3), 1500
    acknowledged = killed_parts(tmp_path, count, log, chance, seconds=-1.0)
    assert set(acknowledged) <= {record.case.id for record in records(path)}
    worker = Worker(path, count, log, seconds=-1.0)
    assert worker.listen(50), worker.said
    worker.kill()
    last = Worker(path, count, log, seconds=-1.0)
    assert last.finish() == ""
    acknowledged += [*worker.acknowledged, *last.acknowledged]
    assert len(acknowledged) == len(set(acknowledged)), "a record was acknowledged twice"
    assert shown(path) == unbroken(tmp_path, count, seconds=-1.0)
    assert not list(tmp_path.glob("a.run-*")), "a finished run is one file"


@pytest.mark.slow
def test_kill_9_of_any_of_four_processes_at_a_merged_run_loses_nothing(tmp_path: Path) -> None:
    path, log, chance, count, kills = tmp_path / "a.run", tmp_path / "a.log", random.Random(5), 1200, 8
    acknowledged = killed_parts(tmp_path, count, log, chance, seconds=0.15)
    workers = [Worker(path, count, log, seconds=0.15) for _ in range(4)]
    for _ in range(kills):
        place = chance.randrange(4)
        assert workers[place].listen(chance.randrange(6)), workers[place].said
        workers[place].kill()
        acknowledged += workers[place].acknowledged
        workers[place] = Worker(path, count, log, seconds=0.15)
    for worker in workers:
        assert worker.finish() == ""
        acknowledged += worker.acknowledged
    check_battery(path, log, acknowledged, count, 3 + kills)


def test_four_processes_share_a_run_and_ask_each_case_once(tmp_path: Path) -> None:
    path, log = tmp_path / "a.run", tmp_path / "a.log"
    workers = [Worker(path, 300, log, seconds=0.05) for _ in range(4)]
    assert [worker.finish() for worker in workers] == ["", "", "", ""]
    assert sorted(len(worker.acknowledged) for worker in workers)[-1] < 300
    assert len(lines(log)) == len(set(lines(log))) == 300
    check_battery(path, log, [name for worker in workers for name in worker.acknowledged], 300, 0)


def test_resuming_after_a_kill_does_not_wait_for_a_lease(tmp_path: Path) -> None:
    path, log = tmp_path / "a.run", tmp_path / "a.log"
    worker = Worker(path, 40, log, seconds=30.0)  # it never answers, and holds its leases
    while len(lines(log)) < IN_FLIGHT:
        os.sched_yield()
    worker.kill()
    assert Worker(path, 40, log).finish() == ""  # within the test's own time, which is shorter than a lease
    assert len(lines(log)) == 40 + IN_FLIGHT


def test_two_processes_with_two_questions_get_one_file_between_them(tmp_path: Path) -> None:
    for attempt in range(5):
        path = tmp_path / f"{attempt}.run"
        pairs: list[tuple[Connection, Any]] = []
        for passages in (5, 7):
            ours, theirs = SPAWN.Pipe(duplex=False)
            process = SPAWN.Process(target=open_with, args=(theirs, str(path), {**QUESTION, "passages": passages}))
            process.start()
            pairs.append((ours, process))
        said = sorted(ours.recv() for ours, _ in pairs)
        for _, process in pairs:
            process.join()
        assert said[1] == "opened"
        assert said[0].startswith("RunMismatch")
        assert "passages: " in said[0]


@pytest.mark.parametrize("size", [100_000, 130_000, 180_000])
def test_a_file_that_may_not_grow_loses_nothing_acknowledged(tmp_path: Path, size: int) -> None:
    path, log = tmp_path / "a.run", tmp_path / "a.log"
    worker = Worker(path, 400, log, file_size=size, seconds=0.0)
    said = worker.finish()
    assert said is not None
    assert "a.run: the disk " in said
    assert "cases of this run are kept" in said
    assert len(said.splitlines()) == 1
    assert set(worker.acknowledged) <= {record.case.id for record in records(path)}
    last = Worker(path, 400, log, seconds=0.0)
    assert last.finish() == ""
    assert shown(path) == unbroken(tmp_path, 400, seconds=0.0)


MOUNT = """
mount -t tmpfs -o size={size} ragstone-test "$1" || exit 77
"$2" -m tests.runs.worker "$1/a.run" 900 "$3" 0 > "$4" 2> "$5"; echo "ended $?"
df --output=avail "$1" >&2
cp "$1"/a.run* "$6"
mount -o remount,size=64m "$1" && "$2" -m tests.runs.worker "$1/a.run" 900 "$3" 0 >> "$4"; echo "ended $?"
cp "$1"/a.run "$6/last.run"
"""


@pytest.mark.parametrize("size", ["200k", "500k"])
def test_a_full_disk_loses_nothing_acknowledged_and_goes_on_when_there_is_space(tmp_path: Path, size: str) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system (unshare -m)")
    disk, kept, out, err = (tmp_path / name for name in ("disk", "kept", "out", "err"))
    disk.mkdir()
    kept.mkdir()
    script = MOUNT.format(size=size)
    places = [str(place) for place in (disk, sys.executable, tmp_path / "a.log", out, err, kept)]
    found = subprocess.run(
        [unshare, "-m", "sh", "-c", script, "sh", *places], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if found.returncode == 77:
        pytest.skip("this user may not mount a tmpfs")
    assert found.stdout.split("\n")[:2] == ["ended 3", "ended 0"], found.stderr
    said = err.read_text().splitlines()
    assert len(said) == 1
    assert "cases of this run are kept" in said[0]
    acknowledged = out.read_text().splitlines()
    assert len(acknowledged) == len(set(acknowledged)) > 20
    assert set(acknowledged) <= {record.case.id for record in records(kept / "last.run")}
    (kept / "unbroken.run").unlink(missing_ok=True)
    assert shown(kept / "last.run") == unbroken(tmp_path, 900, seconds=0.0)


@pytest.mark.parametrize(
    ("away", "what"),
    [
        (Path.unlink, "deleted while"),
        (lambda path: (path.parent / "other").replace(path), "replaced by another while"),
        # In one step: between two steps of rmtree a run would see the folder without the file.
        (lambda path: path.parent.rename(path.parent.with_name("gone")), "deleted together with its folder while"),
    ],
)
def test_a_run_file_that_goes_while_it_is_written_is_said_to_be_lost(
    tmp_path: Path, away: Callable[[Path], object], what: str
) -> None:
    folder, log = tmp_path / "runs", tmp_path / "a.log"
    folder.mkdir()
    Worker(folder / "other", 3, log).finish()
    worker = Worker(folder / "a.run", 5000, log)
    assert worker.listen(20)
    away(folder / "a.run")
    said = worker.finish()
    assert said is not None
    assert said.startswith(f"{folder / 'a.run'}: the file was {what} it was in use"), said
    assert "kept" not in said
    assert "run the same command again" in said
    assert len(lines(log)) < 5003
    assert not list(folder.glob("a.run-*"))


@contextlib.contextmanager
def terminal(tmp_path: Path, count: int, seconds: float) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.runs.worker", str(tmp_path / "a.run"), str(count), str(tmp_path / "a.log")]
    with (
        (tmp_path / "out").open("w") as out,
        subprocess.Popen([*command, str(seconds)], cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_finishes_what_is_in_flight_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    with terminal(tmp_path, 2000, 0.02) as process:
        while len(lines(tmp_path / "out")) < 10:
            os.sched_yield()
        process.send_signal(number)
        _, err = process.communicate()
        assert process.returncode == 3
    seen = lines(tmp_path / "out")
    assert len(seen) < 2000
    assert sorted(seen) == sorted(record.case.id for record in records(tmp_path / "a.run"))
    assert len(seen) == len(lines(tmp_path / "a.log")), "what was asked was finished"
    first, last = err.splitlines()
    by = "" if number == signal.SIGINT else f" ({number.name})"
    assert first.startswith(f"Stopping{by}: finishing what is in flight.")
    assert last == f"{2000 - len(seen):,} of 2,000 cases remain. Run the same command again to resume."


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (signal.SIGINT, signal.SIGINT, 130),
        (signal.SIGTERM, signal.SIGTERM, 143),
        (signal.SIGHUP, signal.SIGTERM, 143),
        (signal.SIGTERM, signal.SIGINT, 130),
    ],
)
def test_a_second_signal_leaves_at_once_and_loses_nothing(
    tmp_path: Path, first: signal.Signals, second: signal.Signals, code: int
) -> None:
    assert Worker(tmp_path / "a.run", 10, tmp_path / "a.log").finish() == ""
    with terminal(tmp_path, 50, 600.0) as process:
        while len(lines(tmp_path / "a.log")) < 10 + IN_FLIGHT:
            os.sched_yield()
        process.send_signal(first)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Stopping")
        process.send_signal(second)
        assert process.stderr.read() == ""
        assert process.wait() == code
    assert len(records(tmp_path / "a.run")) == 10


def test_a_terminal_that_closes_sends_its_signal_twice_and_hastens_nothing(tmp_path: Path) -> None:
    with terminal(tmp_path, 2000, 0.02) as process:
        while len(lines(tmp_path / "out")) < 10:
            os.sched_yield()
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Stopping (SIGHUP)")
        process.send_signal(signal.SIGHUP)
        process.stderr.read()
        assert process.wait() == 3
    assert len(lines(tmp_path / "out")) == len(lines(tmp_path / "a.log")) == len(records(tmp_path / "a.run"))


def test_what_the_parent_has_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminal(tmp_path, 60, 0.02) as process:
            while len(lines(tmp_path / "out")) < 4:
                os.sched_yield()
            process.send_signal(signal.SIGHUP)
            assert process.stderr is not None
            assert process.stderr.read() == ""
            assert process.wait() == 0
    finally:
        signal.signal(signal.SIGHUP, before)
