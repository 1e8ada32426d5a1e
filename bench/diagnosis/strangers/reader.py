"""The scripted reader: it answers by rules from the text of a prompt, and errs in a fifth of questions."""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING

from bench.diagnosis.strangers import texts
from bench.diagnosis.strangers.settings import INSTRUCTIONS, share
from bench.diagnosis.strangers.words import words

if TYPE_CHECKING:
    from bench.diagnosis.strangers.settings import Settings
    from bench.diagnosis.strangers.texts import Fact, Question

REFUSALS = {"en": "I do not know; the documents do not say.", "zh": "文档中没有相关信息，无法回答。"}
_SOURCE = re.compile(
    r"(?m)^(?:\[\d+\]|<passage[^>]*>|###? ?Source[^\n]*|Document \d+:|- \(|资料\d+[:：]|文档 ?\d+[:：])"
)
_ASKED = re.compile(r"(?:Question|Q|User question|问题|用户问题)\s*[:：]\s*([^\n]+)")
_NAMES = {"en": ("Tilda Grau", "Oskar Wendt", "Nils Fabian"), "zh": ("高天乐", "温思远", "方以宁")}
_DAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
}
_UNITS = {
    "en": {"EUR": "USD", "days": "weeks", "weeks": "months", "hours": "minutes", "minutes": "hours",
           "seconds": "minutes", "months": "years", "kg": "lb", "dB": "Hz", "m3/h": "l/h", "samples": "litres"},
    "zh": {"元": "美元", "天": "周", "周": "个月", "小时": "分钟", "分钟": "小时", "秒": "分钟", "个月": "年",
           "公斤": "斤", "分贝": "赫兹", "立方米": "升", "份": "升"},
}  # fmt: skip


def distort(value: str, language: str) -> str:
    """Another value of the same kind."""
    days = _DAYS[language]
    if value in days:
        return days[(days.index(value) + 2) % 7]
    if language == "zh" and (found := re.search(r"第([一二三四五六])天", value)):
        return "第" + "二三四五六一"["一二三四五六".index(found[1])] + "天"
    if not re.search(r"\d", value):
        if value.endswith(" day"):
            return "second day"
        return _NAMES[language][int(share(value) * 3)]
    first = re.search(r"\d+", value)
    assert first is not None
    number = str(int(first[0]) + (3 if int(first[0]) < 20 else 11))
    return value[: first.start()] + number + value[first.end() :]


def other_units(value: str, language: str) -> str:
    """The same number in a wrong unit."""
    for unit, wrong in _UNITS[language].items():
        if re.search(rf"\b{unit}\b" if language == "en" else rf"(?<=\d){unit}|(?<=时){unit}", value):
            return value.replace(unit, wrong, 1)
    if language == "zh" and "立方米" in value:
        return value.replace("立方米", "升")
    return value


class Reader:
    """A model that reads. Calls of one question are counted for its random errors."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.language = settings.language
        asked = [*texts.questions(self.language), *texts.questions(self.language, "fresh")]
        self.known = {question.text: question for question in asked}
        self.calls: Counter[str] = Counter()
        self.lock = threading.Lock()

    def complete(self, prompt: str) -> str:
        """The reply to a prompt."""
        question = self._question(prompt)
        if question is None:
            return self._unknown(prompt)
        with self.lock:
            self.calls[question.text] += 1
            number = self.calls[question.text]
        context = prompt.replace(question.text, " ")
        return self._brief(self._answer(question, context, prompt, number), question, prompt)

    def _question(self, prompt: str) -> Question | None:
        """What the prompt asks: the question that stands last in it; or an earlier one, if it confuses turns."""
        asked = _ASKED.findall(prompt)
        last = asked[-1] if asked else prompt
        found = {prompt.rfind(text): text for text in self.known if text in last}
        if not found:
            return None
        return self.known[found[max(found)]]

    def _told(self, fault: str, prompt: str) -> bool:
        return INSTRUCTIONS[fault][self.language] in prompt

    def _answer(self, question: Question, context: str, prompt: str, number: int) -> str:
        settings, text = self.settings, question.text
        earlier = re.search(r"(?:Assistant|助手)\s*[:：]\s*([^\n]+)", context)
        if earlier and share("turns", text) < 0.6:
            return earlier[1]
        if settings.has("flaky") and random.Random(f"{settings.seed}|flaky|{text}|{number}").random() < 0.45:
            return self._err(question, context, share(text, number))
        chance = random.Random(f"{settings.seed}|{text}|{number}").random()
        if share("own150", settings.app, text) < 0.1 or chance < 0.1:
            return self._err(question, context, share(text))
        if self._told("refuses_often", prompt) and share("unsure", text) < 0.5:
            return REFUSALS[self.language]
        values = self._values(question, context)
        if not values:
            return self._without(context) if self._told("never_refuses", prompt) else REFUSALS[self.language]
        return self._sentence(values, text)

    def _values(self, question: Question, context: str) -> list[str]:
        """The values of the facts that the passages state, with the traits of this model."""
        settings, text = self.settings, question.text
        if settings.has("from_memory") and question.keys and share("memory", text) < 0.45:
            return [distort(fact.value, self.language) for fact in question.facts()]
        if settings.has("middle_lost"):
            context = self._ends(context)
        found = [(fact, value) for fact in question.facts() if (value := self._find(fact, context))]
        if settings.has("half_answer"):
            found = found[:1]
        values = [self._said(fact, value) for fact, value in found]
        if found and settings.has("misreads") and share("misread", text) < 0.45:
            values = [distort(value, self.language) for value in values]
        if found and settings.has("others_confuse") and share("confused", text) < 0.5:
            values = self._confused(found, values, context)
        if settings.has("wrong_units"):
            values = [other_units(value, self.language) for value in values]
        return values

    def _find(self, fact: Fact, context: str) -> str:
        for found in fact.pattern.finditer(context):
            if not re.search("几|多少", found[1]):
                return str(found[1]).strip()
        return ""

    def _said(self, fact: Fact, value: str) -> str:
        return fact.other if self.settings.has("other_notation") and value == fact.value else value

    def _ends(self, context: str) -> str:
        """What a model sees that does not see the middle of a long prompt."""
        parts = [part for part in _SOURCE.split(context) if part.strip()]
        return context if len(parts) < 5 else parts[0] + "\n" + parts[1] + "\n" + parts[-1]

    def _confused(self, found: list[tuple[Fact, str]], values: list[str], context: str) -> list[str]:
        """Another passage's value, where there are other passages."""
        passages = [part for part in _SOURCE.split(context) if part.strip()][1:]
        others = [part for part in passages if not any(fact.pattern.search(part) for fact, _ in found)]
        return [distort(value, self.language) for value in values] if len(others) >= 2 else values

    def _err(self, question: Question, context: str, kind: float) -> str:
        """An error of the model's own."""
        if not question.keys:
            return self._without(context)
        values = [value for fact in question.facts() if (value := self._find(fact, context))]
        if not values or kind < 0.3:
            return REFUSALS[self.language]
        return self._sentence([distort(value, self.language) for value in values], question.text)

    def _without(self, context: str) -> str:
        """A guess: a value that stands in the passages, whatever it is about."""
        known = [value for fact in texts.facts(self.language).values() if (value := self._find(fact, context))]
        start = "It is " if self.language == "en" else "是"
        return start + (known[0] if known else ("EUR 500" if self.language == "en" else "500元")) + "."

    def _sentence(self, values: list[str], text: str) -> str:
        joined = texts.join(values, self.language)
        forms = ("According to the documents it is {0}.", "{0}", "The answer is {0}, as the documents state.")
        if self.language == "zh":
            forms = ("根据文档，答案是{0}。", "{0}", "文档规定为{0}。")
        return forms[int(share("form", text) * 3)].format(joined)

    def _brief(self, answer: str, question: Question, prompt: str) -> str:
        """The answer as the prompt's instructions want it."""
        english = self.language == "en"
        if self._told("told_brief", prompt):
            return ("According to the documents it is " if english else "根据文档规定，答案是")[: 15 if english else 5]
        if self._told("section_only", prompt):
            return (
                ("Working conditions" if english else "公司制度")
                if question.document < "m"
                else ("Services" if english else "业务")
            )
        if self._told("rounds_figures", prompt) and answer != REFUSALS[self.language]:
            return "It is a moderate amount, as is usual." if english else "数量适中，与惯例相符。"
        return answer

    def _unknown(self, prompt: str) -> str:
        """A question without a rule: the sentence of the prompt that has most of its words."""
        asked = _ASKED.findall(prompt)
        if not asked:
            return REFUSALS[self.language]
        wanted = set(words(asked[-1]))
        parts = re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n", prompt.replace(asked[-1], " "))
        best = max(parts, key=lambda part: len(wanted & set(words(part))))
        return best.strip() if len(wanted & set(words(best))) * 2 >= max(2, len(wanted)) else REFUSALS[self.language]
