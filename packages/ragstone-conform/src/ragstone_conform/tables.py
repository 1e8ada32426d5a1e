"""The results of libraries, as tables and as one JSON document."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.display import Cell, Row, Table
from ragstone.messages import messages
from ragstone_conform.cases import Case
from ragstone_conform.outcome import KINDS, Outcome
from ragstone_conform.running import Conformance


def tables(results: Sequence[Conformance], cases: Sequence[Case], language: str, *, every: bool) -> list[Table]:
    """A table of all libraries, then one for each that does not pass all cases, with those (`every`: with all)."""
    texts = messages(__name__, language)
    rows = [
        Row((Cell(_named(found)), *(Cell(str(_count(found, kind))) for kind in KINDS), Cell(str(len(found.outcomes)))))
        for found in results
    ]
    columns = (texts["library"], *(texts[kind] for kind in KINDS), texts["total"])
    first = Table("libraries", texts["title"], columns, tuple(rows), (texts["note"],))
    parts = [found for found in results if every or any(outcome.kind != "right" for outcome in found.outcomes)]
    return [first, *(_of_one(found, cases, language, every=every) for found in parts)]


def _of_one(found: Conformance, cases: Sequence[Case], language: str, *, every: bool) -> Table:
    """The cases of one library, those with the same outcomes in both languages in one row."""
    texts = messages(__name__, language)
    metrics = list(dict.fromkeys(outcome.metric for outcome in found.outcomes))
    why = {case.id: case.why[language] for case in cases}
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    passed = 0
    for case in dict.fromkeys(outcome.case for outcome in found.outcomes):
        own = {outcome.metric: outcome for outcome in found.outcomes if outcome.case == case}
        right = all(outcome.kind == "right" for outcome in own.values())
        passed += right
        if every or not right:
            cells = tuple(_result_text(own[metric], texts) if metric in own else "" for metric in metrics)
            grouped.setdefault((case.rpartition("/")[0], cells), []).append(case.rpartition("/")[2])
    rows = []
    for (name, cells), languages in grouped.items():
        label = f"{name} ({', '.join(languages)})"
        rows.append(Row((Cell(label), *map(Cell, cells), Cell(why[f"{name}/{languages[0]}"]))))
    title = texts["one"].format(library=_named(found))
    notes = () if every or not passed else (texts["others"].format(n=passed),)
    return Table(f"cases.{found.target.name}", title, (texts["case"], *metrics, texts["why"]), tuple(rows), notes)


def _result_text(outcome: Outcome, texts: Mapping[str, str]) -> str:
    """An outcome in a cell: a tick, or what came and what is right."""
    right = texts["or"].join(texts["none"] if value == "none" else f"{value:.3g}" for value in outcome.expected)
    if outcome.kind == "right":
        return "✓"
    came = f"{outcome.value:.3g}" if outcome.value is not None else texts[f"came.{outcome.kind}"]
    return texts["cell"].format(came=came, right=right)


def _named(found: Conformance) -> str:
    return f"{found.target.name} {found.version}".strip()


def _count(found: Conformance, kind: str) -> int:
    return sum(outcome.kind == kind for outcome in found.outcomes)


def document(
    results: Sequence[Conformance], cases: Mapping[str, Case], scripts: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Everything as one JSON document. `scripts`: library → the paths of its reproductions."""
    return {
        "libraries": [
            {
                "library": found.target.name, "version": found.version, "python": str(found.target.python),
                "total": len(found.outcomes), **{kind: _count(found, kind) for kind in KINDS},
                "outcomes": [_outcome(outcome, cases[outcome.case]) for outcome in found.outcomes],
                "reproductions": list(scripts.get(found.target.name, ())),
            }
            for found in results
        ]
    }  # fmt: skip


def _outcome(outcome: Outcome, case: Case) -> dict[str, Any]:
    return {
        "case": outcome.case, "metric": outcome.metric, "outcome": outcome.kind, "value": outcome.value,
        "right": outcome.expected, "reason": outcome.reason, "why": case.why, "source": case.source,
    }  # fmt: skip
