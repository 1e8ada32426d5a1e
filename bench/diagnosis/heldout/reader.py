"""Scripted chat models: rules that find a fact in the prompt. They see the prompt's text and nothing else."""

import re
import threading
import time
from collections import Counter

from bench.diagnosis.heldout.world import Fact, World, share, shifted

ASKED = re.compile(r"^(?:Question|Q|问题|用户问)\s*[:：]\s*(.+)$", re.M)
EARLIER = re.compile(r"^(?:Assistant|客服)\s*[:：]\s*(.+)$", re.M)
YES_NO = re.compile(r"with yes or no|只回答是或否")
UNITS = {
    "en": "euros dollars, minutes hours, days weeks, hours minutes, kilograms pounds, centimetres inches, years months"
    ", kilometres miles",
    "zh": "元 美元, 厘米 毫米, 分钟 小时, 小时 分钟, 天 周, 公里 米, 年 个月",
}


class Reader:
    """A chat model with the weaknesses that are named in its faults."""

    def __init__(self, world: World, faults: frozenset[str], seed: int = 1) -> None:
        self.world, self.faults, self.seed = world, faults, seed
        self.calls: Counter[str] = Counter()
        self.lock = threading.Lock()

    def __call__(self, prompt: str) -> str:
        """Its answer to a prompt."""
        time.sleep(0.004)
        asked = list(ASKED.finditer(prompt))
        question = self.world.find(asked[-1][1]) if asked else None
        if question is None:
            return self.refusal()
        with self.lock:
            self.calls[question.text] += 1
            turn = self.calls[question.text]
        body = prompt[: asked[-1].start()]
        key = question.text
        err = share(key, "c") < 0.1 or share(key, self.seed, turn, "chance") < 0.1
        found = self.read(body, list(question.facts))
        if not question.facts:
            other = self.others(body, [])
            makes_up = "never" in self.faults or err
            return self.say([other[0]]) if makes_up and other else self.refusal()
        if err and share(key, "kind") < 0.4:
            return self.refusal()
        if err:
            return self.say([shifted(fact.value) for fact in question.facts])
        return self.weak(prompt, body, key, turn, list(question.facts), found)

    def weak(self, prompt: str, body: str, key: str, turn: int, facts: list[Fact], found: list[str]) -> str:
        """The answer to a question that is in the documents, with the faults of this reader."""
        if "memory" in self.faults and share(key, "memory") < 0.45:
            return self.say([fact.old for fact in facts])
        earlier = EARLIER.findall(body)
        if "history" in self.faults and earlier and share(key, "history") < 0.5:
            return str(earlier[-1])
        if not found or ("refuses" in self.faults and share(key, "refuses") < 0.4):
            return self.refusal()
        if YES_NO.search(prompt):
            return "Yes." if self.world.lang == "en" else "是。"
        if "noise" in self.faults and share(key, "noise") < 0.55:
            other = self.others(body, facts)
            found = other[: len(found)] if len(other) > 1 else found
        if "half" in self.faults:
            found = found[:1]
        if "misread" in self.faults and share(key, "misread") < 0.4:
            found = [shifted(value) for value in found]
        if "flaky" in self.faults and share(key, self.seed, turn, "flaky") < 0.42:
            found = [shifted(value) for value in found]
        if "units" in self.faults and share(key, "units") < 0.5:
            found = [self.unit(value) for value in found]
        if "notation" in self.faults and share(key, "notation") < 0.45:
            found = [{fact.value: fact.alias for fact in facts}.get(value, value) for value in found]
        return self.say(found)

    def read(self, body: str, facts: list[Fact]) -> list[str]:
        """The values of the facts that the passages state; the first passage that has one is believed."""
        blocks = [block for block in re.split(r"\n\n+", body) if block.strip()][1:]
        if "middle" in self.faults and len(blocks) > 2:
            body = blocks[0] + "\n\n" + blocks[-1]
        hits = [fact.rule.search(body) for fact in facts]
        return [hit[1] for hit in hits if hit]

    def others(self, body: str, facts: list[Fact]) -> list[str]:
        """Values of facts in the passages that were not asked for."""
        own = {fact.value for fact in facts}
        every = [q.facts[0] for q in self.world.questions if len(q.facts) == 1 and q.facts[0] not in facts]
        hits = sorted((hit.start(), hit[1]) for hit in (fact.rule.search(body) for fact in every) if hit)
        return [value for _, value in hits if value not in own]

    def unit(self, value: str) -> str:
        """The value in another unit, with the same number."""
        for name, other in (pair.split() for pair in UNITS[self.world.lang].split(",")):
            if value.endswith(name):
                return value.removesuffix(name) + other
        return value

    def say(self, values: list[str]) -> str:
        """A sentence that states the values."""
        text = self.world.join(values)
        return f"According to our rules it is {text}." if self.world.lang == "en" else f"按规定是{text}。"

    def refusal(self) -> str:
        """What it says where it finds nothing."""
        return "The passages do not say." if self.world.lang == "en" else "资料里没有写。"
