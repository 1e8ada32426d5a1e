"""The cases that metrics are put to: samples with recorded verdicts, in English and Chinese, and the right scores.

`cases.toml` holds them; its head says what its fields mean.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

_TEXTS = ("question", "answer", "contexts", "references")


@dataclass(frozen=True)
class Case:
    """One case in one language. `sample`: question, answer, contexts, references. `judge`: the verdicts. `fault`: what
    the judge or its endpoint does wrong. `expect`: metric → the right results, numbers or "none". `needs`: "aliases"
    where a library must take several references. `why`: what the case is, by language; `source`: where the right
    results come from."""

    id: str
    language: str
    sample: dict[str, Any]
    judge: dict[str, Any]
    fault: dict[str, Any]
    expect: dict[str, list[float | Literal["none"]]]
    why: dict[str, str]
    source: str
    needs: str = ""


@cache
def load_cases() -> tuple[Case, ...]:
    """Every case in every language, in the order of the file."""
    document = tomllib.loads(files(__package__).joinpath("cases.toml").read_text(encoding="utf-8"))
    base = document["base"]
    return tuple(
        _made(given, language, base[language], base["judge"]) for given in document["case"] for language in ("en", "zh")
    )


def _made(given: Mapping[str, Any], language: str, base: Mapping[str, Any], judge: Mapping[str, Any]) -> Case:
    texts = {**base, **given.get(language, {})}
    if given.get("answer") == "refusal":
        texts["answer"] = base["refusal"]
    own = {name: texts[name] for name in ("statements", "reference_statements", "questions")}
    return Case(
        f"{given['id']}/{language}", language, {name: texts[name] for name in _TEXTS},
        {**judge, **own, **given.get("judge", {})}, given.get("fault", {}), given["expect"], given["why"],
        given["source"], given.get("needs", ""),
    )  # fmt: skip
