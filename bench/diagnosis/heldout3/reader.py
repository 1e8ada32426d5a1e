"""A scripted model: it reads the passages in its prompt, follows instructions there, and has weaknesses of models."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from json import dumps, loads

from bench.diagnosis.heldout3.world import Fact, Question, World, fill, readings, share, words

TEXTS = {
    "en": {
        "system": "You answer questions of guests from the numbered passages. If they hold no answer, say so.",
        "question": "Question: {}\nAnswer:",
        "refusal": "I do not know; the passages do not say.",
        "rewrite": "Rewrite the question as a query for the search.",
        "variants": "Write three versions of the question, one a line, for the search.",
        "grade": "Does the passage help with the question? Say yes or no.",
        "private": "For privacy, leave out names, products and places.",
        "translate": "Write it in German.",
        "word": "Answer with at most two words.",
        "strict": "Answer only if one passage has all the words of the question, else say that you do not know.",
        "style": "Use the house style for amounts and times.",
        "always": "Never say that you do not know; guests expect an answer.",
        "lead": "Let me look at what the passages say about this.",
        "busy": "The assistant is busy right now. Please try again in a minute.",
        "blocked": "This answer was withheld by our content policy.",
        "join": " and ",
    },
    "zh": {
        "system": "请根据编号的资料回答游客的问题。资料里没有答案时请直说。",
        "question": "问题：{}\n回答：",
        "refusal": "我不知道，资料里没有写。",
        "rewrite": "请把问题改写成检索语句。",
        "variants": "请写出问题的三种说法，每行一种，用于检索。",
        "grade": "这段资料对问题有帮助吗？请回答是或否。",
        "private": "为保护隐私，请去掉名称、产品和地点。",
        "translate": "请写成英语。",
        "word": "回答不得超过三个字。",
        "strict": "只有一段资料包含问题的全部词语时才可以回答，否则说不知道。",
        "style": "数量和时间请按照本园行文规范书写。",
        "always": "不要说不知道，游客希望得到答案。",
        "lead": "让我看看资料里是怎么说的。",
        "busy": "助手正忙，请稍后再试。",
        "blocked": "该回答因内容政策不予显示。",
        "join": "，",
    },
}
PASSAGE = re.compile(r"\n?\[\d+\] ")


class Reader:
    """Answers a prompt as text. A fifth of its answers may be garbled, by the number of the request."""

    def __init__(self, texts: World, faults: frozenset[str], noise: float = 0.0, seed: int = 1) -> None:
        self.world, self.faults, self.noise, self.seed = texts, faults, noise, seed
        self.say = TEXTS[texts.lang]
        self.numbers = count(1)

    def chance(self, number: int, kind: str) -> float:
        """A number in [0, 1) that belongs to a request."""
        return share(self.seed, number, kind)

    def __call__(self, prompt: str) -> str:
        """The reply to a prompt: an answer, or a query, its versions, or a grade."""
        number, say = next(self.numbers), self.say
        question = self.world.find(prompt)
        if say["rewrite"] in prompt or say["variants"] in prompt:
            text = question.text if question else prompt.strip().split("\n")[-1]
            if say["translate"] in prompt:
                text = question.foreign if question and question.foreign else text
            return self.query(text, say["private"] in prompt, say["variants"] in prompt)
        if say["grade"] in prompt:
            return self.grade(question, prompt)
        answer = self.answer(question, prompt, number)
        if "short_output" in self.faults:
            answer = say["lead"] + " " + answer
            answer = answer[: 62 if self.world.lang == "en" else 22]
        return answer

    def query(self, text: str, private: bool, several: bool) -> str:
        """A question as a query, or as three of them."""
        if private:
            for word in self.world.rare(text)[: 3 if self.world.lang == "en" else 4]:
                text = text.replace(word, "…")
        plain = text.rstrip("?？ ")
        return "\n".join([text, plain, re.sub(r"^(What|How|Who|请问)\s*", "", plain)]) if several else plain

    def grade(self, question: Question | None, prompt: str) -> str:
        """Whether a passage helps."""
        passage = prompt.split(self.say["grade"])[1]
        helps = question is not None and (
            any(readings(fact, passage) for fact in question.needed)
            or len(set(words(question.text)) & set(words(passage.split(question.text)[0]))) >= 3
        )
        return ("yes" if helps else "no") if self.world.lang == "en" else ("是" if helps else "否")

    def answer(self, question: Question | None, prompt: str, number: int) -> str:
        """The answer to a question from the passages of a prompt."""
        say, seen = self.say, prompt
        if question is None:
            return say["refusal"]
        passages = PASSAGE.split(prompt.rsplit(question.text, 1)[0])[1:]
        if "middle" in self.faults and len(passages) > 2:
            seen = passages[0] + "\n\n" + passages[-1]
        if say["strict"] in prompt and not self.literal(question, passages):
            return say["refusal"]
        told = {}
        for fact in question.needed:
            value = self.value(fact, seen, question, len(passages))
            if value:
                told[fact.key] = value
        if self.chance(number, "noise") < self.noise or self.fails(number):
            if self.chance(number, "kind") < 0.4 or not question.needed:
                return say["refusal"] if question.needed else self.guess(question)
            told = {fact.key: self.world.below(fact).value for fact in question.needed}
        if len(told) < len(question.needed) or not told:
            return self.guess(question) if say["always"] in prompt else say["refusal"]
        return self.phrase(question, told, prompt)

    def fails(self, number: int) -> bool:
        """Whether the model talks nonsense this time."""
        return "feverish" in self.faults and self.chance(number, "fever") < 0.5

    def guess(self, question: Question) -> str:
        """Something that sounds like an answer."""
        facts = list(self.world.facts.values())
        fact = (
            self.world.below(question.needed[-1]) if question.needed else facts[int(share(question.text) * len(facts))]
        )
        return fact.old

    def literal(self, question: Question, passages: list[str]) -> bool:
        """Whether one passage has most words of a question."""
        own = set(words(question.text))
        return any(len(own & set(words(text))) >= 0.7 * len(own) for text in passages)

    def value(self, fact: Fact, text: str, question: Question, passages: int) -> str:
        """What the model takes from a text for a fact."""
        if "remembers" in self.faults and share(fact.key, "memory") < 0.4:
            return fact.old
        found = readings(fact, text)
        other = self.world.below(fact)
        crowded = "crowd" in self.faults and passages > 2 and share(question.text, "crowd") < 0.5
        if found and (crowded or ("rows" in self.faults and fact.in_table)):
            found = [*readings(other, text), other.value] if crowded else (readings(other, text) or found)
        return found[0] if found else ""

    def phrase(self, question: Question, told: dict[str, str], prompt: str) -> str:
        """Values in words: alone, or in the sentence that states them."""
        for fact in question.stated:
            if self.say["style"] in prompt and told[fact.key] == fact.value and share(fact.key, "style") < 0.6:
                told[fact.key] = fact.alias
        values = [told[fact.key] for fact in question.stated]
        if self.say["word"] in prompt:
            return " ".join(values[0].split()[:2]) if self.world.lang == "en" else values[0][:3]
        if share(question.text, "form") < 0.25 or any(fact.in_table for fact in question.stated):
            return self.say["join"].join(values)
        gap = " " if self.world.lang == "en" else ""
        return gap.join(fill(fact.carrier, lambda key: told[key]) for fact in question.stated)


@contextmanager
def endpoint(talk: Callable[[str], str]) -> Iterator[str]:
    """The reader behind an address that speaks OpenAI's protocol."""

    class Handler(BaseHTTPRequestHandler):
        """One request for a chat completion."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer it."""
            asked = loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = talk("\n".join(message["content"] for message in asked["messages"]))
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            reply = {"id": "x", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
            body = dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
