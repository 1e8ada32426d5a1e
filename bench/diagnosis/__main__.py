"""Prints what `ragstone.diagnose` and other tools say about planted faults. See the package's docstring."""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.diagnosis.coverage import covered_gains
from bench.diagnosis.diagnosing import Diagnosis, diagnosed
from bench.diagnosis.faults import FAULTS, PAIRS, Fault
from bench.diagnosis.measures import (
    Share,
    Verdict,
    confusion,
    false_alarms,
    in_order,
    named_right,
    sizes,
    stage_named_right,
)
from bench.diagnosis.others import PEERS, langchain_figures, peer_verdicts
from bench.diagnosis.probe import always_not_fetched, word_probe
from bench.diagnosis.trials import Trial
from bench.diagnosis.worlds import World, fictional, handbook

__all__ = ["main"]

_IN_LANGCHAIN = 30  # questions
GOALS = {
    "named right": 0.95, "false alarms": 0.02, "clean system blamed": 0.02, "coverage": 0.9, "requests": 6.0,
    "same verdicts": 0.98,
}  # fmt: skip


def standard_trials(worlds: Iterable[World]) -> list[Trial]:
    """Every fault in every world: with references word for word in one, and paraphrased in the other half; the readers
    that refuse and those that do not are crossed with both."""
    trials = []
    for place, world in enumerate(worlds):
        for paraphrased in (False, True):
            refuses = paraphrased == bool(place)
            trials += [Trial(world, (fault,), paraphrased, refuses) for fault in FAULTS.values()]
    return trials


def clean_trials(worlds: Iterable[World]) -> list[Trial]:
    """Systems without a fault, whose reader misreads nothing and gets enough passages."""
    enough = Fault("none", "healthy", {}, {"depth": 20, "k": 10})
    return [Trial(world, (enough,), paraphrased, misreads=0.0) for world in worlds for paraphrased in (False, True)]


def pair_trials(worlds: Iterable[World]) -> list[Trial]:
    """Two faults at once; the references of every other pair are paraphrased."""
    return [
        Trial(world, (FAULTS[first], FAULTS[second]), bool(place % 2))
        for world in worlds
        for place, (first, second) in enumerate(PAIRS)
    ]


def table(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as a Markdown table; the first is the head."""
    head, *body = [[str(cell) for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis", description=__doc__)
    parser.add_argument("--questions", type=int, default=40, help="About how many questions a trial has.")
    parser.add_argument("--repetitions", type=int, default=100, help="Repetitions for the coverage of the intervals.")
    parser.add_argument("--peers", action="store_true", help="Install and ask the other tools, too: five minutes more.")
    parser.add_argument("--langchain", action="store_true", help="Diagnose a chain of LangChain, too.")
    parser.add_argument("--json", action="store_true", help="End with one line of JSON.")
    options = parser.parse_args()
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(options, Path(folder))
    figures["cpu_seconds"] = round(time.process_time() - started, 1)
    missed = [name for name, reached in figures["goals"].items() if not reached]
    print(
        f"\nCPU: {figures['cpu_seconds']} s. " + (f"Missed: {', '.join(missed)}." if missed else "All goals reached.")
    )
    if options.json:
        print(json.dumps(figures))
    return bool(missed)


def measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Runs all trials, prints the tables, and returns the figures of the goals."""
    worlds = (fictional(options.questions), handbook().sample(options.questions))
    single = [_done(trial, folder) for trial in standard_trials(worlds)]
    clean = [_done(trial, folder) for trial in clean_trials(worlds)]
    pairs = [_done(trial, folder) for trial in pair_trials(worlds)]
    verdicts = [verdict for diagnosis in single for verdict in diagnosis.verdicts]
    print("\n## Planted fault and named cause\n")
    print_confusion(single)
    print("\n## Two faults at once\n")
    named_pairs = print_pairs(pairs)
    print("\n## Other tools\n")
    print_tools(single, peers=options.peers)
    if options.langchain:
        print("\n## A chain of LangChain\n")
        print_langchain()
    same = print_plans(single, worlds, folder)
    coverage = covered_gains(options.repetitions, folder)
    print("\n## Predicted gains\n")
    print(table([["fault", "true gain", "mean predicted gain", "interval covers it"], *coverage.rows()]))
    everything = [*single, *clean, *pairs]
    alarms = false_alarms(verdict for diagnosis in everything for verdict in diagnosis.verdicts)
    blamed = Counter(verdict.cause != "healthy" for diagnosis in clean for verdict in diagnosis.verdicts)
    counts: Counter[str] = sum((diagnosis.requests for diagnosis in everything), Counter())
    questions = sum(len(diagnosis.verdicts) for diagnosis in everything)
    shares = {
        "named right": named_right(verdicts), "false alarms": alarms,
        "clean system blamed": Share(blamed[True], blamed.total()), "coverage": coverage.share,
        "both of two named in order": named_pairs, "same verdicts": same,
    }  # fmt: skip
    figures: dict[str, Any] = {name: share.value for name, share in shares.items()}
    figures["requests"] = counts["answer"] / questions
    goals = {
        name: figures[name] <= goal if name in ("false alarms", "clean system blamed", "requests")
        else figures[name] >= goal
        for name, goal in GOALS.items()
    }  # fmt: skip
    print("\n## Goals\n")
    rows = [[name, shares.get(name, f"{figures[name]:.2f}"), GOALS.get(name, "")] for name in figures]
    print(table([["measure", "figure", "goal"], *rows]))
    print(f"\nSearches a question: {counts['search'] / questions:.2f}.")
    return {**figures, "goals": goals}


def _done(trial: Trial, folder: Path) -> Diagnosis:
    diagnosis = diagnosed(trial, folder)
    print(f"{trial.world.name}: {trial.name}", file=sys.stderr)
    return diagnosis


def print_confusion(single: Iterable[Diagnosis]) -> None:
    matrix = confusion(verdict for diagnosis in single for verdict in diagnosis.verdicts)
    rows = []
    for name, counts in matrix.items():
        right = FAULTS[name].cause
        others = ", ".join(f"{cause} {count}" for cause, count in counts.most_common() if cause != right)
        rows.append([name, right, Share(counts[right], counts.total()), others])
    print(table([["planted", "right cause", "named", "others named"], *rows]))


def print_pairs(pairs: Iterable[Diagnosis]) -> Share:
    rows, hits = [], 0
    for diagnosis in pairs:
        made, named = sizes(diagnosis.trial, diagnosis.verdicts)
        hits += in_order(made, named)
        shown = [", ".join(f"{cause} {count}" for cause, count in counts.most_common()) for counts in (made, named)]
        rows.append([diagnosis.trial.world.name, diagnosis.trial.name, *shown])
    print(table([["world", "planted", "made to fail", "named"], *rows]))
    return Share(hits, len(rows))


def print_tools(single: list[Diagnosis], *, peers: bool) -> None:
    tools = {
        "ragstone.diagnose": [diagnosis.verdicts for diagnosis in single],
        "probe of words": [word_probe(diagnosis.trial) for diagnosis in single],
        "always: not fetched": [always_not_fetched(diagnosis.trial) for diagnosis in single],
    }
    notes = {}
    for name in PEERS if peers else ():
        tools[name], notes[name] = peer_verdicts(name, [diagnosis.trial for diagnosis in single])
    rows = []
    for name, found in tools.items():
        everything = [verdict for verdicts in found for verdict in verdicts]
        english = [verdict for verdict in everything if verdict.case.question.language == "en"]
        rows.append([name, *by_wording(everything)])
        if name in notes:
            rows.append([f"{name}, English questions", *by_wording(english)])
    head = ["tool", "stage right, verbatim", "stage right, paraphrased", "false alarms, verbatim", "paraphrased"]
    print(table([head, *rows]))
    for name, note in notes.items():
        print(f"\n{name}: {note}")


def by_wording(verdicts: list[Verdict]) -> list[Share]:
    """Stages that are right, and false alarms, each with verbatim and with paraphrased references."""
    halves = [[one for one in verdicts if one.trial.paraphrased == paraphrased] for paraphrased in (False, True)]
    return [measure(half) for measure in (stage_named_right, false_alarms) for half in halves]


def print_langchain() -> None:
    found, reason = langchain_figures(_IN_LANGCHAIN)
    rows = []
    for name, row in found.items():
        right, total = row["causes"].get(FAULTS[name].cause, 0), sum(row["causes"].values())
        rows.append([name, FAULTS[name].cause, Share(right, total), Share(row["alarms"], row["right"])])
    print(reason or table([["planted", "right cause", "named", "false alarms"], *rows]))


def print_plans(single: list[Diagnosis], worlds: tuple[World, ...], folder: Path) -> Share:
    """The verdicts of the adaptive plan against those of the full one, for every third trial."""
    same, total, answers = 0, 0, 0
    for diagnosis in single[::3]:
        full = diagnosed(diagnosis.trial, folder, full=True)
        answers += full.requests["answer"]
        for adaptive, verdict in zip(diagnosis.verdicts, full.verdicts, strict=True):
            same += adaptive.cause == verdict.cause
            total += 1
    print(f"\nThe full plan asks for {answers / total:.2f} answers a question.")
    return Share(same, total)


if __name__ == "__main__":
    sys.exit(main())
