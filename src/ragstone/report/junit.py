"""Records as a JUnit report, for the CI systems that draw one: a suite a system, a test case a record."""

from collections import Counter
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from ragstone.report.sanitize import cut, readable
from ragstone.types import Benchmark, Diagnosis, Record, Run

__all__ = ["write_junit"]

_LONGEST = 4_000  # characters of an answer; CI systems choke on more


def write_junit(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    """Write the report: a wrong answer is a failure, a failed request an error, what could not be scored is skipped."""
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(f"<testsuites name={_attribute(f'ragstone {benchmark.name}')}>\n")
    for system in sorted(run.systems):
        tally: Counter[str] = Counter()
        for record in run.records(system=system):
            tally[_outcome(record, benchmark.explain(record, language=language))] += 1
        plan = run.plans().get(system)
        tally["skipped"] += plan.total - plan.asked if plan else 0
        stream.write(
            f'  <testsuite name={_attribute(system)} tests="{tally.total()}" failures="{tally["failure"]}" '
            f'errors="{tally["error"]}" skipped="{tally["skipped"]}">\n'
        )
        for record in run.records(system=system):
            finding = benchmark.explain(record, language=language)
            stream.write(_case(record, finding))
        if plan and plan.asked < plan.total:
            why = _attribute(f"not asked: {plan.asked:,} of {plan.total:,}, unfinished")
            for case in run.unasked(system):
                stream.write(
                    f"    <testcase classname={_attribute(system)} name={_attribute(case)}>"
                    f"<skipped message={why}/></testcase>\n"
                )
        stream.write("  </testsuite>\n")
    stream.write("</testsuites>\n")


def _outcome(record: Record, finding: Diagnosis) -> str:
    if record.error is not None:
        return "error"
    return {True: "", False: "failure", None: "skipped"}[finding.right]


def _case(record: Record, finding: Diagnosis) -> str:
    head = f"    <testcase classname={_attribute(finding.group or record.system_id)} name={_attribute(record.case.id)}"
    outcome = _outcome(record, finding)
    if not outcome:
        return f"{head}/>\n"
    if outcome == "error":
        kind, _, message = (record.error or "").partition(":")
        inner = f"<error type={_attribute(kind)} message={_attribute(message.strip() or kind)}/>"
    elif outcome == "skipped":
        inner = f"<skipped message={_attribute(finding.reason or finding.label or 'not scored')}/>"
    else:
        text, left_out = cut(_told(record), _LONGEST)
        text += f"\n… {left_out} more characters" if left_out else ""
        inner = (
            f"<failure type={_attribute(finding.cause or 'wrong')} "
            f"message={_attribute(finding.reason or finding.label)}>{escape(readable(text))}</failure>"
        )
    return f"{head}>{inner}</testcase>\n"


def _told(record: Record) -> str:
    expected = " + ".join(" | ".join(slot) for slot in record.case.sample.references)
    answer = record.response.answer if record.response else ""
    return f"question: {record.case.query.question}\nexpected: {expected}\nanswer: {answer}"


def _attribute(text: str) -> str:
    """A quoted attribute value. White space other than spaces would be lost in it, so it becomes spaces."""
    return quoteattr(" ".join(readable(cut(text, _LONGEST)[0]).split()))
