"""What plays the judge for RAGChecker: triplets for a text, and a label for each claim and context."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone_conform.cases import Case, load_cases
from ragstone_conform.libraries import LIBRARIES, ragchecker
from ragstone_conform.targets import target_of

CASES = {case.id: case for case in load_cases()}
EXTRACTS = (
    "### Candidate Answer:\nPlums.\n\n### KG:\n…\n\n### Question:\n?\n\n### Candidate Answer:\n{text}\n\n### KG:\n"
)
CHECKS = "### Question:\n?\n\n### Reference:\n{context}\n\n### Claims:\n{claims}\n\n\nYour answer: labels."


def played(case: Case, text: str, **changes: Any) -> Any:
    return ragchecker.reply({"texts": [text]}, case.sample, {**case.judge, **changes})


def triplets(case: Case, text: str) -> list[str]:
    steps, reply = played(case, EXTRACTS.format(text=text))
    assert steps == ("statements",)
    return str(reply).splitlines()


def share(case: Case, text: str) -> float:
    """RAGChecker's own way: the share of claims that some context entails."""
    claims = triplets(case, text)
    labels = [
        played(case, CHECKS.format(context=context, claims="\n".join(claims)))[1].splitlines()
        for context in case.sample["contexts"]
    ]
    assert all(len(found) == len(claims) for found in labels)
    return sum("Entailment" in column for column in zip(*labels, strict=True)) / len(claims)


@pytest.mark.parametrize("name", ["plain", "all-supported", "none-supported", "context-twice"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_judge_with_these_verdicts_gives_the_scores_of_the_case(name: str, language: str) -> None:
    case = CASES[f"{name}/{language}"]
    sides = {"faithfulness": case.sample["answer"], "context_recall": case.sample["references"][0]}
    for metric, right in case.expect.items():
        if metric in sides:
            assert share(case, sides[metric]) == pytest.approx(right[0], abs=1e-5)


def test_claims_have_the_form_that_ragchecker_reads() -> None:
    case = CASES["plain/en"]
    for line in triplets(case, case.sample["answer"]):
        assert re.fullmatch(r'\(".+", ".+", ".+"\)', line)


def test_a_verdict_that_is_missing_or_none_at_all_has_no_label() -> None:
    case = CASES["plain/en"]
    claims = "\n".join(triplets(case, case.sample["answer"]))
    text = CHECKS.format(context=case.sample["contexts"][0], claims=claims)
    assert played(case, text, supported=[1]) == (("supported",), "Entailment")
    assert played(case, text, supported=[1, 1, 1, 5])[1] == "Entailment\nNeutral\nEntailment\n5"
    assert played(case, CHECKS.format(context="Another text.", claims=claims)) is None


def test_it_is_installed_without_what_it_requires(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, Any] = {}

    def environment(
        name: str,
        packages: list[str],
        folder: Path,
        *,
        without_dependencies: list[str],
        making: Callable[..., None] | None,
    ) -> Path:
        asked.update(packages=packages, alone=without_dependencies)
        return tmp_path / "python"

    monkeypatch.setattr("ragstone_conform.targets.environment", environment)
    assert target_of("ragchecker").python == tmp_path / "python"
    assert asked["alone"] == ["ragchecker==0.1.9", "refchecker==0.2.17"]
    assert not any(package.startswith(("torch", "refchecker", "ragchecker")) for package in asked["packages"])
    assert "ragchecker" in LIBRARIES
