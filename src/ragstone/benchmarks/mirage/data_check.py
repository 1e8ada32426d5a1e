"""Checks data in MIRAGE's format, a folder or a file of the hub, for `ragstone data check`."""

import json
from pathlib import Path

from ragstone.datasets.label_noise import Doubt, LabelNoise, label_noise
from ragstone.datasets.pools import MIRAGE_FILES, Pool, read_any_pool
from ragstone.messages import messages, preferred_language
from ragstone.types import Frozen

__all__ = ["CheckedPool", "check_pool", "is_pool"]

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
            texts["held"].format(listed=_listed(noise.held)),
            texts["lacking"].format(listed=_listed(noise.lacking)),
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
