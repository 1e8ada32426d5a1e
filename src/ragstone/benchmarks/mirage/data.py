"""The pool of MIRAGE's questions: generated, pulled, or the user's; and its summary for `ragstone data check`.

The check names labels that the text of a chunk speaks against: chunks labelled as no support that hold an answer, and
chunks labelled as support that hold none. Neither must be wrong. A chunk can name the answer without saying that it is
the answer, and it can support one that it writes otherwise, or that follows from two of its sentences. The report names
the places to look at, and how large the noise in what is measured with these labels can be at most.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from ragstone.datasets.pool_files import MIRAGE_FILES, read_any_pool, read_mirage
from ragstone.datasets.pools import Pool, PoolQuestion
from ragstone.datasets.pull import data_folder, known_hashes
from ragstone.datasets.sources import SOURCES
from ragstone.errors import UsageError, check_name
from ragstone.messages import messages, preferred_language
from ragstone.structs import Frozen
from ragstone.text import find_answer
from ragstone.types import Passage

FICTIONAL_QUESTIONS = 200


class Doubt(Frozen, frozen=True):
    """A chunk whose label is in doubt, of a question. `alias` is the spelling of the answer that the chunk holds, from
    `start` to `end` of its text; "" where it holds none. `echoed`: the question holds this alias itself, as "Who was
    older, X or Y?" does, so that the chunk may well name it and say nothing."""

    query_id: str
    passage_id: str
    alias: str = ""
    start: int = 0
    end: int = 0
    echoed: bool = False


class LabelNoise(Frozen, frozen=True):
    """What `label_noise` found. `questions` were looked at, and their `supported` and `unsupported` chunks; those
    `without_answers` were not. `unlabelled`: unsupported chunks that contain an answer; `mislabelled`: supported
    chunks that contain none; `inside`: unsupported chunks that contain one only within other words, as "party" contains
    "art": MIRAGE's own scoring takes that for an answer."""

    questions: int
    supported: int
    unsupported: int
    unlabelled: tuple[Doubt, ...] = ()
    mislabelled: tuple[Doubt, ...] = ()
    inside: tuple[Doubt, ...] = ()
    without_answers: int = 0


def label_noise(pool: Pool) -> LabelNoise:
    """Compare the labels of a pool with what its chunks hold: for each question the chunks that were collected for it.

    An alias is found as `text.find_answer` finds it: whole words and whole numbers, however they are written. Where a
    question needs several chunks together, its supporting chunks lack the answer only if all of them do.
    """
    passages = {passage.id: passage for passage in pool.passages}
    unlabelled: list[Doubt] = []
    mislabelled: list[Doubt] = []
    inside: list[Doubt] = []
    supported = unsupported = questions = 0
    for question in pool.questions:
        aliases = _aliases(question)
        if not aliases:
            continue
        questions += 1
        gold = frozenset(question.gold)
        without: list[Doubt] = []
        for key in dict.fromkeys((*question.mapped, *question.gold)):
            occurrence = next(_occurrences(question, aliases, passages[key]), None)
            if key in gold:
                supported += 1
                without += [] if occurrence else [Doubt(question.id, key)]
                continue
            unsupported += 1
            if occurrence:
                unlabelled.append(occurrence)
            elif hidden := _within_words(question, aliases, passages[key]):
                inside.append(hidden)
        if question.together < 2 or len(without) == len(gold):
            mislabelled += without
    return LabelNoise(
        questions,
        supported,
        unsupported,
        tuple(unlabelled),
        tuple(mislabelled),
        tuple(inside),
        len(pool.questions) - questions,
    )


def _aliases(question: PoolQuestion) -> list[str]:
    return [alias for alias in dict.fromkeys(question.answers) if alias.strip()]


def _occurrences(question: PoolQuestion, aliases: list[str], passage: Passage) -> Iterator[Doubt]:
    """The first occurrence of each alias in the passage."""
    for alias in aliases:
        if spans := find_answer(alias, passage.text, question.language):
            echoed = bool(find_answer(alias, question.text, question.language))
            yield Doubt(question.id, passage.id, alias, *spans[0], echoed)


def _within_words(question: PoolQuestion, aliases: list[str], passage: Passage) -> Doubt | None:
    lower = passage.text.lower()
    for alias in aliases:
        if (start := lower.find(alias.lower())) >= 0:
            echoed = alias.lower() in question.text.lower()
            return Doubt(question.id, passage.id, alias, start, start + len(alias), echoed)
    return None


def load_pool(
    data: str | Path = "fictional",
    *,
    language: str = "en",
    seed: int = 0,
    size: int | None = None,
    multi_hop: float = 0.0,
    split: str = "",
) -> Pool:
    """The pool named by `data`: "fictional" (invented from `seed`, `size` questions), "official" (fetched by `ragstone
    data pull mirage`), or a folder or file in MIRAGE's, the hub's or BEIR's format.
    `split`: of a BEIR folder. Raises UsageError or DataError."""
    if split and data in ("fictional", "official"):
        raise UsageError(f"--split {split}: the {data} data have no splits; a BEIR folder has.")
    check_name("language", language, ("en", "zh"))
    if data == "fictional":
        from ragstone.datasets.fictional.pools import fictional_pool  # noqa: PLC0415  (the vocabulary of a world)

        return fictional_pool(size or FICTIONAL_QUESTIONS, seed=seed, language=language, multi_hop=multi_hop)
    if data == "official":
        folder = data_folder("mirage")
        if not folder.is_dir() or not any(folder.glob("*.json")):
            raise UsageError(
                "MIRAGE's files are not downloaded. Run `ragstone data pull mirage`, or name a folder: --data DIR."
            )
        return read_mirage(folder, name="official", license=SOURCES["mirage"].license)
    path = Path(data)
    if not str(data) or not path.exists():
        raise UsageError(f"--data {str(data)!r}: no such folder or file. Expected fictional, official, or a path.")
    pool = read_any_pool(path, split=split)
    if _is_official(pool, path):
        return replace(pool, name="official", license=SOURCES["mirage"].license)
    return pool


def _is_official(pool: Pool, path: Path) -> bool:
    """Whether these are the authors' files, by the known hashes and the numbers of rows."""
    source = SOURCES["mirage"]
    known = known_hashes(source, path if path.is_dir() else path.parent)
    counts = {"dataset.json": len(pool.questions), "doc_pool.json": len(pool.passages)}
    rows = {file.name: file.rows for file in source.files}
    hashes = known and all(pool.sha256.get(name) == digest for name, digest in known.items())
    return bool(hashes) and all(rows[name] == number for name, number in counts.items())


_LISTED = 3  # doubtful chunks listed in a line


class CheckedPool(Frozen, frozen=True):
    """A summary of a pool. `noise` compares the labels with the contents of the chunks."""

    path: str
    questions: int
    chunks: int
    sources: dict[str, int]
    noise: LabelNoise
    doubts: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The summary as text."""
        noise, texts = self.noise, messages(__name__, preferred_language())
        sources = texts["join"].join(f"{count:,} {name or texts['unnamed']}" for name, count in self.sources.items())
        return [
            texts["checked"].format(path=self.path, questions=self.questions, sources=sources, chunks=self.chunks),
            texts["support"].format(supported=noise.supported, unsupported=noise.unsupported),
            texts["unlabelled"].format(listed=_listed(noise.unlabelled)),
            texts["mislabelled"].format(listed=_listed(noise.mislabelled)),
            texts["inside"].format(listed=_listed(noise.inside)),
            *(f"  {doubt}" for doubt in self.doubts),
        ]


def is_pool(path: Path) -> bool:
    """Whether to check this path as a pool: a folder with MIRAGE's files, or a file whose rows have their own pool."""
    if path.is_dir():
        return any((path / f"{name}{end}").is_file() for name in MIRAGE_FILES for end in ("", ".gz"))
    if path.name in MIRAGE_FILES and is_pool(path.parent):
        return True
    if path.suffix not in (".json", ".jsonl") or not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8-sig") as stream:
            start = stream.read(1 << 16)
    except (OSError, UnicodeDecodeError):
        return False
    return '"doc_pool"' in start and '"query_id"' in start


def check_pool(path: Path) -> CheckedPool:
    """Raises DataError for the first problem."""
    pool: Pool = read_any_pool(path)
    sources: dict[str, int] = {}
    for question in pool.questions:
        sources[question.source] = sources.get(question.source, 0) + 1
    return CheckedPool(str(path), len(pool.questions), len(pool.passages), sources, label_noise(pool), pool.doubts)


def _listed(doubts: tuple[Doubt, ...]) -> str:
    if not doubts:
        return "0"
    named = ", ".join(
        doubt.passage_id + (f" ({json.dumps(doubt.alias, ensure_ascii=False)})" if doubt.alias else "")
        for doubt in doubts[:_LISTED]
    )
    return f"{len(doubts):,}: {named}{', …' if len(doubts) > _LISTED else ''}"
