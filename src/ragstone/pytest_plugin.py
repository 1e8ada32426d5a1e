"""The pytest plug-in: scores as assertions. It costs nothing until a test uses one of its fixtures.

    def test_leave(assert_scores):
        assert_scores({"question": …, "answer": …, "contexts": […]}, {"faithfulness": 0.8})

    def test_suite(assert_pass_rate):
        assert_pass_rate(samples, {"faithfulness": 0.8}, rate=0.9, repeat=3)

Who judges is said by `--ragstone-judge PROVIDER/MODEL` or `ragstone_judge` in the configuration of pytest.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragstone.api.pytest_support import Baseline, Evaluator, PassRate, Scored

__all__ = ["assert_pass_rate", "assert_scores", "ragstone"]

_PROPERTY = "ragstone"
_OPTIONS = (
    ("judge", "PROVIDER/MODEL", "the chat model that judges"),
    ("judge-base-url", "URL", "its endpoint, where that is not its provider's own"),
    ("embedder", "PROVIDER/MODEL", "the embedder (default: local/e5-small)"),
    ("embedder-base-url", "URL", "its endpoint, where that is not its provider's own"),
    ("protocol", "matrix|ragas", "how the judge is asked (default: matrix)"),
    ("prompts", "DIR", "prompts of your own"),
    ("baseline", "FILE", "scores of an earlier session, which must not get worse"),
    ("tolerance", "NUMBER", "how much worse than the baseline is no regression (default: 0.05)"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each with an ini value of the same name (`ragstone_judge`)."""
    group = parser.getgroup("ragstone", "scores of RAG answers")
    for name, metavar, told in _OPTIONS:
        group.addoption(f"--ragstone-{name}", metavar=metavar, default=None, help=told)
        parser.addini(f"ragstone_{name.replace('-', '_')}", told, default="")
    told = "folder for the judge's replies; a second session asks nothing"
    try:
        group.addoption("--ragstone-cache", "--cache", dest="ragstone_cache", metavar="DIR", default=None, help=told)
    except ValueError:  # another plug-in has a --cache of its own
        group.addoption("--ragstone-cache", dest="ragstone_cache", metavar="DIR", default=None, help=told)
    parser.addini("ragstone_cache", told, default="")
    group.addoption("--ragstone-update-baseline", action="store_true", help="write the baseline instead")


def _option(config: pytest.Config, name: str) -> str:
    """An option of the command line, or else of the configuration; "" where neither says."""
    key = name.replace("-", "_")
    return str(config.getoption(f"ragstone_{key}", None) or config.getini(f"ragstone_{key}") or "")


def _beside(config: pytest.Config, text: str) -> Path | None:
    """A path as the user means it: relative to where pytest was called."""
    return config.invocation_params.dir / text if text else None


@pytest.fixture(scope="session")
def ragstone(request: pytest.FixtureRequest) -> Iterator["Evaluator"]:
    """An evaluator with the judge of the session: `ragstone.score(sample, ["faithfulness"])`, `ragstone.pass_rate`."""
    from ragstone.api.judging import Judging  # noqa: PLC0415  (nothing is loaded before a test needs it)
    from ragstone.api.pytest_support import Evaluator  # noqa: PLC0415

    config = request.config
    judging: Any = Judging(
        model=_option(config, "judge") or None,
        base_url=_option(config, "judge-base-url") or None,
        embedder=_option(config, "embedder") or None,
        embedder_base_url=_option(config, "embedder-base-url") or None,
        protocol=_option(config, "protocol") or "matrix",  # type: ignore[arg-type]
        prompts=_beside(config, _option(config, "prompts")),
    )
    with Evaluator(judging, cache=_beside(config, _option(config, "cache"))) as evaluator:
        yield evaluator


@pytest.fixture(scope="session")
def _ragstone_baseline(request: pytest.FixtureRequest) -> "Baseline | None":
    from ragstone.api.pytest_support import Baseline  # noqa: PLC0415

    path = _beside(request.config, _option(request.config, "baseline"))
    if path is None:
        return None
    tolerance = float(_option(request.config, "tolerance") or 0.05)
    return Baseline.read(path, tolerance=tolerance, missing=_updates(request.config))


def _updates(config: pytest.Config) -> bool:
    return bool(config.getoption("ragstone_update_baseline"))


@pytest.fixture
def assert_scores(
    request: pytest.FixtureRequest, ragstone: "Evaluator", _ragstone_baseline: "Baseline | None"
) -> "Callable[..., Scored]":
    """`assert_scores(sample, {"faithfulness": 0.8}, repeat=1)`: fails where a score is below its threshold (above, for
    metrics of which lower is better), and where there is none. Returns the scores."""

    def check(sample: Mapping[str, Any], thresholds: Mapping[str, float], *, repeat: int = 1) -> "Scored":
        from ragstone.api.pytest_support import misses  # noqa: PLC0415

        __tracebackhide__ = True
        scored = ragstone.score(sample, list(thresholds), repeat=repeat)
        values = {name: value for name in thresholds if (value := scored.value(name)) is not None}
        lines = misses(scored, thresholds)
        lines += _kept(request, _ragstone_baseline, scored.id, values, passed=not lines)
        if lines:
            pytest.fail("\n".join([f"{scored.id} ({scored.question[:80]!r})", *(f"  {line}" for line in lines)]), False)
        return scored

    return check


@pytest.fixture
def assert_pass_rate(
    request: pytest.FixtureRequest, ragstone: "Evaluator", _ragstone_baseline: "Baseline | None"
) -> "Callable[..., PassRate]":
    """`assert_pass_rate(samples, {"faithfulness": 0.8}, rate=0.9, repeat=3)`: fails where fewer than this share of the
    samples reach every threshold, each by its mean over the repeats, so that one flaky verdict breaks nothing."""

    def check(
        samples: Sequence[Mapping[str, Any]], thresholds: Mapping[str, float], *, rate: float = 0.9, repeat: int = 1
    ) -> "PassRate":
        __tracebackhide__ = True
        found = ragstone.pass_rate(samples, thresholds, repeat=repeat)
        means = {}
        for name in thresholds:
            values = [value for one in found.samples if (value := one.value(name)) is not None]
            if values:
                means[name] = sum(values) / len(values)
        passed = found.rate >= rate
        lines = _kept(request, _ragstone_baseline, f"{found.total} samples", means, passed=passed, rate=found.rate)
        if not passed:
            head = f"{found.passed} of {found.total} samples reach the thresholds ({found.rate:.0%}, {rate:.0%} needed)"
            lines = [head, *found.failures[:20], *lines]
        if lines:
            pytest.fail("\n  ".join(lines), False)
        return found

    return check


def _kept(
    request: pytest.FixtureRequest, baseline: "Baseline | None", sample: str, values: Mapping[str, float], *,
    passed: bool, rate: float | None = None,
) -> list[str]:  # fmt: skip
    """Keeps the scores for the table, for JUnit and for the baseline; what is worse than the baseline comes back."""
    node: Any = request.node
    for name, value in values.items():
        node.user_properties.append((f"ragstone.{name}", f"{value:.4f}"))
    if rate is not None:
        node.user_properties.append(("ragstone.pass_rate", f"{rate:.4f}"))
    number = sum(name == _PROPERTY for name, _ in node.user_properties)
    test = node.nodeid if not number else f"{node.nodeid}#{number + 1}"
    worse = [] if baseline is None or _updates(request.config) else baseline.regressions(test, values)
    told = {"test": test, "sample": sample, "values": dict(values), "rate": rate, "passed": passed and not worse}
    node.user_properties.append((_PROPERTY, json.dumps(told, ensure_ascii=True)))
    return [f"worse than the baseline: {line}" for line in worse]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table of all scores, and the baseline where it is to be written. With xdist the reports of all workers are
    here, and with them what their tests scored."""
    rows: list[dict[str, Any]] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                held = getattr(report, "user_properties", ())
                rows += [json.loads(value) for name, value in held if name == _PROPERTY]
    if not rows:
        return
    rows.sort(key=lambda row: str(row["test"]))
    metrics = list(dict.fromkeys(name for row in rows for name in row["values"]))
    terminalreporter.write_sep("-", "ragstone scores")
    widths = [max(len(name), 6) for name in metrics]
    head = "  ".join(name.rjust(width) for name, width in zip(metrics, widths, strict=True))
    terminalreporter.write_line(f"{head}    rate  test (sample)")
    for row in rows:
        cells = [
            (f"{row['values'][name]:.3f}" if name in row["values"] else "–").rjust(width)
            for name, width in zip(metrics, widths, strict=True)
        ]
        rate = "" if row["rate"] is None else f"{row['rate']:.0%}"
        mark = "" if row["passed"] else "  FAILED"
        terminalreporter.write_line(f"{'  '.join(cells)}  {rate:>6}  {row['test']} ({row['sample']}){mark}")
    path = _beside(config, _option(config, "baseline"))
    if path is not None and _updates(config):
        from ragstone.api.pytest_support import Baseline  # noqa: PLC0415

        Baseline.read(path, tolerance=0.0, missing=True).write({row["test"]: row["values"] for row in rows})
        terminalreporter.write_line(f"baseline: {path}")
