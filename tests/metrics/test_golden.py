"""What a metric is: its version and its needs. Another result is another version, on purpose."""

from tests.golden import golden
from tests.metrics.test_contract import NAMES, asked_for, metric

from ragstone.metrics import better
from ragstone.metrics.needle import number_spans


def test_versions_and_needs_of_every_metric() -> None:
    lines = []
    for name in sorted(NAMES):
        one = metric(name)
        needs = ", ".join(sorted(need.name for need in one.needs))
        lines.append(f"{asked_for(name)} v{one.version} {better(asked_for(name))}: {needs}")
    golden("metrics/versions", "\n".join(lines))


def test_numbers_of_full_width_are_the_same_numbers() -> None:
    for text in ("３１１８２０５", "It is ３，１１８，２０５.", "3，118，205"):
        assert len(number_spans("3118205", text)) == 1, text
    assert number_spans("3118205", "３１１８２０６") == []
