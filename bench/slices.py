"""How often slices are named that do not fail more, how often planted ones are found, and the cost of the search.

    python bench/slices.py [--replicates 400]

Each replicate is the run of a system on questions of five topics in two languages, with three columns, a number and a
document. Without an effect, the share of replicates in which anything is named is the family-wise rate of false alarms:
with one answer per question, with three repeats that are alike, and with three conditions. With a planted slice: how
often it is found, how often it comes first, and how often another one is named that it does not explain.
"""

import argparse
import random
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from ragstone.analysis.slices import Slices, find_slices
from ragstone.stats import wilson
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score

WORDS = {
    "refund": "refund invoice payment credit bank receipt voucher",
    "parcel": "parcel courier delivery warehouse tracking address container",
    "login": "password login profile username security account browser",
    "退款": "退款 发票 付款 银行 账单 优惠券 收据",
    "快递": "快递 包裹 仓库 物流 配送 地址 签收",
}
FORMS = ("How do I get the {} for {} and {}?", "When is the {} with {} or {} done?", "Can {} replace {} or {}?")
FORMS_ZH = ("{}和{}以及{}怎么办理？", "{}的{}在{}什么时候完成？", "{}可以代替{}或者{}吗？")
BASE = 0.2  # share of wrong answers elsewhere
Fields = Mapping[str, str]
_AT_A_TIME = 20  # replicates that share their questions, as systems of one run


@dataclass(frozen=True)
class Planted:
    """A slice that fails more: its name, its fields, and whether a found slice is it."""

    name: str
    applies: Callable[[Fields], bool]
    is_found: Callable[[Fields], bool]


def _topic_found(where: Fields) -> bool:
    return [*where] == ["topic"] and {*where["topic"].split("+")} <= {*WORDS["parcel"].split()}


PLANTED = (
    Planted("topic (1/5)", lambda fields: fields["subject"] == "parcel", _topic_found),
    Planted("column (1/4)", lambda fields: fields["region"] == "B", lambda where: where == {"region": "B"}),
    Planted("number (1/4)", lambda fields: int(fields["price"]) > 374, lambda where: [*where] == ["price"]),
    Planted(
        "pair (1/8)",
        lambda fields: fields["region"] == "B" and fields["tier"] == "free",
        lambda where: where == {"region": "B", "tier": "free"},
    ),
)


def world(n: int, rng: random.Random) -> list[tuple[Sample, Fields]]:
    """Questions with their fields; "subject", the true topic, is not in the data."""
    samples: list[tuple[Sample, Fields]] = []
    for at in range(n):
        subject = rng.choice(list(WORDS))
        form = rng.choice(FORMS if subject.isascii() else FORMS_ZH)
        columns = {
            "region": rng.choice("ABCD"), "tier": rng.choice(["gold", "free"]), "channel": rng.choice("uvwxyz"),
            "price": str(rng.randrange(500)),
        }  # fmt: skip
        gold = Passage(f"{subject}-{rng.randrange(4)}.md#{at}", "", relevant=True)
        question = form.format(*rng.sample(WORDS[subject].split(), 3))
        sample = Sample(f"q{at:05d}", question, passages=(gold,), meta={"columns": columns})
        samples.append((sample, {**columns, "subject": subject}))
    return samples


def answered(
    system: str, samples: list[tuple[Sample, Fields]], chance: Callable[[Fields], float], rng: random.Random,
    conditions: tuple[dict[str, float], ...] = ({},),
) -> Iterator[Record]:  # fmt: skip
    """The answers of a system. Answers to one question are alike if there are several."""
    for sample, fields in samples:
        share = chance(fields)
        if len(conditions) > 1:
            share = rng.betavariate(1.5 * share, 1.5 * (1 - share))
        for number, condition in enumerate(conditions):
            case = Case(f"{sample.id}/{number}", sample, dict(condition), Query(sample.question))
            yield Record(system, case, Response("So."), None, {"m": Score.of(rng.random() >= share)})


def searched(
    replicates: int, n: int, chance: Callable[[Fields], float], *, seed: int,
    conditions: tuple[dict[str, float], ...] = ({},),
) -> Iterator[Slices]:  # fmt: skip
    """The slices of each replicate."""
    rng = random.Random(seed)
    for start in range(0, replicates, _AT_A_TIME):
        samples = world(n, rng)
        names = [f"s{number}" for number in range(min(_AT_A_TIME, replicates - start))]
        records = (record for name in names for record in answered(name, samples, chance, rng, conditions))
        yield from find_slices(records, lambda record: record.scores["m"].value == 1.0)


REPEATS: tuple[dict[str, float], ...] = ({}, {"repeat": 1}, {"repeat": 2})
NOISE = tuple({"noise_ratio": ratio} for ratio in (0.0, 0.4, 0.8))


def false_alarms(
    replicates: int, n: int, *, conditions: tuple[dict[str, float], ...] = ({},), seed: int = 1
) -> tuple[int, int]:
    """The number of replicates without an effect in which anything is named, and of the slices tested in the last."""
    results = list(searched(replicates, n, lambda _: BASE, seed=seed, conditions=conditions))
    return sum(bool(result.found) for result in results), sum(results[-1].tested)


def power(replicates: int, n: int, planted: Planted, share: float, *, seed: int = 2) -> tuple[float, float, float]:
    """The shares of replicates in which the planted slice is found, comes first, and has another one beside it."""
    results = list(searched(replicates, n, lambda each: share if planted.applies(each) else BASE, seed=seed))
    alone = [[each.where for each in result.found if each.within is None] for result in results]
    return (
        fmean(any(map(planted.is_found, names)) for names in alone),
        fmean(bool(names) and planted.is_found(names[0]) for names in alone),
        fmean(any(not planted.is_found(name) for name in names) for names in alone),
    )


def cost(n: int) -> tuple[float, float, int]:
    """CPU seconds, MiB and slices tested of the search in `n` records with 20 kB of passages each."""
    rng = random.Random(3)
    samples = world(n, rng)

    def records() -> Iterator[Record]:
        for record in answered("s", samples, lambda fields: 0.6 if fields["region"] == "B" else BASE, rng):
            yield Record(
                "s", record.case, Response("So.", (Passage("p", "x" * 20_000 + record.case.id),)), None, record.scores
            )

    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    (result,) = find_slices(records(), lambda record: record.scores["m"].value == 1.0)
    seconds = time.process_time() - start
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, sum(result.tested)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=400, help="without an effect")
    parser.add_argument("--planted", type=int, default=40, help="for each planted slice")
    replicates, of_planted = vars(parser.parse_args()).values()
    for n in (1_000, 10_000, 20_000):
        seconds, grown, tested = cost(n)
        print(f"{n:,} records: {seconds:.1f} s of CPU, {grown:+.0f} MiB, {tested} slices")
    for label, conditions in (("one answer", ({},)), ("3 repeats", REPEATS), ("3 conditions", NOISE)):
        alarms, tested = false_alarms(replicates, 200, conditions=conditions)
        low, high = wilson(alarms, replicates)
        print(
            f"no effect, 200 questions, {label}: {alarms} of {replicates} name a slice = {alarms / replicates:.1%}",
            end="",
        )
        print(f" [{low:.1%}, {high:.1%}], {tested} tested")
    print(f"{'planted':14}{'n':>5}{'wrong':>7}{'found':>8}{'first':>7}{'others beside':>15}")
    for planted in PLANTED:
        for n, share in ((200, 0.5), (200, 0.7), (800, 0.4), (800, 0.5)):
            found, first, beside = power(of_planted, n, planted, share)
            print(f"{planted.name:14}{n:>5}{share:>7.0%}{found:>8.0%}{first:>7.0%}{beside:>15.0%}")


if __name__ == "__main__":
    main()
