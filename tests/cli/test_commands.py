"""Every command does what it says, and `--json` prints one document and nothing else on standard output."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import SMALL, Told, process

from ragstone.cli.main import COMMANDS
from ragstone.runs import open_run

Ragstone = Callable[..., Told]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_command_has_help(ragstone: Ragstone, name: str) -> None:
    told = ragstone(*([name] if name else []), "--help")
    assert told.code == 0
    assert told.out.startswith("Usage: ragstone")


def test_a_group_without_a_command_shows_its_help_and_fails(ragstone: Ragstone) -> None:
    told = ragstone("bench")
    assert (told.code, told.out) == (2, "")
    assert "Usage: ragstone bench" in told.err


def test_bench_prints_measured_tables_only_and_says_where_the_rest_is(
    ragstone: Ragstone, script: Path, tmp_path: Path
) -> None:
    told = ragstone("bench", "rgb", "--model", f"scripted/{script}", *SMALL, "--run", tmp_path / "b.run")
    assert told.code == 0
    for title in ("The four abilities at a glance", "Table 1:", "Table 3:", "Table 5:", "Table 7:"):
        assert told.out.count(f"\n{title}") + told.out.startswith(title) == 1
    assert "ChatGPT" not in told.out
    assert "Published" not in told.out
    assert f"Run file: {tmp_path / 'b.run'}" in told.out
    assert "more tables, charts, answers" in told.out
    assert told.err.splitlines()[-1].startswith("14/14 cases, ")


def test_bench_json_is_one_document_with_every_table(ragstone: Ragstone, script: Path, tmp_path: Path) -> None:
    report, path = tmp_path / "deep" / "r.html", tmp_path / "b.run"
    told = ragstone(
        "bench", "rgb", "--model", f"scripted/{script}", *SMALL, "--run", path, "--json", "--report", report
    )  # fmt: skip
    document = told.document
    assert told.code == 0
    assert document["complete"] is True
    assert document["remaining"] == 0
    assert document["systems"] == {f"scripted/{script}": {"answered": document["done"], "failed": 0}}
    assert {"rgb-summary", "rgb-table1", "rgb-published1"} <= {table["id"] for table in document["tables"]}
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_same_command_again_asks_nothing(ragstone: Ragstone, run_file: Path, script: Path) -> None:
    before = run_file.read_bytes()
    models = ("--model", "local/extractive", "--model", f"scripted/{script}")
    told = ragstone("bench", "rgb", *models, *SMALL, "--run", run_file, "--json", "--quiet")
    assert (told.code, told.document["asked"], told.err) == (0, 0, "")
    with open_run(run_file) as run:
        assert sum(counts.records for counts in run.counts().values()) == told.document["done"]
    assert len(run_file.read_bytes()) == len(before)


def test_failed_cases_are_exit_3_with_the_cause(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "mute.jsonl").write_text('{"contains": "no such words", "text": "x"}\n')
    told = ragstone("bench", "rgb", "--model", "scripted/mute.jsonl", *SMALL, "--run", "m.run", "--quiet")
    assert told.code == 3
    assert "Fix the errors above, then run the same command again" in told.err
    assert "mute.jsonl has no reply" in told.err


def test_dry_run_counts_and_asks_nobody(ragstone: Ragstone, tmp_path: Path) -> None:
    arguments = ("bench", "rgb", "--model", "openai/gpt-4o-mini", *SMALL, "--dry-run")
    document = ragstone(*arguments, "--price", "1/2", "--json").document
    assert document["cases"] == document["requests"] > 0
    assert document["prompt_tokens"] > 100 * document["cases"]
    expected = (document["prompt_tokens"] + 2 * document["completion_tokens"]) / 1e6
    assert document["cost"] == pytest.approx(expected, abs=1e-6)
    told = ragstone(*arguments, "--judge", "openai/gpt-4o-mini")
    assert "the judge: 4 of the requests" in told.out
    assert "cost: unknown" in told.out
    assert not list(tmp_path.glob("*.run"))


def test_dry_run_has_the_judge_in_the_cost_at_its_own_price(ragstone: Ragstone) -> None:
    arguments = ("bench", "rgb", "--model", "openai/a", *SMALL, "--dry-run", "--price", "1/2")
    alone = ragstone(*arguments, "--json").document
    judged = ragstone(*arguments, "--judge", "openai/j", "--json").document
    dearer = ragstone(*arguments, "--judge", "openai/j", "--judge-price", "10/20", "--json").document
    written = 40 * judged["judge_requests"]
    assert judged["judge_cost"] == round((judged["judge_tokens"] - written + 2 * written) / 1e6, 6) > 0
    assert judged["cost"] == pytest.approx(alone["cost"] + judged["judge_cost"], abs=2e-6)
    assert dearer["judge_cost"] == pytest.approx(10 * judged["judge_cost"], abs=1e-5)
    lines = ragstone(*arguments, "--judge", "openai/j", "--judge-price", "10/20").out.splitlines()
    assert f"of the requests, about {judged['judge_tokens']:,} tokens, 0.0" in lines[-2]
    assert lines[-1].endswith("at 1/2 per million tokens; the judge at 10/20")
    assert ragstone(*arguments, "--judge-price", "10/20").code == 2


def test_dry_run_on_a_run_file_counts_what_is_missing(ragstone: Ragstone, run_file: Path, script: Path) -> None:
    wider = (*SMALL[:-1], "0,0.4,0.8")
    model = ("bench", "rgb", "--model", f"scripted/{script}", "--dry-run", "--run", run_file)
    done = ragstone(*model, *SMALL, "--json").document
    assert (done["cases"], done["requests"], done["prompt_tokens"]) == (done["done"], 0, 0)
    assert done["cases"] > 0
    more = ragstone(*model, *wider, "--json").document
    assert 0 < more["requests"] == more["cases"] - more["done"] < more["cases"]
    assert more["completion_tokens"] == 60 * more["requests"]
    another = ragstone(*model, "--model", "openai/new", *SMALL, "--json").document
    assert another["requests"] == done["cases"] == another["done"]
    judged = ragstone(*model, *SMALL, "--judge", "openai/j", "--json").document
    assert judged["requests"] == judged["judge_requests"] > 0
    assert f"({done['done']} answered already), 0 requests" in ragstone(*model, *SMALL).out


def test_dry_run_counts_the_cases_that_the_run_has(ragstone: Ragstone, run_file: Path, script: Path) -> None:
    document = ragstone("bench", "rgb", "--model", f"scripted/{script}", *SMALL, "--dry-run", "--json").document
    with open_run(run_file) as run:
        assert run.counts()["local/extractive"].records == document["cases"]


def test_report_is_written_in_both_languages(ragstone: Ragstone, run_file: Path, tmp_path: Path) -> None:
    for language in ("en", "zh"):
        path = tmp_path / f"{language}.html"
        told = ragstone("report", run_file, "-o", path, "--language", language)
        assert (told.code, told.out) == (0, f"{'Report: ' if language == 'en' else '报告：'}{path}\n")
        assert f'<html lang="{language}' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "junit", "markdown", "latex", "xlsx", "parquet"])
def test_export_writes_every_format(ragstone: Ragstone, run_file: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"out.{kind}"
    told = ragstone("export", run_file, "--format", kind, "-o", path)
    assert (told.code, told.out, told.err) == (0, "", "")
    assert path.stat().st_size > 200
    if kind == "jsonl":
        with open_run(run_file) as run:
            records = sum(1 for _ in run.records())
        assert len(path.read_text(encoding="utf-8").splitlines()) == records


def test_build_makes_files_that_check_and_bench_take(ragstone: Ragstone, tmp_path: Path) -> None:
    told = ragstone("build", "fictional", "-o", tmp_path / "made", "--size", 2)
    assert told.code == 0
    names = {"en_refine", "en_int", "en_fact", "zh_refine", "zh_int", "zh_fact"}
    assert {path.stem for path in (tmp_path / "made").iterdir()} == names
    assert ragstone("data", "check", tmp_path / "made").code == 0
    cases = ragstone("cases", "rgb", "--data", tmp_path / "made", "--dataset", "zh_fact")
    made = ragstone("cases", "rgb", "--fictional-size", 2, "--dataset", "zh_fact")
    assert cases.code == made.code == 0
    assert cases.out == made.out
    again = ragstone("build", "fictional", "-o", tmp_path / "again", "--size", 2, "--data-language", "zh")
    assert again.code == 0
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / "made" / path.name).read_bytes()


def test_data_list_check_and_pull(ragstone: Ragstone, tmp_path: Path) -> None:
    told = ragstone("data", "list")
    assert "0 of 8 files" in told.out
    assert "CC BY-NC-SA" in told.out
    bad = tmp_path / "en.json"
    bad.write_text('{"id": 1, "query": "", "answer": "x", "positive": [], "negative": []}\n')
    checked = ragstone("data", "check", bad)
    assert checked.code == 2
    assert "line 1" in checked.out
    assert "query" in checked.out
    pulled = ragstone("data", "pull", "rgb", "--from", tmp_path / "nowhere")
    assert pulled.code == 2
    assert "Licence: CC BY-NC-SA" in pulled.err


def test_setup_local_reports_on_standard_error(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragstone.cli import setup

    def install(report: Callable[[str], None]) -> None:
        report("Installing nothing.")

    monkeypatch.setattr(setup, "install_local", install)
    assert ragstone("setup", "local") == Told(0, "", "Installing nothing.\n")


def test_metrics_lists_the_metrics(ragstone: Ragstone) -> None:
    assert {"answer_match", "refusal", "rgb.official", "rgb.judge.rejection"} <= set(ragstone("metrics").out.split())


def test_lists_are_json_too(ragstone: Ragstone, tmp_path: Path) -> None:
    assert "answer_match" in ragstone("metrics", "--json").document
    assert [one["name"] for one in ragstone("data", "list", "--json").document] == ["mirage", "rgb"]
    (tmp_path / "en.json").write_text('{"id": "\\ud800", "query": ""}\n')
    checked = ragstone("data", "check", "en.json", "--json")
    assert checked.code == 2
    assert {problem["line"] for problem in checked.document} == {1}


def test_score_prints_the_official_keys(ragstone: Ragstone, tmp_path: Path) -> None:
    row = {
        "id": 0,
        "query": "谁?",
        "ans": "张伟",
        "prediction": "是张 伟。提供文档的文档存在事实性错误。",
        "noise_rate": 0.0,
    }
    other = {**row, "id": 1, "prediction": "李娜"}
    (tmp_path / "p.txt").write_text("\n".join(map(json.dumps, (row, other))), encoding="utf-8")
    (tmp_path / "j.txt").write_text('{"id": 0, "evaluation": "Yes"}\n{"id": 1, "evaluation": "not addressed"}\n')
    told = ragstone("score", "rgb", "p.txt", "p.txt", "--dataset", "zh_fact", "--judge-replies", "j.txt", "--json")
    first, second = told.document
    official = ["all_rate", "noise_rate", "tt", "nums", "fact_check_rate", "correct_rate", "fact_tt", "correct_tt"]
    assert list(first)[:8] == official
    assert (first["tt"], first["nums"], first["fact_tt"], first["correct_tt"]) == (1, 2, 1, 1)
    reject = {"reject_rate", "rejecttt", "all_rate", "tt", "nums"}
    assert set(first["judge"]["reject"]) == reject
    assert set(first["judge"]["fact"]) == reject | {"correct_rate", "correct_tt"}
    assert first["judge"]["reject"]["reject_rate"] == first["judge"]["fact"]["reject_rate"] == 0.5
    assert {**second} == {**first}
    assert "all_rate: 0.5" in ragstone("score", "rgb", "p.txt", "--dataset", "zh_fact").out


def test_a_metric_that_is_asked_for_by_name_is_scored(ragstone: Ragstone, run_file: Path, script: Path) -> None:
    shutil.copyfile(run_file, "more.run")
    models = ("--model", "local/extractive", "--model", f"scripted/{script}")
    done = ragstone(
        "bench", "rgb", *models, *SMALL, "--run", "more.run", "--metrics", "answer_match", "--json", "--quiet"
    )
    assert (done.code, done.document["asked"]) == (0, 0)
    wrong = ragstone("bench", "rgb", *models, *SMALL, "--metrics", "answer_mach")
    assert wrong.code == 2
    assert "Did you mean 'answer_match'?" in wrong.err


def test_a_secret_in_an_address_is_not_kept(ragstone: Ragstone, script: Path, tmp_path: Path) -> None:
    for form in (["--base-url", "http://127.0.0.1:9/v1?api-key=SECRETKEY"], ["--base-url=http://u:SECRETKEY@h/v1"]):
        done = process(
            "bench", "rgb", "--model", f"scripted/{script}", *SMALL, *form, "--run", "s.run", "--quiet", folder=tmp_path
        )
        assert done.code == (2 if "@" in form[-1] else 0)  # a password in an address is refused
        assert "SECRETKEY" not in done.out + done.err
    assert ragstone("report", "s.run", "-o", "s.html").code == 0
    assert "--base-url" in Path("s.html").read_text()
    assert not any(b"SECRETKEY" in path.read_bytes() for path in (Path("s.run"), Path("s.html")))


def test_one_fictional_set_alone_is_built(ragstone: Ragstone) -> None:
    assert ragstone("build", "fictional", "-o", "one", "--dataset", "zh_int", "--size", "2").code == 0
    assert [path.name for path in Path("one").iterdir()] == ["zh_int.json"]
    assert "Did you mean" in ragstone("build", "fictional", "-o", "one", "--dataset", "zh_imt").err
