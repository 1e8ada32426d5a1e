"""Run `ragstone diagnose` on the cases of the third set and compare what it names with what a person would."""

import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

from bench.diagnosis.heldout.judging import HEALTHY, STAGE
from bench.diagnosis.heldout2.judging import Judged, Report2, within
from bench.diagnosis.heldout2.world import states, write_index
from bench.diagnosis.heldout3.engines import Guide, build_engine, build_pipeline
from bench.diagnosis.heldout3.faults import FAULTS, Case, Expected
from bench.diagnosis.heldout3.kit import Kit
from bench.diagnosis.heldout3.langs import build_chain, build_graph
from bench.diagnosis.heldout3.plain import Desk, build_script, serving, settings
from bench.diagnosis.heldout3.reader import Reader, endpoint
from bench.diagnosis.heldout3.world import Question, right, share, world

import ragstone

Ask = Callable[[str], str]


def post(address: str, question: str) -> str:
    """The answer of the service."""
    body = json.dumps({"utterance": question}).encode()
    with urlopen(Request(address + "/reply", body, {"Content-Type": "application/json"})) as reply:
        return str(json.load(reply)["result"]["say"])


@contextmanager
def built(case: Case, faults: Iterable[str], noise: float = 0.0, seed: int = 1) -> Iterator[tuple[Any, Ask]]:
    """The application of a case with some of its faults, as ragstone gets it and as a function of a question."""
    on, texts = frozenset(faults), world(case.lang)
    kit = Kit(texts, texts.chunks(case.chunking, case.scheme, on), on, Reader(texts, on, noise, seed))
    with ExitStack() as stack:
        made: Any
        if case.app == "front":
            made = stack.enter_context(serving(kit))
            yield made, lambda question: post(made, question)
        elif case.app == "script":
            made = build_script(kit, stack.enter_context(endpoint(kit.talk)))
            yield made, lambda question: str(made(question)["answer"])
        elif case.app == "chain":
            made = build_chain(kit)
            yield made, lambda question: str(made.invoke(question))
        elif case.app == "graph":
            made = build_graph(kit)
            yield made, lambda question: str(made.invoke({"question": question})["generation"])
        elif case.app == "engine":
            engine = build_engine(kit)
            made = lambda question: kit.finish(question, str(engine.query(question)))  # noqa: E731
            yield made, made
        elif case.app == "module":
            made = Guide(kit)
            yield made, lambda question: str(made(question=question).answer)
        else:
            made = Desk(kit) if case.app == "desk" else build_pipeline(kit)
            yield made, lambda question: str(got["answer"] if isinstance(got := made(question), dict) else got)


def outdated(case: Case) -> set[str]:
    """The questions whose references are of the earlier edition."""
    if "old_references" not in case.parts:
        return set()
    return {q.text for q in world(case.lang).questions if q.needed and share(q.text, "edition") < 0.4}


def asked(case: Case, faults: Iterable[str], rounds: int = 1) -> dict[str, float]:
    """How often each question is answered right without noise, as a share of some rounds in different orders."""
    texts, well = world(case.lang), Counter[str]()
    for seed in range(rounds):
        with built(case, faults, seed=seed + 11) as (_, ask):
            for q in random.Random(seed).sample(texts.questions, len(texts.questions)):
                well[q.text] += right(q, ask(q.text))
    return {q.text: well[q.text] / rounds for q in texts.questions}


def notated(question: Question, answer: str) -> bool:
    """Whether an answer is right and written in another way than the reference."""
    return right(question, answer) and not all(states(answer, fact.value) for fact in question.stated)


def expected(case: Case, healthy: dict[str, float]) -> dict[str, list[Expected]]:
    """The questions that fail by the faults of a case and not without them, with what a diagnosis should say."""
    planted: dict[str, list[Expected]] = {}
    for part in case.parts:
        fault = FAULTS[part]
        if part == "old_references":
            broken = {text: float(text not in outdated(case)) for text in healthy}
        elif part == "style":
            with built(case, [part]) as (_, ask):
                broken = {q.text: float(not notated(q, ask(q.text))) for q in world(case.lang).questions}
        else:
            # To answer where nothing is known harms only together with what makes the answer unknown.
            broken = asked(case, case.parts if part == "always" else [part], 3 if fault.chance else 1)
        for text, well in healthy.items():
            if well == 1 and broken[text] < 1:
                planted.setdefault(text, []).append(fault)
    return planted


def failing(case: Case, question: Question, answer: str) -> bool:
    """Whether an answer that was observed fails in the way of the case."""
    if case.fault == "old_references":
        return right(question, answer) and question.text in outdated(case)
    return notated(question, answer) if case.fault == "style" else not right(question, answer)


def diagnose(case: Case, folder: Path, limit: int | None = None) -> Any:
    """The result of `ragstone.diagnose`, called as a user calls it."""
    texts, file = world(case.lang), folder / "questions.csv"
    texts.write(folder / "documents", file, outdated(case), case.labelled)
    options: dict[str, Any] = {"corpus": folder / "documents", "run": folder / "diagnosis.run", "limit": limit}
    if case.indexed:
        chunks = texts.chunks(case.chunking, "numbers" if case.scheme == "none" else case.scheme, case.parts)
        write_index(chunks, folder / "index.jsonl")
        options["index"] = folder / "index.jsonl"
    with ExitStack() as stack:
        system, _ = stack.enter_context(built(case, case.parts, case.noise))
        if case.app == "front":
            (folder / "ragstone.toml").write_text(settings(system, case.scheme != "none"), encoding="utf-8")
            stack.enter_context(within(folder))
            system = "front"
        return ragstone.diagnose(file, system, **options)


def judge(case: Case, row: Judged, result: Any) -> None:
    """Fill in the row of a case."""
    texts, frame = world(case.lang), result.to_pandas()
    healthy = asked(case, ())
    planted = expected(case, healthy)
    causes = {name: cause.name for name, cause in result.causes().items()}
    answers = {str(q): str(a or "") for q, a in zip(frame["question"], frame["answer"], strict=True)}
    named = {str(q): causes.get(name, "") for name, q in zip(frame["id"], frame["question"], strict=True)}
    names, alarmed, well = Counter[str](), Counter[str](), 0
    for q in texts.questions:
        name, answer = named.get(q.text, ""), answers.get(q.text, "")
        if right(q, answer):
            well += 1
            row.healthy += 1
            row.alarms += (alarm := name not in HEALTHY and STAGE.get(name) not in (None, "reference"))
            alarmed.update([name] * alarm)
        if not failing(case, q, answer) or (case.fault == "style" and name in HEALTHY):
            continue
        if q.text not in planted:
            row.unplanted += 1
            continue
        row.planted += 1
        names[name or "none"] += 1
        row.stage += any(STAGE.get(name, "") in one.stages for one in planted[q.text])
        row.cause += any(name in one.causes for one in planted[q.text])
    row.named, row.alarmed = dict(names), dict(alarmed)
    if "reference" in FAULTS[case.parts[0]].stages:
        well -= row.planted
    row.truth = (sum(healthy.values()) * (1 - case.noise) - well) / len(texts.questions)
    fixes = result.fixes()
    if fixes:
        row.advice = str(fixes[0].cause)
        stages = {stage for part in case.parts for stage in FAULTS[part].stages}
        row.first = "right stage" if STAGE.get(row.advice, "") in stages else "other stage"
        if fixes[0].gain is not None:
            row.gain, row.low, row.high = fixes[0].gain.value, fixes[0].gain.low, fixes[0].gain.high


def row_of(case: Case) -> Judged:
    """The empty row of a case; its form says whether the reader is noisy and the gold labelled."""
    wanted = "; ".join(f"{'|'.join(e.stages)}/{' or '.join(e.causes)}" for e in (FAULTS[p] for p in case.parts))
    row = Judged(case.name, case.fault, case.app, wanted)
    row.lang, row.chunking, row.scheme = case.lang, case.chunking, case.scheme
    row.form = f"{'noisy' if case.noise else 'steady'}, {'labels' if case.labelled else 'no labels'}"
    return row


def run(chosen: Iterable[Case], out: Path) -> Report2:
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
                row.planted = len(expected(case, asked(case, ())))
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
