"""True documents in two languages, indexes of them that lack some, hold old versions or contradictions, and a reader:
what is wrong with an index is known, whatever its chunks and ids are."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ragstone.text import sentences
from ragstone.types import Passage

__all__ = ["CHUNKERS", "FAULTS", "ID_SCHEMES", "QUESTIONS", "Application", "index_of", "served", "truth"]

_NAMES = ("Arvo", "Belka", "Cirro", "Dulan", "Evtar", "Forno", "Gorma", "Hesta", "Ilvar", "Jotun")
_ZH = ("阿沃", "贝卡", "西罗", "杜兰", "埃塔", "福诺", "戈玛", "赫斯", "伊瓦", "约顿")
_FAULTY = range(0, 20, 2)  # numbers of the documents that a fault concerns
REFUSAL = {"en": "The documents do not say.", "zh": "文档中没有答案。"}
FAULTS = {"missing": "not_in_index", "old": "stale", "draft": "contradiction"}
_FIGURE = re.compile(r"(\d+) (?:days|kg)|(\d+)(?:天|公斤)")


def _name(number: int) -> str:
    return _NAMES[number] if number < 10 else _ZH[number - 10]


def _value(number: int) -> int:
    return 310 + 7 * number


def _text(number: int, value: int) -> str:
    name = _name(number)
    if number < 10:
        return (
            f"# The {name} plant\n\nThe {name} plant stands at the river, and its doors are of oak.\n\nEach spring its "
            f"people paint the gates. The main boiler of {name} weighs {value} kg without its feet. Visitors ring the "
            f"bell twice.\n\nThe yard of {name} is closed on holidays."
        )
    return (
        f"# {name}厂\n\n{name}厂位于河边，大门是橡木做的。\n\n每年春天人们给栅栏刷漆。{name}厂的主锅炉重{value}公斤，"
        f"不含支脚。来访者按两次铃。\n\n{name}厂的院子在节假日关闭。"
    )


def _draft(number: int, value: int) -> str:
    name = _name(number)
    if number < 10:
        return f"Draft of the inspection\n\nThe inspector writes: the main boiler of {name} weighs {value} kg."
    return f"检查草稿\n\n检查员写道：{name}厂的主锅炉重多少公斤？{name}厂的主锅炉重{value}公斤。"


def truth() -> list[Passage]:
    """The true documents."""
    return [Passage(f"plants/{n:02d}.md", _text(n, _value(n))) for n in range(20)]


QUESTIONS: list[dict[str, Any]] = [
    {"id": f"q{n:02d}", "reference": str(_value(n)), "document": f"plants/{n:02d}.md",
     "question": f"How much does the main boiler of {name} weigh?" if n < 10 else f"{name}厂的主锅炉重多少公斤？"}
    for n, name in enumerate((*_NAMES, *_ZH))
]  # fmt: skip


def _documents(fault: str) -> list[Passage]:
    found = truth()
    for n in _FAULTY:
        if fault == "old":
            found[n] = Passage(found[n].id, _text(n, 9000 + n))
        if fault == "draft":
            found.append(Passage(f"drafts/{n:02d}.txt", _draft(n, 9000 + n)))
    return [one for n, one in enumerate(found) if not (fault == "missing" and n in _FAULTY)]


def _windows(text: str) -> Iterator[str]:
    size, step = (120, 60) if text.isascii() else (50, 25)
    yield from (text[at : at + size] for at in range(0, max(1, len(text) - step), step))


CHUNKERS: Mapping[str, Callable[[str], list[str]]] = {
    "whole": lambda text: [text],
    "paragraphs": lambda text: [part for part in text.split("\n\n") if part.strip()],
    "windows": lambda text: list(_windows(text)),
}
ID_SCHEMES: Mapping[str, Callable[[str, int, int], str]] = {
    "file": lambda document, part, place: f"{document}#{part + 1}",
    "numbers": lambda document, part, place: str(place),
    "other": lambda document, part, place: f"kb/v2/{7 * place:05x}",
}


def index_of(fault: str, chunker: str = "paragraphs", ids: str = "file") -> list[Passage]:
    """The chunks of the index with this fault; "" is a sound one."""
    chunks: list[Passage] = []
    for document in _documents(fault):
        for part, text in enumerate(CHUNKERS[chunker](document.text)):
            chunks.append(Passage(ID_SCHEMES[ids](document.id, part, len(chunks)), text))
    return chunks


def expected(fault: str) -> dict[str, str]:
    """The cause of each question that fails."""
    return {f"q{n:02d}": FAULTS[fault] for n in _FAULTY}


def _terms(text: str) -> set[str]:
    pairs = (text[n : n + 2] for n in range(len(text) - 1) if text[n] > "一")
    return {*re.findall(r"[a-z]+|\d+", text.lower()), *pairs}


@dataclass
class Application:
    """Searches its chunks by shared words, the later of equal ones first, and answers with the weight in the first
    sentence that is about the plant in question."""

    chunks: list[Passage]
    k: int = 6
    asked: list[str] = field(default_factory=list)

    def search(self, query: str, k: int = 6) -> list[dict[str, str]]:
        terms = _terms(query)
        order = sorted(enumerate(self.chunks), key=lambda one: (-len(terms & _terms(one[1].text)), -one[0]))
        return [{"id": chunk.id, "text": chunk.text} for _, chunk in order[:k]]

    def ask(self, question: str, passages: Any = None, k: int | None = None) -> dict[str, Any]:
        self.asked.append(question)
        found = self.search(question, k or self.k) if passages is None else list(passages)
        texts = [one if isinstance(one, str) else one["text"] if isinstance(one, dict) else one.text for one in found]
        name = next((_name(n) for n in range(20) if _name(n) in question), "")
        for part in (part for text in texts for part in sentences(text)):
            if name and name in part and (figure := _FIGURE.search(part)):
                value = figure[1] or figure[2]
                answer = f"It weighs {value} kg." if question.isascii() else f"重{value}公斤。"
                return {"answer": answer, "contexts": found}
        return {"answer": REFUSAL["en" if question.isascii() else "zh"], "contexts": found}


@contextmanager
def served(application: Application) -> Iterator[str]:
    """The address of the application behind HTTP, whose body has `question`, `passages` and `k`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = application.ask(body["question"], body.get("passages"), body.get("k"))
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/ask"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
