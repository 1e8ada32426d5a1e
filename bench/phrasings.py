"""How often the default scoring misses an answer that a person would accept: its false negatives by kind of answer.

    python -m bench.phrasings            # rates for English and Chinese
    python -m bench.phrasings --missed   # and every phrasing that is missed

`phrasings/{en,zh}.txt`: references, each with five ways to state it. They were written by an AI model before they were
run; the rate is of these phrasings, not of a sample of what people write."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ragstone.metrics.answer_match import AnswerMatch
from ragstone.stats import wilson
from ragstone.types import Case, Query, Response, Sample

__all__ = ["Phrasing", "is_missed", "read"]

FOLDER = Path(__file__).parent / "phrasings"


class Phrasing(NamedTuple):
    """A way to state a reference."""

    kind: str
    reference: str
    text: str


def read(language: str) -> Iterator[Phrasing]:
    """The phrasings of a language, "en" or "zh"."""
    for line in (FOLDER / f"{language}.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, reference, *texts = line.split(" | ")
            yield from (Phrasing(kind, reference, text) for text in texts)


def is_missed(one: Phrasing, language: str) -> bool:
    """Whether `answer_match` does not find the reference in its phrasing."""
    case = Case("c", Sample("s", "?", ((one.reference,),), language=language), {}, Query("?"))
    return not AnswerMatch().score(case, Response(one.text)).value


def main() -> None:
    """Prints the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missed", action="store_true")
    shown = parser.parse_args().missed
    for language in ("en", "zh"):
        phrasings = list(read(language))
        missed = [one for one in phrasings if is_missed(one, language)]
        low, high = wilson(len(missed), len(phrasings))
        print(f"{language}: {len(missed)} of {len(phrasings)} missed, {len(missed) / len(phrasings):.1%} "
              f"[{low:.1%}, {high:.1%}]")  # fmt: skip
        for kind in dict.fromkeys(one.kind for one in phrasings):
            of_kind = [one for one in phrasings if one.kind == kind]
            print(f"    {kind}: {sum(one in missed for one in of_kind)} of {len(of_kind)}")
        for one in missed if shown else ():
            print(f"    missed: {one.reference} | {one.text}")


if __name__ == "__main__":
    main()
