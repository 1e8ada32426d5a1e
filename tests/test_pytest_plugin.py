"""The pytest plug-in: off unless used, clear when it fails, the same in parallel, and nothing asked twice."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.api.judging import verdict
from tests.cli.test_eval import asked, judging
from tests.servers.fake_endpoint import FakeEndpoint

from ragstone.types import Request, Turn

SAMPLES = """
GOOD = {"question": "How is the tower?", "answer": "The tower is tall.", "contexts": ["The tower is tall."],
        "reference": "The tower is tall."}
HALF = {"question": "What of the mill?", "answer": "The mill is old. The mill is blue.",
        "contexts": ["The mill is old."], "reference": "The mill is old."}
BARE = {"question": "Who built it?", "answer": "Anna built it."}
"""


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    """The test judge as a file of recorded replies: for the samples above, to each request that is made of them."""
    path = tmp_path / "judge.jsonl"
    lines = []
    space: dict[str, Any] = {}
    exec(SAMPLES, space)
    for name in ("GOOD", "HALF", "BARE"):
        sample = space[name]
        question = json.dumps(sample["question"])
        sentences = [part.strip() + "." for part in sample["answer"].split(".") if part.strip()]
        first = {"question": sample["question"], "answer": {str(at): text for at, text in enumerate(sentences, 1)},
                 "reference": sample.get("reference")}  # fmt: skip
        claims = {str(at): text for at, text in enumerate(sentences, 1)}
        reference = sample.get("reference")
        second = {"question": sample["question"], "reference": reference, "answer_claims": claims,
                  "reference_claims": {"1": reference} if reference else {},
                  "passages": {str(at): text for at, text in enumerate(sample.get("contexts", ()), 1)}}  # fmt: skip
        for content, mark in ((first, "answer"), (second, "reference")):
            from ragstone.metrics.judge.envelope import enclosed

            reply = verdict(Request((Turn("user", enclosed(content)),)))
            lines.append({"contains": f'"question": {question}, "{mark}"', "text": reply})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def inner(pytester: pytest.Pytester, judge: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a file of tests with the recorded judge."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "home"))
    shutil.copy(judge, pytester.path / "judge.jsonl")

    def run(code: str, *options: str, judged: bool = True) -> pytest.RunResult:
        pytester.makepyfile(test_inner=SAMPLES + code)
        by = ["--ragstone-judge", "scripted/judge.jsonl"] if judged else []
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *by, *options)

    return run


ONE = """
def test_good(assert_scores):
    scored = assert_scores(GOOD, {"faithfulness": 0.8, "context_recall": 1.0})
    assert scored.value("faithfulness") == 1.0
"""


def test_importing_the_plugin_loads_nothing_but_pytest() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import ragstone.pytest_plugin; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "heavy = new & {'numpy', 'aiohttp', 'click', 'rich', 'msgspec', 'rjieba', 'opencc', 'matplotlib'}; "
        "assert not heavy, heavy; assert not [name for name in sys.modules if name.startswith('ragstone.api')]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_session_without_its_fixtures_says_nothing(inner: Any) -> None:
    result = inner("def test_plain():\n    assert True\n", judged=False)
    result.assert_outcomes(passed=1)
    assert "ragstone scores" not in result.stdout.str()


def test_a_sample_that_reaches_its_thresholds_passes_and_stands_in_the_table(inner: Any) -> None:
    result = inner(ONE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*ragstone scores*", "*faithfulness  context_recall*", "*1.000*1.000*test_good*"])


def test_a_sample_that_does_not_says_which_claims_have_no_support(inner: Any) -> None:
    result = inner("""
def test_half(assert_scores):
    assert_scores(HALF, {"faithfulness": 0.8})
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*What of the mill?*", "*faithfulness: 0.500 < 0.8 (no passage supports 'The mill is blue.'*"]
    )
    assert "Traceback" not in result.stdout.str()


def test_no_score_is_a_failure_with_its_reason(inner: Any) -> None:
    result = inner("""
def test_bare(assert_scores):
    assert_scores(BARE, {"faithfulness": 0.5})
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*faithfulness: no score (not_applicable: *no passages)*"])


def test_lower_is_better_makes_a_threshold_a_maximum(inner: Any) -> None:
    result = inner("""
def test_low(assert_scores):
    assert_scores(GOOD, {"ragchecker.hallucination": 0.1})

def test_high(assert_scores):
    assert_scores(HALF, {"ragchecker.hallucination": 0.1})
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*ragchecker.hallucination: 0.500 > 0.1*"])


SUITE = """
import pytest

def test_suite(assert_pass_rate):
    found = assert_pass_rate([GOOD, GOOD | {"id": "again"}, HALF], {"faithfulness": 0.8}, rate=0.6, repeat=2)
    assert (found.passed, found.total) == (2, 3)

def test_strict(assert_pass_rate):
    assert_pass_rate([GOOD, HALF], {"faithfulness": 0.8}, rate=0.9)
"""


def test_a_suite_passes_by_the_share_of_its_samples(inner: Any) -> None:
    result = inner(SUITE)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*1 of 2 samples reach the thresholds (50%, 90% needed)*", "*67%*test_suite*"])


def test_async_tests_work_while_their_loop_runs(inner: Any) -> None:
    result = inner("""
import asyncio, pytest

@pytest.mark.asyncio
async def test_async(assert_scores):
    assert_scores(GOOD, {"faithfulness": 0.8})
    await asyncio.sleep(0)
""")
    result.assert_outcomes(passed=1)


def test_workers_share_one_table(inner: Any) -> None:
    many = "\n".join(
        f"def test_{n}(assert_scores):\n    assert_scores(GOOD, {{'faithfulness': 0.8}})" for n in range(4)
    )
    result = inner(many, "-n", "2")
    result.assert_outcomes(passed=4)
    lines = [line for line in result.stdout.lines if "test_inner.py::test_" in line and "1.000" in line]
    assert len(lines) == 4


def test_junit_has_the_scores_as_properties(inner: Any, pytester: pytest.Pytester) -> None:
    inner(ONE, "--junitxml=j.xml", "-o", "junit_family=xunit2").assert_outcomes(passed=1)
    held = {one.get("name"): one.get("value") for one in ElementTree.parse(pytester.path / "j.xml").iter("property")}
    assert held["ragstone.faithfulness"] == "1.0000"


async def test_a_second_session_asks_nothing_also_from_a_folder_that_was_moved(
    inner: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "k")
    async with FakeEndpoint(answer=judging) as endpoint:
        by = ["--ragstone-judge", "compat/judge", "--ragstone-judge-base-url", endpoint.base_url]

        async def session(*options: str) -> int:
            before = asked(endpoint)
            result = await asyncio.to_thread(inner, ONE, *by, *options, judged=False)
            result.assert_outcomes(passed=1)
            return asked(endpoint) - before

        assert await session("--cache", "replies") >= 2
        (pytester.path / "replies").rename(pytester.path / "moved")
        assert await session("--ragstone-cache", "moved") == 0
        assert await session("--ragstone-cache", "other") >= 2


def test_a_baseline_is_written_and_then_kept_to(inner: Any, pytester: pytest.Pytester) -> None:
    inner(ONE, "--ragstone-baseline", "b.json", "--ragstone-update-baseline").assert_outcomes(passed=1)
    held = json.loads((pytester.path / "b.json").read_text(encoding="utf-8"))
    assert held["scores"]["test_inner.py::test_good"]["faithfulness"] == 1.0
    inner(ONE, "--ragstone-baseline", "b.json").assert_outcomes(passed=1)
    worse = ONE.replace("GOOD, {", "HALF, {").replace("0.8", "0.1").replace("== 1.0", "< 1.0")
    result = inner(worse, "--ragstone-baseline", "b.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*worse than the baseline: faithfulness: 0.500, 1.000 in the baseline*"])
    inner(worse, "--ragstone-baseline", "b.json", "--ragstone-tolerance", "0.6").assert_outcomes(passed=1)


def test_settings_may_stand_in_the_configuration(inner: Any, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nragstone_judge = scripted/judge.jsonl\nragstone_cache = kept\n")
    inner(ONE, judged=False).assert_outcomes(passed=1)
    result = inner(ONE, "-o", "ragstone_judge=scripted/nowhere.jsonl", judged=False)
    result.assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('assert_scores(GOOD, {"faithfullness": 0.8})', "Did you mean 'faithfulness'"),
        ("assert_scores(GOOD, {})", "no metric to score"),
        ('assert_scores({"answer": "x"}, {"token_f1": 0.8})', "question"),
        ('assert_scores({"question": "x"}, {"token_f1": 0.8})', "no answer"),
    ],
)
def test_wrong_use_is_told_in_one_line(inner: Any, code: str, told: str) -> None:
    result = inner(f"def test_wrong(assert_scores):\n    {code}\n")
    result.assert_outcomes(failed=1)
    assert told in result.stdout.str()


def test_without_a_judge_the_missing_option_is_named(inner: Any) -> None:
    result = inner(ONE, judged=False)
    result.assert_outcomes(failed=1)
    assert "needs a judge" in result.stdout.str() or "need a judge" in result.stdout.str()
