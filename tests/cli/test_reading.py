"""What is read stays data: a name in a stranger's run file or file of labels loads no code, reads no file, asks nobody.

`reading_audit.py` does it, under an audit hook; it sees the reads that it should see (the first test)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import environment, process

from ragstone.metrics import better

AUDIT = Path(__file__).with_name("reading_audit.py")
ROWS = """id,question,answer,reference,contexts,topic
a1,What is the fee?,The fee is 7 euros.,7 euros,"[""The fee is 7 euros.""]",fees
a2,Who leads it?,It is Ann.,Bob,"[""Bob leads it.""]",people
"""
LABELS = "id,expert,task,label\na1,ann,correct,1\na2,ann,correct,0\na1,bob,correct,1\n"
HELPER = "from pathlib import Path\n\nPath('executed.txt').write_text('by reading')\nm = search = None\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its labels, and what a payload names in a folder below."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "rows.csv").write_text(ROWS)
    (folder / "labels.csv").write_text(LABELS)
    bait = folder / "bait"
    bait.mkdir()
    (bait / "zq_helper.py").write_text(HELPER)
    (bait / "zq_rubric.toml").write_text('name = "zq"\n')
    (bait / "zq_replies.jsonl").write_text('{"default": "x"}\n')
    metrics = ("--metrics", "answer_match,token_f1,recall")
    made = process("eval", "rows.csv", *metrics, "--run", "e.run", "--quiet", folder=folder)
    assert made.code == 0, made.err
    labelled = process("annotate", "e.run", "--labels", "l.sqlite", "--import", "labels.csv", folder=folder)
    assert labelled.code == 0, labelled.err
    return folder


def audited(folder: Path, *files: str, only: str = "", program: str = "") -> Any:
    code = [str(AUDIT)] if not program else ["-c", program]
    options = ("--only", only) if only else ()
    paths = [str(folder / name) for name in files]
    ended = subprocess.run(
        [sys.executable, *code, str(folder / "bait"), *paths, *options], cwd=folder / "bait",
        env=environment(folder), capture_output=True, timeout=280, check=False,
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
def test_the_audit_sees_code_that_a_reader_loads(work: Path) -> None:
    naive = (
        f"import runpy, sys; sys.argv[0] = {str(AUDIT)!r}; import ragstone.metrics as metrics;"
        "metrics._better = lambda name: (metrics.find_metric(name), 'higher')[1];"
        f"runpy.run_path({str(AUDIT)!r}, run_name='__main__')"
    )
    assert any("zq_helper" in what for _, what in audited(work, "e.run", only="scores", program=naive)["events"])


@pytest.mark.slow
def test_a_metric_of_a_run_file_that_names_a_file_is_text(work: Path) -> None:
    (work / "bait" / "executed.txt").unlink(missing_ok=True)
    found = audited(work, "e.run", only="scores")
    assert (found["events"], found["reads"] > 20) == ([], True)
    assert not (work / "bait" / "executed.txt").exists()


@pytest.mark.slow
@pytest.mark.parametrize("files", [("e.run",), ("e.run", "l.sqlite")], ids=["run", "labels"])
def test_no_string_of_a_file_loads_code_reads_files_or_asks_anybody(work: Path, files: tuple[str, ...]) -> None:
    found = audited(work, *files)
    assert found["events"] == []
    assert found["places"] > 10
    assert found["reads"] >= 5 * found["places"]
