"""A ferry line (English) and a botanical garden (Chinese): documents, questions, and what an index makes of them."""

import csv
import re
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from bench.diagnosis.heldout2.parts import words
from bench.diagnosis.heldout2.world import Chunk, Fact, joined, share, states

HERE = Path(__file__).parent
MARK = re.compile(r"\{(\w+)(?:=([^~{}]+)~([^~{}]+)(?:~([^~{}]+))?)?\}")
REFUSALS = re.compile(r"do not know|don't know|不知道|没有写")
MISREAD = str.maketrans("015867", "OlSBG1")
Block = list[str]


def fill(template: str, value: Callable[[str], str]) -> str:
    """A template with values."""
    return MARK.sub(lambda mark: value(mark[1]), template)


@dataclass(frozen=True)
class Question:
    """A question, its reference as a template, the facts that it states, and all that it needs; none: unanswerable."""

    text: str
    template: str
    stated: tuple[Fact, ...]
    needed: tuple[Fact, ...]
    foreign: str = ""


@dataclass
class World:
    """All texts of one language. A document is a list of blocks, and a block a list of sentences or rows."""

    lang: str
    docs: dict[str, list[Block]] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)

    @cached_property
    def counts(self) -> Counter[str]:
        """In how many sentences and rows a word is."""
        return Counter(word for doc in self.docs for block in self.blocks(doc) for s in block for word in set(words(s)))

    def blocks(self, doc: str, old: bool = False) -> list[Block]:
        """A document with its values, or with those of an earlier edition."""
        value: Callable[[str], str] = lambda key: self.facts[key].old if old else self.facts[key].value  # noqa: E731
        return [[fill(line, value) for line in block] for block in self.docs[doc]]

    def reference(self, question: Question, old: bool = False) -> str:
        """The answer that the user wrote down, or the one of an earlier edition."""
        return fill(question.template, lambda key: self.facts[key].old if old else self.facts[key].value)

    def below(self, fact: Fact) -> Fact:
        """The fact in the next row of the same column, or the next one of the same document."""
        same = [f for f in self.facts.values() if f.doc == fact.doc and f.in_table == fact.in_table]
        column = fact.carrier.split("{" + fact.key)[0].count("|")
        if fact.in_table:
            same = [f for f in same if f.carrier.split("{" + f.key)[0].count("|") == column]
        return same[(same.index(fact) + 1) % len(same)]

    def find(self, text: str) -> Question | None:
        """The last question that a text asks, in either language, or the one whose words its end has most."""
        flat = re.sub(r"\s+", " ", text).casefold()
        places = [(max(flat.rfind(name.casefold()) for name in (q.text, q.foreign) if name), q) for q in self.questions]
        place, question = max(places, key=lambda pair: pair[0])
        if place >= 0:
            return question
        asked = set(words(flat[-260:]))
        shares = [(len(asked & (own := set(words(q.text)))) / len(own), q) for q in self.questions]
        most, question = max(shares, key=lambda pair: pair[0])
        return question if most >= 0.7 else None

    def rare(self, text: str) -> list[str]:
        """The words of a text, the rarest ones of the documents first."""
        plain = re.findall(r"[A-Za-z]+|\d+", text) or [text[at : at + 2] for at in range(0, len(text) - 1, 2)]
        known = [word for word in plain if words(word)]
        return sorted(dict.fromkeys(known), key=lambda word: (self.counts[words(word)[0]] or 99, -len(word)))

    def write(self, folder: Path, file: Path, wrong: Collection[str], labelled: bool) -> None:
        """The folder of the true documents and the file of questions, some with references of an earlier edition."""
        folder.mkdir(parents=True, exist_ok=True)
        for doc in self.docs:
            (folder / doc).write_text(joined(self.blocks(doc), self.lang) + "\n", encoding="utf-8")
        with file.open("w", encoding="utf-8", newline="") as stream:
            out = csv.writer(stream)
            out.writerow(["question", "reference", "answerable"] + ["document"] * labelled)
            for q in self.questions:
                row = [q.text, self.reference(q, q.text in wrong), "yes" if q.needed else "no"]
                out.writerow(row + [";".join(dict.fromkeys(f.doc for f in q.needed))] * labelled)

    def chunks(self, chunking: str, scheme: str, faults: Collection[str]) -> list[Chunk]:
        """What the index holds, with the faults of the index."""
        pieces: list[tuple[str, str]] = []
        for n, doc in enumerate(self.docs):
            if "forgotten" in faults and n % 3 == 1:
                continue
            blocks = self.blocks(doc, old="backup" in faults and n % 2 == 0)
            if "misread" in faults and n % 2 == 1:
                blocks = [[line.translate(MISREAD) for line in block] for block in blocks]
            if "columns" in faults and n % 4 != 3:
                blocks = [across(block, self.lang) for block in blocks]
            editions = [self.blocks(doc, old=True)] if "editions" in faults and n % 2 == 0 else []
            for edition in [*editions, blocks]:
                pieces += [(doc, part) for part in cut(edition, "tiny" if "tiny" in faults else chunking, self.lang)]
        if "crawl" in faults:
            pieces = [(doc, f"{text}\n({doc}?page={n})") for doc, text in pieces for n in range(1, 8)]
        names, at = [], Counter[str]()
        for doc, text in pieces:
            names.append(f"{doc}:{at[doc]}")
            at[doc] += len(text)
        if scheme == "uuid":
            names = [str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in names]
        if scheme in ("numbers", "none"):
            names = [str(n + 1) if scheme == "numbers" else "" for n in range(len(pieces))]
        return [Chunk(name, text, doc) for name, (doc, text) in zip(names, pieces, strict=True)]


def readings(fact: Fact, text: str) -> list[str]:
    """The values that a text states for a fact, in its order: what follows the start of its sentence or row."""
    before, after = fact.carrier.split("{" + fact.key + "}")
    space = " +" if fact.in_table else r"\s+"
    head = re.sub(r"(\\ )+", lambda _: space, re.escape(MARK.sub("@@", before))).replace("@@", "[^|\n]{1,24}?")
    tail = r" *\|" if fact.in_table else re.sub(r"(\\ )+", lambda _: space, re.escape(after[:5]))
    tail += r"(?=\s|$)" if after in ".," else ""
    return re.findall(head + r"([^|\n]{1,30}?)(?=" + tail + r"|\s*\n\n|\s*$)", text)


def across(block: Block, lang: str) -> Block:
    """A paragraph that was set in two columns, read from left to right over both."""
    if block[0][0] in "#|" or len(block) < 2:
        return block
    gap, size = (" ", 4) if lang == "en" else ("", 7)
    units = gap.join(block).split() if gap else list("".join(block))
    half = (len(units) + 1) // 2
    left, right_side = units[:half], units[half:]
    lines = [gap.join(left[at : at + size] + right_side[at : at + size]) for at in range(0, half, size)]
    return ["\n".join(lines)]


def parts(block: Block, gap: str) -> list[str]:
    """A block in pieces: pairs of sentences, and pairs of rows with the names of the columns."""
    if block[0][0] == "|":
        return ["\n".join([*block[:2], *block[at : at + 2]]) for at in range(2, len(block), 2)]
    return [gap.join(block[at : at + 2]) for at in range(0, len(block), 2)]


def cut(blocks: list[Block], chunking: str, lang: str) -> list[str]:
    """A document in pieces: whole blocks up to a length, windows of sentences, blocks with a path, or sections."""
    gap, size = (" ", 190) if lang == "en" else ("", 75)
    flat = [joined([block], lang) for block in blocks]
    if chunking == "tiny":
        step = 44 if lang == "en" else 15
        return [text[at : at + step] for text in flat if text[0] != "#" for at in range(0, len(text), step)]
    if chunking == "windows":
        made = [text for text in flat if text[0] == "|"]
        lines = [line for block in blocks if block[0][0] not in "#|" for line in block]
        return made + [gap.join(lines[at : at + 2]) for at in range(len(lines) - 1)]
    made, path, fresh = [], [flat[0].lstrip("# ")], True
    if chunking == "packed":
        flat = [flat[0]] + [part for block in blocks[1:] for part in parts(block, gap)]
    for text in flat[1:]:
        if text[0] == "#":
            path, fresh = [path[0], text.lstrip("# ")], True
        elif chunking == "path":
            made.append(" > ".join(path) + "\n\n" + text)
        elif chunking == "sections":
            made = [*made, "## " + path[-1] + "\n\n" + text] if fresh else [*made[:-1], made[-1] + "\n\n" + text]
            fresh = False
        elif made and len(made[-1]) + len(text) < size:
            made[-1] += "\n\n" + text
        else:
            made.append(text)
    return made


@cache
def world(lang: str) -> World:
    """Read the texts of a language."""
    made, doc = World(lang), ""
    asked: list[list[str]] = []
    foreign: dict[str, str] = {}
    name = "ferry.en.txt" if lang == "en" else "garden.zh.txt"
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            doc = line[4:]
            made.docs[doc] = []
        elif line.startswith("?"):
            asked += [[part.strip() for part in line[2:].split(" | ")]] if line[1:] else []
        elif line.startswith("~ "):
            foreign[asked[-1][0]] = line[2:]
        else:
            rule = r"(?<=[.?!])\s+" if lang == "en" else r"(?<=[。？！])"
            lines = [line] if line[0] in "#|" else [part for part in re.split(rule, line) if part]
            block = [MARK.sub(r"{\1}", carrier) for carrier in lines]
            for carrier, plain in zip(lines, block, strict=True):
                for mark in MARK.finditer(carrier):
                    made.facts[mark[1]] = Fact(mark[1], doc, mark[2], mark[3], mark[4] or mark[2], plain)
            last = made.docs[doc][-1] if made.docs[doc] else ["#"]
            if line[0] == last[0][0] == "|" or (line[0] not in "#|" and last[0][0] not in "#|"):
                last += block
            else:
                made.docs[doc].append(block)
    for text, *rest in asked:
        stated = tuple(made.facts[mark[1]] for mark in MARK.finditer(rest[0])) if rest else ()
        needed = stated + tuple(made.facts[key] for key in (rest[1].split() if len(rest) > 1 else ()))
        made.questions.append(Question(text, rest[0] if rest else "", stated, needed, foreign.get(text, "")))
    return made


def right(question: Question, answer: str) -> bool:
    """What a person says: each value is stated, in one notation or another; without an answer it is refused."""
    if not question.needed:
        return REFUSALS.search(answer) is not None
    return all(states(answer, fact.value) or states(answer, fact.alias) for fact in question.stated)


__all__ = ["REFUSALS", "Chunk", "Fact", "Question", "World", "fill", "right", "share", "words", "world"]
