"""Records of MIRAGE made by hand: questions whose labels are told, so that every share is known beforehand."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.planless import Planless

from ragstone.types import NO_ANSWER, Case, Passage, Query, Record, Response, Sample, Score, Usage

GOLD = Passage("p1", "The answer is Ada.", relevant=True, score=2.0)
NOISE = Passage("p2", "Bob lives in a red house.", relevant=False, score=1.0)


class HandmadeRun(Planless):
    """A run of these records, in the order that a run file has them."""

    def __init__(self, records: Iterable[Record], options: Mapping[str, Any] | None = None) -> None:
        self._records = sorted(records, key=lambda one: (one.system_id, one.case.id))
        self.meta: Mapping[str, Any] = {"options": dict(options or {})}
        self.systems: Mapping[str, Mapping[str, Any]] = {name: {} for name in {r.system_id for r in self._records}}
        self.passes = 0

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        self.passes += 1
        found = (one for one in self._records if system in (None, one.system_id))
        return (one for one in found if cases is None or one.case.id in cases)


def record(
    setting: str,
    question: str,
    right: bool | None,
    *,
    system: str = "m",
    source: str = "popqa",
    given: Sequence[Passage] | None = None,
    retriever: str = "",
    k: int = 0,
    default: bool | None = None,
    refused: bool = False,
    answer: str = "It is Ada.",
    aliases: tuple[str, ...] = ("Ada",),
    asked: str = "Who is it?",
    repeat: int = 0,
    error: str | None = None,
    usage: Usage | None = None,
    seconds: float | None = None,
    f1: float | None = None,
    evidence: Mapping[str, Any] | None = None,
    **condition: Any,
) -> Record:
    """One answer, right by the official rule, and by ragstone's (`default`, the same unless told)."""
    passages = tuple(given) if given is not None else {"base": (), "oracle": (GOLD,)}.get(setting, (GOLD, NOISE))
    told: dict[str, Any] = {"setting": setting, "retriever": retriever, "k": k, "chunk": 0, "source": source}
    told |= {"contexts": len(passages), "language": "en"}
    if passages:
        told["gold"] = any(passage.relevant for passage in passages)
    told |= condition
    if repeat:
        told["repeat"] = repeat
    name = "/".join(str(part) for part in (setting, retriever, k, told["chunk"], question, repeat))
    sample = Sample(question, asked, (aliases,), (GOLD,), "en", {"source": source, "labels": 1})
    scores: dict[str, Score] = {}
    if right is not None:
        ours = right if default is None else default
        scores = {
            "mirage.em_loose": Score.of(right), "mirage.em_strict": Score.of(0.0),
            "mirage.f1": Score.of(0.5 * right if f1 is None else f1),
            "answer_match": Score.of(ours, evidence=dict(evidence or {})),
            "refusal": Score.of(refused, evidence={"spans": [[0, 2]] if refused else []}),
        }  # fmt: skip
    response = None if error else Response(answer, usage=usage, seconds=seconds)
    case = Case(name, sample, told, Query(asked, passages, language="en", repeat=repeat))
    return Record(system, case, response, error, scores)


def labelled(groups: Mapping[str, int], *, m: str = "mixed", prefix: str = "q", **more: Any) -> list[Record]:
    """Questions with these labels: "010" → how many are wrong in base, right in oracle, wrong in `m`."""
    made: list[Record] = []
    number = 0
    for code, many in groups.items():
        for _ in range(many):
            question, number = f"{prefix}{number:03d}", number + 1
            same = {key: more[key] for key in ("system", "source", "repeat", "aliases", "asked") if key in more}
            made.append(record("base", question, code[0] == "1", **same))
            made.append(record("oracle", question, code[1] == "1", **same))
            made.append(record(m, question, code[2] == "1", **more))
    return made


def found_by(
    retriever: str, question: str, found: str, labels: int, *, k: int = 5, source: str = "popqa", chunk: int = 0
) -> Record:  # fmt: skip
    """What a retriever found, without a model."""
    given = tuple(Passage(f"{question}-{at}", "", relevant=one == "1") for at, one in enumerate(found))
    condition: dict[str, Any] = {
        "setting": "retrieved", "retriever": retriever, "k": k, "chunk": chunk, "source": source,
        "contexts": len(given), "gold": "1" in found, "found": found, "labels": labels,
    }  # fmt: skip
    sample = Sample(question, "Who is it?", (("Ada",),), (), "en", {"source": source, "labels": labels})
    case = Case(f"retrieved/{retriever}/{k}/{question}", sample, condition, Query("Who is it?", given))
    return Record("local/retrieval", case, Response("", given, finish_reason=NO_ANSWER))
