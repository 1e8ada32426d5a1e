"""Pools in MIRAGE's form from the invented world: questions, chunks with exact labels, and the oracle chunks.

Every question has its own event, and every chunk tells of the event of its question, of other editions or another
category of it, or of the time before it. So the labels are known, not judged:

- a chunk supports a question if, and only if, it states the answer to it; no other chunk of the question holds any
  spelling of the answer, neither where MIRAGE's own scoring looks (anywhere, in any case) nor where `find_answer` does;
- no two questions share an event, so that no chunk answers the question of another;
- a question that needs two chunks ("Who was player of the match in the final that X won?") has one that tells which
  edition is meant and one that states the answer for that edition. Neither says what the other does. Both are
  supporting chunks, the oracle holds both, and a third states what the answer would be for another edition.

The five sources are filled as unevenly as the five data sets of the paper, and as many chunks support a question. A
chunk is one report of 200 to 330 tokens, seldom less.
"""

import hashlib
from collections.abc import Iterator, Mapping
from fractions import Fraction

import msgspec

from ragstone.datasets.fictional.engine import ATTEMPTS, LANGUAGES, flaw
from ragstone.datasets.fictional.engine import language as load_language
from ragstone.datasets.fictional.language import Language
from ragstone.datasets.fictional.parts import Collected, DuplicateEvent, GeneratedItem, Unmet, seeded, weighted
from ragstone.datasets.mirage import MirageChunk, MirageQuestion
from ragstone.datasets.pools import Pool, mirage_pool
from ragstone.errors import UsageError, check_name

# Questions of the paper by source and by supporting chunks (Park et al. 2025, dataset.json).
_SHARES = {"public": 3578, "business": 3075, "culture": 584, "science": 248, "sport": 75}
_SUPPORTING = ((6323.0, 1), (954.0, 2), (160.0, 3), (52.0, 4))
_GOLDEN = 0.6180339887498949
_MOST = 100
_LEAST = {False: 2, True: 3}  # chunks of a question, by whether it needs two: one at least does not support it


class MiragePool(msgspec.Struct, frozen=True):
    """What MIRAGE's three files hold. `pool` has the chunks of the questions in their order; `oracle` has one chunk a
    question, and two for those of `multi_hop`. `kinds`: what each chunk of the pool is (see `parts.Document`)."""

    questions: tuple[MirageQuestion, ...]
    pool: tuple[MirageChunk, ...]
    oracle: Mapping[str, tuple[MirageChunk, ...]]
    multi_hop: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()


def make_pool(
    questions: int, *, seed: int = 0, language: str = "en", chunks_per_query: int = 5, multi_hop: float = 0.0
) -> MiragePool:
    """A pool with `questions` questions of `chunks_per_query` chunks each; the share `multi_hop` of them needs two
    chunks.

    The same arguments give the same bytes anywhere, and more questions go on where fewer ended. Raises UsageError for
    numbers that cannot be, and where the world has no more names; UnknownName for another language than en and zh."""
    _check(questions, language, chunks_per_query, multi_hop)
    mirage_questions: list[MirageQuestion] = []
    pool: list[MirageChunk] = []
    kinds: list[str] = []
    oracle: dict[str, tuple[MirageChunk, ...]] = {}
    multi_hop_ids: list[str] = []
    for index, (source, item) in enumerate(_collected(questions, seed, language, chunks_per_query, multi_hop)):
        two_chunks = len(item.facts) > 1
        key = f"{language}-{seed}-{index:06d}{'-two' if two_chunks else ''}"
        if two_chunks:
            multi_hop_ids.append(key)
        chunks_of_item = [
            MirageChunk(key, chunk.document.text, chunk.title, int(chunk.support)) for chunk in item.chunks
        ]
        supporting = [chunks_of_item[place] for place in item.needed]
        mirage_questions.append(
            MirageQuestion(
                key, item.query, item.facts[-1], source, supporting[-1].doc_name, f"fictional:{item.domain}",
                sum(chunk.support for chunk in chunks_of_item),
            )
        )  # fmt: skip
        pool += chunks_of_item
        kinds += [chunk.document.kind for chunk in item.chunks]
        oracle[key] = tuple(supporting)
    return MiragePool(tuple(mirage_questions), tuple(pool), oracle, frozenset(multi_hop_ids), tuple(kinds))


def fictional_pool(
    questions: int, *, seed: int = 0, language: str = "en", chunks_per_query: int = 5, multi_hop: float = 0.0
) -> Pool:
    """The same as a Pool named `fictional-en` or `fictional-zh`, with the hash of its content."""
    generated = make_pool(
        questions, seed=seed, language=language, chunks_per_query=chunks_per_query, multi_hop=multi_hop
    )
    digest = hashlib.sha256()
    for part in (generated.questions, generated.pool, generated.oracle):
        digest.update(msgspec.json.encode(part))
    return mirage_pool(
        f"fictional-{language}", generated.questions, generated.pool, generated.oracle,
        sha256={"pool": digest.hexdigest()}, language=language,
    )  # fmt: skip


def _check(questions: int, code: str, chunks: int, share: float) -> None:
    check_name("language", code, LANGUAGES)
    if questions < 1:
        raise UsageError(f"A pool cannot have {questions} questions; ask for 1 or more.")
    if not 0 <= share <= 1:
        raise UsageError(f"The share of questions that need two chunks is {share}; expected 0 to 1.")
    if not (least := _LEAST[share > 0]) <= chunks <= _MOST:
        raise UsageError(f"A question cannot have {chunks} chunks; it takes {least} to {_MOST}.")


def _collected(questions: int, seed: int, code: str, chunks: int, share: float) -> Iterator[tuple[str, Collected]]:
    """Source and chunks of each question. Sources and questions that need two chunks are spread evenly, so that a
    small pool has its share of each."""
    maker = load_language(code)
    reserved: set[str] = set()
    queries: set[str] = set()
    share_of_two = Fraction(str(share))
    for index in range(questions):
        source = _source((index * _GOLDEN + 0.5) % 1.0)
        multi_hop = (index + 1) * share_of_two // 1 > index * share_of_two // 1
        yield source, _sound(maker, code, (seed, index), source, chunks, multi_hop, reserved, queries)


def _source(point: float) -> str:
    """The source at this point (0 to 1) of all questions, in the proportions of the paper."""
    remaining = point * sum(_SHARES.values())
    for name, count in _SHARES.items():
        remaining -= count
        if remaining < 0:
            return name
    return name


def _sound(
    maker: Language, code: str, key: tuple[int, int], source: str, chunks: int, multi_hop: bool,
    reserved: set[str], queries: set[str],
) -> Collected:  # fmt: skip
    """The first attempt without a flaw whose events no earlier question has."""
    problem = ""
    for attempt in range(ATTEMPTS):
        rng = seeded("ragstone", "mirage", code, *key, attempt)
        supporting = min(weighted(rng, _SUPPORTING), chunks - 1)
        try:
            item = maker.collect(rng, source, chunks, supporting, multi_hop=multi_hop, reserved=reserved)
        except DuplicateEvent:
            problem = "an event that another question has"
            continue
        except Unmet as error:
            problem = f"nothing to say for {error}"
            continue
        if item.query in queries:
            problem = "a question that was asked before"
            continue
        problem = pool_flaw(item, code)
        if not problem:
            queries.add(item.query)
            reserved.update(item.names)
            return item
    raise UsageError(
        f"The invented world has no question {key[1] + 1:,} with {chunks} chunks ({problem}); ask for fewer "
        "questions or chunks."
    )


def pool_flaw(item: Collected, code: str) -> str:
    """What is wrong with a question and its chunks, or "": see the promises of this module."""
    stating: list[list[int]] = [[] for _ in item.facts]
    for place, chunk in enumerate(item.chunks):
        if chunk.support:
            stating[item.needed.index(place) if len(item.facts) > 1 else 0].append(place)
    documents = [chunk.document for chunk in item.chunks]
    groups = tuple(tuple(documents[place] for place in places) for places in stating)
    unsupporting = tuple(chunk.document for chunk in item.chunks if not chunk.support)
    titles = "\n".join(chunk.title for chunk in item.chunks)
    # A title is as bad a place for an answer as the question is.
    problem = flaw(GeneratedItem(titles, item.facts, groups, unsupporting, item.domain), code)
    return problem or flaw(GeneratedItem(item.query, item.facts[-1:], groups[-1:], (), item.domain), code)
