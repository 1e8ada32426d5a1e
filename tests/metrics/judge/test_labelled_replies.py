"""Replies by an author who had not read the code: how many are read as meant, and that none is read otherwise."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ragstone.metrics.judge.reply import ids_problem, read_reply
from ragstone.metrics.judge.schemas import OUTPUTS

LABELLED = Path(__file__).parents[1] / "labelled"
COUNTS = {"answer_claims": 2, "reference_claims": 1, "passages": 2}  # of what is judged in "verify"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def outcome(row: dict[str, Any]) -> str:
    found, problem, coerced = read_reply(
        row["reply"], OUTPUTS[row["form"]], shown={"answer": row.get("judged_text", "")}
    )
    if not problem and row["form"] == "verify":
        problem = next(filter(None, (ids_problem(found[at], count, at) for at, count in COUNTS.items())), "")
    if problem:
        return "lost" if row["expected"] else "refused"
    assert coerced or json.loads(row["reply"].removeprefix("\ufeff")) == found
    return "used" if row["expected"] and said(found) == said(row["expected"]) else "wrong"


def said(value: Any) -> Any:
    """What a value says: null is as good as nothing."""
    if isinstance(value, dict):
        return {key: said(item) for key, item in value.items() if item is not None}
    return [said(item) for item in value] if isinstance(value, list) else value


def test_80_of_95_replies_are_read_since_the_rules_know_them_and_none_wrongly() -> None:
    """A figure of development: at the first run, which nobody had prepared, 68 were used and 27 lost."""
    assert Counter(map(outcome, rows("judge_replies"))) == {"used": 80, "lost": 15, "refused": 25}


def test_no_injected_object_is_taken_for_the_judges() -> None:
    """At the first run 3 objects of the judge's own were used beside an injected one that nothing marks."""
    assert Counter(map(outcome, rows("judge_injected"))) == {"used": 16, "refused": 44}
