"""Notes on unfinished runs: cases that remain to be asked or scored."""

from msgspec.structs import replace

from ragstone.display import Table
from ragstone.messages import messages
from ragstone.plans import Plan
from ragstone.types import Benchmark, Run


def unfinished_systems(run: Run) -> dict[str, Plan]:
    """The systems with cases or scores that remain, with their plans."""
    return {name: plan for name, plan in run.plans().items() if plan.unfinished}


def unfinished_lines(run: Run, *, language: str = "en") -> list[str]:
    """A line for each system with cases that remain, and for metrics that have not scored all its answers; with the
    system's name where the run has several."""
    words = messages(__name__, language)
    several = len(run.systems) > 1
    lines = []
    for name, plan in unfinished_systems(run).items():
        system = words["system"].format(name=name) if several else ""
        if plan.asked < plan.total:
            failed = words["failed"].format(failed=plan.failed) if plan.failed else ""
            lines.append(words["line"].format(system=system, asked=plan.asked, total=plan.total, failed=failed))
        counts = {metric: (plan.scored(metric), plan.failed_scores.get(metric, 0)) for metric in plan.unscored}
        for scored, bad in sorted(set(counts.values())):
            metrics = words["join"].join(sorted(metric for metric in counts if counts[metric] == (scored, bad)))
            failed = words["failed_scores"].format(failed=bad) if bad else ""
            line = words["scores"].format(
                system=system, scored=scored, total=plan.total, metrics=metrics, failed=failed
            )
            lines.append(line)
    return lines


def tables_of(run: Run, benchmark: Benchmark, *, language: str = "en") -> list[Table]:
    """The benchmark's tables. Each table of an unfinished run says so, because tables are copied separately."""
    tables = benchmark.tables(run, language=language)
    lines = tuple(unfinished_lines(run, language=language))
    return [
        table if not lines or all(row.published for row in table.rows) else replace(table, notes=(*lines, *table.notes))
        for table in tables
    ]
