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
    for name, row in found.items():
        cause, causes = FAULTS[name].cause, row["causes"]
        right = causes.get(cause, 0)
        if cause == "filtered":  # of some that are kept out, only few words of their own are known to be searched for
            assert right > causes.get("not_retrieved", 0)
            right += causes.get("not_retrieved", 0)
        assert right >= 0.9 * sum(causes.values()), name
        assert row["alarms"] == 0
        assert row["answers"] <= 6 * row["questions"], name
