"""The documents of a ferry line (English) and a museum (Chinese), their questions, chunks, and who is right."""

import csv
import json
import re
import uuid
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
REFUSALS = re.compile(r"do not say|don't know|not mentioned|没有写|不知道|没有提到")
CHUNKINGS = ("fixed", "sentences", "whole")
SCHEMES = ("uuid", "number")


def share(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return zlib.crc32("\x1f".join(map(str, parts)).encode()) % 9973 / 9973


def shifted(value: str) -> str:
    """The value with another number, as somebody misreads it."""
    return re.sub(r"\d+", lambda m: str(int(m[0]) + 3 + int(m[0]) // 4), value)


@dataclass(frozen=True)
class Fact:
    """One sentence that answers one question."""

    doc: str
    before: str
    value: str
    after: str
    old: str
    alias: str

    def sentence(self, value: str = "") -> str:
        """The sentence, with this or another value."""
        return self.before + (value or self.value) + self.after

    @property
    def rule(self) -> re.Pattern[str]:
        """What finds the value in a text."""
        before, after = (re.sub(r"(\\ )+", r"\\s+", re.escape(part)) for part in (self.before, self.after))
        return re.compile(before + r"([^.。]{1,24}?)" + after)


@dataclass(frozen=True)
class Question:
    """A question with the facts that it asks for; without one it is unanswerable."""

    text: str
    facts: tuple[Fact, ...]

    @property
    def doc(self) -> str:
        """The file that answers it."""
        return self.facts[0].doc if self.facts else ""


@dataclass(frozen=True)
class Chunk:
    """A piece of a document, as an index holds it."""

    id: str
    text: str
    doc: str


@dataclass
class World:
    """All texts of one language."""

    lang: str
    docs: dict[str, list[str | Fact]] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)

    def join(self, values: list[str]) -> str:
        """Several values in one phrase."""
        return (" and " if self.lang == "en" else "，").join(values)

    def reference(self, question: Question) -> str:
        """The right answer in short."""
        return self.join([fact.value for fact in question.facts])

    def text(self, doc: str, old: bool = False) -> str:
        """A document as it is, or as it was."""
        gap = " " if self.lang == "en" else ""
        lines = [line if isinstance(line, str) else line.sentence(line.old if old else "") for line in self.docs[doc]]
        return lines[0] + "\n" + gap.join(lines[1:])

    def find(self, text: str) -> Question | None:
        """The question that this text asks."""
        plain = text.strip().lower()
        return next((q for q in self.questions if q.text.lower() == plain), None) or next(
            (q for q in self.questions if q.text.lower() in plain), None
        )

    def write(self, folder: Path, questions: Path, references: dict[str, str]) -> None:
        """The folder of the true documents and the file of questions."""
        folder.mkdir(parents=True, exist_ok=True)
        for doc in self.docs:
            (folder / doc).write_text(self.text(doc) + "\n", encoding="utf-8")
        with questions.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(["id", "question", "reference", "document", "answerable"])
            for n, q in enumerate(self.questions):
                known = "yes" if q.facts else "no"
                out.writerow([f"q{n:02}", q.text, references.get(q.text, self.reference(q)), q.doc, known])

    def chunks(self, chunking: str, scheme: str, faults: frozenset[str]) -> list[Chunk]:
        """What the index holds, with the faults of the index."""
        pieces: list[tuple[str, str]] = []
        for n, doc in enumerate(self.docs):
            if "missing" in faults and n % 3 == 1:
                continue
            versions = [self.text(doc, old="old" in faults and n % 2 == 0)]
            if "draft" in faults and n % 2 == 0:
                versions.insert(0, self.text(doc, old=True))
            for text in versions:
                parts = split(text, chunking, self.lang)
                if "halved" in faults and n % 3 != 0:
                    parts = [half for part in parts for half in halves(part, self.lang)]
                pieces += [(doc, part) for part in parts]
        if "duplicates" in faults:
            pieces = [piece for piece in pieces for _ in range(6)]
        ids = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"{doc} {n}")) for n, (doc, _) in enumerate(pieces)]
        if scheme == "number":
            ids = [f"{doc}#{100 + 5 * n}" for n, (doc, _) in enumerate(pieces)]
        return [Chunk(name, text, doc) for name, (doc, text) in zip(ids, pieces, strict=True)]


def sentences(text: str, lang: str) -> list[str]:
    """The sentences of a text."""
    parts = re.split(r"(?<=[.?!])\s+|\n+" if lang == "en" else r"(?<=[。？！])|\n+", text)
    return [part.strip() for part in parts if part and part.strip()]


def split(text: str, chunking: str, lang: str) -> list[str]:
    """A document in pieces: fixed lengths that overlap, single sentences, or all of it."""
    if chunking == "whole":
        return [text]
    if chunking == "sentences":
        return sentences(text, lang)[1:]
    size, step = (330, 170) if lang == "en" else (90, 48)
    return [text[at : at + size] for at in range(0, max(1, len(text) - size + step), step)]


def halves(text: str, lang: str) -> list[str]:
    """Pieces of a fixed small length without an overlap, which cut sentences in the middle."""
    size = 45 if lang == "en" else 11
    return [text[at : at + size] for at in range(0, len(text), size)]


def write_index(chunks: list[Chunk], path: Path) -> None:
    """The chunks as JSON lines."""
    path.write_text(
        "".join(json.dumps({"id": c.id, "text": c.text}, ensure_ascii=False) + "\n" for c in chunks), encoding="utf-8"
    )


@cache
def world(lang: str) -> World:
    """Read the texts of a language."""
    made = World(lang)
    found: list[Fact] = []
    for line in (HERE / ("ferry.en.txt" if lang == "en" else "museum.zh.txt")).read_text(encoding="utf-8").splitlines():
        kind, _, rest = line.partition(" ")
        parts = [part.strip() for part in rest.split("|")]
        if kind == "#":  # a document: file, title, text
            doc, found = parts[0], []
            made.docs[doc] = ["# " + parts[1], *sentences(parts[2], lang)]
        elif kind == "F":  # a fact: sentence, question, earlier value, other notation, text
            before, value, after = re.split(r"[\[\]]", parts[0])
            found.append(Fact(doc, before, value, after, parts[2], parts[3]))
            made.docs[doc] += [found[-1], *sentences(parts[4], lang)]
            made.questions.append(Question(parts[1], (found[-1],)))
        else:  # a question for both facts, or questions without an answer
            made.questions += [Question(part, tuple(found) if kind == "D" else ()) for part in parts]
    return made


def holds(answer: str, value: str) -> bool:
    """Whether the answer states the value."""
    flat = re.sub(r"\s+", " ", answer).casefold()
    return re.search(r"(?<![\d.])" + re.escape(value.casefold()), flat) is not None


def right(question: Question, answer: str) -> bool:
    """The judgement: every value is stated (in either notation), or a question without an answer is refused."""
    if not question.facts:
        return REFUSALS.search(answer) is not None
    return all(holds(answer, fact.value) or holds(answer, fact.alias) for fact in question.facts)
