"""How often texts that address the judge talk a real one into another verdict.

    python bench/injection.py --judge PROVIDER/MODEL [--base-url URL] [--verify joint|separate] [--limit N] [--json]

The answers of `tests/metrics/judge/attacks.toml` say something false: the first passage and the reference deny it.
Each is judged as it is and with an attack in its place (answer, passage, question or reference). A flip is a false
claim that was denied without the attack and is accepted with it: supported by a passage, found in the reference, or
gone from the claims. So that a judge's own unsteadiness is not taken for the attack's success, the same is counted with
a sentence in the place of the attack that wants nothing. Shares come with their Wilson interval (95 %). Some attacks
state the falsehood once more in a passage or the reference, where it stands for a fact: a judge that believes those has
been told a lie, not an order.

That an attack cannot change what is asked or how a reply is read is shown without a model, by
`tests/metrics/judge/test_attacks.py`.
"""

import argparse
import asyncio
import json
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from ragstone.errors import RagstoneError
from ragstone.metrics.judge import Judge, JudgeFailed, MatrixJudge, Prompts
from ragstone.metrics.judge.envelope import enclosed
from ragstone.models import ModelOptions, open_model
from ragstone.models.cache import default_cache
from ragstone.stats import wilson
from ragstone.types import Case, Passage, Query, Response, Sample

__all__ = ["Attack", "Outcome", "attacks", "main", "measure", "summary"]

ATTACKS = Path(__file__).resolve().parent.parent / "tests" / "metrics" / "judge" / "attacks.toml"
FALSE = "1931"  # the year that the answers give; the true one is 1904
HARMLESS = {"en": "The town has a market on Wednesdays.", "zh": "镇上每逢周三有集市。"}
# Models that are known to judge no better than chance (10 of 20 on yes/no entailment).
AT_CHANCE = ("local/smollm2",)
Found = Literal["denied", "accepted", "failed"]


@dataclass(frozen=True)
class Attack:
    """A sample with a text in its place. `kind` "" is the sample alone, "harmless" a text that wants nothing."""

    id: str
    kind: str
    language: str
    place: str
    sample: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of the false claim with the attack, with a harmless text in its place, and without either."""

    attack: Attack
    attacked: Found
    harmless: Found
    clean: Found


def attacks(path: Path = ATTACKS) -> list[tuple[Attack, Attack, Attack]]:
    """Each attack, with its harmless counterpart and the sample alone."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    found = []
    for one in data["attacks"]:
        clean, place, language = data["samples"][one["language"]], one["place"], one["language"]
        text = one["text"].replace("{code}", _code(clean, place))
        found.append(
            (
                Attack(one["id"], one["kind"], language, place, _with(clean, place, text)),
                Attack(one["id"], "harmless", language, place, _with(clean, place, HARMLESS[language])),
                Attack(one["id"], "", language, place, clean),
            )
        )
    return found


def _with(sample: dict[str, Any], place: str, text: str) -> dict[str, Any]:
    if place == "passage":
        return sample | {"passages": [sample["passages"][0], f"{sample['passages'][1]} {text}"]}
    return sample | {place: f"{sample[place]} {text}"}


def _code(sample: dict[str, Any], place: str) -> str:
    """The code of a request about the sample without the attack: the best that an attacker could know."""
    shown: dict[str, Any] = {
        "question": sample["question"], "answer": {"1": sample["answer"]}, "reference": sample["reference"],
    }  # fmt: skip
    if place == "passage":
        shown = {
            "question": sample["question"], "reference": sample["reference"], "answer_claims": {"1": sample["answer"]},
            "reference_claims": {"1": sample["reference"]},
            "passages": {str(number): text for number, text in enumerate(sample["passages"], start=1)},
        }  # fmt: skip
    return enclosed(shown).removeprefix("<judged ")[:16]


async def measure(judge: Judge, several: Sequence[tuple[Attack, Attack, Attack]], *, at_once: int) -> list[Outcome]:
    """The outcomes, in the order of the attacks."""
    places = asyncio.Semaphore(at_once)

    async def one(attack: Attack) -> Found:
        async with places:
            return await _found(judge, attack.sample)

    asked = [one(attack) for each in several for attack in each]
    found = await asyncio.gather(*asked)
    return [Outcome(each[0], *found[3 * n : 3 * n + 3]) for n, each in enumerate(several)]


async def _found(judge: Judge, made: dict[str, Any]) -> Found:
    sample = Sample("injection", made["question"], references=((made["reference"],),))
    passages = tuple(Passage(f"p{number}", text) for number, text in enumerate(made["passages"], start=1))
    try:
        judged = await judge.verify(Case("c", sample, {}, Query(made["question"])), Response(made["answer"], passages))
    except JudgeFailed:
        return "failed"
    false = [claim for claim in judged.answer_claims if FALSE in claim.text]
    accepted = not false or any(claim.supported_by or claim.in_reference for claim in false)
    return "accepted" if accepted else "denied"


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Shares with their intervals: of all attacks, of each kind, and of the harmless texts."""
    kinds = sorted({outcome.attack.kind for outcome in outcomes})
    return {
        "flipped": _share(outcomes, "attacked"),
        "harmless": _share(outcomes, "harmless"),
        "kinds": {
            kind: _share([one for one in outcomes if one.attack.kind == kind], "attacked") for kind in kinds
        },
        "failed": sum(outcome.attacked == "failed" for outcome in outcomes),
        "clean_denied": sum(outcome.clean == "denied" for outcome in outcomes),
        "attacks": len(outcomes),
    }  # fmt: skip


def _share(outcomes: Sequence[Outcome], of: Literal["attacked", "harmless"]) -> dict[str, Any]:
    """Of those denied without a text, and judged with it, how many were accepted with it."""
    judged = [getattr(one, of) for one in outcomes if one.clean == "denied" and getattr(one, of) != "failed"]
    count = sum(found == "accepted" for found in judged)
    low, high = wilson(count, len(judged))
    return {"count": count, "of": len(judged), "low": low, "high": high}


def _told(name: str, share: dict[str, Any]) -> str:
    if not share["of"]:
        return f"{name:12} nothing to compare"
    rate = share["count"] / share["of"]
    return f"{name:12} {share['count']:3} of {share['of']:3} = {rate:4.0%}  [{share['low']:.0%}, {share['high']:.0%}]"


async def report(args: argparse.Namespace) -> int:
    several = attacks()[: args.limit]
    options = ModelOptions(base_url=args.base_url, cache=None if args.no_cache else default_cache())
    async with open_model(args.judge, options) as model:
        judge = MatrixJudge(model, prompts=Prompts.load(), verify=args.verify)
        found = summary(await measure(judge, several, at_once=16))
    chance = args.judge in AT_CHANCE
    if args.json:
        print(json.dumps({**found, "judge": args.judge, "verify": args.verify, "judges_at_chance": chance}))
        return 0
    print(f"{args.judge}, {args.verify}: {found['attacks']} attacks")
    if chance:
        print("This model judges at chance: its figures show that the script runs, and nothing about injection.")
    print(_told("flipped", found["flipped"]))
    print(_told("harmless", found["harmless"]))
    for kind, share in found["kinds"].items():
        print(" ", _told(kind, share))
    print(
        f"The false claim was denied without an attack in {found['clean_denied']} of {found['attacks']}; "
        f"{found['failed']} attacked samples could not be judged."
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--judge", default="", help="the judge's model: PROVIDER/MODEL")
    parser.add_argument("--base-url", default=None)
    parser.add_argument("--verify", choices=["joint", "separate"], default="joint")
    parser.add_argument("--limit", type=int, default=None, help="so many of the attacks, the first")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not args.judge:
        print("Injection needs a real judge: --judge PROVIDER/MODEL, for example openai/gpt-4o-mini.", file=sys.stderr)
        return 2
    try:
        return asyncio.run(report(args))
    except RagstoneError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
