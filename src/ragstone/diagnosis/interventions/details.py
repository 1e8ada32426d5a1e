"""What exactly to fix: missing documents, ranks and what another k held, lost words, passages that mislead."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ragstone.analysis.gold_passages import evidence_of, rank_of
from ragstone.analysis.statements import Statement, has_another_value
from ragstone.diagnosis.interventions.conditions import rivals
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.index import is_old
from ragstone.diagnosis.interventions.labels import misleading
from ragstone.diagnosis.interventions.question import fetched_of, rewritten_of
from ragstone.diagnosis.interventions.waterfall import is_drowned
from ragstone.messages import messages
from ragstone.metrics.rank import document_of
from ragstone.text import estimate_tokens, sentences, words
from ragstone.types import Passage

_MOST = 5  # things that a line names
_QUOTED = 80  # characters of an answer or a sentence
_FIRST_WORDS = 30  # characters by which a passage is known
_DROWNS = 3  # times as long as what is answered rightly: a chunk in which that may drown


def details(cause: str, items: Sequence[Diagnosed], *, language: str = "en") -> list[str]:
    """Sentences on the questions of one cause: what is lost, and where. [] if there is no more to say."""
    say = _DETAILS.get(cause)
    mine = [item for item in items if item.cause.name == cause]
    return list(say(mine, messages(__name__, language))) if say is not None and mine else []


def meaning_of(cause: str, items: Sequence[Diagnosed]) -> str:
    """The key of the text that says what shows a cause: of answers that drown in their chunks, what showed that."""
    drowned = cause == "chunking" and 2 * sum(map(is_drowned, items)) > len(items)
    return "means_chunking_drowned" if drowned else f"means_{cause}"


def rank_of_gold(item: Diagnosed) -> int | None:
    """The rank at which the gold stood in what was fetched, else in the deepest search; None if it was in neither."""
    evidence = item.evidence
    names = ("as_is", "k4", "k2", "search_deep")
    responses = [response for name in names if (response := evidence.response(name)) is not None]
    ranks = (rank_of(fetched_of(response), evidence.gold, evidence.slots) for response in responses)
    return next((rank for rank in ranks if rank is not None), None)


def _counted(names: Counter[str], texts: Mapping[str, str]) -> str:
    shown = [f"{name} ({count})" if count > 1 else name for name, count in names.most_common(_MOST)]
    return texts["join"].join(shown) + (texts["more"].format(n=len(names) - _MOST) if len(names) > _MOST else "")


def _missing(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
    if old := _old(items, texts):
        yield texts["old"].format(names=_counted(old, texts))
    needed = Counter(document_of(gold.id, ()) for item in items for gold in item.evidence.gold)
    if needed:
        yield texts["documents"].format(names=_counted(needed, texts))
    nearest = Counter(
        _named(fetched_of(item.evidence.first)[0])
        for item in items
        if item.evidence.first is not None and fetched_of(item.evidence.first)
    )
    if nearest:
        yield texts["nearest"].format(names=_counted(nearest, texts))
    unlisted = sum(item.evidence.value("in_index") == "missing" for item in items)
    if unlisted:
        yield texts["unlisted"].format(n=unlisted, all=len(items))


def _named(passage: Passage) -> str:
    """The document of a passage; of one with a number for an id, which names nothing, its first words, too."""
    name, text = document_of(passage.id, ()), " ".join(passage.text.split())
    return f"{name} “{text[:_FIRST_WORDS]}…”" if name.isdecimal() and text else name


def _stale(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
    yield texts["update"].format(names=_counted(_versions(items, texts), texts))


def _contradicting(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
    yield texts["contradicting"].format(names=_counted(_versions(items, texts), texts))


def _versions(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Counter[str]:
    """The documents that state something else, each with what it states and what the right document says."""
    found: Counter[str] = Counter()
    for item in items:
        question, first = item.evidence.question, item.evidence.first
        response = item.evidence.response("indexed_only") or first
        others = [] if first is None else rivals(question, first) or list(question.indexed)
        found.update(_version(item, other, "" if response is None else response.answer, texts) for other in others[:1])
    return found


def _old(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Counter[str]:
    """The passages that were fetched with a sentence of the gold that has another value, each with both values."""
    found: Counter[str] = Counter()
    for item in items:
        first, sought = item.evidence.first, _sought(item)
        fetched = () if first is None or item.evidence.value("fetched") != "no" else fetched_of(first)
        old = [one for one in fetched if any(is_old(one, statement) for statement in sought)]
        found.update(_version(item, one, "", texts) for one in old[:1])
    return found


def _version(item: Diagnosed, other: Passage, answer: str, texts: Mapping[str, str]) -> str:
    """A document that states something else, with what it states and what the right document says."""
    says, document = _says(other.text, answer, item), document_of(item.evidence.question.gold[0].id, ())
    right = " / ".join(slot[0] for slot in item.evidence.slots if slot)
    says = f"{says[:_QUOTED]}…" if len(says) > _QUOTED else says
    return texts["version"].format(other=document_of(other.id, ()), says=says, document=document, right=right)


def _sought(item: Diagnosed) -> list[Statement]:
    """The sentences of the gold that state the answer."""
    return [one for gold in item.evidence.gold for one in evidence_of(gold, item.evidence.slots)]


def _says(text: str, answer: str, item: Diagnosed) -> str:
    """The sentence of another version that stands in place of the evidence: that with another value in it, else the one
    that has most of the evidence's words and the answer's."""
    sought = _sought(item)
    said = [{*words(answer)}, *({*words(one.text)} for one in sought)]

    def rank(part: str) -> tuple[bool, int]:
        found = {*words(part)}
        return any(has_another_value(one, part) for one in sought), sum(len(found & other) for other in said)

    return max(sentences(text), key=rank, default="").strip()


def _chunking(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
    """What the chunks cut, what they lack and in what they drown the answer."""
    cut, lost, sizes = Counter[str](), Counter[str](), list[tuple[int, int]]()
    longest = 0
    for item in items:
        evidence = item.evidence
        found = [one for gold in evidence.gold for one in evidence_of(gold, evidence.slots)]
        if item.evidence.value("split") == "yes":
            cut.update({document_of(gold.id, ()) for gold in evidence.gold})
            longest = max(longest, *(estimate_tokens(one.text) for one in found), 0)
        for one in found:
            lost.update(one.lacking([(own.text, own.title) for own in evidence.own_chunks]))
        if evidence.own_chunks:
            read = [gold.text for gold in evidence.gold] if item.right("gold_only") else {one.alone for one in found}
            chunks = sum(estimate_tokens(own.text) for own in evidence.own_chunks)
            sizes.append((chunks, sum(map(estimate_tokens, read))))
    if cut:
        yield texts["cut"].format(names=_counted(cut, texts), tokens=longest)
    if lost:
        yield texts["subjects"].format(names=_counted(lost, texts))
    large = sorted(size for size, read in sizes if size > _DROWNS * read)
    if large:
        yield texts["large"].format(n=len(large), tokens=large[len(large) // 2])


def _ranks(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
    ranks = sorted(rank for item in items if (rank := rank_of_gold(item)) is not None)
    if ranks:
        yield texts["ranks"].format(median=ranks[len(ranks) // 2], low=ranks[0], high=ranks[-1])
    for name in ("k2", "k4"):
        asked = [(item, response) for item in items if (response := item.evidence.response(name)) is not None]
        sizes = {item.evidence.records[name].case.query.k for item, _ in asked}
        if len(sizes) == 1:
            held = sum(item.evidence.has_gold(response.passages) == "yes" for item, response in asked)
            right = sum(item.right(name) == 1 for item, _ in asked)
            yield texts["with_k"].format(k=sizes.pop(), held=held, asked=len(asked), right=right)


def _lost_words(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
    lost: Counter[str] = Counter()
    for item in items:
        first = item.evidence.first
        if first is not None and (rewritten := rewritten_of(first, item.evidence.sample.question)):
            kept = {*words(rewritten)}
            lost.update([word for word in dict.fromkeys(words(item.evidence.sample.question)) if word not in kept])
    if lost:
        yield texts["words"].format(names=_counted(lost, texts))


def _misleading(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
    passages = Counter(passage.id for item in items if (passage := misleading(item.evidence)) is not None)
    if passages:
        yield texts["misleading"].format(names=_counted(passages, texts))


def _replies(key: str) -> "_Details":
    """The answers that the system gave, the most frequent first."""

    def say(items: Sequence[Diagnosed], texts: Mapping[str, str]) -> Iterator[str]:
        given = [first.answer for item in items if (first := item.evidence.first) is not None]
        replies = Counter(f"“{' '.join(reply.split())[:_QUOTED]}”" for reply in given if reply.strip())
        if replies:
            yield texts[key].format(names=_counted(replies, texts))

    return say


_Details: TypeAlias = Callable[[Sequence[Diagnosed], Mapping[str, str]], Iterator[str]]
_DETAILS: Mapping[str, _Details] = {
    "chunking": _chunking, "not_in_index": _missing, "stale": _stale, "contradiction": _contradicting,
    "k_too_small": _ranks, "ranking": _ranks, "reranking": _ranks,
    "not_retrieved": _missing, "filtered": _missing, "search_mismatch": _missing, "rewriting": _lost_words,
    "noise": _misleading, "position": _ranks,
    "error": _replies("replies"), "metric": _replies("wordings"), "units": _replies("wordings"),
    "cached_answer": _replies("kept"), "history": _replies("leaked"),
}  # fmt: skip
