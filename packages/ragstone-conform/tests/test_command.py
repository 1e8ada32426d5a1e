"""`ragstone-conform`: ragstone itself, functions and files of a user's, and what becomes of a library that hangs."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line

from ragstone_conform.cases import load_cases

Conform = Callable[..., Told]
NAIVE = """
def share(metric, sample, verdicts):
    '''A mean of whatever verdicts there are.'''
    if metric != "faithfulness":
        return NotImplemented
    given = verdicts["supported"]
    return sum(map(bool, given)) / len(given) if given else float("nan")

async def careful(metric, sample, verdicts):
    given = verdicts["supported"]
    if metric != "faithfulness":
        return NotImplemented
    if not given or len(given) != len(verdicts["statements"]) or not all(one in (0, 1) for one in given):
        return "there is not one verdict for each statement"
    return sum(given) / len(given) if sample["contexts"] else 0
"""
LIBRARY = """
import json, os, threading, urllib.request

METRICS = ("faithfulness", "context_recall")

def score(metrics, sample, url):
    print("this is no result")
    if "{" in sample["answer"]:
        os._exit(3)
    if not sample["contexts"]:
        threading.Event().wait()
    body = json.dumps({"messages": [{"role": "user", "content": "Are they supported?"}]}).encode()
    with urllib.request.urlopen(url + "/chat/completions", body) as answer:
        reply = json.load(answer)["choices"][0]["message"]["content"]
    given = json.loads(reply)
    return {metrics[0]: sum(given) / len(given)}

def reply(asked, sample, verdicts):
    return ("supported",), verdicts["supported"]
"""


@pytest.fixture(scope="module")
def alternating() -> list[str]:
    """Every case, in one of the languages: the next case in the other one."""
    names = list(dict.fromkeys(case.id.rpartition("/")[0] for case in load_cases()))
    return [f"--case={name}/{('en', 'zh')[number % 2]}" for number, name in enumerate(names)]


def outcomes(told: Told) -> dict[tuple[str, str], dict[str, object]]:
    (library,) = told.document["libraries"]
    return {(outcome["case"], outcome["metric"]): outcome for outcome in library["outcomes"]}


def test_ragstone_passes_every_case(conform: Conform, alternating: list[str]) -> None:
    told = conform("--library", "ragstone", "--json", "--quiet", *alternating)
    found = outcomes(told)
    assert [outcome for outcome in found.values() if outcome["outcome"] != "right"] == []
    assert told.code == 0
    assert {case for case, _ in found} == {word.removeprefix("--case=") for word in alternating}
    missing = [outcome for outcome in found.values() if outcome["value"] is None]
    assert missing
    assert all(outcome["reason"] for outcome in missing)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_library_that_passes_every_case_has_no_empty_table(conform: Conform, language: str) -> None:
    told = conform("--library", "ragstone", "--case", "one-verdict-of-four", "--language", language)
    assert told.code == 0, told.err
    assert "one-verdict-of-four" not in told.out
    assert not re.search("cases that it does not pass|未通过的用例|more cases|另有", told.out)
    every = conform("--library", "ragstone", "--case", "one-verdict-of-four", "--all")
    assert "one-verdict-of-four" in every.out


def test_a_function_of_the_users_is_put_to_the_cases_about_verdicts(conform: Conform, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(NAIVE, "utf-8")
    told = conform("--library", "mine.py:share", "--json")
    wrong = {case: outcome for (case, _), outcome in outcomes(told).items() if outcome["outcome"] != "right"}
    assert told.code == 1
    assert wrong["one-verdict-of-four/zh"]["value"] == 1.0
    assert wrong["a-verdict-of-5/en"]["value"] == 1.0
    assert wrong["refusal/en"]["outcome"] == "nan"
    assert not {"plain/en", "none-supported/zh", "truncated/en"} & set(wrong)
    assert "truncated/en" not in {case for case, _ in outcomes(told)}  # it reads no replies
    assert conform("--library", "mine:careful", "--quiet").code == 0


def test_a_library_of_ones_own_is_one_file_and_a_hang_or_a_crash_is_an_outcome(
    conform: Conform, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(LIBRARY, "utf-8")
    cases = [f"--case={name}/en" for name in ("no-contexts", "braces", "plain", "html-replies", "429-always")]
    told = conform("--library", "own.py", "--timeout", "2", "--metric", "faithfulness", "--json", *cases)
    found = {case: (outcome["outcome"], outcome["value"]) for (case, _), outcome in outcomes(told).items()}
    assert found == {
        "plain/en": ("right", 0.75), "no-contexts/en": ("timed_out", None), "braces/en": ("crashed", None),
        "html-replies/en": ("right", None), "429-always/en": ("right", None),
    }  # fmt: skip
    assert "exit code 3" in str(outcomes(told)["braces/en", "faithfulness"]["reason"])


def test_a_failure_is_reproduced_by_a_script_without_ragstone(conform: Conform, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(LIBRARY, "utf-8")
    asked = ("--library", "own.py", "--case", "one-verdict-of-four", "--reproduce", "failures")
    told = conform(*asked)
    assert told.code == 1
    scripts = sorted((tmp_path / "failures").iterdir())
    assert [path.name for path in scripts] == [
        f"own.py-one-verdict-of-four-{language}-faithfulness.py" for language in ("en", "zh")
    ]
    assert "2 scripts" in told.out
    for script in scripts:
        assert "ragstone" not in script.read_text("utf-8")
        run = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, check=False)
        assert run.stdout.splitlines()[-1] == "{'faithfulness': 1.0}", run.stderr


def test_the_table_shows_what_came_and_what_is_right_in_both_languages(conform: Conform, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(NAIVE, "utf-8")
    told = conform("--library", "mine:share", "--case", "one-verdict-of-four", "--case", "plain", "--quiet")
    assert "1 (right: no score)" in told.out
    assert "plain" not in told.out
    told = conform("--library", "mine:share", "--case", "plain", "--all", "--quiet", "--language", "zh")
    assert told.code == 0
    assert "plain (en, zh)" in told.out
    assert "一致性检验" in told.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--library", "ragaz"], ["ragaz", "ragas"]),
        (["--library", "ragas", "--version", "0.4;rm"], ["--version", "0.4;rm"]),
        (["--library", "ragas", "--python", "no/python"], ["no/python"]),
        (["--library", "ragstone", "--version", "0.1.0"], ["--version"]),
        (["--library", "ragstone", "--case", "refusl"], ["refusl", "refusal"]),
        (["--library", "ragstone", "--metric", "faithful"], ["faithful", "faithfulness"]),
        (["--library", "ragstone", "--python", "/bin/ls"], ["--python /bin/ls is no Python", "bin/python"]),
        (["--library", "ragstone", "--python", __file__], ["is no Python (Permission denied)", "bin/python"]),
        (["--library", "bare.py"], ["bare.py cannot be loaded", "no function 'reply'", "bare.py:score"]),
        (["--library", "no_such:thing", "--quiet"], ["no_such", "cannot be loaded"]),
        (["--library", "ragas", "--library", "ragstone", "--version", "1"], ["--version"]),
        (
            ["--library", "ragstone", "--case", "zero-vectors", "--metric", "faithfulness"],
            ["no case", "context_recall"],
        ),
    ],
)
def test_a_wrong_option_is_one_line(conform: Conform, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    (tmp_path / "bare.py").write_text("METRICS = ('faithfulness',)\n", "utf-8")
    one_line(conform(*arguments), *words)


def test_an_environment_that_cannot_be_made_is_one_line_with_pips_reason(
    conform: Conform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    told = conform("--library", "ragas")
    assert told.code == 2
    assert told.err.count("\n") == 2
    assert "ragas cannot be installed" in told.err
    assert json.dumps(told.out) == '""'


@pytest.mark.parametrize(("language", "said"), [("en", "stopped. No result is kept"), ("zh", "没有保留任何结果")])
def test_ctrl_c_does_not_promise_that_results_are_kept(
    conform: Conform, monkeypatch: pytest.MonkeyPatch, language: str, said: str
) -> None:
    async def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ragstone_conform.command.conform", stopped)
    told = conform("--library", "ragstone", "--language", language)
    assert told.code == 130
    assert told.err.strip().startswith("ragstone: ")
    assert said in told.err
    assert "Finished work is kept" not in told.err
