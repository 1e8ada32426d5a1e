"""Run `ragstone diagnose` on cases as a user would, and compare what it names with what was planted."""

import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.diagnosis.heldout.faults import Case
from bench.diagnosis.heldout.langs import build_chain, build_graph
from bench.diagnosis.heldout.llama import build_engine
from bench.diagnosis.heldout.parts import Setup
from bench.diagnosis.heldout.plain import build_plain, serving
from bench.diagnosis.heldout.reader import Reader
from bench.diagnosis.heldout.world import Question, World, right, share, shifted, world, write_index

import ragstone

STAGES = {
    "index": "not_in_index stale chunking contradiction",
    "search": "rewriting search_mismatch not_retrieved filtered language",
    "ranking": "reranking ranking k_too_small duplicates",
    "prompt": "prompt_cut position noise history",
    "answer": "memory integration reading instruction units guard cached_answer unstable generation",
    "refusal": "refused_wrongly should_have_refused",
    "error": "error",
    "reference": "metric reference_in_doubt",
}
STAGE = {cause: stage for stage, causes in STAGES.items() for cause in causes.split()}
HEALTHY = ("", "healthy")


def build(case: Case, planted: bool, seed: int = 1) -> tuple[Any, Callable[[str], str]]:
    """The application of a case, with or without its fault, as an object and as a function of a question."""
    faults = frozenset({case.fault} if planted else ())
    texts = world(case.lang)
    setup = Setup(texts, texts.chunks(case.chunking, case.scheme, faults), faults, Reader(texts, faults, seed))
    if case.app in ("plain", "http"):
        ask = build_plain(setup)
        return ask, lambda question: str(ask(question)["answer"])
    if case.app == "engine":
        engine = build_engine(setup)
        return engine, lambda question: str(engine.query(question))
    if case.app == "chain":
        chain = build_chain(setup)
        return chain, lambda question: str(chain.invoke(question))
    graph = build_graph(setup)
    return graph, lambda question: str(graph.invoke({"question": question})["answer"])


def references(case: Case) -> dict[str, str]:
    """The wrong references of the fault of the references, by question."""
    if case.fault != "reference":
        return {}
    texts = world(case.lang)
    picked = [q for q in texts.questions if q.facts and share(q.text, "reference") < 0.3]
    return {q.text: shifted(texts.reference(q)) for q in picked}


def literal(case: Case, question: Question, answer: str) -> bool:
    """Whether the answer holds the reference as it is written."""
    if not question.facts:
        return right(question, answer)
    texts = world(case.lang)
    return references(case).get(question.text, texts.reference(question)).casefold() in answer.casefold()


def planted(case: Case, with_fault: dict[str, str], without: dict[str, str]) -> set[str]:
    """The questions that are wrong with the fault and right without it."""
    found = set()
    for q in world(case.lang).questions:
        before, after = right(q, without[q.text]), right(q, with_fault[q.text])
        if case.expected.stage == "reference":
            before, after = after, after and literal(case, q, with_fault[q.text])
        if before and not after:
            found.add(q.text)
    return found


def answers(ask: Callable[[str], str], texts: World) -> dict[str, str]:
    """What an application answers, by question."""
    return {q.text: ask(q.text) for q in texts.questions}


@dataclass
class Row:
    """What came of a case."""

    case: str
    fault: str
    app: str
    expected: str
    planted: int = 0
    stage: int = 0
    cause: int = 0
    healthy: int = 0
    alarms: int = 0
    named: dict[str, int] = field(default_factory=dict)
    alarmed: dict[str, int] = field(default_factory=dict)
    advice: str = ""
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    truth: float = 0.0
    seconds: float = 0.0
    error: str = ""
    crashed: str = ""  # what stopped the first attempt, if the second was made around it

    @property
    def covered(self) -> bool | None:
        """Whether the interval of the gain holds what lifting the fault buys; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return self.low - 1e-9 <= self.truth <= self.high + 1e-9


def percent(part: int, whole: int) -> str:
    """A share, with what it is of."""
    return f"{part / whole:.0%} ({part}/{whole})" if whole else "–"


@dataclass
class Report:
    """All rows, as text and as data."""

    rows: list[Row] = field(default_factory=list)

    def first_line(self) -> str:
        """The four figures."""
        rows = self.rows
        bounds = [row.covered for row in rows if row.covered is not None]
        return (
            f"stage {percent(sum(r.stage for r in rows), sum(r.planted for r in rows))}, "
            f"cause {percent(sum(r.cause for r in rows), sum(r.planted for r in rows))}, "
            f"false alarms {percent(sum(r.alarms for r in rows), sum(r.healthy for r in rows))}, "
            f"gains covered {percent(sum(bounds), len(bounds))}"
            f"; {sum(bool(r.crashed) for r in rows)} crashed at first"
            f"; {sum(r.covered is None for r in rows)} first advices without an interval, {len(rows)} cases"
        )

    def grouped(self, key: str) -> list[str]:
        """A table by application or by fault."""
        lines = [f"| {key} | planted | stage right | cause right | false alarms | gains covered |", "|---" * 6 + "|"]
        for name in sorted({getattr(row, key) for row in self.rows}):
            rows = [row for row in self.rows if getattr(row, key) == name]
            many = sum(r.planted for r in rows)
            bounds = [row.covered for row in rows if row.covered is not None]
            lines.append(
                f"| {name} | {many} | {percent(sum(r.stage for r in rows), many)} "
                f"| {percent(sum(r.cause for r in rows), many)} "
                f"| {percent(sum(r.alarms for r in rows), sum(r.healthy for r in rows))} "
                f"| {percent(sum(bounds), len(bounds))} |"
            )
        return lines

    def markdown(self) -> str:
        """The report."""
        lines = [self.first_line(), "", *self.grouped("app"), "", *self.grouped("fault"), ""]
        lines += ["| case | expected | planted | stage | cause | named | false alarms | first advice | s |"]
        lines += ["|---" * 9 + "|"]
        for r in self.rows:
            bounds = "no interval" if r.low is None or r.high is None else f"[{r.low:.0%}, {r.high:.0%}]"
            gain = "–" if r.gain is None else f"{r.gain:.0%}"
            advice = f"{r.advice} {gain} {bounds}, true {r.truth:.0%}{'' if r.covered is not False else ' **missed**'}"
            lines.append(
                f"| {r.case} | {r.expected} | {r.planted} | {r.stage} | {r.cause} | {counted(r.named)} "
                f"| {r.alarms}/{r.healthy} {counted(r.alarmed)} | {r.error or advice} | {r.seconds:.0f} |"
            )
        return "\n".join(lines) + "\n"

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return {"summary": self.first_line(), "rows": [{**asdict(row), "covered": row.covered} for row in self.rows]}

    def save(self, out: Path) -> None:
        """Both forms in a folder."""
        out.mkdir(parents=True, exist_ok=True)
        (out / "report.md").write_text(self.markdown(), encoding="utf-8")
        (out / "report.json").write_text(json.dumps(self.data(), ensure_ascii=False, indent=1), encoding="utf-8")


def counted(names: dict[str, int]) -> str:
    """Names with how often each was given."""
    return ", ".join(f"{name} {n}" for name, n in sorted(names.items(), key=lambda item: -item[1]))


def diagnose(case: Case, folder: Path) -> Any:
    """The result of `ragstone.diagnose`, called as a user calls it."""
    texts = world(case.lang)
    texts.write(folder / "documents", folder / "questions.csv", references(case))
    options: dict[str, Any] = {"corpus": folder / "documents", "run": folder / "diagnosis.run"}
    if case.expected.index:
        write_index(texts.chunks(case.chunking, case.scheme, frozenset({case.fault})), folder / "index.jsonl")
        options["index"] = folder / "index.jsonl"
    with ExitStack() as stack:
        system, _ = build(case, True)
        if case.app == "http":
            system = stack.enter_context(serving(system))
        return ragstone.diagnose(folder / "questions.csv", system, **options)


def given(result: Any) -> dict[str, tuple[str, str]]:
    """Question → the system's answer and the cause that was named."""
    frame = result.to_pandas()
    causes = {name: cause.name for name, cause in result.causes().items()}
    rows = zip(frame["id"], frame["question"], frame["answer"], strict=True)
    return {str(q): (str(a or ""), causes.get(name, "")) for name, q, a in rows}


def judge(case: Case, row: Row, result: Any) -> None:
    """Fill in the row of a case."""
    texts = world(case.lang)
    without = answers(build(case, False)[1], texts)
    with_fault = answers(build(case, True)[1], texts)
    seen = given(result)
    observed = {q.text: seen.get(q.text, (with_fault[q.text], ""))[0] for q in texts.questions}
    failures = planted(case, with_fault, without) & planted(case, observed, without)
    names = {q: seen[q][1] if q in seen else "" for q in observed}
    if case.fault == "notation":  # where the metric reads the other notation, there is no failure to explain
        failures = {q for q in failures if names[q] != "healthy"}
    row.planted = len(failures)
    row.named = dict(Counter(names[q] or "none" for q in failures))
    row.stage = sum(STAGE.get(names[q], "") == case.expected.stage for q in failures)
    row.cause = sum(names[q] in case.expected.causes for q in failures)
    well = [q.text for q in texts.questions if right(q, observed[q.text])]
    alarms = [names[q] for q in well if names[q] not in HEALTHY and STAGE.get(names[q]) not in (None, "reference")]
    row.healthy, row.alarms, row.alarmed = len(well), len(alarms), dict(Counter(alarms))
    counts = literal if case.expected.stage == "reference" else lambda _, q, answer: right(q, answer)
    lifted = sum(right(q, without[q.text]) for q in texts.questions)
    row.truth = (lifted - sum(counts(case, q, observed[q.text]) for q in texts.questions)) / len(texts.questions)
    fixes = result.fixes()
    if fixes:
        row.advice = str(fixes[0].cause)
        if fixes[0].gain is not None:
            row.gain, row.low, row.high = fixes[0].gain.value, fixes[0].gain.low, fixes[0].gain.high


def run(chosen: Iterable[Case], out: Path) -> Report:
    """Run cases one after the other; the report is saved after each."""
    report = Report()
    for case in chosen:
        start = time.monotonic()
        expected = "/".join((case.expected.stage, " or ".join(case.expected.causes)))
        row = Row(case.name, case.fault, case.app, expected)
        time.__dict__.pop("__file__", None)
        for last in (False, True):
            with TemporaryDirectory() as folder:
                try:
                    judge(case, row, diagnose(case, Path(folder)))
                    break
                except Exception as problem:
                    text = f"{type(problem).__name__}: {problem}".replace("\n", " ")[:300]
                    if "__file__" in text and not last:  # applications that use `time`: give the module a file
                        row.crashed = text
                        time.__dict__["__file__"] = "<built-in>"
                        continue
                    traceback.print_exc()
                    row.error = text
                    made = [answers(build(case, fault)[1], world(case.lang)) for fault in (True, False)]
                    row.planted = len(planted(case, *made))
                    break
        row.seconds = time.monotonic() - start
        report.rows.append(row)
        report.save(out)
        print(f"{row.case} {row.seconds:.0f} s | {report.first_line()}", file=sys.stderr, flush=True)
    return report
