"""How often refusals and matches are recognised as a person reads them, on labelled answers, and how long it takes.

    python bench/labelled.py [--json] [--rounds 5]

The answers are in tests/metrics/labelled, whose README says who wrote them. Where no rule can know the label (synonyms,
sums), a row says so and the figures leave it out; "with all" has it in. The rules are developed on one half of each
table and on our `own` answers; of the other half only the figures are printed, so that nobody develops on it by
accident.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.refusal import refusal_spans
from ragstone.types import Case, Query, Response, Sample

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "metrics" / "labelled"
KINDS = ("refusals", "matches")
LANGUAGES = ("en", "zh")
HALVES = ("developed", "measured")


@dataclass(frozen=True)
class Labelled:
    """One labelled answer. `reference` is empty where the question is whether it declines. `holds`: the label;
    `knowable`: whether a rule can know it."""

    reference: tuple[str, ...]
    answer: str
    holds: bool
    knowable: bool
    question: str = ""
    style: str = ""
    note: str = ""

    def judged(self) -> bool:
        """What the rules say."""
        if not self.reference:
            return bool(refusal_spans(self.answer, self.question))
        return self.matched() == 1.0

    def matched(self) -> float | None:
        """The value of `answer_match`; None where it is unsure."""
        case = Case(
            "a", Sample("s", self.question, tuple((slot,) for slot in self.reference)), {}, Query(self.question)
        )
        return AnswerMatch().score(case, Response(self.answer)).value


@dataclass(frozen=True)
class Figures:
    """n answers, `holding` of them with the label that holds; precision and recall in [0, 1]."""

    n: int
    holding: int
    precision: float
    recall: float


def read(kind: str, language: str, half: str) -> list[Labelled]:
    """The labelled answers of one table. `half`: "developed", "measured", or "own" for ours."""
    if half == "own":
        return _own(kind, language)
    lines = (FOLDER / f"{kind}_{language}.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row.pop("half") == half]
    return [Labelled(_reference(row.pop("reference", "")), **row) for row in rows]


def _reference(given: str | list[str]) -> tuple[str, ...]:
    """The slots of a reference, which a list has one by one."""
    return (given,) if isinstance(given, str) and given else tuple(given)


def _own(kind: str, language: str) -> list[Labelled]:
    """`+` holds, `-` does not, `~` and `~-` are the same where no rule can know."""
    found = []
    for line in (FOLDER / f"{kind}_{language}_own.txt").read_text("utf-8").splitlines():
        sign, _, rest = line.partition(" ")
        if sign not in ("+", "-", "~", "~-"):
            raise ValueError(f"{kind}_{language}_own.txt: a line begins with +, -, ~ or ~-, not {line!r}")
        reference, arrow, answer = rest.partition(" => ") if kind == "matches" else ("", " => ", rest)
        if not arrow or not answer:
            raise ValueError(f"{kind}_{language}_own.txt: no ' => ' in {line!r}")
        found.append(Labelled(_reference(reference), answer.replace("\\n", "\n"), sign in ("+", "~"), "~" not in sign))
    return found


@dataclass(frozen=True)
class Decided:
    """Of n answers, half of which are right, `decided` by rule, `agreeing` with the label; `missed` are right and
    called wrong, `trapped` are wrong and called right."""

    n: int
    decided: int
    agreeing: int
    missed: int
    trapped: int


def read_references(language: str, half: str) -> list[Labelled]:
    """The answers to questions with references of five kinds, which are their `style`."""
    lines = map(json.loads, (FOLDER / f"references_{language}.jsonl").read_text("utf-8").splitlines())
    return [
        Labelled((row["reference"],), row["answer"], row["holds"], True, row["question"], row["kind"])
        for row in lines
        if row["half"] == half
    ]


def decided(rows: list[Labelled]) -> Decided:
    """How many of these answers `answer_match` decides, and how many of them as a person does."""
    told = [(value, row.holds) for row in rows if (value := row.matched()) is not None]
    agreeing = sum(bool(value) == holds for value, holds in told)
    missed = sum(holds and not value for value, holds in told)
    return Decided(len(rows), len(told), agreeing, missed, len(told) - agreeing - missed)


def figures(rows: list[Labelled], *, every: bool = False) -> Figures:
    """Precision and recall of the rules over the rows that a rule can know, or over all."""
    judged = [(row.judged(), row.holds) for row in rows if row.knowable or every]
    right = sum(1 for said, holds in judged if said and holds)
    said, holding = sum(said for said, _ in judged), sum(holds for _, holds in judged)
    return Figures(len(judged), holding, right / max(said, 1), right / max(holding, 1))


def errors(rows: list[Labelled]) -> list[Labelled]:
    """The rows whose label the rules miss, of those that a rule can know."""
    return [row for row in rows if row.knowable and row.judged() != row.holds]


def milliseconds_per_thousand(rows: list[Labelled], rounds: int) -> float:
    """Best of the rounds, after one that fills the caches. Every round reads answers nobody has read before."""
    best = float("inf")
    for number in range(-1, rounds):
        fresh = [replace(row, answer=f"{row.answer} ({number})") for row in rows]
        begin = time.process_time()
        for row in fresh:
            row.judged()
        if number >= 0:
            best = min(best, time.process_time() - begin)
    return best / len(rows) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args()
    table = {}
    for kind in KINDS:
        for language in LANGUAGES:
            for half in ("own", *HALVES):
                rows = read(kind, language, half)
                found, whole = figures(rows), figures(rows, every=True)
                took = milliseconds_per_thousand(rows, options.rounds)
                table[f"{kind}.{language}.{half}"] = {
                    "n": found.n,
                    "holding": found.holding,
                    "precision": round(found.precision, 3),
                    "recall": round(found.recall, 3),
                    "unknowable": len(rows) - found.n,
                    "precision_of_all": round(whole.precision, 3),
                    "recall_of_all": round(whole.recall, 3),
                    "ms_per_1000": round(took, 1),
                }
    parts = {
        f"{language}.{half}": decided(read_references(language, half)) for language in LANGUAGES for half in HALVES
    }
    if options.json:
        print(json.dumps(table | {f"references.{name}": asdict(part) for name, part in parts.items()}))
        return
    print(
        f"{'':24}{'n':>5}{'hold':>6}{'precision':>11}{'recall':>8}{'left out':>10}{'with all':>16}{'ms per 1,000':>14}"
    )
    for name, row in table.items():
        print(f"{name:24}{row['n']:5}{row['holding']:6}{row['precision']:11.3f}{row['recall']:8.3f}", end="")
        print(f"{row['unknowable']:10}{row['precision_of_all']:10.3f}{row['recall_of_all']:6.3f}", end="")
        print(f"{row['ms_per_1000']:14.1f}")
    print(f"\n{'':24}{'n':>5}{'decided':>9}{'agree':>7}{'right, called wrong':>21}{'wrong, called right':>21}")
    for name, part in parts.items():
        print(f"references.{name:13}{part.n:5}{part.decided:9}{part.agreeing:7}{part.missed:21}{part.trapped:21}")


if __name__ == "__main__":
    main()
