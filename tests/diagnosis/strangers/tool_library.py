"""Sheets of a library that lends tools: a class over SQLite's full-text search, and a reader by rules."""

import re
import sqlite3
from typing import Any

NAMES = (
    "orbital sander", "hedge trimmer", "tile cutter", "pressure washer", "cement mixer", "carpet cleaner",
    "belt grinder", "post digger", "wall scanner", "paint sprayer", "log splitter", "leaf blower", "heat gun",
    "floor polisher", "jig saw", "air compressor", "stump puller", "roof ladder", "plate compactor", "steam stripper",
)  # fmt: skip
ASKED = (
    ("loan", "How many days may I keep the {}?", "{days} days"),
    ("care", "Which fabric should I use on the {}?", "{cloth}"),
    ("spec", "How heavy is the {}?", "{kg} kg"),
    ("loan", "How much security must I pay for the {}?", "{deposit} pounds"),
    ("care", "When should I lubricate the gearbox of the {}?", "{oil} hours"),
    ("spec", "How noisy is the {} at full speed?", "{decibels} decibels"),
    ("loan", "What does the {} cost for each day that I am late?", "{fine} pounds"),
    ("care", "Who fixes the {} and keeps its parts?", "{service}"),
    ("spec", "What power does the motor of the {} need?", "{watt} watts"),
)
COMMON = frozenset(
    re.findall(
        r"[a-z]+",
        "the a an of is are in it its for to at on and do does i my me can may what which how who when with be by from "
        "after much many long must should you your we if",
    )
)
ALIKE = {"heavy": ["weigh"], "power": ["watts", "motor"], "noisy": ["loud", "decib"], "late": ["delay"],
         "keep": ["borro"], "secur": ["depos"], "lubri": ["oil"], "fixes": ["repai"], "clean": ["wipe", "cloth"],
         "fabri": ["cloth", "wipe"]}  # fmt: skip


def facts(n: int) -> dict[str, Any]:
    bench = ("Ines Tolley", "Bram Okker", "Lou Fenwright", "Petra Sund")[n * 3 % 4]
    return {
        "days": 3 + n * 2 % 11 + n * 7 % 5, "deposit": 15 + n * 5, "fine": f"{1 + n % 4}.{n * 3 % 10}0",
        "kg": f"{4 + n * 3}.{n * 7 % 10}", "watt": 450 + n * 65, "decibels": 61 + n, "oil": 20 + n * 3,
        "cloth": ("dry cotton", "damp linen", "soft wool", "coarse jute")[n % 4], "service": f"{bench}, bench {n + 2}",
    }  # fmt: skip


def documents() -> list[tuple[str, str, str]]:
    """Id, category and text."""
    found = []
    for n, name in enumerate(NAMES):
        known, begin = facts(n), name.capitalize()
        found += [
            (f"loan-{n:02}", "loan", (f"{begin}, loan sheet. Members may borrow the {name} for {known['days']} days. A "
             f"deposit of {known['deposit']} pounds is taken at the desk and paid back on return. Every day of delay "
             f"costs {known['fine']} pounds. Bring your card with you when you come.")),
            (f"spec-{n:02}", "spec", (f"{begin}, data sheet. The {name} weighs {known['kg']} kg without its case. Its "
             f"motor draws {known['watt']} watts. At full speed it is as loud as {known['decibels']} decibels, so ear "
             "protection is in the case.")),
            (f"care-{n:02}", "care", (f"{begin}, care sheet. Wipe the {name} with a {known['cloth']} cloth after use. "
             f"The gearbox oil is changed after {known['oil']} hours of work. Repairs are done by {known['service']}, "
             "who also keeps the spare parts.")),
        ]  # fmt: skip
    return found


def old_sheets() -> list[tuple[str, str, str]]:
    return [
        (f"old-{n:02}", "loan", (f"{name.capitalize()}, loan sheet 2019. Members may borrow the {name} for "
         f"{facts(n)['days'] + 30} days. A deposit of {facts(n)['deposit'] + 200} pounds is taken. Every day of delay "
         f"costs 9.9{n % 10} pounds."))
        for n, name in enumerate(NAMES)
    ]  # fmt: skip


def questions() -> list[dict[str, Any]]:
    texts = {name: text for name, _, text in documents()}
    rows = []
    for n in range(22):
        tool = n * 7 % 20
        kind, question, reference = ASKED[n % 9]
        rows.append({"id": f"a{n:02}", "question": question.format(NAMES[tool]),
                     "reference": reference.format(**facts(tool)),
                     "reference_contexts": [texts[f"{kind}-{tool:02}"]]})  # fmt: skip
    return rows


def stems(text: str) -> list[str]:
    return [word[:5] for word in re.findall(r"[a-z]+", text.lower()) if word not in COMMON]


class ToolLibrary:
    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        sheets = documents() + (old_sheets() if fault == "stale" else [])
        self.chunks = [{"id": name, "text": text} for name, _, text in sheets]
        self.sheets = sqlite3.connect(":memory:", check_same_thread=False)
        self.sheets.execute(
            "CREATE VIRTUAL TABLE sheet USING fts5(id UNINDEXED, category UNINDEXED, text, tokenize='porter')"
        )
        self.sheets.executemany("INSERT INTO sheet VALUES (?, ?, ?)", sheets)

    def search(self, query: str, k: int = 4) -> list[dict[str, str]]:
        words = [word for word in re.findall(r"[a-z]+", query.lower()) if word not in COMMON]
        if not words:
            return []
        kept = " AND category <> 'care'" if self.fault == "filter" else ""
        rows = self.sheets.execute(
            f"SELECT id, text FROM sheet WHERE sheet MATCH ?{kept} ORDER BY bm25(sheet), id LIMIT ?",
            (" OR ".join(words), k),
        )
        return [{"id": name, "text": text} for name, text in rows]

    def read(self, question: str, texts: list[str]) -> str:
        tool = next((name for name in NAMES if name in question.lower()), "")
        asked = [word for word in stems(question) if word not in stems(tool)]
        wanted = {one for word in asked for one in (word, *ALIKE.get(word, ()))}
        best, most = "", 0
        for text in texts:
            if not tool or tool in text.lower():
                for sentence in re.split(r"(?<=[.])\s+(?=[A-Z])", text):
                    if (score := len({*stems(sentence)} & wanted)) > most:
                        best, most = sentence, score
        return best if most >= (3 if self.fault == "refuse" else 1) else "I don't know."

    def ask(self, question: str, passages: list[Any] | None = None, k: int | None = None) -> dict[str, Any]:
        found = self.search(question, k or (1 if self.fault == "topk" else 4)) if passages is None else passages
        texts = [one if isinstance(one, str) else one["text"] for one in found]
        return {"answer": self.read(question, texts), "contexts": found}
