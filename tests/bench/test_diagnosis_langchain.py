"""`diagnose` names planted faults of a real chain of LangChain, in an environment of its own."""

import pytest
from bench.diagnosis.faults import FAULTS
from bench.diagnosis.others import langchain_figures

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_the_faults_of_a_chain_are_named() -> None:
    found, reason = langchain_figures(24)
    if reason:
        pytest.skip(reason)
    assert len(found) > 10
    right, total = 0, 0
    for name, row in found.items():
        cause, causes = FAULTS[name].cause, row["causes"]
        # Without a list of the index, what is kept out of every search may look as if it was not found.
        right += causes.get(cause, 0) + (causes.get("not_retrieved", 0) if cause == "filtered" else 0)
        total += sum(causes.values())
        assert row["alarms"] == 0
        assert row["answers"] <= 8 * row["questions"]
    # Of single faults some plant one or two failures. Known defect: answers from memory are called cached answers here,
    # for a reason that nobody has looked into; the sum allows for it.
    assert right >= 0.9 * total
