"""Slices of a run that fail more than the rest: topics, documents, types of questions, lengths, languages, columns of
the data and conditions of the benchmark, and pairs of these.

Every value of a field with at least `LEAST` samples inside and outside is tested (`contrast.excess`: exact, one-sided);
numbers with many values are cut into quarters. A pair is compared with the rest of each of its two columns, and the
larger p-value counts, so that it is found only where it fails more than either column explains. Single values and pairs
are each corrected by Holm's method at half of the level: together they name a slice that does not fail more in at most
5% of runs. Slices of the same answers are one, under the shortest description.
"""

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np

from ragstone.analysis.contrast import Answers, Contrast, Mask, contrast, excess
from ragstone.analysis.fields import DERIVED
from ragstone.analysis.selection import spelled
from ragstone.analysis.slice_rows import CaseFields, Rows
from ragstone.stats import holm
from ragstone.types import Record

LEAST = 10
"""Samples that a slice and the rest each need to be tested."""
MOST = 50_000
"""Records among which a report searches: what more would find fails hardly more than the rest."""
LEVEL = 0.05
_MOST_SINGLES, _MOST_PAIRS = 400, 5_000  # the largest ones are tested
_UNREMARKABLE = 5  # slices without a significant difference that are listed
_FEW = 8  # different numbers that are values of their own
_BINS = 4
_MOST_VALUES = 20  # of a field; the most frequent ones


@dataclass(frozen=True)
class Slice:
    """Cases of a run, selected by `where` (one value, or two of different fields), against the others that have these
    fields. `contrast`: shares of wrong answers inside and outside. `p` and `p_holm`: before and after the correction.
    `wrong`: ids of the wrong cases inside. `also`: other descriptions of the same cases. `within`: the slice listed
    before it that explains it, if it fails no more than the rest once that slice is left out."""

    where: Mapping[str, str]
    contrast: Contrast
    p: float
    p_holm: float
    wrong: tuple[str, ...] = ()
    also: tuple[Mapping[str, str], ...] = ()
    within: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """As `--where` is written: "topic=refund+card, language=zh"."""
        return spelled(self.where)

    @property
    def lift(self) -> float:
        """How many times as often as the rest it is wrong; infinite if the rest is never wrong."""
        inside, outside = self.contrast.inside.value or 0.0, self.contrast.outside.value or 0.0
        return inside / outside if outside else math.inf


@dataclass(frozen=True)
class Slices:
    """The slices of one system. `found`: those that fail significantly more, the clearest first, those that another one
    explains last. `others`: the largest of the rest, which chance may explain. `samples`: with a right or wrong answer;
    `undecided`: answers that are neither. `tested`: numbers of single values and of pairs."""

    system: str
    found: tuple[Slice, ...] = ()
    others: tuple[Slice, ...] = ()
    samples: int = 0
    undecided: int = 0
    tested: tuple[int, int] = (0, 0)


def find_slices(
    records: Iterable[Record], right: Callable[[Record], bool | None], *, pairs: bool = True, least: int = LEAST
) -> list[Slices]:
    """The slices of each system among the records, which are read once. `right`: whether an answer is right; None
    leaves the record out (no score, or not of interest). `pairs`: also of two fields."""
    reader = SliceReader()
    for record in records:
        reader.add(record, None if record.response is None else right(record))
    return reader.slices(pairs=pairs, least=least)


class SliceReader:
    """The same, of records that somebody reads. `total`: how many there will be."""

    def __init__(self, total: int = 0) -> None:
        self.total = total
        self._fields, self._systems = CaseFields(), defaultdict[str, Rows](Rows)

    def add(self, record: Record, right: bool | None) -> None:
        """The next record, and whether its answer is right."""
        if is_kept(record, self.total):
            place = self._fields.place(record.case)
            self._systems[record.system_id].add(record.case.id, place, right)

    def slices(self, *, pairs: bool = True, least: int = LEAST) -> list[Slices]:
        """The slices of each system; once."""
        self._fields.add_topics()
        return [
            _Search(rows, self._fields, least).slices(system, pairs=pairs)
            if rows.unit
            else Slices(system, undecided=rows.undecided)
            for system, rows in sorted(self._systems.items())
        ]


def thinned(records: Iterable[Record], total: int, *, most: int = MOST) -> Iterable[Record]:
    """About `most` of the `total` records where there are more."""
    return records if total <= most else (record for record in records if is_kept(record, total, most=most))


def is_kept(record: Record, total: int, *, most: int = MOST) -> bool:
    """Whether a record is one of about `most` of the `total` where there are more: those of the samples whose hash is
    smallest, so that the records of a sample stay together, and that another run of the same questions keeps the same
    ones."""
    return total <= most or _hash(record.case.sample.id) < (2**64 * most) // total


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


@dataclass(frozen=True)
class _Candidate:
    """Rows with a value, or with all of several. `parts` has, for each value, the rows with it and those that have its
    field; a pair shares them with its columns, because thousands of pairs are tried."""

    where: Mapping[str, str]
    parts: tuple[tuple[Mask, Mask], ...]
    also: tuple[Mapping[str, str], ...] = ()

    @property
    def rows(self) -> Mask:
        return functools.reduce(np.logical_and, [rows for rows, _ in self.parts])

    @property
    def known(self) -> Mask:
        return functools.reduce(np.logical_and, [known for _, known in self.parts])

    @property
    def key(self) -> bytes:
        """A digest of the rows."""
        return blake2b(np.packbits(self.rows).tobytes(), digest_size=16).digest()


class _Search:
    """The search among the rows of one system."""

    def __init__(self, rows: Rows, fields: CaseFields, least: int) -> None:
        self.rows, self.fields, self.least = rows, fields, least
        samples, units = np.unique(np.array(rows.unit), return_inverse=True)
        self.samples = len(samples)
        self.answers = Answers(units, rows.shares)

    def slices(self, system: str, *, pairs: bool) -> Slices:
        families = [list(self._tested(self.singles))]
        families += [list(self._tested_pairs())] if pairs else []
        share = len([family for family in families if family])
        results: list[tuple[_Candidate, float, float]] = []
        for family in families:
            corrected = holm([p for _, p in family])
            results += [
                (candidate, p, min(1.0, share * q)) for (candidate, p), q in zip(family, corrected, strict=True)
            ]
        results.sort(key=lambda item: (item[1], len(item[0].where), spelled(item[0].where)))
        found = self._explained([item for item in results if item[2] < LEVEL])
        others = [item for item in results if item[2] >= LEVEL and len(item[0].where) == 1]
        rest = [made for item in others[: 2 * _UNREMARKABLE] if (made := self._made(*item)).contrast.difference > 0]
        counts = [len(family) for family in families] + [0]
        tested = (counts[0], counts[1])
        return Slices(system, tuple(found), tuple(rest[:_UNREMARKABLE]), self.samples, self.rows.undecided, tested)

    @cached_property
    def singles(self) -> list[_Candidate]:
        """One candidate for each value of each field, without those of the same rows as an earlier one. What the data
        say comes before what is derived."""
        names = sorted(self.fields.names, key=lambda name: (name in DERIVED, name))
        candidates: dict[bytes, _Candidate] = {}
        for name in names:
            labels = labels_of(self.fields.column(name, self.rows))
            known = np.array([label is not None for label in labels], dtype=bool)
            for value in sorted({label for label in labels if label}):
                rows = np.array([label == value for label in labels], dtype=bool)
                if rows.sum() >= self.least and (known & ~rows).any():
                    _keep(candidates, _Candidate({name: value}, ((rows, known),)))
        return sorted(candidates.values(), key=lambda candidate: -int(candidate.rows.sum()))[:_MOST_SINGLES]

    def _tested(self, candidates: Iterable[_Candidate]) -> Iterator[tuple[_Candidate, float]]:
        for candidate in candidates:
            p = excess(self.answers, candidate.rows, candidate.known & ~candidate.rows, least=self.least)
            if p is not None:
                yield candidate, p

    def _tested_pairs(self) -> Iterator[tuple[_Candidate, float]]:
        """Pairs with the larger p-value against the rest of either column; the second test is left out where the first
        one already shows nothing."""
        seen = {candidate.key for candidate in self.singles}
        for first, second in self._pairs():
            pair = _Candidate({**first.where, **second.where}, first.parts + second.parts)
            if pair.key in seen:
                continue
            seen.add(pair.key)
            rows, known, largest = pair.rows, pair.known, 0.0
            for column in (first, second):
                p = excess(self.answers, rows, column.rows & known & ~rows, least=self.least)
                largest = math.nan if p is None else max(largest, p)
                if not largest <= LEVEL:
                    break
            if not math.isnan(largest):
                yield pair, largest

    def _pairs(self) -> list[tuple[_Candidate, _Candidate]]:
        """Pairs of values of different fields that occur together often enough, the most frequent first."""
        if not self.singles:
            return []
        table = np.array([single.rows for single in self.singles], dtype=np.float32)
        together = (table @ table.T).astype(int)
        sizes = together.diagonal()
        pairs = [
            (-int(together[i, j]), i, j)
            for i, j in np.argwhere(np.triu(together >= self.least, 1)).tolist()
            if together[i, j] <= min(sizes[i], sizes[j]) - self.least
            and self.singles[i].where.keys() != self.singles[j].where.keys()
        ]
        return [(self.singles[i], self.singles[j]) for _, i, j in sorted(pairs)[:_MOST_PAIRS]]

    def _made(self, candidate: _Candidate, p: float, p_holm: float) -> Slice:
        wrong = tuple(
            sorted(case for row in np.flatnonzero(candidate.rows).tolist() for case in self.rows.wrong.get(row, ()))
        )
        made = contrast(self.answers, candidate.rows, candidate.known & ~candidate.rows)
        return Slice(candidate.where, made, p, p_holm, wrong, candidate.also)

    def _explained(self, items: Sequence[tuple[_Candidate, float, float]]) -> list[Slice]:
        """The slices, those last that fail no more than the rest once clearer ones, or a pair within them, are left
        out."""
        candidates = [item[0] for item in items]
        kept: list[tuple[_Candidate, Slice]] = []
        explained: list[Slice] = []
        for item in items:
            candidate, made = item[0], self._made(*item)
            pairs = [
                other for other in candidates if len(other.where) > len(candidate.where) and _within(other, candidate)
            ]
            by_pair = next((pair for pair in pairs if not self._is_left(candidate, [pair])), None)
            # A pair fails more than its columns do, by its own test.
            before = [other for other, _ in kept if len(candidate.where) == 1 or not _within(candidate, other)]
            if by_pair is None and (not before or self._is_left(candidate, before)):
                kept.append((candidate, made))
            else:
                nearest = by_pair or max(before, key=lambda other: int((other.rows & candidate.rows).sum()))
                explained.append(replace(made, within=nearest.where))
        return [made for _, made in kept] + explained

    def _is_left(self, candidate: _Candidate, others: Sequence[_Candidate]) -> bool:
        """Whether it fails more than the rest also where none of the others applies."""
        left = ~np.any([other.rows for other in others], axis=0)
        p = excess(self.answers, candidate.rows & left, candidate.known & ~candidate.rows & left, least=2)
        return p is not None and p <= LEVEL


def _within(candidate: _Candidate, other: _Candidate) -> bool:
    return not (candidate.rows & ~other.rows).any()


def _keep(candidates: dict[bytes, _Candidate], new: _Candidate) -> None:
    old = candidates.get(new.key)
    candidates[new.key] = new if old is None else replace(old, also=(*old.also, new.where))


def labels_of(values: Sequence[str | None]) -> list[str | None]:
    """The slice to which each value belongs; None where it is unknown. A value that is not among the 20 most
    frequent ones has "", which is no slice but belongs to the rest. Bins are spelled as `--where` reads them: "..11",
    "12..20", "21..", ends included."""
    numbers = [None if value is None else _number(value) for value in values]
    known = [number for number in numbers if number is not None]
    if len({*known}) > _FEW and len(known) == sum(value is not None for value in values):
        bins = _bins(known)
        return [None if number is None else next(name for high, name in bins if number <= high) for number in numbers]
    counts = Counter(value for value in values if value is not None)
    common = {*sorted(counts, key=lambda value: (-counts[value], value))[:_MOST_VALUES]}
    return [value if value is None or value in common else "" for value in values]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _bins(numbers: Sequence[float]) -> list[tuple[float, str]]:
    """The largest number and the name of each quarter. Bounds are the roundest numbers that divide the same values."""
    ordered = np.sort(np.array(numbers))
    cuts = sorted({float(cut) for cut in np.quantile(ordered, np.arange(1, _BINS) / _BINS, method="lower")})
    bins: list[tuple[float, str]] = []
    low = ""
    for cut in cuts:
        above = ordered[ordered > cut]
        if len(above):
            high = _roundest(cut, float(above[0]), math.ceil)
            bins.append((cut, f"{low}..{high}"))
            low = _roundest(float(above[0]), float(high), math.floor)
    return [*bins, (math.inf, f"{low}..")]


def _roundest(number: float, bound: float, towards: Callable[[float], int]) -> str:
    """The number with the fewest decimals between `number` (included) and `bound` (excluded), rounded `towards` it."""
    for decimals in range(18):
        rounded = towards(number * 10**decimals) / 10**decimals
        if min(number, bound) <= rounded <= max(number, bound) and rounded != bound:
            return f"{rounded + 0.0:.{decimals}f}"  # not "-0"
    return repr(number)
