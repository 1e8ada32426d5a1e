"""Records as a JUnit report for CI systems: a suite per system, a test case per record."""

from collections import Counter
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from ragstone.display import Diagnosis, shown_id
from ragstone.report.metadata import case_anchor, case_name
from ragstone.report.sanitize import cut, readable
from ragstone.types import Benchmark, Record, Run

_LONGEST = 4_000  # characters of an answer; some CI systems fail on more


def write_junit(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    """Write the report: a wrong answer is a failure, a failed request an error, and an unscored answer is skipped."""
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(f"<testsuites name={_attribute(f'ragstone {benchmark.name}')}>\n")
    for system in sorted(run.systems):
        counts = Counter(
            _outcome(record, benchmark.classify(record, language=language))
            for record in run.records(system=system, texts=benchmark.reads_texts)
        )
        plan = run.plans().get(system)
        counts["skipped"] += plan.total - plan.asked if plan else 0
        stream.write(
            f'  <testsuite name={_attribute(system)} tests="{counts.total()}" failures="{counts["failure"]}" '
            f'errors="{counts["error"]}" skipped="{counts["skipped"]}">\n'
        )
        for record in run.records(system=system, texts=benchmark.reads_texts):
            stream.write(_case(record, case_name(record), benchmark.explain(record, language=language)))
        if plan and plan.asked < plan.total:
            reason = _attribute(f"not asked: {plan.asked:,} of {plan.total:,}, unfinished")
            for case, name in run.unasked(system):
                stream.write(
                    f"    <testcase classname={_attribute(system)} name={_attribute(shown_id(case, name))}>"
                    f"<skipped message={reason}/></testcase>\n"
                )
        stream.write("  </testsuite>\n")
    stream.write("</testsuites>\n")


def _outcome(record: Record, diagnosis: Diagnosis) -> str:
    if record.error is not None:
        return "error"
    return {True: "", False: "failure", None: "skipped"}[diagnosis.right]


def _case(record: Record, name: str, diagnosis: Diagnosis) -> str:
    head = f"    <testcase classname={_attribute(diagnosis.group or record.system_id)} name={_attribute(name)}"
    outcome = _outcome(record, diagnosis)
    if not outcome:
        return f"{head}/>\n"
    if outcome == "error":
        kind, _, message = (record.error or "").partition(":")
        inner = f"<error type={_attribute(kind)} message={_attribute(message.strip() or kind)}/>"
    elif outcome == "skipped":
        inner = f"<skipped message={_attribute(diagnosis.reason or diagnosis.label or 'not scored')}/>"
    else:
        text, left_out = cut(_text(record), _LONGEST)
        text += f"\n… {left_out} more characters" if left_out else ""
        inner = (
            f"<failure type={_attribute(diagnosis.cause or 'wrong')} "
            f"message={_attribute(diagnosis.reason or diagnosis.label)}>{escape(readable(text))}</failure>"
        )
    return f"{head}>{inner}</testcase>\n"


def _text(record: Record) -> str:
    sample = record.case.sample
    expected = " + ".join(" | ".join(slot) for slot in sample.references)
    answer = record.response.answer if record.response else ""
    return (
        f"question: {record.case.query.question}\nexpected: {expected}\nanswer: {answer}\n"
        f"in the report: #{case_anchor(sample.id)}"
    )


def _attribute(text: str) -> str:
    """A quoted attribute value; other white space, which attributes lose, becomes spaces."""
    return quoteattr(" ".join(readable(cut(text, _LONGEST)[0]).split()))
