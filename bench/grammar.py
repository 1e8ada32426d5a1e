"""What a copy-editor would strike out of the generated English passages, by rule: the goal is an empty list.

    python -m bench.grammar [--sentences 5000] [--seed 0] [--difficulty news] [--show 20]

Each rule is a pattern of what no news text has: doubled words or marks, a wrong article, a quotation mark without its
partner, a sentence without a capital or a stop, one thing in the plural, a verb that does not agree. Exits with 1 if a
rule finds something. `tests/datasets/fictional/en/test_news.py` checks a small sample.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.pages import DIFFICULTIES
from ragstone.text import sentences

UNITS = (
    "metre", "kilometre", "centimetre", "millimetre", "gram", "kilogram", "hour", "minute", "second", "day", "week",
    "month", "year", "vote", "page", "copy", "time", "seat", "bed", "mile", "dollar", "employee", "guest", "lot",
    "lorry", "person",
)  # fmt: skip
MANY = "|".join([*(f"{unit}s" for unit in UNITS), "people", "copies", "lorries"])
VOWEL = r'["(]?(?:[aeiou]|[AEIOUÉÁ][a-z]|8\d*\b|11\b|18\b|[FHLMNRSX][A-Z]|hour|honest|honour|heir)'
GLIDE = r"(?:one|uni[^nm]|us[aeiu]|eu|U[A-Z]|Uni)"
NUMBERS = r"[2-9]|\d\d+|two|three|four|five|six|seven|eight|nine|ten"
PREPOSITIONS = "at|with|from|into|as|the|an|and"
PLURAL, SINGULAR = "people|sides|teams|bidders|they|we|They|We", "he|she|it|He|She|It"
RULES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "a word twice": r"\b(?!had\b|that\b)([A-Za-z]{2,}) \1\b",
        "two determiners": r"\b(?:[Tt]he|[Aa]n?|[Ii]ts|[Hh]is|[Tt]heir) (?:the|an?|its|his|her|their|this|these)\b",
        "a before a vowel": rf"(?<!-)\b[Aa] (?!{GLIDE}|flat\b){VOWEL}",
        "an before a consonant": rf"\b[Aa]n (?!A flat)(?:(?!{VOWEL})|{GLIDE})",
        "two marks": r"[,;:.]{2,}|[?!][.,;:]|[.,;:][?!]|,\.|\.,",
        "a space before a mark": r"\s[.,;:!?](?:\s|$)",
        "two spaces": r"\S  +\S",
        "a placeholder": r"[{}<>\[\]~¶¦\x00-\x08\x0b-\x1f]",
        "a dangling preposition": rf"\b(?:{PREPOSITIONS})(?:[.;?]| (?:and|or|but)\b)",
        "one of many": rf"(?<![\d.,])\b1 (?:{MANY})\b",
        "many of one": rf"\b(?:{NUMBERS}) (?:{'|'.join(UNITS)})\b(?!-)",
        "an ordinal": r"\b(?:\d*(?:1[123]|[04-9])(?:st|nd|rd)|\d*(?:(?<!1)1)th|\d*(?<!1)2th|\d*(?<!1)3th)\b",
        "number of the verb": rf"\b(?:{SINGULAR}) (?:are|were|have)\b|\b(?:{PLURAL}) (?:is|was|has)\b",
        "spent into": r"\b(?:spent|put) (?:most|much|all|half)[^.,]*? into the (?:villages|towns)\b",
        "a zero": r"(?<![\d.,:-])\b0 \w+|(?<![\d,.])\b00+\b",
        "a possessive": r"s's\b|'s's",
        "a dollar twice": r"\$\$|\$[\d.,]+ (?:million |billion )?dollars",
        "a per cent twice": r"%\s*(?:per ?cent|%)|per ?cent per ?cent",
    }.items()
}
OPENING = re.compile(r"^[\"'(“]*(?:[A-ZÉÁÓÍÚÑ0-9$•–…]|i[A-Z])")
ITEM = re.compile(r"[•–] |\d\. |.* \| |\d{4}\b.{0,3}[:–]")
CLOSING = re.compile(r"[.!?:–—)\"”]$")


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a passage, and whether each stands in running text (not in a table, a list or a heading)."""
    for line in text.split("\n"):
        if ITEM.match(line):
            yield line, False
        else:
            for sentence in sentences(line):
                if sentence.strip():
                    yield sentence.strip(), True


def slips(text: str) -> Iterator[tuple[str, str]]:
    """The rules that a passage breaks, each with the sentence that breaks it."""
    for sentence, running in lines_of(text):
        for name, rule in RULES.items():
            if rule.search(sentence):
                yield name, sentence
        if sentence.count('"') % 2:
            yield "a quotation mark alone", sentence
        if sentence.count("(") != sentence.count(")"):
            yield "a bracket alone", sentence
        if running and not OPENING.search(sentence):
            yield "no capital", sentence
    for paragraph in text.split("\n\n"):
        last = paragraph.rsplit("\n", 1)[-1]
        if not ITEM.match(last) and not CLOSING.search(last):
            yield "no stop", last


def found(seed: int, count: int, difficulty: str, names: Sequence[str] = ("en", "en_int")) -> dict[str, list[str]]:
    """What each rule finds in the first `count` sentences of a seed's questions and passages."""
    listed: dict[str, list[str]] = defaultdict(list)
    read = 0
    for rows in zip(
        *(fictional_rgb(name, seed=seed, size=count, difficulty=difficulty) for name in names), strict=True
    ):
        for row in rows:
            groups = row["positive"] if isinstance(row["positive"][0], list) else [row["positive"]]
            for text in (row["query"], *(text for group in groups for text in group), *row["negative"]):
                read += sum(1 for _ in lines_of(text))
                for name, sentence in slips(text):
                    listed[name].append(sentence)
        if read >= count:
            break
    return listed


def main() -> None:
    """Prints what each rule finds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--difficulty", choices=DIFFICULTIES, default="news")
    parser.add_argument("--show", type=int, default=20)
    args = parser.parse_args()
    listed = found(args.seed, args.sentences, args.difficulty)
    for name, texts in sorted(listed.items()):
        print(f"{name}: {len(texts)}")
        for text in list(dict.fromkeys(texts))[: args.show]:
            print(f"    {text}")
    print(f"{sum(map(len, listed.values()))} slips in {args.sentences} sentences")
    sys.exit(bool(listed))


if __name__ == "__main__":
    main()
