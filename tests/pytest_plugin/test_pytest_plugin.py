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
from tests.evaluation.judging import verdict
from tests.evaluation.test_eval import asked, judging
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
        scope = "asyncio_default_fixture_loop_scope=function"
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-o", scope, *by, *options)

    return run


ONE = """
def test_good(assert_scores):
    scored = assert_scores(GOOD, {"faithfulness": 0.8, "context_recall": 1.0})
    assert scored.value("faithfulness") == 1.0
"""


def test_importing_the_plugin_loads_nothing_but_pytest_and_the_standard_library() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import ragstone.pytest_plugin; "
        "new = set(sys.modules) - before - set(sys.stdlib_module_names); "
        "print(sorted(name for name in new if name.partition('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    own = ["ragstone", *(f"ragstone.pytest_plugin{name}" for name in ("", ".options", ".recorder"))]
    assert done.stdout.strip() == str(own), done.stderr


def test_it_is_installed_and_loads_nothing_in_a_session_that_does_not_use_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others may load what they like
    pytester.makepyfile("""
        import sys

        def test_plain():
            assert "ragstone.pytest_plugin" in sys.modules
            assert not [name for name in sys.modules if name.startswith(("ragstone.api", "numpy", "aiohttp"))]
    """)
    result = pytester.runpytest_subprocess("-W", "error", "-p", "ragstone")  # by the name of its entry point
    result.assert_outcomes(passed=1)
    assert "ragstone scores" not in result.stdout.str()
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    result = pytester.runpytest_subprocess("--help")
    result.stdout.fnmatch_lines(["scores of RAG answers:", "*--ragstone-judge=PROVIDER/MODEL*"])


def test_a_session_without_its_fixtures_says_nothing(inner: Any) -> None:
    result = inner("def test_plain():\n    assert True\n", judged=False)
    result.assert_outcomes(passed=1)
    assert "ragstone scores" not in result.stdout.str()


def test_a_sample_that_reaches_its_thresholds_passes_and_stands_in_the_table(inner: Any) -> None:
    result = inner(ONE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*ragstone scores*", "*faithfulness  context_recall*", "*1.000*1.000*test_good*"])


def test_what_data_hold_does_not_act_on_the_terminal(inner: Any) -> None:
    result = inner("""
EVIL = "\\x1b]0;own\\x07\\u202e"

def test_evil(assert_scores):
    assert_scores({**GOOD, "id": EVIL, "answer": EVIL, "question": EVIL}, {"token_f1": 0.8})

def test_refused(assert_scores):
    assert_scores({**GOOD, "id": EVIL}, {EVIL: 0.8})

def test_rate(assert_pass_rate):
    assert_pass_rate([{**GOOD, "id": EVIL, "answer": EVIL}], {"token_f1": 0.8})
""", judged=False)  # fmt: skip
    result.assert_outcomes(failed=3)
    text = result.stdout.str()
    assert text.count("]0;own") > 5
    assert not {"\x07", "\u202e"} & set(text)
    assert "\x1b]" not in text


def test_a_sample_that_does_not_says_which_claims_have_no_support(inner: Any) -> None:
    result = inner("""
def test_half(assert_scores):
    assert_scores(HALF, {"faithfulness": 0.8})
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "faithfulness: 0.500 < 0.8 (no passage supports 'The mill is blue.')",
            "sample: q-e4764ce3a1 ('What of the mill?')",
            "scores:",
            "  faithfulness: 0.500",
            "answer: The mill is old. The mill is blue.",
            "reference: The mill is old.",
            "claims of the answer:",
            "  1. The mill is old. – supported by [[]1[]]; in the reference",
            "  2. The mill is blue. – no passage supports it; not in the reference",
            "claims of the reference:",
            "  1. The mill is old. – supported by [[]1[]]; in the answer",
            "passages:",
            "  [[]1[]] The mill is old. – relevant, useful",
        ],
        consecutive=True,
    )
    assert "Traceback" not in result.stdout.str()
    assert "src/ragstone/pytest_plugin/" not in result.stdout.str()


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


def test_a_judge_that_cannot_be_used_fails_the_test_with_the_reason(inner: Any, pytester: pytest.Pytester) -> None:
    (pytester.path / "mute.jsonl").write_text('{"default": "I would rather not."}\n')
    result = inner(ONE, "--ragstone-judge", "scripted/mute.jsonl")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*faithfulness: no score (failed: *", "*context_recall: no score (failed: *"])
    result = inner(SUITE, "--ragstone-judge", "scripted/mute.jsonl", "-k", "test_suite")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["0 of 3 samples*", "*How is the tower?*faithfulness: no score in 2 of 2 judgements (*"]
    )


def test_a_sample_may_have_the_columns_of_other_tools(inner: Any) -> None:
    inner("""
import pytest

@pytest.mark.parametrize("words", ["user_input response retrieved_contexts reference",
                                   "input actual_output retrieval_context expected_output"])
def test_columns(assert_scores, words):
    assert_scores(dict(zip(words.split(), GOOD.values())), {"faithfulness": 0.8, "context_recall": 0.8})
""").assert_outcomes(passed=2)


def test_the_evaluator_gives_scores_without_asserting(inner: Any) -> None:
    result = inner("""
def test_mine(ragstone):
    scored = ragstone.score(HALF, ["faithfulness", "token_f1"])
    assert scored.value("faithfulness") == 0.5
    assert scored.scores["faithfulness"][0].evidence["of"] == 2
""")
    result.assert_outcomes(passed=1)
    assert "ragstone scores" not in result.stdout.str()


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
    result.stdout.fnmatch_lines(
        [
            "1 of 2 samples reach the thresholds (50%, 90% needed)",
            "  q-*('What of the mill?'): faithfulness: 0.500 < 0.8 (no passage supports 'The mill is blue.')",
            "*0.750*50%*test_strict*FAILED",
            "*0.833*67%*test_suite (3 samples)",
        ]
    )


def test_async_tests_work_while_their_loop_runs(inner: Any) -> None:
    result = inner("""
import asyncio, pytest

@pytest.mark.asyncio
async def test_async(assert_scores):
    assert_scores(GOOD, {"faithfulness": 0.8})
    await asyncio.sleep(0)
""")
    result.assert_outcomes(passed=1)


def test_workers_share_one_table_one_baseline_and_one_cache(inner: Any, pytester: pytest.Pytester) -> None:
    many = "\n".join(
        f"def test_{n}(assert_scores):\n    assert_scores({name}, {{'faithfulness': 0.4}})"
        for n, name in enumerate(("GOOD", "HALF", "GOOD", "HALF"))
    )
    options = ("-n", "2", "--cache", "replies", "--ragstone-baseline", "deep/b.json")
    result = inner(many, *options, "--ragstone-update-baseline")
    result.assert_outcomes(passed=4)
    table = [line for line in result.stdout.lines if "test_inner.py::test_" in line]
    assert [sum(value in line for line in table) for value in ("1.000", "0.500")] == [2, 2]
    held = json.loads((pytester.path / "deep" / "b.json").read_text(encoding="utf-8"))["scores"]
    assert held == {f"test_inner.py::test_{n}": {"faithfulness": 1 - n % 2 / 2} for n in range(4)}
    assert [one.name for one in (pytester.path / "deep").iterdir()] == ["b.json"]
    inner(many.replace("GOOD", "HALF"), *options).assert_outcomes(passed=2, failed=2)


def test_junit_has_the_scores_as_properties(inner: Any, pytester: pytest.Pytester) -> None:
    inner(ONE + SUITE, "--junitxml=j.xml", "-o", "junit_family=xunit2").assert_outcomes(passed=2, failed=1)
    cases = {case.get("name"): case for case in ElementTree.parse(pytester.path / "j.xml").iter("testcase")}
    held = {name: {one.get("name"): one.get("value") for one in case.iter("property")} for name, case in cases.items()}
    assert held["test_good"]["ragstone.faithfulness"] == "1.0000"
    assert held["test_suite"]["ragstone.pass_rate"] == "0.6667"
    assert held["test_strict"]["ragstone.pass_rate"] == "0.5000"


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


def test_of_a_metric_of_which_lower_is_better_a_rise_is_worse_than_the_baseline(inner: Any) -> None:
    """HALF makes up one of two claims, GOOD none."""
    code = """
def test_it(assert_scores):
    assert_scores({sample}, {{"ragchecker.hallucination": 0.6}})
"""
    half, good = code.format(sample="HALF"), code.format(sample="GOOD")
    inner(half, "--ragstone-baseline", "half.json", "--ragstone-update-baseline").assert_outcomes(passed=1)
    inner(half, "--ragstone-baseline", "half.json").assert_outcomes(passed=1)
    inner(good, "--ragstone-baseline", "half.json").assert_outcomes(passed=1)
    inner(good, "--ragstone-baseline", "good.json", "--ragstone-update-baseline").assert_outcomes(passed=1)
    result = inner(half, "--ragstone-baseline", "good.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*worse than the baseline: ragchecker.hallucination: 0.500, 0.000 in the baseline*"])


def test_the_baseline_is_written_without_a_summary_too_and_keeps_the_tests_that_did_not_run(
    inner: Any, pytester: pytest.Pytester
) -> None:
    path = pytester.path / "b.json"
    path.write_text('{"version": 1, "scores": {"test_other.py::test_x": {"faithfulness": 0.9}}}')
    inner(ONE, "--ragstone-baseline", "b.json", "--ragstone-update-baseline", "--no-summary")
    assert sorted(json.loads(path.read_text(encoding="utf-8"))["scores"]) == [
        "test_inner.py::test_good", "test_other.py::test_x",
    ]  # fmt: skip


def test_several_assertions_of_one_test_are_told_apart(inner: Any, pytester: pytest.Pytester) -> None:
    code = """
def test_both(assert_scores, assert_pass_rate):
    assert_scores(GOOD, {"faithfulness": 0.8})
    assert_scores(HALF, {"faithfulness": 0.4})
    assert_pass_rate([GOOD], {"faithfulness": 0.8})
"""
    inner(code, "--ragstone-baseline", "b.json", "--ragstone-update-baseline").assert_outcomes(passed=1)
    held = json.loads((pytester.path / "b.json").read_text(encoding="utf-8"))["scores"]
    test = "test_inner.py::test_both"
    assert {name: one["faithfulness"] for name, one in held.items()} == {test: 1.0, f"{test}#2": 0.5, f"{test}#3": 1.0}


def test_a_test_that_is_run_again_is_counted_once(inner: Any) -> None:
    """As pytest-rerunfailures does it: the item is the same, and so are its properties."""
    result = inner("""
import pytest

runs = []

@pytest.fixture
def again(request, assert_scores):
    assert_scores(HALF, {"faithfulness": 0.4})
    runs.append(1)

def test_once(request, again):
    from ragstone.pytest_plugin.recorder import Recorder
    kept = Recorder(request.node, None)
    kept.record("s", {"faithfulness": 0.25}, passed=True)
    assert sum(name == "ragstone" for name, _ in request.node.user_properties) == 1
""")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*0.250*test_once (s)*"])
    assert "#2" not in result.stdout.str()


OWN_CACHE = """
def pytest_addoption(parser):
    parser.addoption("--cache", action="store_true")
"""


@pytest.mark.parametrize("place", ["conftest", "early", "environment"])
def test_a_cache_option_of_somebody_else_stays_theirs(
    inner: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.syspath_prepend(pytester.path)
    name = "conftest" if place == "conftest" else f"plugin_{place}"
    (pytester.path / f"{name}.py").write_text(OWN_CACHE)
    options = ["-p", name] if place == "early" else []
    if place == "environment":
        monkeypatch.setenv("PYTEST_PLUGINS", name)
    own = "def test_own(pytestconfig):\n    assert pytestconfig.getoption('cache') is True\n"
    inner(own, *options, "--cache").assert_outcomes(passed=1)
    inner(ONE, *options, "--cache", "--ragstone-cache", "kept").assert_outcomes(passed=1)
    inner(ONE, *options).assert_outcomes(passed=1)


def test_settings_may_stand_in_the_configuration(inner: Any, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nragstone_judge = scripted/judge.jsonl\nragstone_cache = kept\n")
    inner(ONE, judged=False).assert_outcomes(passed=1)
    result = inner(ONE, "-o", "ragstone_judge=scripted/nowhere.jsonl", judged=False)
    result.assert_outcomes(failed=1)


def test_paths_of_the_configuration_belong_to_its_folder(
    inner: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\nragstone_baseline = kept/b.json\n")
    below = pytester.mkdir("below")
    shutil.copy(pytester.path / "judge.jsonl", below)
    inner(ONE, "--ragstone-update-baseline").assert_outcomes(passed=1)
    assert (pytester.path / "kept" / "b.json").exists()
    monkeypatch.chdir(below)
    options = ("-p", "no:asyncio", "--ragstone-judge", "scripted/judge.jsonl")
    pytester.runpytest_inprocess("..", *options).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--ragstone-judge-protocol", "other"), "--ragstone-judge-protocol is matrix or ragas, not 'other'."),
        (("--ragstone-tolerance", "much"), "--ragstone-tolerance is a number of at least 0, not 'much'."),
        (("--ragstone-tolerance", "-1"), "--ragstone-tolerance is a number of at least 0, not '-1'."),
        (("--ragstone-update-baseline",), "name it with --ragstone-baseline FILE."),
    ],
)
def test_settings_that_mean_nothing_stop_the_session_with_one_line(
    inner: Any, options: tuple[str, ...], told: str
) -> None:
    result = inner(ONE, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.stderr.lines if line] == [
        f"ERROR: {result.stderr.lines[0].removeprefix('ERROR: ')}"
    ]
    assert told in result.stderr.str()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "the baseline does not exist. Create it with --ragstone-update-baseline."),
        ("[]", "this is not a ragstone baseline"),
        ('{"scores": {"x": {"faithfulness": "high"}}}', "this is not a ragstone baseline"),
        ('{"scores": {"x": {"faithfulness": NaN}}}', "this is not a ragstone baseline"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_told_in_one_line(
    inner: Any, pytester: pytest.Pytester, text: str | None, told: str
) -> None:
    if text is not None:
        (pytester.path / "b.json").write_text(text)
    result = inner(ONE, "--ragstone-baseline", "b.json")
    result.assert_outcomes(errors=1)
    assert told in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    if text is not None:  # nor is somebody else's file written over
        result = inner(ONE, "--ragstone-baseline", "b.json", "--ragstone-update-baseline")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert (pytester.path / "b.json").read_text() == text


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('assert_scores(GOOD, {"faithfullness": 0.8})', "Did you mean 'faithfulness'"),
        ("assert_scores(GOOD, {})", "no metric to score"),
        ('assert_scores({"answer": "x"}, {"token_f1": 0.8})', "question"),
        ('assert_scores({"question": "x"}, {"token_f1": 0.8})', "no answer"),
        ('assert_scores(GOOD, {"triad": 0.8})', "a group of metrics. Name them one by one: groundedness,"),
        ('assert_scores(GOOD, {"token_f1": 0.8}, repeat=0)', "judged at least once"),
        ('assert_scores(GOOD, {"recall@k": 0.8})', "recall@10"),
        ('assert_scores(GOOD, {"token_f1": 80})', "80% is token_f1=0.8"),
        ('assert_scores(GOOD, {"token_f1": float("nan")})', "expected a number"),
        ('assert_scores(GOOD, {"token_f1": "0.8"})', "expected a number"),
    ],
)
def test_wrong_use_is_told_in_one_line(inner: Any, code: str, told: str) -> None:
    result = inner(f"def test_wrong(assert_scores):\n    {code}\n")
    result.assert_outcomes(failed=1)
    assert told in result.stdout.str()
    assert "src/ragstone/pytest_plugin/" not in result.stdout.str()


def test_a_pass_rate_is_a_share(inner: Any) -> None:
    code = "def test_wrong(assert_pass_rate):\n    assert_pass_rate([GOOD], {'token_f1': 0.8}, rate=90)\n"
    inner(code).stdout.fnmatch_lines(["rate=90: it is a share, from 0 to 1."])
    code = "def test_empty(assert_pass_rate):\n    assert_pass_rate([], {'token_f1': 0.8})\n"
    inner(code).stdout.fnmatch_lines(["There are no samples to score."])


def test_an_endpoint_without_an_address_is_told_with_the_option_of_pytest(inner: Any) -> None:
    result = inner(ONE, "--ragstone-judge", "compat/judge", judged=False)
    result.assert_outcomes(failed=1)
    told = result.stdout.str()
    assert " --ragstone-judge-base-url" in told
    assert " --judge" not in told


def test_without_a_judge_the_missing_option_is_named(inner: Any) -> None:
    result = inner(ONE, judged=False)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["faithfulness, context_recall need a judge: --ragstone-judge PROVIDER/MODEL."])


LIVE = """
import os
QUESTIONS = [{"id": f"q{n}", "question": f"What is {n}?", "reference": f"The number {n}"} for n in range(12)]

def ask(question):
    with open(os.path.join(os.path.dirname(__file__), "asked.txt"), "a") as file:
        file.write(question + "\\n")
    if question == "What is 3?":
        return "I do not know."
    return "The number " + question.split()[-1].rstrip("?")
"""


def asked_questions(pytester: pytest.Pytester) -> list[str]:
    return (pytester.path / "asked.txt").read_text("utf-8").split("\n")[:-1]


def test_a_live_system_is_asked_once_for_all_tests_and_its_run_is_kept(inner: Any, pytester: pytest.Pytester) -> None:
    code = """
import pytest
def test_all(assert_run):
    result = assert_run(QUESTIONS, {"answer_match": 0.5}, system=ask)
    assert result.summary["answer_match"]["n"] == 12
def test_point(assert_run):
    assert_run(QUESTIONS, {"answer_match": 0.95}, system=ask, mode="point")
def test_interval(assert_run):
    assert_run(QUESTIONS, {"answer_match": 0.95}, system=ask)
def test_far(assert_run):
    assert_run(QUESTIONS, {"exact_match": 1.0, "token_f1": 0.99}, system=ask, mode="point")
@pytest.mark.parametrize("name", ["q2", "q3", "q99"])
def test_each(assert_run, name):
    assert_run(QUESTIONS, {"answer_match": 1}, system=ask, only=name)
async def test_async(assert_run):
    assert_run(QUESTIONS, {"answer_match": 0.5}, system=ask)
"""
    result = inner(LIVE + code, "--ragstone-runs", "runs", "-o", "asyncio_mode=auto", judged=False)
    result.assert_outcomes(passed=4, failed=4)
    assert sorted(asked_questions(pytester)) == sorted(f"What is {n}?" for n in range(12))
    (run,) = (pytester.path / "runs").rglob("*.run")
    result.stdout.fnmatch_lines([f"run: {run}*ragstone report*"])
    text = result.stdout.str()
    assert "failed: answer_match ≥ 0.95" in text
    assert "decided by: q3 (0.00)" in text
    assert "answer_match: 0.000 < 1" in text
    assert "I do not know." in text
    assert "no question has this id" in text
    assert "12 questions" in text


def test_a_gate_that_too_few_questions_leave_undecided_passes_with_a_visible_line(inner: Any) -> None:
    code = """
def test_few(assert_run):
    assert_run(QUESTIONS[2:5], {"answer_match": 0.8}, system=ask)
def test_point(assert_run):
    assert_run(QUESTIONS[2:5], {"answer_match": 0.6}, system=ask, mode="point")
"""
    result = inner(LIVE + code, judged=False)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*undecided: 3 answers are too few to tell answer_match 0.667 from 0.8"])
    assert result.stdout.str().count("undecided:") == 1


def test_workers_share_the_run_of_a_live_system(inner: Any, pytester: pytest.Pytester) -> None:
    code = """
import pytest
@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row["id"])
def test_each(assert_run, row):
    assert_run(QUESTIONS, {"answer_match": 1}, system="test_inner.py:ask", only=row["id"])
"""
    result = inner(LIVE + code, "-n", "2", "--ragstone-runs", "runs", judged=False)
    result.assert_outcomes(passed=11, failed=1)
    assert sorted(asked_questions(pytester)) == sorted(f"What is {n}?" for n in range(12))
    assert len(list((pytester.path / "runs").rglob("*.run"))) == 1


DIAGNOSED = """
from ragstone.types import Passage
PAGES = {f"page{n}": f"Page {n} of the book says that the number of room {n} is {1000 + n}." for n in range(30)}
QUESTIONS = [{"id": f"q{n}", "question": f"What is the number of room {n}?", "reference": str(1000 + n),
              "reference_contexts": [PAGES[f"page{n}"]], "reference_context_ids": [f"page{n}"]} for n in range(30)]

def search(question, k=3):
    number = int(question.rstrip("?").split()[-1]) if "room" in question else 0
    return [{"id": f"page{n}", "text": PAGES[f"page{n}"]} for n in range(number, min(30, number + k))]

def lossy(question, k=3):
    return search("room 29" if int(question.rstrip("?").split()[-1]) % 3 == 0 else question, k)

def ask(question, k=3, passages=None, find=lossy):
    found = find(question, k) if passages is None else [{"id": "given", "text": text} for text in passages]
    room = question.rstrip("?").split()[-1]
    said = [one["text"].split()[-1] for one in found if f"room {room} is" in one["text"]]
    return {"answer": said[0] if said else "I do not know.", "contexts": found}
"""


def test_a_live_system_is_diagnosed_and_its_causes_are_gated(inner: Any) -> None:
    code = """
def test_search(assert_diagnosis):
    assert_diagnosis(QUESTIONS, {"cause.not_retrieved": 0.05, "cause.stale": 0.0}, system=ask, retriever=lossy)
def test_loose(assert_diagnosis):
    result = assert_diagnosis(QUESTIONS, {"cause.not_retrieved": 0.9, "answer_match": 0.3}, system=ask, retriever=lossy)
    assert [name for name, cause in result.causes().items() if cause.name == "not_retrieved"] == [
        f"q{n}" for n in range(0, 30, 3)]
def test_name(assert_diagnosis):
    assert_diagnosis(QUESTIONS, {"cause.not_retreived": 0.1}, system=ask)
"""
    result = inner(DIAGNOSED + code, "--ragstone-runs", "runs", judged=False)
    result.assert_outcomes(passed=1, failed=2)
    text = result.stdout.str()
    assert "failed: cause.not_retrieved ≤ 0.05" in text
    assert "decided by: q0 (1.00)" in text
    assert "Did you mean 'cause.not_retrieved'" in text
    assert "30 questions" in text


def test_a_live_system_that_fails_is_no_pass(inner: Any) -> None:
    code = """
def broken(question):
    raise ValueError("no such tenant")
def test_broken(assert_run):
    assert_run(QUESTIONS, {"answer_match": 0}, system=broken)
def test_one(assert_run):
    assert_run(QUESTIONS, {"answer_match": 0}, system=broken, only="q1")
def test_name(assert_run):
    assert_run(QUESTIONS, {"answer_match": 0}, system="nowhere.py:ask")
def test_other_objects_of_the_same_name(assert_run):
    for wanted in (0.0, 1.0):
        ask = lambda question: "The number " + question.split()[-1].rstrip("?") if wanted else "no"
        assert assert_run(QUESTIONS, {"answer_match": 0}, system=ask).summary["answer_match"]["mean"] == wanted
"""
    result = inner(LIVE + code, judged=False)
    result.assert_outcomes(passed=1, failed=3)
    text = result.stdout.str()
    assert "no such tenant (test_inner.py" in text
    assert "q1: no answer (raised: ValueError: no such tenant" in text
    assert "nowhere.py" in text


NOISY = """
import hashlib
QUESTIONS = [{"id": f"q{n}", "question": f"What is {n}?", "reference": f"The number {n}"} for n in range(44)]

def system(seed, share):
    # Answers this share of the questions rightly, by chance.
    def ask(question):
        draw = int(hashlib.sha256(f"{seed} {question}".encode()).hexdigest()[:8], 16) / 2**32
        return "The number " + question.split()[-1].rstrip("?") if draw < share else "I do not know."
    return ask
"""


def test_a_fall_against_the_baseline_run_fails_with_the_questions_that_are_worse(inner: Any) -> None:
    code = """
def test_both(assert_run):
    before = assert_run(QUESTIONS, {"answer_match": 0}, system=system(0, 1.0))
    assert assert_run(QUESTIONS, {"answer_match": 0}, system=system(1, 1.0), baseline=before.run)
    assert_run(QUESTIONS, {"answer_match": 0}, system=system(3, 0.8), baseline=before.run)
"""
    result = inner(NOISY + code, judged=False)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*answer_match: 0.795, 1 in *.run (9 of 44 questions worse, 0 better, p = 0.0053)*"])


def test_twenty_reruns_of_an_unchanged_noisy_system_pass_against_its_baseline_run(inner: Any) -> None:
    code = """
import pytest
@pytest.fixture(scope="module")
def before(): return {}
@pytest.mark.parametrize("seed", range(21))
def test_again(assert_run, before, seed):
    result = assert_run(QUESTIONS, {"answer_match": 0}, system=system(seed, 0.8), baseline=before.get("run"))
    before.setdefault("run", result.run)
"""
    inner(NOISY + code, judged=False).assert_outcomes(passed=21)


def test_a_baseline_run_without_the_metric_or_the_questions_is_told_in_one_line(inner: Any) -> None:
    code = """
def test_metric(assert_run):
    before = assert_run(QUESTIONS, {"exact_match": 0}, system=system(0, 1.0))
    assert_run(QUESTIONS, {"answer_match": 0}, system=system(0, 1.0), baseline=before.run)  # another object
def test_questions(assert_run):
    before = assert_run(QUESTIONS[:20], {"answer_match": 0}, system=system(0, 1.0))
    assert_run(QUESTIONS[20:], {"answer_match": 0}, system=system(0, 1.0), baseline=before.run)
def test_file(assert_run):
    assert_run(QUESTIONS, {"answer_match": 0}, system=system(0, 1.0), baseline="nowhere.run")
"""
    result = inner(NOISY + code, judged=False)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*answer_match: cannot be compared with *.run*"])
    result.stdout.fnmatch_lines(["*no sample in common*"])
    result.stdout.fnmatch_lines(["*nowhere.run*"])
