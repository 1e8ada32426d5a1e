"""Whatever is wrong with a command: one clear line on standard error, exit code 2 (or 3), and no traceback."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import SMALL, Told, one_line

Ragstone = Callable[..., Told]

BENCH = [
    (("--model", "opnai/gpt-4o"), "Did you mean 'openai'?"),
    (("--model", "openai/gpt-4o"), "OPENAI_API_KEY"),
    (("--model", "compat/x"), "--base-url"),
    (("--model", "compat/x", "--base-url", "ftp://x/v1"), "ftp://x"),
    (("--model", "local/extractve"), "Did you mean 'extractive'?"),
    (("--model", "local/smolm2"), "Did you mean 'smollm2'?"),
    (("--model", "scripted/none.jsonl"), "no such file"),
    (("--model", "scripted/folder"), "is a folder. Name a file of recorded answers"),
    (("--model", "nonsense"), "PROVIDER/MODEL"),
    (("--model", ""), "--model is empty"),
    ((), "--model local/extractive"),
    (("--model", "local/extractive", "--model", "local/extractive"), "named twice"),
]
OPTIONS = [
    (("--judge", "openai/gpt-4o"), "OPENAI_API_KEY"),
    (("--judge", "opnai/gpt-4o"), "Did you mean 'openai'?"),
    (("--judge", "local/extractive"), "cannot judge"),
    (("--data", "fictonal"), "Did you mean 'fictional'?"),
    (("--data", "offical"), "Did you mean 'official'?"),
    (("--data", "official"), "ragstone data pull rgb"),
    (("--data", ""), "is empty"),
    (("--data", "folder"), "contains no RGB file"),
    (("--data", "text.json"), "text.json, line 1"),
    (("--data", "binary.json"), "not UTF-8"),
    (("--data", "empty.json"), "has no rows"),
    (("--dataset", "zh_refin"), "Did you mean 'zh_refine'?"),
    (("--ability", "nose"), "Did you mean 'noise'?"),
    (("--ability", ","), "one name or more"),
    (("--data-language", "fr"), "There are: en, zh."),
    (("--data-language", ","), "one name or more"),
    (("--selection", "balancd"), "Did you mean 'balanced'?"),
    (("--scoring", "offical"), "Did you mean 'official'?"),
    (("--protocol", "oficial"), "Did you mean 'official'?"),
    (("--protocol", "official", "--selection", "balanced"), "--selection balanced"),
    (("--template", "papr"), "Did you mean 'paper'?"),
    (("--noise", "2"), "from 0 to 1"),
    (("--noise", "nan"), "from 0 to 1"),
    (("--noise", ","), "numbers from 0 to 1"),
    (("--dataset", "en_refine", "--noise", "0,1"), "a single noise ratio"),
    (("--limit", "0"), "x>=1"),
    (("--limit", "many"), "--limit"),
    (("--repeat", "0"), "x>=1"),
    (("--passages", "-1"), "--passages"),
    (("--passages", "1000000000"), "--passages"),
    (("--concurrency", "1000000000"), "--concurrency"),
    (("--fictional-size", "100000000000"), "--fictional-size"),
    (("--correct-rate", "nan"), "finite number"),
    (("--temperature", "nan"), "not a finite number"),
    (("--temperature", "-1"), "x>=0"),
    (("--deadline", "inf"), "not a finite number"),
    (("--rpm", "0"), "--rpm"),
    (("--dry-run", "--price", "cheap"), "0.15/0.60"),
    (("--dry-run", "--price", "nan/1"), "0.15/0.60"),
    (("--dry-run", "--price", "-1/1"), "0.15/0.60"),
    (("--dry-run", "--judge", "opnai/x"), "Did you mean 'openai'?"),
    (("--run", "folder"), "is a folder"),
    (("--run", "text.json"), "not an SQLite database"),
    (("--report", "folder"), "is a folder"),
    (("--report", "text.json/r.html"), "cannot be written"),
    (("--modl", "x"), "Did you mean one of: '--method', '--model'"),
]
OTHERS = [
    (("bnch",), "Did you mean 'bench'?"),
    (("bench", "rbg"), "Did you mean 'rgb'?"),
    (("report", "none.run"), "no such file"),
    (("show", "pipe"), "is a pipe or a device"),
    (("export", "/dev/zero", "--format", "csv"), "is a pipe or a device"),
    (("bench", "rgb", "--model", "local/extractive", "--limit", "1", "--run", "pipe"), "is a pipe or a device"),
    (("bench", "rgb", "--model", "local/extractive", "--data", "pipe"), "pipe or a device"),
    (("bench", "rgb", "--model", "scripted/pipe", "--run", "x.run"), "pipe or a device"),
    (("score", "rgb", "/dev/zero", "--dataset", "zh_fact"), "pipe or a device"),
    (("score", "mirage", "--dataset", "/dev/zero", "--base", "/dev/zero"), "pipe or a device"),
    (("score", "niah", "pipe"), "no such file or folder"),
    (("report", "text.json"), "not an SQLite database"),
    (("report", "empty.json"), "is empty"),
    (("report", "folder"), "is a folder"),
    (("report", "RUN", "-o", "folder"), "is a folder"),
    (("report", "RUN", "-o", "text.json/r.html"), "cannot be written"),
    (("report", "RUN", "-o", "RUN"), "is the run file itself"),
    (("report", "RUN", "--language", "fr"), "'en', 'zh'"),
    (("export", "RUN", "--format", "cvs"), "Did you mean 'csv'?"),
    (("export", "RUN"), "--format"),
    (("export", "RUN", "--format", "csv", "-o", "folder"), "is a folder"),
    (("export", "RUN", "--format", "csv", "-o", "RUN"), "is the run file itself"),
    (("export", "none.run", "--format", "csv"), "no such file"),
    (("score", "rgb", "none", "--dataset", "zh_fact"), "No such file"),
    (("score", "rgb", "text.json", "--dataset", "zh_fact"), "text.json, line 1"),
    (("score", "rgb", "text.json", "--dataset", "zh_fct"), "Did you mean 'zh_fact'?"),
    (("score", "rgb", "text.json", "--dataset", "zh_fact", "--data", "none"), "no such folder"),
    (("build", "fictional"), "--output"),
    (("build", "fictional", "-o", "text.json"), "is a file"),
    (("build", "fictional", "-o", "text.json/x", "--size", "1"), "cannot be written"),
    (("build", "fictional", "-o", "x", "--format", "rbg"), "Did you mean 'rgb'?"),
    (("build", "fictional", "-o", "x", "--data-language", "fr"), "There are: en, zh."),
    (("data", "pull", "rbg"), "Did you mean 'rgb'?"),
    (("data", "lst"), "Did you mean 'list'?"),
    (("setup", "lcal"), "Did you mean 'local'?"),
    (("cases", "rgb", "--data", "none"), "no such folder or file"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def broken_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text.json").write_text("hello\n")
    (tmp_path / "binary.json").write_bytes(b"\x00\x01\xff\xfe\n")
    (tmp_path / "empty.json").write_text("")


@pytest.mark.parametrize(("arguments", "words"), BENCH)
def test_a_wrong_model_is_told(ragstone: Ragstone, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    one_line(ragstone("bench", "rgb", *arguments, *SMALL, "--run", "a.run"), words)
    assert not (tmp_path / "a.run").exists()


@pytest.mark.parametrize(("arguments", "words"), OPTIONS)
def test_a_wrong_option_is_told_before_anything_is_asked(
    ragstone: Ragstone, script: Path, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    one_line(ragstone("bench", "rgb", "--model", f"scripted/{script}", *SMALL, "--run", "a.run", *arguments), words)
    assert not (tmp_path / "a.run").exists()


@pytest.mark.parametrize(("arguments", "words"), OTHERS)
def test_wrong_input_of_the_other_commands_is_told(
    ragstone: Ragstone, run_file: Path, arguments: tuple[str, ...], words: str
) -> None:
    before = run_file.read_bytes()
    one_line(ragstone(*(str(run_file) if argument == "RUN" else argument for argument in arguments)), words)
    assert run_file.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("--passages", "3"), "passages: 5 in the file, 3 now"),
        (("--fictional-seed", "4"), "data.sha256.en_fact"),
        (("--template", "official"), "template.name: 'paper' in the file, 'official' now"),
        (("--temperature", "0.5"), "sampling.temperature"),
        (("--selection", "official"), "selection: 'balanced' in the file"),
    ],
)
def test_a_run_file_of_another_question_names_the_difference(
    ragstone: Ragstone, run_file: Path, script: Path, change: tuple[str, ...], words: str
) -> None:
    told = ragstone("bench", "rgb", "--model", f"scripted/{script}", *SMALL, "--run", run_file, *change)
    one_line(told, words, "Name another file with --run")


def test_an_unwritable_report_is_told_before_anything_is_asked(
    ragstone: Ragstone, script: Path, tmp_path: Path
) -> None:
    told = ragstone("bench", "rgb", "--model", f"scripted/{script}", *SMALL, "--run", "a.run", "--report", "folder")
    one_line(told, "is a folder")
    assert not (tmp_path / "a.run").exists()


def test_a_run_without_answers_can_be_reported(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "mute.jsonl").write_text('{"contains": "what nobody asks", "text": "-"}')
    told = ragstone("bench", "rgb", "--model", "scripted/mute.jsonl", *SMALL, "--run", "m.run", "--quiet")
    assert told.code == 3
    assert "Traceback" not in told.err
    for language, words in {"en": "has no reply", "zh": "中没有对"}.items():
        assert ragstone("report", "m.run", "-o", "m.html", "--language", language).code == 0
        assert words in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_debug_shows_the_traceback(ragstone: Ragstone) -> None:
    told = ragstone("--debug", "bench", "rgb", "--model", "opnai/x")
    assert told.code == 2
    assert told.err.startswith("Traceback")
    assert told.err.splitlines()[-1].startswith("ragstone: No model provider named 'opnai'")


def test_lone_surrogates_in_data_are_printed(ragstone: Ragstone, tmp_path: Path) -> None:
    row = {
        "id": "\ud800",
        "query": "Who \udfff?",
        "answer": ["\ud801"],
        "positive": ["It is \ud801."],
        "negative": ["\0"],
    }
    (tmp_path / "odd.json").write_text(json.dumps(row) + "\n" + json.dumps(row | {"query": 7}) + "\n")
    checked = ragstone("data", "check", "odd.json")
    assert checked.code == 2
    assert "line 2" in checked.out
    one_line(ragstone("cases", "rgb", "--data", "odd.json", "--dataset", "odd"), "odd.json, line 2", "query")
    (tmp_path / "odd.json").write_text(json.dumps(row) + "\n")
    cases = ragstone("cases", "rgb", "--data", "odd.json", "--dataset", "odd", "--passages", "1")
    assert json.loads(cases.out)["sample_id"] == "odd:\ud800"
    told = ragstone(
        "bench", "rgb", "--model", "local/extractive", "--data", "odd.json", "--dataset", "odd", "--run", "o"
    )
    assert told.code == 0
    assert ragstone("report", "o", "-o", "o.html").code == 0
