"""A run that was stopped says so wherever it is read, and what was never asked counts as missing."""

import asyncio
import csv
import itertools
import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.cli.tools import Told, command, environment
from tests.evaluation.test_eval import asked, by_judge, judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.datasets.tabular.eval_data import read_data
from ragstone.display import shown_id
from ragstone.engine.execute import RunOptions, Shell
from ragstone.engine.judge_tools import Judging
from ragstone.engine.open_run import read_run
from ragstone.evaluation.bench import plan_bench, run_bench
from ragstone.evaluation.evaluate import plan_evaluation, run_evaluation
from ragstone.runs import NullProgress, open_run
from ragstone.types import Query, Record, Response

GRID = ("--lengths", "600,1200,2400", "--depths", "0:100:4", "--control", "none")  # 12 cases


@dataclass
class Stopping:
    """A system that stops its run after so many answers; `fails` of them end in an error."""

    after: int
    fails: int = 0
    id: str = "my/system"
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "stopping"}

    async def answer(self, query: Query, /) -> Response:
        self.asked += 1
        if self.asked >= self.after:
            self.stop.set()
        if self.asked <= self.fails:
            raise RuntimeError("out of order")
        return Response("It is 7, the report says.")


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "rgb": {
        "fictional_size": 8,
        "data_languages": ["en"],
        "abilities": ["noise"],
        "noise_ratios": [0.0, 0.4, 0.8],
        "limit": 4,
    },
    "mirage": {"settings": ["base", "oracle", "mixed"], "limit": 4},
    "niah": {"lengths": [600, 1200, 2400], "depths": "0:100:4", "control": "none"},
}


async def stopped(name: str, system: Stopping, path: str = "a.run", **more: Any) -> None:
    options = {**OPTIONS[name], **more}
    plan = await plan_bench(name, options, models=[system])
    await run_bench(plan, RunOptions(run=path, concurrency=1, shell=Shell(stop=system.stop)))


def read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8-sig")


def exported(ragstone: Callable[..., Told], kind: str) -> str:
    told = ragstone("export", "a.run", "--format", kind, "-o", f"a.{kind}")
    assert told.code == 0, told.err
    return read(f"a.{kind}") if kind not in ("xlsx", "parquet") else ""


async def test_a_killed_run_is_unfinished_everywhere_and_its_map_keeps_rows_and_columns(
    tmp_path: Path, ragstone: Callable[..., Told]
) -> None:
    seventh, questions = asyncio.Event(), itertools.count(1)

    def plan(_: int, payload: Any) -> Act:
        if "messages" not in payload or next(questions) <= 6:  # others ask how many tokens a text has
            return Act()
        seventh.set()
        return Act("stall")

    async with FakeEndpoint(plan) as endpoint:
        arguments = ("bench", "niah", "--model", "compat/m", "--base-url", endpoint.base_url, *GRID,
                     "--concurrency", "1", "--quiet", "--run", "a.run")  # fmt: skip
        one = await asyncio.create_subprocess_exec(
            *command(*arguments), cwd=tmp_path, env=environment(tmp_path),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await seventh.wait()
        one.kill()
        await one.communicate()
    with open_run("a.run") as run:
        n = sum(counts.records for counts in run.counts().values())
        assert 0 < n <= 6
        assert run.plans()["compat/m"].total == 12
    said = f"{n} of 12, unfinished"

    gate = ragstone("gate", "a.run", "--fail-under", "needle.found=0", "--min-coverage", "0.99")
    assert gate.code == 3
    assert f"{n} of 12 scored, {12 - n} unfinished" in gate.out
    held = ragstone("gate", "a.run", "--fail-under", "needle.found=0", "--min-coverage", "0.99", "--json").document
    assert (held["gates"][0]["scored"], held["gates"][0]["total"]) == (n, 12)
    assert held["gates"][0]["coverage"] == pytest.approx(n / 12)

    assert ragstone("report", "a.run", "-o", "a.html").code == 0
    page = read("a.html")
    assert said in page
    assert f"<b>{n} of 12</b><span>cases asked</span>" in page
    assert ragstone("report", "a.run", "-o", "zh.html", "--language", "zh").code == 0
    assert f"12 例中已提问 {n} 例，未完成" in read("zh.html")
    with read_run("a.run") as opened:
        (chart,) = [one for one in opened.benchmark.charts(opened.run) if one.kind == "heatmap"]
        tables = {table.id: table for table in opened.tables()}
    assert chart.categories == ("600", "1.2k", "2.4k")
    assert len(chart.series) == 4
    assert all(any(said in note for note in table.notes) for table in tables.values())
    assert tables["niah-lengths"].columns[1:] == ("600", "1.2k", "2.4k")
    assert tables["niah-summary"].rows[0].cells[2].total == 12
    assert said in exported(ragstone, "markdown")


@pytest.mark.slow
async def test_after_a_kill_as_many_requests_are_told_as_are_then_needed(tmp_path: Path) -> None:
    """Answers that a killed process had received and not committed count as there."""
    begun, chats, slow = asyncio.Event(), itertools.count(1), True

    def plan(_: int, payload: Any) -> Act:
        number = next(chats)
        if slow and number > 150:
            begun.set()
            return Act("stall")
        return Act()

    arguments = ("bench", "rgb", "--model", "compat/m", "--ability", "noise", "--data-language", "en", "--no-cache",
                 "--fictional-size", "80", "--noise", "0,0.4,0.8", "--concurrency", "16", "--run", "a.run")  # fmt: skip
    async with FakeEndpoint(plan) as endpoint:
        words = (*arguments, "--base-url", endpoint.base_url)
        one = await asyncio.create_subprocess_exec(
            *command(*words), cwd=tmp_path, env=environment(tmp_path),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await begun.wait()
        one.kill()
        await one.communicate()
        left = leftovers_beside("a.run")
        assert [name for name in left if "-outbox-" in name]
        told = (await ran(tmp_path, *words, "--dry-run", "--json")).document["requests"]
        assert leftovers_beside("a.run") == left  # a dry run writes nothing
        slow, before = False, len(endpoint.seen)
        assert (await ran(tmp_path, *arguments, "--base-url", endpoint.base_url, "--quiet")).code == 0
        assert told == len(endpoint.seen) - before


async def test_an_effective_length_is_not_claimed_where_the_next_length_is_still_to_be_asked() -> None:
    """Cells are asked from the end of the longest context on, so each length has some and none has all."""
    await stopped("niah", Stopping(after=6))
    with read_run("a.run") as run:
        effective = {table.id: table for table in run.tables()}["niah-effective"]
    assert [cell.text for cell in effective.rows[0].cells[1:]] == ["–", "–"]


@pytest.mark.parametrize("name", sorted(OPTIONS))
async def test_tables_and_exports_of_every_benchmark_count_against_what_was_planned(
    ragstone: Callable[..., Told], name: str
) -> None:
    await stopped(name, Stopping(after=5, fails=2))
    said = "5 of 12, unfinished (2 of them failed)"
    with read_run("a.run") as run:
        assert run.unfinished()[0].startswith(said)
        tables = [table for table in run.tables() if not all(row.published for row in table.rows)]
        assert run.run.plans()["my/system"].failed == 2
        unasked = [shown_id(case, name) for case, name in run.run.unasked("my/system")]
    assert all(table.notes[0].startswith(said) for table in tables)
    totals = [cell.total for cell in tables[0].rows[0].cells if cell.total is not None]
    assert totals  # the leading table has counts
    assert {*totals} <= {4, 12}  # of a setting or ratio, or of all: never those that were asked
    for kind in ("markdown", "latex"):
        assert "5 of 12, unfinished" in exported(ragstone, kind)
    table = list(csv.DictReader(exported(ragstone, "csv").splitlines()))
    assert [row["planned"] for row in table] == ["12"] * 5
    assert [json.loads(line)["planned"] for line in exported(ragstone, "jsonl").splitlines()] == [12] * 5
    suite = ElementTree.fromstring(exported(ragstone, "junit")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("errors")) == ("12", "2")
    skipped = [case.get("name") for case in suite if (one := case.find("skipped")) is not None
               and one.get("message") == "not asked: 5 of 12, unfinished"]  # fmt: skip
    assert skipped == unasked
    assert len(unasked) == 7
    names = {case.get("name") for case in suite}
    assert len(names) == 12
    exported(ragstone, "parquet")
    exported(ragstone, "xlsx")
    import openpyxl
    import pyarrow.parquet

    assert pyarrow.parquet.read_table("a.parquet")["planned"].to_pylist() == [12] * 5
    book = openpyxl.load_workbook("a.xlsx")
    assert any("5 of 12, unfinished" in str(cell.value) for row in book.worksheets[0].iter_rows() for cell in row)
    await stopped(name, Stopping(after=99))
    suite = ElementTree.fromstring(exported(ragstone, "junit")).find("testsuite")
    assert suite is not None
    assert {case.get("name") for case in suite} == names  # asked or not, a case has one name


@pytest.mark.parametrize(("command", "suffix"), [("run", ""), ("diagnose", "/as_is")])
def test_cases_that_failed_or_were_never_asked_have_the_ids_of_the_user(
    tmp_path: Path, ragstone: Callable[..., Told], command: str, suffix: str
) -> None:
    own = [f"hr-{n}" for n in range(14)] + [f"{'long-' * 20}{n}" for n in range(2)]
    data = [{"id": name, "question": f"Which day is {name}?", "reference": "Monday"} for name in own]
    data.append({"question": "Which day has no id of its own, so that its question has to stand for it?"})
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in data))
    (tmp_path / "app.py").write_text("def ask(question):\n    raise ValueError('no such tenant')\n")
    told = ragstone(command, "rows.jsonl", "--system", "app.py:ask", "--run", "a.run", "--concurrency", "1")
    assert told.code == 2, told.err
    (suite,) = ElementTree.fromstring(exported(ragstone, "junit"))
    kinds = [(case.get("name"), *(child.tag for child in case)) for case in suite]
    names = [f"{name}{suffix}" for name in own] + [f"Which day has no id of its own, so that…{suffix}"]
    assert kinds == [(name, "error" if n < 10 else "skipped") for n, name in enumerate(names)]
    for language in ("en", "zh"):
        assert ragstone("report", "a.run", "-o", "a.html", "--language", language).code == 0
        shown = own[:3] if command == "run" else []  # the page of a diagnosis names none of them
        assert [name for name in shown if f"<bdi>{name}</bdi>" not in read("a.html")] == []
        assert "00000" not in re.sub("(?s)<script.*?</script>|<style.*?</style>", "", read("a.html"))


class Ending(NullProgress):
    """Stops a run after its first answer."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()

    def case_done(self, record: Record, *, free: bool = False) -> None:
        self.stop.set()


async def test_an_evaluation_that_was_stopped_says_so_and_its_coverage_is_of_all(
    ragstone: Callable[..., Told],
) -> None:
    data = [row for row in rows() if row["reference"]]
    ending = Ending()
    plan = plan_evaluation(read_data(data), ["token_f1"], Judging())
    done = await run_evaluation(plan, RunOptions(run="a.run", concurrency=1, shell=Shell("", ending, ending.stop)))
    n, total = done.outcome.done, len(data)
    assert 0 < n < total
    assert (done.summary["token_f1"]["n"], done.summary["token_f1"]["total"]) == (n, total)
    with done.open() as run:
        (scores,) = [table for table in run.tables() if table.id == "eval-scores"]
    assert f"{n} of {total}, unfinished" in scores.notes[0]
    gate = ragstone("gate", "a.run", "--fail-under", "token_f1=0")
    assert (gate.code, f"{n} of {total} scored, {total - n} unfinished" in gate.out) == (3, True)


def leftovers_beside(name: str) -> list[str]:
    return [path.name for path in Path().iterdir() if path.name.startswith(name) and path.name != name]


async def test_answers_that_the_judge_has_not_scored_are_unfinished_everywhere(
    tmp_path: Path, ragstone: Callable[..., Told]
) -> None:
    """All answers are in the file with what costs nothing, and the judge was stopped on its way."""
    samples = [row | {"question": f"{row['question']} {n}"} for n in range(4) for row in rows() if row["contexts"]]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    total, served, right = len(samples), itertools.count(), False

    def plan(_: int, payload: Any) -> Act:
        return Act() if right or next(served) < total + 4 else Act("status", status=401)

    async with FakeEndpoint(plan, answer=judging) as endpoint:
        metrics = ("--metrics", "faithfulness,token_f1", "--concurrency", total, "--no-cache")
        arguments = ("eval", "many.jsonl", *by_judge(endpoint), *metrics, "--run")
        told = await ran(tmp_path, *arguments, "a.run")
        assert told.code == 3, told
        assert leftovers_beside("a.run") == []  # what it had of the judge is in there
        with open_run("a.run") as run:
            plan_of = run.plans()["many.jsonl"]
        n, failed = total - plan_of.unscored["faithfulness"], plan_of.failed_scores["faithfulness"]
        assert (plan_of.asked, list(plan_of.unscored)) == (total, ["faithfulness"])
        assert 4 < n < total  # four by a refusal
        assert failed == 4
        said = f"{n - failed} of {total} scored by faithfulness ({failed} failed), unfinished"
        assert told.out.startswith(said)
        assert ragstone("show", "a.run").out.startswith(said)
        chinese = f"{total} 例中已按 faithfulness 评分 {n - failed} 例（另有 {failed} 例评分失败），未完成"
        assert ragstone("show", "a.run", "--language", "zh").out.startswith(chinese)
        shown = ragstone("show", "a.run", "--json").document
        assert shown["unfinished"]["many.jsonl"]["unscored"] == {"faithfulness": total - n}
        with read_run("a.run") as opened:
            (scores,) = [table for table in opened.tables() if table.id == "eval-scores"]
        assert {row.cells[1].total for row in scores.rows} == {total}
        assert ragstone("report", "a.run", "-o", "a.html").code == 0
        assert said in read("a.html")
        assert said in exported(ragstone, "markdown")
        gate = ragstone("gate", "a.run", "--fail-under", "faithfulness=0", "--min-coverage", "0.99")
        assert (gate.code, f" {total - n} unfinished" in gate.out) == (3, True), gate.out
        free = ragstone("gate", "a.run", "--fail-under", "token_f1=0", "--min-coverage", "0.5")
        assert (free.code, "unfinished" in free.out + free.err) == (0, False)
        right, before = True, asked(endpoint)
        assert (await ran(tmp_path, *arguments, "a.run")).code == 0
        resumed, before = asked(endpoint) - before, asked(endpoint)
        assert (await ran(tmp_path, *arguments, "b.run")).code == 0
        fresh = asked(endpoint) - before
        assert fresh <= total + 4 + resumed <= fresh + 4  # no reply was lost; what failed by a refusal begins anew
    assert "unfinished" not in ragstone("show", "a.run").out
    with closing(sqlite3.connect("a.run", isolation_level=None)) as db:  # as a kill before the first score leaves it
        db.execute("DELETE FROM scores WHERE metric = 'faithfulness'")
    assert f"0 of {total} scored by faithfulness, unfinished" in ragstone("show", "a.run").out
    gate = ragstone("gate", "a.run", "--fail-under", "faithfulness=0")
    assert (gate.code, f"0 of {total} scored, {total} unfinished" in gate.out) == (3, True), gate.out


def test_a_finished_run_says_nothing(ragstone: Callable[..., Told], run_file: Path) -> None:
    with read_run(run_file) as run:
        assert run.unfinished() == []
        assert not any(plan.unfinished for plan in run.run.plans().values())
    told = [ragstone("export", run_file, "--format", kind).out for kind in ("markdown", "csv", "junit")]
    assert "unfinished" not in "".join(told)
    assert ragstone("report", run_file, "-o", "a.html").code == 0
    assert "unfinished" not in read("a.html")


async def test_a_wider_command_makes_the_total_grow_and_a_narrower_one_does_not_shrink_it() -> None:
    def totals() -> dict[str, tuple[int, int]]:
        with open_run("a.run") as run:
            return {name: (plan.asked, plan.total) for name, plan in run.plans().items()}

    await stopped("mirage", Stopping(after=99))
    assert totals() == {"my/system": (12, 12)}
    await stopped("mirage", Stopping(after=1), limit=6, settings=["base"])
    assert totals() == {"my/system": (13, 14)}  # two more questions, in one setting of three
    await stopped("mirage", Stopping(after=99), limit=1)
    assert totals() == {"my/system": (13, 14)}
    await stopped("mirage", Stopping(after=2, id="my/other"), limit=3)
    assert totals() == {"my/system": (13, 14), "my/other": (2, 9)}  # each by what was asked of it
    with read_run("a.run") as run:
        assert [line.partition(":")[0] for line in run.unfinished()] == ["my/other", "my/system"]


async def test_a_file_without_a_plan_says_nothing_until_a_command_goes_on_with_it() -> None:
    await stopped("mirage", Stopping(after=5))
    with closing(sqlite3.connect("a.run", isolation_level=None)) as db:
        db.executescript("DELETE FROM planned; DELETE FROM cells")
    with read_run("a.run") as run:
        assert (run.unfinished(), dict(run.run.plans()), list(run.run.unasked("my/system"))) == ([], {}, [])
        assert run.tables()
    await stopped("mirage", Stopping(after=1), limit=1, settings=["mixed"])
    with open_run("a.run") as opened:
        plan = opened.plans()["my/system"]
    assert (plan.asked, plan.total) == (6, 6)  # what was there before counts as planned


async def test_two_processes_on_one_file_plan_the_same_cases_once(tmp_path: Path) -> None:
    async with FakeEndpoint() as endpoint:
        arguments = ("bench", "niah", "--model", "compat/m", "--base-url", endpoint.base_url, *GRID,
                     "--concurrency", "1", "--quiet", "--no-cache", "--run", "a.run")  # fmt: skip
        both = [
            await asyncio.create_subprocess_exec(
                *command(*arguments), cwd=tmp_path, env=environment(tmp_path),
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            )
            for _ in range(2)
        ]  # fmt: skip
        ended = [(await one.communicate())[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], ended
    assert len([seen for seen in endpoint.seen if "messages" in seen.body]) == 12
    with open_run("a.run") as run:
        plan = run.plans()["compat/m"]
    assert (plan.asked, plan.total) == (12, 12)
    assert sum(cell.total for cell in plan.cells) == 12


def test_the_cases_that_nobody_asked_are_listed_in_time_that_grows_with_their_number(run_file: Path) -> None:
    """Counted in steps of SQLite's machine, not in seconds."""

    def steps(cases: int) -> int:
        copy = Path(f"{cases}.run")
        copy.write_bytes(run_file.read_bytes())
        with closing(sqlite3.connect(copy)) as db, db:  # one transaction: a disk takes its time for each
            db.executemany(
                "INSERT INTO planned VALUES ('local/extractive', ?, 1, 'z')", ((f"z{n}",) for n in range(cases))
            )
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        with open_run(copy) as run:
            run._connection.set_progress_handler(count, 100)
            assert len(list(run.unasked("local/extractive"))) == cases
        return counted

    assert steps(8000) < 6 * steps(2000)  # four times as many
