"""Run `ragstone diagnose` on cases as a user would, and compare what it names with what a person would."""

import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.diagnosis.heldout.judging import HEALTHY, STAGE, Report, Row, counted
from bench.diagnosis.heldout2.chains import build_chain, build_graph
from bench.diagnosis.heldout2.faults import FAULTS, SEEN, Case, Expected
from bench.diagnosis.heldout2.hay import build_pipeline
from bench.diagnosis.heldout2.llama import build_router
from bench.diagnosis.heldout2.parts import Setup
from bench.diagnosis.heldout2.plain import HelpDesk, build_steps, serving, settings
from bench.diagnosis.heldout2.reader import DEMAND, NOTICE, TITLE, Reader, another
from bench.diagnosis.heldout2.world import Question, right, share, states, world, write_index

import ragstone

ROUNDS = 3  # how often an application is asked to know what it does without chance
Made = tuple[Any, Callable[[str], str]]


def build(case: Case, faults: Iterable[str], seed: int = 1) -> Made:
    """The application of a case with some of its faults, as an object and as a function of a question."""
    on, texts = frozenset(faults), world(case.lang)
    setup = Setup(
        texts,
        texts.chunks(case.chunking, case.scheme, on),
        on,
        Reader(texts, on, seed),
        notice=NOTICE[case.lang],
        demand=DEMAND[case.lang],
        title=TITLE[case.lang],
    )
    if case.app == "ensemble":
        chain = build_chain(setup)
        return chain, lambda question: str(chain.invoke(question))
    if case.app == "messages":
        graph = build_graph(setup)
        return graph, lambda question: str(graph.invoke({"messages": [("user", question)]})["messages"][-1].content)
    if case.app == "router":
        router = build_router(setup)
        return router, lambda question: str(router.query(question))
    if case.app == "joiner":
        line = build_pipeline(setup)
        return line, lambda question: str(line.run({"entry": {"question": question}})["model"]["replies"][0])
    ask: Any = HelpDesk(setup) if case.app == "desk" else build_steps(setup)
    return ask, lambda question: str(ask(question)["answer"])


def foreign(case: Case) -> set[str]:
    """The questions that are asked in another language."""
    return {q.text for q in world(case.lang).questions if q.foreign} if "untranslated" in case.parts else set()


def spoken(case: Case, question: Question) -> str:
    """A question as it is asked."""
    return question.foreign if question.text in foreign(case) else question.text


def wrong_references(case: Case) -> dict[str, str]:
    """References of other rows, by question."""
    if "shuffled" not in case.parts:
        return {}
    texts = world(case.lang)
    known = [q for q in texts.questions if q.facts]
    pairs = zip(known, known[1:] + known[:1], strict=True)
    return {q.text: texts.reference(other) for q, other in pairs if share(q.text, "row") < 0.3}


def asked(case: Case, faults: Iterable[str], rounds: int = ROUNDS) -> dict[str, float]:
    """How often each question is answered right, as a share of some rounds."""
    texts = world(case.lang)
    well: Counter[str] = Counter()
    for seed in range(11, 11 + rounds):
        _, ask = build(case, faults, seed)
        for q in texts.questions:
            well[q.text] += right(q, ask(spoken(case, q)))
    return {q.text: well[q.text] / rounds for q in texts.questions}


def expected(case: Case) -> dict[str, list[Expected]]:
    """The questions that fail by the faults of a case and not without them, with what a diagnosis should say."""
    healthy = asked(case, ())
    made: dict[str, list[Expected]] = {}
    for part in case.parts:
        if FAULTS[part].stages == ("reference",):
            continue
        broken = asked(case, [part])
        limit = 0.75 if part in ("shards", "thread", "lookalike") else 0.5  # these fail at some times
        for text, well in healthy.items():
            if well > 0.5 and broken[text] < limit:
                made.setdefault(text, []).append(FAULTS[part])
    if case.fault == "shuffled":
        made = {text: [FAULTS["shuffled"]] for text in wrong_references(case) if healthy[text] > 0.5}
    if case.fault == "spelled":
        _, ask = build(case, case.parts)
        told = {q.text: (q, ask(q.text)) for q in world(case.lang).questions if q.facts}
        made = {text: [FAULTS["spelled"]] for text, (q, said) in told.items() if notated(q, said)}
    return made


def notated(question: Question, answer: str) -> bool:
    """Whether an answer is right and written in another way than the reference."""
    return right(question, answer) and not all(states(answer, fact.value) for fact in question.facts)


def failing(case: Case, question: Question, answer: str) -> bool:
    """Whether an answer that was observed is a failure of a fault rather than of chance."""
    if case.fault == "shuffled":
        return right(question, answer) and question.text in wrong_references(case)
    if case.fault == "spelled":
        return notated(question, answer)
    if case.fault in ("thread", "lookalike"):
        return not right(question, answer) and another(world(case.lang), question, answer)
    return not right(question, answer)


@dataclass
class Judged(Row):
    """What came of a case, with how its index was made."""

    lang: str = ""
    chunking: str = ""
    scheme: str = ""
    form: str = ""
    first: str = ""  # stage of the first advice: right or not
    unplanted: int = 0


@contextmanager
def within(folder: Path) -> Iterator[None]:
    """Work in a folder whose `ragstone.toml` is trusted."""
    before = Path.cwd()
    os.environ["RAGSTONE_TRUST"] = "ragstone.toml"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        del os.environ["RAGSTONE_TRUST"]


def diagnose(case: Case, folder: Path, limit: int | None = None) -> Any:
    """The result of `ragstone.diagnose`, called as a user calls it."""
    texts = world(case.lang)
    file = folder / "questions.csv"
    texts.write(folder / "documents", file, wrong_references(case), case.labelled, foreign(case))
    options: dict[str, Any] = {"corpus": folder / "documents", "run": folder / "diagnosis.run", "limit": limit}
    if case.indexed:
        write_index(texts.chunks(case.chunking, case.scheme, case.parts), folder / "index.jsonl")
        options["index"] = folder / "index.jsonl"
    with ExitStack() as stack:
        system, _ = build(case, case.parts)
        if case.app == "service":
            address = stack.enter_context(serving(system))
            (folder / "ragstone.toml").write_text(settings(address), encoding="utf-8")
            stack.enter_context(within(folder))
            system = "desk"
        return ragstone.diagnose(file, system, **options)


def judge(case: Case, row: Judged, result: Any) -> None:
    """Fill in the row of a case."""
    texts = world(case.lang)
    frame = result.to_pandas()
    causes = {name: cause.name for name, cause in result.causes().items()}
    answers = {str(q): str(a or "") for q, a in zip(frame["question"], frame["answer"], strict=True)}
    named = {str(q): causes.get(name, "") for name, q in zip(frame["id"], frame["question"], strict=True)}
    planted, healthy = expected(case), asked(case, ())
    names: Counter[str] = Counter()
    alarmed: Counter[str] = Counter()
    for q in texts.questions:
        text = spoken(case, q)
        name, answer = named.get(text, ""), answers.get(text, "")
        if right(q, answer):
            row.healthy += 1
            row.alarms += (alarm := name not in HEALTHY and STAGE.get(name) not in (None, "reference"))
            alarmed.update([name] * alarm)
        if not failing(case, q, answer) or (case.fault == "spelled" and name in HEALTHY):
            continue
        if q.text not in planted:
            row.unplanted += 1
            continue
        row.planted += 1
        names[name or "none"] += 1
        row.stage += any(STAGE.get(name, "") in right_one.stages for right_one in planted[q.text])
        row.cause += any(name in right_one.causes for right_one in planted[q.text])
    row.named, row.alarmed = dict(names), dict(alarmed)
    observed = sum(right(q, answers.get(spoken(case, q), "")) for q in texts.questions)
    if FAULTS[case.parts[0]].stages == ("reference",):
        observed -= row.planted
    row.truth = (sum(healthy.values()) - observed) / len(texts.questions)
    fixes = result.fixes()
    if fixes:
        row.advice = str(fixes[0].cause)
        stages = {stage for part in case.parts for stage in FAULTS[part].stages}
        row.first = "right stage" if STAGE.get(row.advice, "") in stages else "other stage"
        if fixes[0].gain is not None:
            row.gain, row.low, row.high = fixes[0].gain.value, fixes[0].gain.low, fixes[0].gain.high


class Report2(Report):
    """All rows, with tables by how an index was made, too."""

    def markdown(self) -> str:
        """The report."""
        first = Counter(row.first or "none" for row in self.rows if isinstance(row, Judged))
        keys = ("lang", "chunking", "scheme", "form")
        tables = [line for key in keys for line in ["", *self.grouped(key)]]
        return "\n".join([super().markdown(), f"First advice: {counted(dict(first))}.", *tables]) + "\n"


def row_of(case: Case) -> Judged:
    """The empty row of a case."""
    wanted = "; ".join(f"{'|'.join(e.stages)}/{' or '.join(e.causes)}" for e in (FAULTS[p] for p in case.parts))
    form = "seen" if set(case.parts) <= set(SEEN) else "new"
    row = Judged(case.name, case.fault, case.app, wanted)
    row.lang, row.chunking, row.scheme, row.form = case.lang, case.chunking, case.scheme, form
    return row


def run(chosen: Iterable[Case], out: Path) -> Report:
    """Run cases one after the other; the report is saved after each."""
    report = Report2()
    for case in chosen:
        start, row = time.monotonic(), row_of(case)
        with TemporaryDirectory() as folder:
            try:
                judge(case, row, diagnose(case, Path(folder).resolve()))
            except Exception as problem:
                traceback.print_exc()
                row.error = row.crashed = f"{type(problem).__name__}: {problem}".replace("\n", " ")[:300]
                row.planted = len(expected(case))
        row.seconds = time.monotonic() - start
        report.rows.append(row)
        report.save(out)
        print(f"{row.case} {row.seconds:.0f} s | {report.first_line()}", file=sys.stderr, flush=True)
    return report


def works(case: Case) -> str:
    """Whether a diagnosis of one question comes to an end; its verdict is not read."""
    with TemporaryDirectory() as folder:
        try:
            diagnose(case, Path(folder).resolve(), limit=1)
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}".replace("\n", " ")[:400]
    return "runs"
