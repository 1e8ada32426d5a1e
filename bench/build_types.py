"""Bad questions of each type, planted, and whether the rules and gates of `ragstone build questions` catch them.

    python -m bench.build_types            # a table for each type, in both languages

A small world of towers in two languages, and a scripted model that knows its sentences: as writer it makes right
questions, and about every third wrong in one way; as reader and checker it makes no mistakes. Recall is the share of
the wrong ones that are rejected, false rejections the share of right ones."""

import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.construction.builders.questions.items import Draft
from ragstone.construction.builders.questions.pipeline import QuestionSettings, questions_pipeline
from ragstone.construction.construction import construct
from ragstone.engine.execute import RunOptions
from ragstone.models.scripted import Scripted
from ragstone.types import Completion, Passage, Request, Usage

Shown = Mapping[str, Any]
Reply = dict[str, Any]

SYLLABLES = {
    "en": ("Ar", "Bel", "Cor", "Dun", "El", "Far", "Gil", "Har", "Ing", "Jor"),
    "zh": ("安", "北", "柯", "邓", "伊", "方", "高", "韩", "英", "乔"),
}
ENDS = {"en": ("den", "mont", "vik", "stead"), "zh": ("登", "山", "维", "城")}

# Attribute → how a sentence states it, and how it is asked for; t is the time, v the value, s the subject.
SENTENCES = {
    "en": {
        "height": ("The tower of {s} is {v} tall.", "How tall is the tower of {s}?"),
        "architect": ("The tower of {s} was designed by {v}.", "Who designed the tower of {s}?"),
        "birthplace": ("{s} was born in {v}.", "Where was {s} born?"),
        "fee": ("Since {t} entry to the tower of {s} costs {v}.", "What did entry to the tower of {s} cost in {t}?"),
        "steps": ("| {s} | {v} | stone |", "How many steps lead up the tower of {s}?"),
        "bells": ("The tower of {s} has {v} bells.", "How many bells has the tower of {s}?"),
    },
    "zh": {
        "height": ("{s}塔高{v}。", "{s}塔有多高？"),
        "architect": ("{s}塔由{v}设计。", "{s}塔是谁设计的？"),
        "birthplace": ("{s}出生于{v}。", "{s}出生在哪里？"),
        "fee": ("自{t}年起，{s}塔的门票为{v}。", "{t}年{s}塔的门票是多少？"),
        "steps": ("| {s} | {v} | 石头 |", "{s}塔有多少级台阶？"),
        "bells": ("{s}塔有{v}口钟。", "{s}塔有多少口钟？"),
    },
}
BRIDGE = {"en": "Where was the architect of the tower of {s} born?", "zh": "{s}塔的设计者出生在哪里？"}
COMPARE = {"en": "Which is taller, the tower of {s} or the tower of {o}?", "zh": "{s}塔和{o}塔哪座更高？"}
ADD = {"en": "How tall are the tower of {s} and the tower of {o} together?", "zh": "{s}塔和{o}塔一共有多高？"}
GO_ON = {"en": {"architect": "And who designed it?", "height": "And how tall is it?"},
         "zh": {"architect": "它是谁设计的？", "height": "那么它有多高？"}}  # fmt: skip
VAGUE = {"en": {"fee": "What does entry to the tower of {s} cost?", "steps": "How many steps are there?"},
         "zh": {"fee": "{s}塔的门票是多少？", "steps": "有多少级台阶？"}}  # fmt: skip
FALSE = {"en": "Why was the tower of {s} pulled down?", "zh": "{s}塔为什么被拆除？"}
SAYS = (
    {"en": "Please tell me: {q}", "zh": "请告诉我：{q}"},
    {"en": "I would like to know this. {q}", "zh": "我想知道，{q}"},
)
METRES = {"en": "{n} metres", "zh": "{n}米"}
SAME = {"en": "{n} m", "zh": "{n} m"}  # the same height in other words
PART = {"en": "{n} metres up to the clock", "zh": "{n}米（到钟面）"}  # another height, and no contradiction
STONE = {"en": "stone", "zh": "石头"}
_SUBJECT = {"en": r"[A-Z][a-z]+(?: [A-Z][a-z]+)?", "zh": "[\u4e00-\u9fff]{2,4}?"}
_VALUE = r"[^.。|]+?"


def name_of(number: int, language: str) -> str:
    return SYLLABLES[language][number % 10] + ENDS[language][number // 10 % 4]


def place(number: int, language: str) -> str:
    return name_of(number, language) + ("" if number < 40 else SYLLABLES[language][number // 40].lower())


def documents(count: int, other: str = "", *, only_heights: bool = False) -> list[Passage]:
    """The towers of both languages: a page each, a page for each architect, two lists of fees, a table of steps, and a
    guide that gives every tower another height, in the form `other`."""
    found: list[Passage] = []
    for language in ("en", "zh"):
        say, towers = SENTENCES[language], [place(number, language) for number in range(count)]
        for number, tower in enumerate(towers):
            mate = f"Ann {tower}" if language == "en" else f"{tower}安娜"
            height = METRES[language].format(n=300 + 7 * number)
            text = say["height"][0].format(s=tower, v=height)
            text += f" {tower} has {tower} Road." if language == "en" else f"{tower}的居民每天都经过{tower}路。"
            if only_heights:
                found.append(_page(f"{language}-tower-{number}", text, tower))
                continue
            text += " " + say["architect"][0].format(s=tower, v=mate)
            found.append(_page(f"{language}-tower-{number}", text, tower))
            born = place(number + 40, language)
            text = say["birthplace"][0].format(s=mate, v=born) + (
                f" {mate} liked the hills of {tower}." if language == "en" else f" {mate}喜欢{tower}的山。"
            )
            found.append(_page(f"{language}-architect-{number}", text, mate))
            for year, fee in ((2020, 5), (2024, 50)):
                text = say["fee"][0].format(
                    s=tower, t=year, v=f"{fee + number} {'euros' if language == 'en' else '欧元'}"
                )
                found.append(
                    _page(f"{language}-fee-{year}-{number}", f"{text} {year} {tower} {tower}.", f"{tower} {year}")
                )
            if other:
                form = METRES[language] if other == "{n}" else other
                height = form.format(n=(307 if other != SAME[language] else 300) + 7 * number)
                text = say["height"][0].format(s=tower, v=height)
                found.append(_page(f"{language}-guide-{number}", f"{text} {_walk(tower, language)}", f"{tower} guide"))
        if only_heights:
            continue
        head = (
            "| Tower | Steps | Made of |\n| --- | --- | --- |\n"
            if language == "en"
            else "| 塔 | 台阶 | 材料 |\n| --- | --- | --- |\n"
        )
        rows = [say["steps"][0].format(s=tower, v=f"{900 + number}") for number, tower in enumerate(towers)]
        found.append(_page(f"{language}-table", head + "\n".join(rows), "Steps"))
    return found


def _walk(tower: str, language: str) -> str:
    return f"A walk to {tower} takes a day." if language == "en" else f"步行前往{tower}需要整整一天，沿途风景很好。"


def _page(name: str, text: str, title: str) -> Passage:
    return Passage(f"{name}#1", text, title, meta={"document": name})


@dataclass(frozen=True)
class Known:
    """A fact that a text states."""

    attribute: str
    subject: str
    value: str
    time: str = ""
    evidence: str = ""


def _pattern(form: str, language: str) -> re.Pattern[str]:
    text = re.escape(form).replace(r"\{s\}", f"(?P<s>{_SUBJECT[language]})").replace(r"\{v\}", f"(?P<v>{_VALUE})")
    return re.compile(text.replace(r"\{t\}", "(?P<t>[0-9]{4})").replace(r"\{o\}", f"(?P<o>{_SUBJECT[language]})"))


_STATES = [
    (attribute, _pattern(forms[0], language))
    for language, kinds in SENTENCES.items()
    for attribute, forms in kinds.items()
]
_ASKS = [
    (attribute, _pattern(forms[1], language))
    for language, kinds in SENTENCES.items()
    for attribute, forms in kinds.items()
]


def stated(text: str) -> list[Known]:
    """The facts of a text, in order."""
    found = []
    for attribute, pattern in _STATES:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            found.append((match.start(), Known(attribute, groups["s"], groups["v"], groups.get("t") or "", match[0])))
    return [known for _, known in sorted(found, key=lambda pair: pair[0])]


def _language(text: str) -> str:
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "en"


def read(shown: Shown) -> Reply:
    """What somebody answers who understands every question and knows only the passages."""
    facts = [known for text in shown["passages"].values() for known in stated(text)]
    earlier = [turn["question"] for turn in shown.get("earlier", ())]
    values = _answers(shown["question"], facts, earlier)
    return {"answer": "; ".join(values), "found": bool(values)}


def _answers(question: str, facts: Sequence[Known], earlier: Sequence[str]) -> list[str]:
    language = _language(question)

    def of(attribute: str, subject: str, time: str = "") -> list[str]:
        same = [known for known in facts if (known.attribute, known.subject) == (attribute, subject)]
        return list(dict.fromkeys(known.value for known in same if not time or known.time == time))

    if match := _pattern(BRIDGE[language], language).search(question):
        return [value for mate in of("architect", match["s"])[:1] for value in of("birthplace", mate)]
    for form in (COMPARE, ADD):
        if match := _pattern(form[language], language).search(question):
            heights = [of("height", match[group])[:1] for group in "so"]
            numbers = [int(re.findall(r"\d+", height[0])[0]) for height in heights if height]
            if len(numbers) < 2:
                return []
            winner = match["s"] if numbers[0] > numbers[1] else match["o"]
            return [winner if form is COMPARE else METRES[language].format(n=sum(numbers))]
    for attribute, text in GO_ON[language].items():
        if text in question:
            subjects = [match["s"] for before in earlier for _, pattern in _ASKS if (match := pattern.search(before))]
            return of(attribute, subjects[0]) if subjects else []
    asked = sorted(
        (match.start(), attribute, match["s"], match.groupdict().get("t") or "")
        for attribute, pattern in _ASKS for match in pattern.finditer(question)
    )  # fmt: skip
    answers = [of(attribute, subject, time) for _, attribute, subject, time in asked]
    return [value for values in answers for value in values]


def _facts(shown: Shown) -> Reply:
    return {
        "facts": [
            {"subject": known.subject, "attribute": known.attribute, "value": known.value, "time": known.time,
             "evidence": known.evidence}
            for known in stated(shown["passage"])
        ]
    }  # fmt: skip


def _ask(fact: Shown) -> str:
    form = SENTENCES[_language(fact["evidence"])][fact["attribute"]][1]
    return form.format(s=fact["subject"], t=fact["time"])


def write(shown: Shown) -> Reply:
    """A right question of the wanted type."""
    facts, kind = shown["facts"], shown["type"]
    language, first, last = _language(facts[0]["evidence"]), facts[0], facts[-1]
    earlier: list[Reply] = []
    answers = [[fact["value"]] for fact in facts]
    question = " ".join(map(_ask, facts))
    if kind == "bridge":
        question, answers = BRIDGE[language].format(s=first["subject"]), [[last["value"]]]
    elif kind in ("comparison", "aggregation"):
        form = COMPARE if kind == "comparison" else ADD
        question = form[language].format(s=first["subject"], o=last["subject"])
        numbers = [int((re.findall(r"\d+", fact["value"]) or ["0"])[0]) for fact in facts]
        total = METRES[language].format(n=sum(numbers))
        answers = [
            [
                max(zip(numbers, facts, strict=True), key=lambda pair: pair[0])[1]["subject"]
                if form is COMPARE
                else total
            ]
        ]
    elif kind == "contradiction":
        question = _ask(first)
    elif kind == "time":
        question, answers = _ask(last), [[last["value"]]]
    elif kind == "follow_up":
        earlier = [{"question": _ask(first), "answer": first["value"]}]
        question, answers = GO_ON[language].get(last["attribute"], _ask(last)), [[last["value"]]]
    elif kind == "unanswerable":
        question, answers = SENTENCES[language]["bells"][1].format(s=first["subject"]), []
    elif kind == "false_premise":
        question, answers = FALSE[language].format(s=first["subject"]), []
    return {"question": question, "answers": answers, "earlier": earlier, "difficulty": "easy"}


def _answering(shown: Shown) -> Reply:
    whole = shown["answer"]
    numbers = []
    for number, text in shown["passages"].items():
        found = _answers(shown["question"], stated(text), [turn["question"] for turn in shown.get("earlier", ())])
        if found and (not whole or found == whole):
            numbers.append(int(number))
    return {"passages": numbers}


def _paraphrase(shown: Shown) -> Reply:
    return {"paraphrases": [form[_language(shown["question"])].format(q=shown["question"]) for form in SAYS]}


def _contradiction(shown: Shown) -> Reply:
    texts = [one["text"] for one in shown["statements"]]
    numbers = {tuple(re.findall(r"\d+", text)) for text in texts}
    return {"contradict": len(numbers) > 1 and not any("clock" in text or "钟面" in text for text in texts)}


STEPS: Mapping[str, Callable[[Shown], Reply]] = {
    "facts": _facts, "question": write, "read": read, "answering": _answering, "paraphrase": _paraphrase,
    "contradiction": _contradiction,
}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A way in which questions of a type are wrong: what the writer does to a right one. `other`: the heights of the
    guide; `all_bad`: of such a world no question of the type is right. `reasons`: those for which they are rejected."""

    type: str
    spoil: Callable[[Shown, Reply], Reply] = lambda shown, reply: reply
    reasons: tuple[str, ...] = ()
    other: str = ""
    all_bad: bool = False


def _last(shown: Shown, **changes: str) -> Reply:
    return {**shown["facts"][-1], **changes}


def _lang(shown: Shown) -> str:
    return _language(shown["facts"][0]["evidence"])


def _bells(shown: Shown) -> str:
    return SENTENCES[_lang(shown)]["bells"][1].format(s=shown["facts"][-1]["subject"])


def _half(shown: Shown, reply: Reply) -> Reply:
    """The second part asks for something that no document says; its "answer" is a value that stands there."""
    return {**reply, "question": f"{_ask(shown['facts'][0])} {_bells(shown)}"}


def _other(shown: Shown, reply: Reply) -> str:
    """The subject that is not the answer."""
    subjects: list[str] = [fact["subject"] for fact in shown["facts"]]
    return next(subject for subject in subjects if subject != reply["answers"][0][0])


PLANTED: Mapping[str, Planted] = {
    "contradiction: both say the same in other words": Planted(
        "contradiction", other=SAME["en"], all_bad=True, reasons=("no_contradiction",)),
    "contradiction: both are true": Planted("contradiction", other="part", all_bad=True, reasons=("no_contradiction",)),
    "contradiction: the answer has one value twice": Planted(
        "contradiction", lambda s, r: {**r, "answers": [r["answers"][0]] * 2}, ("no_contradiction",), "{n}"),
    "two in one: a part has no answer": Planted("two_in_one", _half, ("not_answerable_from_gold",)),
    "two in one: one is asked": Planted(
        "two_in_one", lambda s, r: {**r, "question": _ask(s["facts"][0])}, ("not_answerable_from_gold",)),
    "several: a part has no answer": Planted("several", _half, ("not_answerable_from_gold",)),
    "several: both answers are of one fact": Planted(
        "several", lambda s, r: {**r, "answers": [r["answers"][0]] * 2}, ("answer_not_in_evidence",)),
    "bridge: the second document is enough": Planted(
        "bridge", lambda s, r: {**r, "question": _ask(_last(s))}, ("evidence_not_needed",)),
    "table: another cell": Planted(
        "table", lambda s, r: {**r, "answers": [[STONE[_lang(s)]]]}, ("not_answerable_from_gold",)),
    "table: no row is named": Planted(
        "table", lambda s, r: {**r, "question": VAGUE[_lang(s)]["steps"]},
        ("not_answerable_from_gold", "near_duplicate")),
    "time: no time is named": Planted(
        "time", lambda s, r: {**r, "question": VAGUE[_lang(s)]["fee"].format(s=_last(s)["subject"])},
        ("time_not_named",)),
    "time: the value of the other time": Planted(
        "time", lambda s, r: {**r, "answers": [[s["facts"][0]["value"]]]}, ("answer_not_in_evidence",)),
    "follow-up: it stands alone": Planted(
        "follow_up", lambda s, r: {**r, "question": _ask(_last(s))}, ("stands_alone",)),
    "follow-up: no earlier turn": Planted("follow_up", lambda s, r: {**r, "earlier": []}, ("no_earlier_turn",)),
    "follow-up: the earlier answer is wrong": Planted(
        "follow_up", lambda s, r: {**r, "earlier": [{**r["earlier"][0], "answer": "7"}]}, ("wrong_earlier_turn",)),
    "comparison: the other one": Planted(
        "comparison", lambda s, r: {**r, "answers": [[_other(s, r)]]}, ("not_answerable_from_gold",)),
    "aggregation: another number": Planted(
        "aggregation", lambda s, r: {**r, "answers": [[METRES[_lang(s)].format(n=17)]]}, ("not_answerable_from_gold",)),
    "unanswerable: it has an answer": Planted(
        "unanswerable", lambda s, r: {**r, "question": _ask(s["facts"][0])},
        ("answered_though_unanswerable", "answerable_elsewhere")),
    "false premise: it is true": Planted(
        "false_premise", lambda s, r: {**r, "question": _ask(s["facts"][0])},
        ("answered_though_unanswerable", "answerable_elsewhere")),
}  # fmt: skip
"""Ways of being wrong, by name."""


@dataclass(frozen=True)
class Caught:
    """Of `bad` planted questions `caught` were rejected, of `good` ones `lost`; `strange`: reasons that were not
    expected of the bad ones."""

    bad: int
    caught: int
    good: int
    lost: int
    strange: tuple[str, ...]


def measure(planted: Planted, language: str, count: int = 24) -> Caught:
    """Builds questions of the type in the language, every third of them wrong in this way."""
    other = PART[language] if planted.other == "part" else planted.other
    only_heights = planted.type in ("comparison", "aggregation", "unanswerable", "false_premise")
    chunks = [one for one in documents(count, other, only_heights=only_heights) if one.id.startswith(language)]
    bad: set[str] = set()

    async def script(request: Request) -> Completion:
        shown = json.loads(next(turn.content for turn in reversed(request.messages) if turn.content[:1] == "{"))
        reply = STEPS[request.schema_name](shown)
        if request.schema_name == "question":
            key = json.dumps(shown["facts"], ensure_ascii=False)
            if planted.all_bad or sum(map(ord, key)) % 3 == 0:
                reply = planted.spoil(shown, reply)
                bad.add(key)
        return Completion(json.dumps(reply, ensure_ascii=False), usage=Usage(requests=1))

    with tempfile.TemporaryDirectory() as folder:
        pipeline = questions_pipeline(chunks, QuestionSettings(40, {planted.type: 1.0}))
        models: Any = dict.fromkeys(("writer", "checker"), Scripted(script, id="scripted/towers"))
        state = asyncio.run(
            construct(pipeline, models, how=RunOptions(run=Path(folder) / "b.run", concurrency=64))
        ).state
    kept = [_key(fact_row(draft)) for draft in state.items]
    rejected = [(one.reason, _key(one.item["facts"])) for one in state.rejected if "facts" in one.item]
    reasons = {reason for reason, key in rejected if key in {_key(json.loads(one)) for one in bad}}
    planted_keys = {_key(json.loads(one)) for one in bad}
    lost = [key for reason, key in rejected if key not in planted_keys and reason != "surplus"]
    through = sum(key in planted_keys for key in kept)
    strange = tuple(sorted(reasons - {*planted.reasons, "surplus"}))
    if planted.all_bad and not bad:  # the draw of facts leaves them out
        return Caught(count, count - len(kept), 0, 0, ())
    return Caught(len(bad), len(bad) - through, len(kept) - through + len(lost), len(lost), strange)


def fact_row(draft: Draft) -> list[dict[str, Any]]:
    return [
        {"subject": fact.subject, "attribute": fact.attribute, "value": fact.value, "time": fact.time}
        for fact in draft.facts
    ]


def _key(facts: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(f"{one['subject']} {one['attribute']} {one['value']} {one.get('time', '')}" for one in facts)


def table() -> None:
    """Prints recall and false rejections of every way, by language."""
    print(f"{'planted':52} {'lang':5} {'caught':>12} {'lost of good':>14}")
    for name, planted in PLANTED.items():
        for language in ("en", "zh"):
            found = measure(planted, language)
            print(
                f"{name:52} {language:5} {found.caught:>5} of {found.bad:<4} {found.lost:>6} of {found.good:<4}",
                *found.strange,
            )


if __name__ == "__main__":
    table()
