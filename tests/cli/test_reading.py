"""What is read stays data: a name in a stranger's run file or file of labels loads no code, reads no file, asks nobody.

`reading_audit.py` does it, under an audit hook; it sees the reads that it should see (the first test)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.reading_audit import PAYLOADS
from tests.cli.tools import ROOT, environment, process

from ragstone.metrics import better

TRACES = ROOT / "examples" / "traces.jsonl"
AUDIT = Path(__file__).with_name("reading_audit.py")
EXPERTS = ("ann", "bob")
HELPER = "from pathlib import Path\n\nPath('executed.txt').write_text('by reading')\nm = search = None\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its labels, and what a payload names in a folder below."""
    folder = tmp_path_factory.mktemp("reading")
    rows, labels = [], ["id,expert,task,label"]
    for n in range(len(PAYLOADS)):  # so that each row can have a payload of its own
        answer = f"The fee is {n + n % 2} euros."
        passage = {"id": f"p{n}", "text": f"The fee of {n} is {n} euros.", "title": "Fees"}
        rows.append({
            "id": f"a{n}", "question": f"What is the fee of {n}?", "answer": answer, "reference": f"{n} euros",
            "contexts": [passage], "topic": "fees",
        })  # fmt: skip
        labels += [f"a{n},{expert},correct,{int(n % 2 == at)}" for at, expert in enumerate(EXPERTS)]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "labels.csv").write_text("\n".join(labels))
    (folder / "traces.jsonl").write_text(TRACES.read_text("utf-8"))
    bait = folder / "bait"
    bait.mkdir()
    (bait / "zq_helper.py").write_text(HELPER)
    (bait / "zq_rubric.toml").write_text('name = "zq"\n')
    (bait / "zq_replies.jsonl").write_text('{"default": "x"}\n')
    metrics = ("--metrics", "answer_match,token_f1,recall")
    small = ("--fictional-size", "2", "--limit", "1", "--model", "local/extractive", "--quiet")
    questions = [
        {"id": f"a{n}", "question": f"What is the fee of {n}?", "reference": f"{n * 7} euros", "document": f"d{n}.txt"}
        for n in range(2)
    ]
    (folder / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in questions))
    (folder / "docs").mkdir()
    for n in range(4):
        (folder / "docs" / f"d{n}.txt").write_text(f"The fee of {n} is {n} euros. It is paid in March.")
    system = ("--corpus", "docs", "--system", "rag(retriever=bm25,model=local/extractive,k=2)", "--quiet")
    for words in (
        ("bench", "rgb", *small, "--data-language", "en", "--noise", "0.4", "--run", "rgb.run"),
        ("bench", "mirage", *small, "--retriever", "bm25", "--top-k", "1", "--run", "mirage.run"),
        ("bench", "niah", "--model", "local/extractive", "--lengths", "500", "--depths", "0,100", "--quiet",
         "--run", "niah.run"),
        ("run", "questions.jsonl", *system, "--run", "asked.run"),
        ("diagnose", "questions.jsonl", *system, "--run", "diagnosed.run"),
        ("eval", "rows.jsonl", *metrics, "--run", "e.run", "--quiet"),
        ("annotate", "e.run", "--labels", "l.sqlite", "--import", "labels.csv"),
        ("agreement", "experts", "l.sqlite", "--run", "e.run", "--keep"),
    ):  # fmt: skip
        done = process(*words, folder=folder)
        assert done.code == 0, done.err
    (findings,) = (path for path in folder.glob("e.run*.json"))
    findings.rename(folder / "findings.json")
    return folder


def audited(folder: Path, *files: str, only: str = "", turns: int = 3, program: str = "") -> Any:
    code = [str(AUDIT)] if not program else ["-c", program]
    options = ("--turns", f"{turns}", *(("--only", only) if only else ()))
    paths = [str(folder / name) for name in files]
    ended = subprocess.run(
        [sys.executable, *code, str(folder / "bait"), *paths, *options], cwd=folder / "bait",
        env=environment(folder), capture_output=True, timeout=900, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout.splitlines()[-1])


def test_the_direction_of_a_metric_is_known_without_loading_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zq_helper.py").write_text(HELPER)
    monkeypatch.chdir(tmp_path)
    assert [better(name) for name in ("zq_helper.py:m", "rubric:zq.toml", "token_f1")] == ["higher"] * 3
    assert not (tmp_path / "executed.txt").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "seen"),
    [("metrics.find_metric(name)", "zq_"), ("os.listdir('/var')", "/var"), ("socket.getaddrinfo('::1', 9)", "::1")],
)
def test_the_audit_sees_what_a_reader_loads_reads_and_looks_up(work: Path, reader: str, seen: str) -> None:
    naive = (
        f"import os, runpy, socket, sys; sys.argv[0] = {str(AUDIT)!r}; import ragstone.metrics as metrics;"
        f"metrics._better = lambda name: ({reader}, 'higher')[1];"
        f"runpy.run_path({str(AUDIT)!r}, run_name='__main__')"
    )
    assert any(seen in what for _, what in audited(work, "e.run", only="scores", program=naive)["events"])


@pytest.mark.slow
def test_a_metric_of_a_run_file_that_names_a_file_is_text(work: Path) -> None:
    (work / "bait" / "executed.txt").unlink(missing_ok=True)
    found = audited(work, "e.run", only="scores")
    assert (found["events"], found["reads"] > 20) == ([], True)
    assert not (work / "bait" / "executed.txt").exists()


PAGES = ("/", "/beside", "/case", "/cases", "/compare", "/run", "/trend")
LABELLING = ("/annotate", "/annotate/item", "/disputes", "/gold", "/gold/question")


@pytest.mark.slow
@pytest.mark.timeout(960)  # the labels take 6 minutes on a machine that does other things, too
@pytest.mark.parametrize(
    ("files", "places", "pages"),
    [
        (("e.run",), 60, PAGES), (("e.run", "l.sqlite"), 30, LABELLING), (("e.run", "findings.json"), 5, ("/run",)),
        (("e.run", "rows.jsonl"), 10, ()), (("e.run", "traces.jsonl"), 10, ()),
    ],
    ids=["run", "labels", "findings", "data", "traces"],
)  # fmt: skip
def test_no_string_of_a_file_loads_code_reads_files_or_asks_anybody(
    work: Path, files: tuple[str, ...], places: int, pages: tuple[str, ...]
) -> None:
    found = audited(work, *files)
    assert found["events"] == []
    assert found["places"] >= places
    assert found["payloads"] >= 3
    assert found["reads"] >= 2 * found["places"]
    assert {*pages} <= {*found["pages"]}


BENCHES = {"rgb.run": 150, "mirage.run": 150, "niah.run": 100, "asked.run": 100, "diagnosed.run": 100}


@pytest.mark.slow
@pytest.mark.timeout(960)
@pytest.mark.parametrize("file", BENCHES)
def test_no_string_of_a_run_of_a_benchmark_or_a_system_does(work: Path, file: str) -> None:
    """Each kind of run has settings, conditions and evidence of its own, and pages that show them."""
    found = audited(work, file, turns=1)
    assert found["events"] == []
    assert found["places"] >= BENCHES[file]
    assert found["reads"] >= 15 * found["places"]
    assert {*PAGES} <= {*found["pages"]}
