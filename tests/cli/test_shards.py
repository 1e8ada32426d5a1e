"""`--shard`: several machines without a cluster, each with its part of the cases; their files merge into one run."""

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import ROOT, SMALL, Told, command, environment, one_line, untimed
from tests.cluster.test_merge import exported
from tests.evaluation.test_eval import ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone import bench as run_benchmark
from ragstone import evaluate, merge
from ragstone.engine.shard import Shard
from ragstone.errors import UsageError
from ragstone.runs import open_run
from ragstone.types import Case, Query, Sample

Ragstone = Callable[..., Told]
NEEDLES = ("bench", "niah", "--model", "local/extractive", "--lengths", "400,600", "--depths", "0,50,100", "--quiet")
RGB = ("bench", "rgb", "--model", "local/extractive", "--fictional-size", "6", "--limit", "4", "--quiet")


HANDBOOK = ROOT / "examples" / "handbook"
UNSTABLE = """
from pathlib import Path

def ask(question):
    asked = Path("asked")
    with asked.open("a") as file:
        file.write(question + "\\n")
    number = question.removeprefix("What is ").removesuffix("?")
    times = asked.read_text().splitlines().count(question)
    if number == "7":
        return "It is 7." if times % 2 else "Who knows."
    return "It is wrong." if int(number) % 3 else f"It is {number}."
"""


def in_parts(ragstone: Ragstone, words: tuple[str, ...], parts: int, asked: str = "asked") -> tuple[str, str]:
    """The export of the merged parts, and of the same on one machine."""
    files = []
    for number in range(1, parts + 1):
        told = ragstone(*words, "--shard", f"{number}/{parts}", "--run", f"{number}.run")
        assert told.code == 0, told.err
        files.append(f"{number}.run")
    assert ragstone(*words, "--run", "whole.run").code == 0
    told = ragstone("merge", *files, "-o", "merged.run")
    assert told.code == 0, told.err
    again = ragstone(*words, "--run", "merged.run", "--json")
    assert again.document["asked"] == 0 if asked == "asked" else "Nothing was asked" in again.err
    return exported(ragstone, "merged.run"), exported(ragstone, "whole.run")


@pytest.mark.parametrize("words", [RGB, NEEDLES])
def test_parts_of_a_benchmark_become_the_run_of_one_machine(ragstone: Ragstone, words: tuple[str, ...]) -> None:
    merged, whole = in_parts(ragstone, words, 4)
    assert merged == whole
    assert whole.count("\n") >= 8
    shown = ragstone("show", "merged.run", "--all").out.replace("merged.run", "whole.run")
    assert shown == ragstone("show", "whole.run", "--all").out


def test_parts_of_questions_become_the_run_of_one_machine(ragstone: Ragstone) -> None:
    Path("q.csv").write_text("id,question,reference\n" + "".join(f"q{at},What is {at}?,{at}\n" for at in range(20)))
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The number is 7, says the report.")
    system = ("run", "q.csv", "--corpus", "docs", "--metrics", "answer_match", "--no-cache", "--quiet")
    for number in (1, 2):
        told = ragstone(*system, "--shard", f"{number}/2")
        assert f"part {number} of 2 of the cases: `ragstone merge` joins the parts." in told.out + told.err
    first, second = sorted(path.name for path in Path().glob("*-of-2.run"))
    assert ragstone("merge", first, second, "-o", "m.run").code == 0
    with open_run(Path("m.run")) as run:
        assert sum(counts.records for counts in run.counts().values()) == 20


@pytest.mark.parametrize("plan", ["adaptive", "full"])
def test_parts_of_a_diagnosis_become_that_of_one_machine(ragstone: Ragstone, plan: str) -> None:
    words = ("diagnose", str(HANDBOOK / "questions.csv"), "--corpus", str(HANDBOOK / "docs"), "--limit", "12", "--plan",
             plan, "--quiet")  # fmt: skip
    said = [ragstone(*words, "--shard", f"{number}/3", "--run", f"{number}.run") for number in (1, 2, 3)]
    assert [told.code for told in said] == [0, 0, 0]
    assert all(f"part {number} of 3" in told.out + told.err for number, told in enumerate(said, 1))
    whole = ragstone(*words, "--run", "whole.run", "--json").document
    assert ragstone("merge", "1.run", "2.run", "3.run", "-o", "merged.run").code == 0
    merged, complete = (
        {one["record"]["case"]["id"]: {**one, "planned": None} for one in untimed(exported(ragstone, name))}
        for name in ("merged.run", "whole.run")
    )
    assert {name: record for name, record in merged.items() if name in complete} == complete
    more = {name.partition("/")[2] for name in merged.keys() - complete.keys()}
    assert more <= {"as_given", "closed_book"}  # each part proves for itself that given passages are used
    again = ragstone(*words, "--run", "merged.run", "--json")
    assert "Nothing was asked" in again.err
    assert again.document["causes"] == whole["causes"]
    assert len(whole["causes"]) == 12


def test_a_part_of_a_diagnosis_without_a_question_merges(ragstone: Ragstone) -> None:
    words = ("diagnose", str(HANDBOOK / "questions.csv"), "--corpus", str(HANDBOOK / "docs"), "--limit", "2", "--quiet")
    merged, whole = in_parts(ragstone, words, 5, asked="causes")
    assert untimed(merged) == untimed(whole)


def test_a_diagnosis_of_a_system_that_changes_its_mind_is_complete_after_the_merge(ragstone: Ragstone) -> None:
    """A part does not know that an answer of another part changed, so that it asks for fewer answers once more."""
    Path("app.py").write_text(UNSTABLE)
    Path("q.csv").write_text("id,question,reference\n" + "".join(f"q{at},What is {at}?,{at}\n" for at in range(12)))
    words = ("diagnose", "q.csv", "--system", "app.py:ask", "--no-cache", "--quiet")
    for number in (1, 2, 3):
        assert ragstone(*words, "--shard", f"{number}/3", "--run", f"{number}.run").code == 0
    assert ragstone("merge", "1.run", "2.run", "3.run", "-o", "merged.run").code == 0
    parts = exported(ragstone, "merged.run").count("\n")
    assert ragstone(*words, "--run", "merged.run").code == 0
    Path("asked").unlink()
    assert ragstone(*words, "--run", "whole.run").code == 0
    merged, whole = (cases_of(exported(ragstone, name)) for name in ("merged.run", "whole.run"))
    assert merged >= whole
    assert len(merged) > parts
    assert "Nothing was asked" in ragstone(*words, "--run", "merged.run").err


def test_where_parts_have_no_meaning_one_line_says_what_to_do(ragstone: Ragstone) -> None:
    Path("doc.txt").write_text("The plum harvest began late, in the year 1999, and ended in May.\n")
    questions, docs = str(HANDBOOK / "questions.csv"), str(HANDBOOK / "docs")
    build = ("build", "questions", "doc.txt", "-o", "out", "--model", "local/template")
    one_line(ragstone(*build, "--shard", "1/2"), "--shard has no meaning for build", "Use --cluster")
    one_line(ragstone(*build, "--shard="), "--shard is empty")
    diagnose = ("diagnose", questions, "--corpus", docs, "--limit", "2", "--quiet")
    one_line(ragstone(*diagnose, "--shard", "1/2", "--try", "k=2"), "--try needs the diagnosis of all questions")
    one_line(ragstone(*diagnose, "--shard", "1/2", "--dry-run"), "--dry-run counts all cases")
    one_line(ragstone(*diagnose, "--shard", "3/2"), "--shard 3/2: expected NUMBER/PARTS")
    one_line(ragstone(*diagnose, "--shard="), "--shard is empty")
    assert not list(Path().glob("*.run"))
    assert not Path("out").exists()
    assert ragstone(*RGB, "--run", "a.run").code == 0
    one_line(ragstone("diagnose", "a.run", "--shard", "1/2"), "--shard has no effect on a run file")


def cases_of(lines: str) -> set[str]:
    """The ids of the cases of an export."""
    return {json.loads(line)["record"]["case"]["id"] for line in lines.splitlines()}


def test_parts_of_answers_from_python_merge_too(tmp_path: Path) -> None:
    data = [row | {"id": f"{at}"} for at, row in enumerate(rows() * 4)]
    files = [tmp_path / f"{number}.run" for number in (1, 2, 3)]
    for number, file in enumerate(files, 1):
        evaluate(data, ["token_f1"], run=file, shard=f"{number}/3")
    whole = evaluate(data, ["token_f1"], run=tmp_path / "whole.run")
    with merge(files, tmp_path / "m.run").open() as merged, whole.open() as other:
        assert merged.run.counts() == other.run.counts()
    with pytest.raises(UsageError, match="shard"):
        run_benchmark("rgb", model="local/extractive", shard="4/3")


async def test_a_part_that_was_killed_goes_on_and_merges(tmp_path: Path) -> None:
    half, gate = asyncio.Event(), asyncio.Event()

    def slowly(number: int, _: Any) -> Act:
        if number >= 5:
            half.set()
        return Act() if number < 5 or gate.is_set() else Act("hang")

    async with FakeEndpoint(slowly) as endpoint:
        words = ("bench", "rgb", "--model", "compat/m", "--base-url", endpoint.base_url, "--fictional-size", "6",
                 "--limit", "6", "--no-cache", "--quiet", "--concurrency", "2")  # fmt: skip
        killed = await asyncio.create_subprocess_exec(
            *command(*words, "--shard", "1/2", "--run", "1.run"), cwd=tmp_path,
            env=environment(tmp_path, COMPAT_API_KEY="k"), stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await half.wait()
        killed.send_signal(signal.SIGKILL)
        await killed.wait()
        gate.set()
        for number in (1, 2):
            told = await ran(tmp_path, *words, "--shard", f"{number}/2", "--run", f"{number}.run")
            assert told.code == 0, told.err
        asked = len(endpoint.seen)
    merge([tmp_path / "1.run", tmp_path / "2.run"], tmp_path / "m.run")
    with open_run(tmp_path / "m.run") as run:
        counts = run.counts()["compat/m"]
    assert counts.answered == counts.records
    assert counts.records <= asked <= counts.records + 2  # what was in flight


def test_what_is_no_part_is_one_line(ragstone: Ragstone) -> None:
    one_line(ragstone(*RGB, "--shard="), "--shard is empty")
    for text in ("0/4", "5/4", "1", "a/b", "1/0", "1/4/2", "-1/4", "1/99999"):
        one_line(ragstone(*RGB, f"--shard={text}"), f"--shard {text}: expected NUMBER/PARTS")
    one_line(ragstone(*RGB, "--shard", "1/4", "--dry-run"), "--dry-run counts all cases: leave --shard out.")
    assert not list(Path().glob("*.run"))


def test_parts_are_of_like_size_and_do_not_change_with_the_lanes_of_a_grid() -> None:
    cases = [Case(f"c{at}", Sample(f"s{at}", "?"), {}, Query("?"), lane="one") for at in range(300)]
    parts = [Shard(number, 4) for number in range(1, 5)]
    found = [[*part.of(lambda: cases)()] for part in parts]
    assert sorted(case.id for part in found for case in part) == sorted(case.id for case in cases)
    assert all(50 < len(part) < 100 for part in found)
    alone = [case for case in cases if Shard(1, 4).has(case.id)]
    assert alone == found[0]


def test_a_part_without_a_case_is_a_run_that_merges(ragstone: Ragstone) -> None:
    words = ("bench", "rgb", "--model", "local/extractive", *SMALL, "--quiet")
    merged, whole = in_parts(ragstone, words, 6)
    assert merged == whole
