"""Draws the items that experts label, and assigns them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, TypeAlias

from ragstone.errors import UsageError
from ragstone.labels.items import Candidate, Key, drawn

By: TypeAlias = Literal["random", "uncertainty", "stratified", "interval"]
"""Ways to choose items; "interval" is not drawn here but by what the labels so far say (`api.label_round`)."""
PICKED = "picked"
"""The mark of an item that somebody came upon in the viewer."""
NOT_RANDOM = frozenset({"uncertainty", PICKED})
"""Ways of choosing whose labels say nothing about the items that were not chosen."""
_LEAST = 2  # of each stratum: its variance is not known from one
_SPARE = 1_000  # candidates kept beyond those that can be drawn, so that they are seldom sorted


def draw(candidates: Iterable[Candidate], count: int | None, by: By, *, seed: int = 0) -> dict[Key, Candidate]:
    """`count` candidates of each kind; all if it is None.

    "random": those with the smallest hashes, so that a larger sample contains a smaller one of the same seed.
    "uncertainty": those whose scores are nearest to the bar or differ most; they are no fair sample of the data.
    "stratified": as many of each stratum as its share, but two where it has them. Raises UsageError where nothing has
    the scores that uncertainty needs."""
    kinds: dict[str, _Drawing] = {}
    for candidate in candidates:
        kinds.setdefault(candidate.key[0], _Drawing(count, by, seed)).add(candidate)
    return {candidate.key: candidate for drawing in kinds.values() for candidate in drawing.chosen()}


@dataclass
class _Drawing:
    """Draws from the candidates of one kind as they come: of each stratum, it keeps little more than `count`."""

    count: int | None
    by: By
    seed: int
    sizes: Counter[str] = field(default_factory=Counter)  # by stratum
    scored: bool = False
    _kept: dict[str, list[tuple[float, str, Candidate]]] = field(default_factory=dict)

    def add(self, candidate: Candidate) -> None:
        """The next candidate."""
        self.scored |= candidate.uncertainty is not None
        first = -(candidate.uncertainty or 0.0) if self.by == "uncertainty" else 0.0
        stratum = candidate.stratum if self.by == "stratified" else ""
        self.sizes[stratum] += 1
        kept = self._kept.setdefault(stratum, [])
        kept.append((first, drawn(self.seed, *candidate.key), candidate))
        if self.count is not None and len(kept) > 2 * self.count + _SPARE:
            self._kept[stratum] = _first(kept, self.count)

    def chosen(self) -> Iterator[Candidate]:
        """The drawn items, by stratum. Raises UsageError where nothing has the scores that uncertainty needs."""
        total = self.sizes.total()
        count = total if self.count is None else min(total, self.count)
        if self.by == "uncertainty" and not self.scored and count < total:
            raise UsageError("--by uncertainty needs scores of these tasks, and there are none. Use --by random.")
        sizes = dict(sorted(self.sizes.items()))
        for stratum, share in (sizes if count == total else _shares(sizes, count)).items():
            yield from (candidate for _, _, candidate in _first(self._kept[stratum], share))


def _first(kept: Sequence[tuple[float, str, Candidate]], count: int) -> list[tuple[float, str, Candidate]]:
    return sorted(kept, key=itemgetter(0, 1))[:count]


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Numbers for the strata: in proportion to its size (by largest remainders), two at least where there are two and
    `count` allows it."""
    least = _LEAST if count >= _LEAST * len(sizes) else 1 if count >= len(sizes) else 0
    shares = {name: min(least, size) for name, size in sizes.items()}
    total = sum(sizes.values())
    while sum(shares.values()) < count:
        open_names = [name for name in sizes if shares[name] < sizes[name]]
        lacking = max(open_names, key=lambda name: (count * sizes[name] / total - shares[name], name))
        shares[lacking] += 1
    return shares


def assigned_evenly(
    items: Sequence[tuple[str, str]],
    before: Mapping[str, Sequence[str]],
    experts: Sequence[str],
    per_item: int,
    *,
    seed: int = 0,
) -> Iterator[tuple[str, str]]:
    """(item id, expert) for each of `items` (id, id of its question) that has fewer than `per_item` experts. Items of
    one question in a row go to the same experts. Everybody gets as many, and every two experts share as many items, as
    is possible. `before`: who has what already. Raises UsageError for fewer experts than an item needs."""  # fmt: skip
    if per_item > len(experts):
        raise UsageError(f"--per-item {per_item} needs as many experts; named: {', '.join(experts)}.")
    load: dict[str, int] = dict.fromkeys(experts, 0)
    together: dict[frozenset[str], int] = defaultdict(int)
    for names in before.values():
        _count(names, load, together)
    last: tuple[str, tuple[str, ...]] = ("", ())
    for place, (item, question) in enumerate(items):
        team = list(before.get(item, ()))
        new: list[str] = []
        while len(team) < per_item:
            rest = [expert for expert in experts if expert not in team]
            same = [expert for expert in rest if last[0] == question and expert in last[1]]
            best = min(
                same or rest,
                key=lambda expert: (load[expert], sum(together[frozenset((expert, mate))] for mate in team),
                                    drawn(seed, str(place), expert)),
            )  # fmt: skip
            team.append(best)
            new.append(best)
        last = (question, tuple(team))
        _count(new, load, together)
        for mate in team:
            for expert in new:
                if mate not in new:
                    together[frozenset((expert, mate))] += 1
        yield from ((item, expert) for expert in new)


def _count(names: Sequence[str], load: dict[str, int], together: dict[frozenset[str], int]) -> None:
    for place, name in enumerate(names):
        load[name] = load.get(name, 0) + 1
        for mate in names[:place]:
            together[frozenset((name, mate))] += 1
