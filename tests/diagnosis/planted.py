"""A small world and a RAG system of the tests with faults that can be switched on: what is wrong with it is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from ragstone.responses.stages import stage_step
from ragstone.types import NO_ANSWER, Passage, Query, Response, Step

__all__ = ["Planted", "documents", "questions"]

_NAMES = ("Arvo", "Belka", "Cirro", "Dulan", "Evtar", "Forno", "Gorma", "Hesta", "Ilvar", "Jotun", "Kerno", "Lumia")
_ZH = ("阿沃", "贝卡", "西罗", "杜兰", "埃塔", "福诺", "戈玛", "赫斯", "伊瓦", "约顿", "科诺", "卢米")
SIZE = 24
REFUSAL = "The documents do not contain the answer."


def _weight(number: int) -> str:
    return f"{310 + 7 * number}"


def _name(number: int) -> str:
    return f"{_NAMES[number]} pump" if number < 12 else f"{_ZH[number - 12]}泵"


def documents() -> list[Passage]:
    """A document for each pump; the weight stands in its second sentence."""
    texts = [f"{_name(n)}: a pump of the north works. It weighs {_weight(n)} kg." if n < 12
             else f"{_name(n)}是北厂生产的泵。它重{_weight(n)}公斤。" for n in range(SIZE)]  # fmt: skip
    return [Passage(f"doc{n:02d}", text) for n, text in enumerate(texts)]


def questions() -> list[dict[str, Any]]:
    """A question for each pump, and two about pumps that no document has."""
    rows = [
        {"id": f"q{n:02d}", "question": f"How much does the {_name(n)} weigh?" if n < 12 else f"{_name(n)}有多重？",
         "reference": _weight(n), "answerable": True, "document": f"doc{n:02d}"}
        for n in range(SIZE)
    ]  # fmt: skip
    rows += [
        {"id": f"u{n}", "question": f"How much does the {name} pump weigh?", "answerable": False}
        for n, name in enumerate(("Zorba", "Yakut"))
    ]
    return rows


@dataclass
class Planted:
    """Ranks documents by shared words, gives the first `k` of ten to its reader, which answers with the weight of the
    pump that is asked about. `faults` are those of `answer`; a fault concerns the questions whose pump is in
    `concerned`. It counts what it was asked."""

    faults: frozenset[str] = frozenset()
    concerned: range = range(0, SIZE, 4)
    k: int = 4
    accepts: frozenset[str] = frozenset({"passages", "k", "retrieve", "history", "language"})
    id: str = "planted"
    asked: list[Query] = field(default_factory=list)

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "planted", "faults": sorted(self.faults)}

    def has(self, fault: str, number: int | None) -> bool:
        """Whether this fault concerns a pump; None is one that no document has."""
        return fault in self.faults and number in self.concerned

    async def answer(self, query: Query, /) -> Response:
        self.asked.append(query)
        number = next((n for n in range(SIZE) if _name(n) in query.question), None)
        if number is None:  # a search for the reference
            number = next((n for n in range(SIZE) if query.question == _weight(n)), None)
        if query.passages is not None:
            return Response(self._read(query, number, query.passages), query.passages)
        rewritten = query.question
        if self.has("rewriter", number) and not query.retrieve_only:
            rewritten = "How much does it weigh?"
        fetched = self._search(rewritten, number, query)
        if query.retrieve_only:
            return Response("", tuple(fetched), (stage_step("fetch", fetched),), finish_reason=NO_ANSWER)
        k = query.k or self.k
        ranked = fetched[::-1] if self.has("reranker", number) else fetched
        prompt = ranked[: 1 if self.has("k", number) and query.k is None else k]
        steps = [Step("rewrite", query.question, [rewritten])] if rewritten != query.question else []
        steps += [stage_step("fetch", fetched), stage_step("rerank", ranked), stage_step("prompt", prompt)]
        return Response(self._read(query, number, prompt), tuple(prompt), tuple(steps))

    def _search(self, text: str, number: int | None, query: Query) -> list[Passage]:
        documents_now = [item for n, item in enumerate(documents()) if not (self.has("missing", n))]
        if "stale" in self.faults:
            documents_now = [replace(item, text=item.text.replace(_weight(n), "999")) if self.has("stale", n) else item
                             for n, item in enumerate(documents_now)]  # fmt: skip
        first = [item for item in documents_now if number is not None and item.id == f"doc{number:02d}"]
        if "weigh?" in text and not any(_name(n) in text for n in range(SIZE)) and "pump" not in text:
            first = []
        others = [item for item in documents_now if number is None or item.id != f"doc{number:02d}"]
        found = [*first, *others]
        if self.has("lost", number):
            found = others
        if self.has("k", number) and "?" in text + text.replace("？", "?"):
            found = [others[0], *first, *others[1:]]
        if self.has("last", number):
            found = [*others[:9], *first, *others[9:]]
        return found[: max(10, query.k or 0)] if not self.has("lost", number) else found[:10]

    def _read(self, query: Query, number: int | None, passages: Any) -> str:
        passages = list(passages)
        repeat = query.repeat
        if self.has("always_refuses", number):
            return REFUSAL
        if self.has("memory", number) and number is not None:
            return f"It weighs {_weight(number + 40)} kg."
        if self.has("flaky", number) and number is not None and repeat == 0:
            return "It weighs 1 kg." if query.passages is None else f"It weighs {_weight(number)} kg."
        if self.has("middle", number) and len(passages) > 2:
            passages = passages[-1:]
        if self.has("confused", number) and len(passages) > 1:
            return f"It weighs {_weight((number or 0) + 50)} kg."
        own = next((item for item in passages if number is not None and _name(number) in item.text), None)
        if own is None:
            return "It weighs 5 kg." if "never_refuses" in self.faults else REFUSAL
        weight = next(word for word in own.text.replace("重", " ").replace("公斤", " ").split() if word[:1].isdigit())
        return f"It weighs {weight} kg."
