"""A workshop (English) and a tea cooperative (Chinese): documents with tables, questions, chunks, and who is right."""

import csv
import json
import re
import uuid
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
MARK = re.compile(r"\{(\w+)(?:=([^~{}]+)~([^~{}]+)~([^~{}]+))?\}")
REFUSALS = re.compile(r"cannot find|does not cover|can't find|没有提到|查不到|不在资料")


def share(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return zlib.crc32("\x1f".join(map(str, parts)).encode()) % 9973 / 9973


@dataclass(frozen=True)
class Fact:
    """A value in a sentence or in the row of a table."""

    key: str
    doc: str
    value: str
    old: str
    alias: str
    carrier: str  # the sentence or row, with {key} for each value

    @property
    def rule(self) -> re.Pattern[str]:
        """What finds the value in a text: its sentence up to the value, and what follows or the end of a passage."""
        before, after = self.carrier.split("{" + self.key + "}")
        head, tail = (re.sub(r"(\\ )+", r"\\s+", re.escape(MARK.sub("@@", part))) for part in (before, after[:6]))
        tail = after[0] + r"(?=\s|$)" if after[0] in ",." else after[0] if after[0] in "，。" else tail
        return re.compile(head.replace("@@", "[^|]{1,24}?") + r"([^|\n]{1,24}?)(?=" + tail + r"|\s*\n\n|\s*$)")

    @property
    def in_table(self) -> bool:
        """Whether a table has it."""
        return self.carrier.startswith("|")


@dataclass(frozen=True)
class Question:
    """A question, its reference as a template, and the facts that it needs; without one it is unanswerable."""

    text: str
    template: str
    facts: tuple[Fact, ...]
    foreign: str  # the same in English, if it is Chinese

    @property
    def doc(self) -> str:
        """The files that answer it."""
        return ";".join(dict.fromkeys(fact.doc for fact in self.facts))


@dataclass(frozen=True)
class Chunk:
    """A piece of a document, as an index holds it."""

    id: str
    text: str
    doc: str


def fill(template: str, value: Callable[[str], str]) -> str:
    """A template with values."""
    return MARK.sub(lambda m: value(m[1]), template)


@dataclass
class World:
    """All texts of one language. A document is a list of blocks, and a block a list of sentences or rows."""

    lang: str
    docs: dict[str, list[list[str]]] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)

    def reference(self, question: Question) -> str:
        """The right answer, as the user wrote it down."""
        return fill(question.template, lambda key: self.facts[key].value)

    def near(self, fact: Fact) -> str:
        """The value that stands next to a fact in its document, of the same table or section where there is one."""
        same = [f for f in self.facts.values() if f.doc == fact.doc and f.key != fact.key]
        same.sort(key=lambda f: (f.in_table != fact.in_table, f.key.split("_")[0] != fact.key.split("_")[0]))
        return same[0].value if same else fact.old

    def find(self, text: str) -> Question | None:
        """The question that a text asks, in either language."""
        plain = text.strip().casefold()
        for q in self.questions:
            if q.text.casefold() == plain or (q.foreign and q.foreign.casefold() == plain):
                return q
        return None

    def blocks(self, doc: str, old: bool = False) -> list[list[str]]:
        """A document with its values, or with those of a year ago."""
        value: Callable[[str], str] = lambda key: self.facts[key].old if old else self.facts[key].value  # noqa: E731
        return [[fill(line, value) for line in block] for block in self.docs[doc]]

    def text(self, doc: str) -> str:
        """A document as it is."""
        return joined(self.blocks(doc), self.lang)

    def write(self, folder: Path, file: Path, wrong: dict[str, str], labelled: bool, foreign: Collection[str]) -> None:
        """The folder of the true documents and the file of questions, with wrong references by question."""
        folder.mkdir(parents=True, exist_ok=True)
        for doc in self.docs:
            (folder / doc).write_text(self.text(doc) + "\n", encoding="utf-8")
        with file.open("w", encoding="utf-8", newline="") as stream:
            out = csv.writer(stream)
            out.writerow(["id", "question", "reference", "answerable"] + ["document"] * labelled)
            for n, q in enumerate(self.questions):
                text = q.foreign if q.text in foreign else q.text
                row = [f"{self.lang}-{n + 1}", text, wrong.get(q.text, self.reference(q)), "yes" if q.facts else "no"]
                out.writerow(row + [q.doc] * labelled)

    def chunks(self, chunking: str, scheme: str, faults: Collection[str]) -> list[Chunk]:
        """What the index holds, with the faults of the index."""
        pieces: list[tuple[str, str]] = []
        for n, doc in enumerate(self.docs):
            blocks = self.blocks(doc, old="last_year" in faults and n % 2 == 0)
            if "unparsed" in faults:
                blocks = [block for block in blocks if not block[0].startswith("|")]
            if "flattened" in faults:
                blocks = [part for block in blocks for part in (flattened(block) if block[0][0] == "|" else [block])]
            if "first_page" in faults:
                blocks = blocks[:4]
            parts = split(blocks, "clauses" if "clauses" in faults else chunking, self.lang)
            pieces += [(doc, part) for part in parts]
        if "forum" in faults:
            pieces = [*self.posts(), *pieces]
        if "mirrors" in faults:
            pieces = [(doc, prefix + text) for doc, text in pieces for prefix in MIRRORS[self.lang]]
        names = [f"{doc}#{n + 7}" for n, (doc, _) in enumerate(pieces)]
        if scheme == "hash":
            names = [uuid.uuid5(uuid.NAMESPACE_OID, name).hex for name in names]
        if scheme == "running":
            names = [f"{4100 + 3 * n:06}" for n in range(len(pieces))]
        return [Chunk(name, text, doc) for name, (doc, text) in zip(names, pieces, strict=True)]

    def posts(self) -> list[tuple[str, str]]:
        """Posts of a forum that repeat sentences of half of the facts with the values of a year ago."""
        head = "Forum, answered by a member: " if self.lang == "en" else "论坛里社员的回答："
        told = [fact for fact in self.facts.values() if share(fact.key, "forum") < 0.5]
        return [("forum", head + fill(f.carrier, lambda key: self.facts[key].old)) for f in told]


MIRRORS = {
    "en": ("", "Mirror, phone: ", "Mirror for print. ", "Cached copy 3: ", "From the intranet: ", "Snapshot, May: "),
    "zh": ("", "手机版：", "打印版。", "缓存副本三：", "内网：", "五月快照："),
}


def joined(blocks: list[list[str]], lang: str) -> str:
    """Blocks as a Markdown text."""
    gap = " " if lang == "en" else ""
    return "\n\n".join(("\n" if block[0].startswith("|") else gap).join(block) for block in blocks)


def flattened(table: list[str]) -> list[list[str]]:
    """A table as some parsers see it: a block for each column."""
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table if "---" not in row]
    return [["  ".join(row[column] for row in rows)] for column in range(len(rows[0]))]


def pieces_of(line: str, lang: str) -> list[str]:
    """A sentence or row in pieces that end at commas, colons and cells, and after some words."""
    made = []
    for part in re.split(r"(?<=[,:])\s|\|" if lang == "en" else r"(?<=[，：])|\|", line):
        if lang == "en":
            words = part.split()
            made += [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)]
        else:
            made += [part[at : at + 13].strip() for at in range(0, len(part.strip()), 13)]
    return [part for part in made if part.strip(" -")]


def split(blocks: list[list[str]], chunking: str, lang: str) -> list[str]:
    """A document in pieces: of a fixed length, sentences, paragraphs with their headings, sections, or clauses."""
    if chunking == "fixed":
        size, step = (420, 280) if lang == "en" else (150, 95)
        text = joined(blocks, lang)
        return [text[at : at + size] for at in range(0, max(1, len(text) - size + step), step)]
    if chunking in ("sentences", "clauses"):
        made: list[str] = []
        for block in blocks:
            if block[0].startswith("|"):
                made.append("\n".join(block))
            elif not block[0].startswith("#"):
                made += block
        if chunking == "clauses":
            made = [part for text in made for line in text.split("\n") for part in pieces_of(line, lang)]
        return made
    made, head, title = [], "", blocks[0][0]
    for block in blocks[1:]:
        if block[0].startswith("#"):
            head = block[0]
            if chunking == "headings":
                made.append(title + "\n" + head)
        elif chunking == "headings" and made and head:
            made[-1] += "\n\n" + joined([block], lang)
        else:
            made.append((head or title).lstrip("# ") + "\n" + joined([block], lang))
    return made


def write_index(chunks: list[Chunk], path: Path) -> None:
    """The chunks as JSON lines."""
    lines = [json.dumps({"id": c.id, "text": c.text}, ensure_ascii=False) for c in chunks]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@cache
def world(lang: str) -> World:
    """Read the texts of a language."""
    made, doc, asked = World(lang), "", []
    name = "workshop.en.txt" if lang == "en" else "tea.zh.txt"
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            doc = line[4:]
            made.docs[doc] = []
            continue
        if line.startswith("? "):
            asked.append([part.strip() for part in line[2:].split(" |")])
            continue
        rule = r"(?<=[.?!])\s+" if lang == "en" else r"(?<=[。？！])"
        lines = [line] if line[0] in "#|" else [part for part in re.split(rule, line) if part]
        for carrier in lines:
            plain = MARK.sub(r"{\1}", carrier)
            for mark in MARK.finditer(carrier):
                made.facts[mark[1]] = Fact(mark[1], doc, mark[2], mark[3], mark[4], plain)
        block = [MARK.sub(r"{\1}", carrier) for carrier in lines]
        if line[0] == "|" and made.docs[doc][-1][0].startswith("|"):
            made.docs[doc][-1] += block
        else:
            made.docs[doc].append(block)
    for text, *rest in asked:
        template = rest[0] if rest else ""
        facts = tuple(made.facts[mark[1]] for mark in MARK.finditer(template))
        made.questions.append(Question(text.removesuffix(" |"), template, facts, rest[1] if len(rest) > 1 else ""))
    return made


def states(answer: str, value: str) -> bool:
    """Whether an answer states a value, as a whole word or number."""
    flat = re.sub(r"\s+", " ", answer).casefold()
    return re.search(r"(?<![\d.,£])" + re.escape(value.casefold()) + r"(?![\d])", flat) is not None


def right(question: Question, answer: str) -> bool:
    """What a person says: each value is stated, in one notation or another; without an answer it is refused."""
    if not question.facts:
        return REFUSALS.search(answer) is not None
    return all(states(answer, fact.value) or states(answer, fact.alias) for fact in question.facts)
