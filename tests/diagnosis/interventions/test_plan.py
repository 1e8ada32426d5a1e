"""The adaptive plan finds what the full plan finds, whatever a system answers under each condition."""

import random
from collections import Counter

from msgspec.structs import replace
from tests.diagnosis.interventions.evidence import scored

from ragstone.diagnosis.interventions.causes import CAUSES, cause_of, next_conditions
from ragstone.diagnosis.interventions.conditions import CONDITIONS, REPEATS, SEARCHES
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.diagnosis.interventions.question import Question
from ragstone.responses.stages import stage_step
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Step

TRIES = 1000
TAKES = frozenset({"repeat", "passages", "k", "retrieve"})
GOLD = Passage("gold", "The Belka pump weighs 317 kg, as its plate in hall 3 of the north works says.", relevant=True)
LONG = f"{GOLD.text} The gate of the south works is open until nine."
OTHERS = tuple(Passage(f"other{n}", f"A note on hall {n} of the south works, and on its doors.") for n in range(12))
ANSWERS = ("It weighs 317 kg.", "It weighs 450 kg.", "I do not know.", "It weighs 699 pounds.",
           "It weighs 317 pounds.")  # fmt: skip
SAMPLE = Sample("q", "How much does the Belka pump weigh?", (("317 kg",),), (GOLD,), language="en")


class Random:
    """A system whose answer under each condition, and the rank of the gold in each search, are by chance. Asked again
    the same, it answers the same, unless it is `flaky`."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        right = rng.random()
        self.answers = {name: rng.choices(ANSWERS, [right, 1, 0.4, 0.1, 0.05])[0] for name in CONDITIONS}
        self.flaky = rng.random() < 0.3
        if not self.flaky:
            self.answers |= dict.fromkeys(REPEATS, self.answers["as_is"])
        self.ranks = {name: rng.choice((None, None, 1, 3, 9)) for name in CONDITIONS}
        self.reranked, self.rewritten = rng.random() < 0.4, rng.random() < 0.4
        self.cut = rng.choice((2, 4))
        self.chunk = replace(GOLD, text=rng.choice((GOLD.text, GOLD.text, LONG, GOLD.text[:30])))

    def passages(self, name: str, size: int) -> tuple[Passage, ...]:
        rank = self.ranks[name]
        found = list(OTHERS)
        if rank is not None:
            found.insert(rank - 1, self.chunk)
        return tuple(found[:size])

    def record(self, name: str, query: Query) -> Record:
        case = Case(f"000000/{name}", SAMPLE, {"intervention": name}, query)
        if name in SEARCHES:
            found = self.passages(name, query.k or 10)
            return Record("s", case, Response("", found, (stage_step("fetch", found),)))
        fetched = self.passages(name, max(10, query.k or 0))
        ranked = fetched[::-1] if self.reranked else fetched
        prompt = query.passages or ranked[: query.k or self.cut]
        steps = [Step("rewrite", SAMPLE.question, ["pump weight"])] if self.rewritten else []
        steps += [stage_step("fetch", fetched), *([stage_step("rerank", ranked)] if self.reranked else [])]
        return scored(Record("s", case, Response(self.answers[name], tuple(prompt), tuple(steps))))


def asked(system: Random, *, full: bool) -> Evidence:
    """The evidence when no question remains."""
    question = Question(0, SAMPLE, (), (GOLD,))
    evidence = Evidence({"as_is": system.record("as_is", question.query)}, TAKES, {}, system.flaky)
    while True:
        names = [name for name in CONDITIONS if evidence.can(name)] if full else list(next_conditions(evidence))
        new = {}
        for name in names:
            query = CONDITIONS[name].build(question, evidence.basis or Response(""))
            assert query is not None
            if name not in evidence.records:
                new[name] = system.record(name, query)
        if not new:
            return evidence
        evidence = Evidence({**evidence.records, **new}, TAKES, {}, system.flaky)


def test_both_plans_name_the_same_causes_and_the_adaptive_one_asks_at_most_six() -> None:
    same, requests, causes = 0, 0, Counter[str]()
    for seed in range(TRIES):
        adaptive, full = (asked(Random(seed), full=full) for full in (False, True))
        one, other = cause_of(adaptive).name, cause_of(full).name
        assert not cause_of(adaptive).missing
        same += one == other
        causes[one] += 1
        requests += sum(name not in SEARCHES for name in adaptive.records)
        assert set(adaptive.records) <= set(full.records)
    assert same >= 0.98 * TRIES, (same, causes)
    assert requests <= 6 * TRIES
    unreachable = {"unknown", "error", "should_have_refused", "not_in_index", "stale", "integration", "generation"}
    of_content = {"metric", "guard", "duplicates", "filtered", "contradiction", "language", "reference_in_doubt"}
    of_content.add("history")
    assert set(causes) >= {*CAUSES} - unreachable - of_content
