"""Records for the pages of a case: stages with passages that are lost on the way, times, tokens and a conversation."""

from typing import Any

from msgspec.structs import replace

from ragstone.display import Diagnosis
from ragstone.report.case_page import ShownCase
from ragstone.responses.stages import stage_step
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score, Step, Turn, Usage

GOLD = Passage("manual#7", "The battery of the Lumen 3 lasts eleven hours in the cold.", relevant=True)
OTHERS = tuple(Passage(f"blog#{number}", f"Post {number} speaks of lamps and of nothing else.") for number in range(4))
PRICE = {"system_price": "1/2", "price": "0.5/1"}
SPEC: dict[str, Any] = {
    "kind": "rag", "reader": {"kind": "reader", "model": "m", "template": dict(RAG_TEMPLATE.spec)},
}  # fmt: skip


def staged_record(answer: str = "It lasts nine hours.", *, system: str = "rag-a", language: str = "en") -> Record:
    """Fetched: blog 0, gold, blog 1, blog 2; reranked: blog 1, blog 0, gold; in the prompt: blog 1 and blog 0."""
    gold = replace(GOLD, relevant=None)
    sample = Sample("lamp/7 é", "How long does the battery last?", (("eleven hours", "11 h"),), (GOLD,), language)
    query = Query(sample.question, None, (Turn("user", "Hello?"), Turn("assistant", "Ask me.")), language)
    steps = (
        Step("rewrite", sample.question, ["battery life lumen 3"], 0.5, Usage(40, 8, requests=1)),
        stage_step("fetch", (OTHERS[0], gold, OTHERS[1], OTHERS[2]), seconds=0.25),
        stage_step("rerank", (OTHERS[1], OTHERS[0], gold), seconds=1.25),
        stage_step("prompt", OTHERS[1::-1]),
    )
    response = Response(
        answer, OTHERS[1::-1], steps, Usage(1_000, 500, requests=2), seconds=4.0, model="m", finish_reason="stop"
    )
    scores = {"answer_match": Score.of(0.0, reason="the answer lacks “eleven hours”"), "f1": Score.of(0.25)}
    return Record(system, Case("lamp/7 é|k=2", sample, {"k": 2}, query), response, scores=scores)


def shown_case(record: Record | None = None, **values: Any) -> ShownCase:
    """The page's values of a record that is wrong."""
    diagnosis = Diagnosis(False, "all", "lost", "search lost it", "The passage was found, but not put in the prompt.")
    return ShownCase(record or staged_record(), diagnosis, PRICE, SPEC, **values)
