"""The application of a case with and without its fault, and which failures the fault plants."""

from collections.abc import Callable
from typing import Any

from bench.diagnosis.heldout.faults import Case
from bench.diagnosis.heldout.langs import build_chain, build_graph
from bench.diagnosis.heldout.llama import build_engine
from bench.diagnosis.heldout.parts import Setup
from bench.diagnosis.heldout.plain import build_plain
from bench.diagnosis.heldout.reader import Reader
from bench.diagnosis.heldout.world import Question, World, right, share, shifted, world


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
