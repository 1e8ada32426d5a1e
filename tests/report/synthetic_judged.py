"""Judged runs in memory, with evidence as a judge leaves it: small ones to look at, large ones, hostile ones."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.report.hostile import PAYLOADS
from tests.report.synthetic import MemoryRun, SmallBenchmark

from ragstone.display import Chart, Diagnosis, Table
from ragstone.types import Case, Passage, Query, Record, Response, Run, Sample, Score

JUDGED_META: Mapping[str, Any] = {
    "question": {
        "benchmark": "eval", "version": 1, "data": "9f2c" * 16,
        "judge": {
            "model": "openai/gpt-4o-mini", "protocol": "matrix", "verify": "joint", "embedder": "local/e5-small",
            "prompts": {"decompose/en": "0123456789ab", "verify/en": "ba9876543210"},
            "rubrics": {"rubric.delayed_order": "826fa20ec1e6"},
        },
    },
    "versions": {"ragstone": "0.1.0"},
}  # fmt: skip
SYSTEM = "shop-bot"


@dataclass(frozen=True)
class JudgedBenchmark(SmallBenchmark):
    """A benchmark without tables or charts, so that the page holds little but the judged section."""

    name: str = "eval"

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return []

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        return []

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        values = [score.value for score in record.scores.values() if score.value is not None]
        return Diagnosis(sum(values) >= 0.5 * len(values) if values else None, "all", "low", "low", weight=1.0)


def step(name: str, reply: Any = None, *, language: str = "en", **parsed: Any) -> dict[str, Any]:
    """One request to the judge, as evidence keeps it."""
    return {
        "step": name, "prompt": f"{name}/{language}@0123456789ab", "model": "gpt-4o-mini-2031-05-01",
        "reply": json.dumps(parsed if reply is None else reply, ensure_ascii=False),
        "usage": {"prompt_tokens": 1_234, "completion_tokens": 321, "requests": 1}, "cached": False, **parsed,
    }  # fmt: skip


EN_PASSAGES = (
    Passage("kb:17", "Orders leave the depot on Mondays. Refunds are paid within 14 days of the return.", "Delivery"),
    Passage("kb:3", "A return is free of charge for members; everybody else pays 4.90 for it.", "Returns"),
    Passage("kb:99", "The depot was founded in 1987 and employs 212 people."),
)
ZH_PASSAGES = (
    Passage("zh:1", "包裹每周一从仓库发出。退货后14天内退款。", "物流"),
    Passage("zh:2", "会员退货免费，非会员需支付4.9元。"),
)
EN = ("Is a return free, and when do I get my money?", "Returns are free for everybody. You get your money in 14 days.")
ZH = ("退货免费吗？多久退款？", "所有人退货都免费。14天内退款。")


def matrix_steps(language: str = "en") -> list[dict[str, Any]]:
    """The two requests of `matrix`: one claim contradicted, one supported, one of the reference missing."""
    if language == "zh":
        sentences, claims = ["所有人退货都免费。", "14天内退款。"], ["所有人退货都免费", "14天内退款"]
        reference, quotes = (
            ["会员退货免费", "非会员退货需付4.9元"],
            ["退货后14天内退款", "会员退货免费", "非会员需支付4.9元"],
        )
    else:
        sentences = ["Returns are free for everybody.", "You get your money in 14 days."]
        claims = ["Returns are free for everybody", "The money is paid back within 14 days"]
        reference = ["Returns are free for members", "Others pay 4.90 for a return"]
        quotes = ["Refunds are paid within 14 days", "free of charge for members", "everybody else pays 4.90"]
    verdicts: list[dict[str, Any]] = [
        {"id": 1, "supported_by": [], "contradicted_by": [2], "in_reference": False, "quote": quotes[2]},
        {"id": 2, "supported_by": [1], "contradicted_by": [], "in_reference": None, "quote": quotes[0]},
    ]
    others: list[dict[str, Any]] = [
        {"id": 1, "supported_by": [2], "contradicted_by": [], "in_answer": True, "quote": quotes[1]},
        {"id": 2, "supported_by": [2], "contradicted_by": [], "in_answer": False, "quote": "words from elsewhere"},
    ]
    return [
        step(
            "decompose", language=language, sentences=sentences, noncommittal=False, questions=["?"],
            answer_claims=[
                {"id": n, "text": text, "sentence": n, "relevant": n == 2} for n, text in enumerate(claims, start=1)
            ],
            reference_claims=[{"id": n, "text": text} for n, text in enumerate(reference, start=1)],
        ),
        step(
            "verify", language=language, answer_claims=verdicts, reference_claims=others,
            passages=[
                {"id": 1, "relevant": True, "useful": False}, {"id": 2, "relevant": True, "useful": True},
                {"id": 3, "relevant": False, "useful": False},
            ],
        ),
    ]  # fmt: skip


def rubric_evidence(answer: str, language: str = "en") -> dict[str, Any]:
    """A rubric of four elements: one there, one there with a misquote, one missing, one unknown; one pair swapped."""
    quote = answer[:12]
    elements: list[dict[str, Any]] = [
        {"id": "soothe", "text": "calms the customer", "status": "present", "quote": answer[-9:], "found": True,
         "start": len(answer) - 9, "end": len(answer)},
        {"id": "status", "text": "says where the order is", "status": "present", "quote": quote, "found": True,
         "start": 0, "end": 12},
        {"id": "expected", "text": "gives the date", "status": "present", "quote": "on Friday", "found": False},
        {"id": "next_step", "text": "says what to do", "status": "missing"},
        {"id": "reason", "text": "gives the reason", "status": "unknown"},
    ]  # fmt: skip
    for element in elements:
        element |= {
            "weight": {"reason": 0.5, "soothe": 1000.0}.get(str(element["id"]), 1.0),
            "if_known": element["id"] == "reason",
        }
    return {
        "rubric": {"name": "delayed_order", "title": "A delayed order", "question": "Does it help a customer?",
                   "version": 1, "hash": "826fa20ec1e6", "language": language, "better": "higher"},
        "elements": elements,
        "order": [
            {"first": "soothe", "second": "status", "right": False},
            {"first": "soothe", "second": "expected", "right": None},
            {"first": "status", "second": "next_step", "right": False},
        ],
        "scale": {"value": 2, "min": 1, "max": 5, "anchor": "a stock phrase"},
        "parts": {"elements": {"reached": 3.0, "of": 4.0}},
        "reason": "It informs, but <b>says</b> nothing of what to do.",
        "verdicts": [step("rubric", language=language, elements=[], reason="…", score=2)],
    }  # fmt: skip


def judged_record(index: int, system: str = SYSTEM, *, padding: int = 0) -> Record:
    """One of a mixed lot: good and bad, English and Chinese, failed, not applicable, with and without a rubric."""
    language = ("en", "zh")[index % 2]
    question, answer = ZH if language == "zh" else EN
    shown: tuple[Passage, ...] = ZH_PASSAGES if language == "zh" else EN_PASSAGES
    passages = tuple(Passage(p.id, p.text + " filler" * padding, p.title) for p in shown)
    question = f"{question} ({index})"
    reference = "会员退货免费，其他人需付4.9元。" if language == "zh" else "Free for members; others pay 4.90."
    sample = Sample(f"q-{index}", question, ((reference,),), language=language)
    case = Case(f"{index:06d}", sample, {"group:shop": f"shop {index % 3}"}, Query(question, language=language))
    steps = matrix_steps(language)
    good = (index * 7 % 11) / 10
    scores = {
        "faithfulness": Score.of(good, evidence={"what": "answer_claims", "counted": [2], "of": 2, "verdicts": steps}),
        "context_recall": Score.of(1.0, evidence={"what": "reference_claims", "verdicts": steps}),
        "answer_match": Score.of(0.0),
        "context_precision": Score.not_applicable("there are no passages"),
    }
    if index % 5 == 1:
        problem = step("verify", "I cannot do that.", language=language) | {"problem": "passages is not a list"}
        scores["faithfulness"] = Score.failed(
            "The judge's reply to 'verify' could not be used: passages is not a list",
            evidence={"verdicts": [steps[0], problem, problem | {"reply": "No."}]},
        )
    if index % 3 == 0:
        scores["rubric.delayed_order"] = Score.of(
            0.5, evidence=rubric_evidence(answer, language), reason="3 of 4 elements; missing: next_step; 2 on 1-5"
        )
    return Record(system, case, Response(answer, passages, model="shop-bot-7"), scores=scores)


def judged_run(
    count: int, systems: Iterable[str] = (SYSTEM,), *, padding: int = 0, meta: Mapping[str, Any] = JUDGED_META
) -> MemoryRun:
    """`count` records of each system, in the order of a run file."""
    names = sorted(systems)

    def make() -> Iterator[Record]:
        return (judged_record(index, name, padding=padding) for name in names for index in range(count))

    return MemoryRun(make, meta, {name: {"kind": "recorded"} for name in names})


def hostile_judged(payloads: Iterable[str] = PAYLOADS) -> MemoryRun:
    """A run of judged records that have a payload in every text, and values of other types where ids should be."""
    every = sorted(payloads, key=lambda text: text.encode("utf-8", "surrogatepass"))

    def make() -> Iterator[Record]:
        for number, evil in enumerate(every):
            yield _hostile_record(number, evil)

    together = " ".join(every)
    judge = {
        "model": f"judge {together}", "protocol": f"protocol {together}", "verify": f"verify {together}",
        "embedder": f"embedder {together}", "rubrics": {f"rubric {together}": together},
    }  # fmt: skip
    return MemoryRun(make, {"question": {"judge": judge}}, {"s": {}})


def _hostile_record(number: int, evil: str) -> Record:
    def told(name: str) -> str:
        return f"{name} {evil}"

    claim = {"id": 1, "text": told("claim"), "sentence": 1, "relevant": True}
    bad_ids: list[Any] = [evil, True, -1, 0, 1.5, None, 10**30, [1], {"id": 1}]
    odd = [{"id": bad, "text": told("odd"), "sentence": bad, "supported_by": bad, "quote": bad} for bad in bad_ids]
    decompose = step(told("decompose"), told("reply")) | {
        "step": "decompose", "prompt": told("prompt"), "model": told("model"), "usage": {"prompt_tokens": evil},
        "sentences": [told("sentence"), *bad_ids], "answer_claims": [claim, *odd, evil, None],
        "reference_claims": [{"id": 1, "text": told("wanted")}, *odd], "noncommittal": evil, "questions": evil,
    }  # fmt: skip
    verify = step(told("verify"), told("answer")) | {
        "step": f"verify:{evil}", "prompt": told("prompt"), "model": told("model"), "usage": evil,
        "answer_claims": [{"id": 1, "supported_by": [1, *bad_ids], "contradicted_by": [2, *bad_ids],
                           "in_reference": evil, "quote": told("text")}, *odd],
        "reference_claims": [{"id": 1, "supported_by": evil, "contradicted_by": [1], "in_answer": evil,
                              "quote": told("lost")}],
        "passages": [{"id": 1, "relevant": evil, "useful": evil}, *odd, evil],
    }  # fmt: skip
    broken = {"step": told("step"), "prompt": told("prompt"), "model": told("model"), "reply": told("raw"),
              "problem": told("problem")}  # fmt: skip
    rubric = {
        "rubric": {"title": told("title"), "question": told("asked"), "better": evil},
        "elements": [{"id": told("id"), "text": told("element"), "status": told("status"), "quote": told("quote"),
                      "weight": evil, "found": evil, "start": evil, "end": evil},
                     {"id": "b", "text": told("other"), "status": "present", "weight": 1e308, "start": -5,
                      "end": 10**9},
                     evil],
        "order": [{"first": told("first"), "second": evil, "right": evil},
                  {"first": "b", "second": "b", "right": False}],
        "scale": {"value": evil, "min": evil, "max": [evil], "anchor": told("anchor")},
        "reason": told("reason"), "verdicts": [broken, evil, None],
    }  # fmt: skip
    scores = {
        f"metric {evil}": Score(0.25, "scored", told("why"), {"verdicts": [decompose, verify]}),
        f"rubric.{evil}": Score(0.0, "scored", told("sum"), rubric),
        f"failed {evil}": Score(None, "failed", told("failure"), {"verdicts": [broken]}),
        "odd": Score(0.0, "scored", "", {"verdicts": evil}),
    }
    sample = Sample(told("sample"), told("question"), ((told("reference"),), ()), language=evil)
    case = Case(f"{number:03d} {evil}", sample, {told("condition"): told("value")}, Query(told("question")))
    passages = (Passage(told("passage"), told("text"), told("heading")), Passage("b", evil))
    return Record("s", case, Response(told("answer"), passages), scores=scores)
