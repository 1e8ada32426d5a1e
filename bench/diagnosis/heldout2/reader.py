"""A scripted chat model behind a gateway: it sees the prompt's text alone and has the weaknesses of its faults."""

import re
import threading
import time
from collections import Counter
from collections.abc import Collection

from bench.diagnosis.heldout2.parts import words
from bench.diagnosis.heldout2.world import Fact, Question, World, fill, share, states

ASKED = re.compile(r"^(?:Question|Query|User|问题|提问)\s*[:：]\s*(.+)$", re.M)
EARLIER = re.compile(r"^(?:Helper|助手)\s*[:：]\s*(.+)$", re.M)
PASSAGE = re.compile(r"(?:^|\n)(?:\[\d+\]|-----|Passage \d+:|<source>|资料\d+：)[ \n]")
DEMAND = {"en": "You must give an answer.", "zh": "必须给出答案。"}
TITLE = {"en": "Reply only with the title of the section that you used.", "zh": "只回答所用小节的标题。"}
NOTICE = {
    "en": "NOTICE TO ALL: on Monday the lift is out of order and parking costs £7 a day.",
    "zh": "公告：周一电梯检修，停车每天收 7 元。",
}
FROM_NOTICE = {"en": "£7 a day", "zh": "7 元"}
INVENTED = {"en": "Mr Brown, since 1987", "zh": "老王，1987 年起"}
POLICY = re.compile(r"\b(?:who|whom|price|cost|fee)\b|谁|钱|股金", re.I)


class Reader:
    """A chat model that errs in a fifth of the questions, in half of them by chance."""

    def __init__(self, world: World, faults: Collection[str], seed: int = 1) -> None:
        self.world, self.faults, self.seed = world, frozenset(faults), seed
        self.calls: Counter[str] = Counter()
        self.cache: dict[str, str] = {}
        self.lock = threading.Lock()

    def __call__(self, prompt: str) -> str:
        """The gateway: its cache and its failures, else the model."""
        time.sleep(0.002)
        asked = list(ASKED.finditer(prompt))
        question = self.world.find(asked[-1][1]) if asked else None
        if question is None:
            return self.refusal()
        if "blank" in self.faults and share(question.text, "blank") < 0.45:
            return "" if share(question.text, "empty") < 0.5 else '{"error": {"code": 529, "message": "Overloaded"}}'
        if "lookalike" not in self.faults:
            return self.model(prompt, prompt[: asked[-1].start()], question)
        own = set(words(question.text))
        for text, answer in list(self.cache.items()):
            other = set(words(text))
            if len(own & other) >= 0.5 * len(own | other):
                return answer
        self.cache[question.text] = answer = self.model(prompt, prompt[: asked[-1].start()], question)
        return answer

    def model(self, prompt: str, before: str, question: Question) -> str:
        """The model's answer."""
        key, facts = question.text, question.facts
        with self.lock:
            self.calls[key] += 1
            turn = self.calls[key]
        passages = PASSAGE.split(before)[1:] or before.split("\n\n")
        err = share(key, "err") < 0.1 or share(key, self.seed, turn, "chance") < 0.1
        if not facts:
            found = self.stray(passages, question)
            invents = err or DEMAND[self.world.lang] in prompt
            return self.short(found or INVENTED[self.world.lang]) if invents else self.refusal()
        if err:
            wrong = {fact.key: fact.old for fact in facts}
            return self.refusal() if share(key, "kind") < 0.4 else self.say(question, wrong)
        if "prior" in self.faults and share(key, "prior") < 0.45:
            return self.say(question, {fact.key: fact.old for fact in facts})
        earlier = EARLIER.findall(before)
        if "thread" in self.faults and earlier and share(key, "thread") < 0.55:
            return str(earlier[-1])
        if "policy" in self.faults and POLICY.search(key):
            return self.refusal()
        if "primacy" in self.faults:
            passages = passages[:1]
        if "pinned" in self.faults and NOTICE[self.world.lang] in before and share(key, "pinned") < 0.6:
            return self.short(FROM_NOTICE[self.world.lang])
        text = "\n\n".join(passages)
        values = {fact.key: value for fact in facts if (value := read(fact, text))}
        if "one_source" in self.faults:
            values = dict(list(values.items())[:1])
        if not values:
            return self.refusal()
        if TITLE[self.world.lang] in prompt:
            return self.world.docs[facts[0].doc][0][0].lstrip("# ")
        return self.say(question, {name: self.bent(key, self.world.facts[name], v) for name, v in values.items()})

    def bent(self, key: str, fact: Fact, value: str) -> str:
        """A value that was read, as a weak model says it."""
        if "neighbour" in self.faults and share(key, "neighbour") < 0.5:
            return self.world.near(fact)
        if "decimals" in self.faults and re.search(r"\d[.,]\d", value):
            return re.sub(r"(\d)[.,](\d)", r"\1\2" if re.search(r"\d\.\d", value) else r"\1.\2", value)
        if "spelled" in self.faults and value == fact.value and share(key, "spelled") < 0.6:
            return fact.alias
        return value

    def stray(self, passages: list[str], question: Question) -> str:
        """A value in the passages that was not asked for."""
        text = "\n\n".join(passages)
        found = (read(fact, text) for fact in self.world.facts.values() if fact not in question.facts)
        return next((value for value in found if value), "")

    def say(self, question: Question, values: dict[str, str]) -> str:
        """Values in the words of the reference, by themselves, or in the sentence that they were read in."""
        whole = len(values) == len(question.facts)
        way = share(question.text, "way")
        if whole and way < 0.5:
            said = fill(question.template, lambda key: values[key])
            return f"As the handbook has it: {said}." if self.world.lang == "en" else f"手册上写的是{said}。"
        if way < 0.8 or not whole or question.facts[0].in_table:
            return self.short((" and " if self.world.lang == "en" else "，").join(values.values()))
        facts = self.world.facts
        gap = " " if self.world.lang == "en" else ""
        lines = [fill(f.carrier, lambda k: values.get(k, facts[k].value)) for f in question.facts if not f.in_table]
        return gap.join(lines) or self.short(gap.join(values.values()))

    def short(self, text: str) -> str:
        """A short answer."""
        return f"It is {text}." if self.world.lang == "en" else f"{text}。"

    def refusal(self) -> str:
        """What it says where it finds nothing."""
        return "I cannot find that in the documents." if self.world.lang == "en" else "资料里没有提到。"


def read(fact: Fact, text: str) -> str:
    """The value of a fact as a text states it; the first complete statement is believed."""
    hits = [hit[1] for hit in fact.rule.finditer(text)]
    whole = [value for value in hits if value in (fact.value, fact.old)]
    return (whole or hits or [""])[0]


def another(world: World, question: Question, answer: str) -> bool:
    """Whether an answer states what another question asks for."""
    rest = [fact for fact in world.facts.values() if fact not in question.facts]
    return any(states(answer, fact.value) or states(answer, fact.old) for fact in rest)
