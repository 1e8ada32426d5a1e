"""What a language brings to the engine, and how the engine draws questions from it: the same for every language."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from ragstone.datasets.fictional.pages import Difficulty
from ragstone.datasets.fictional.parts import Collected, Fact, GeneratedItem, Stuck, Unmet, pick

_ATTEMPTS = 8  # to collect chunks of one domain


class Named(Protocol):
    """A domain of invented news, as far as the engine knows it."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Language:
    """The domains and real facts of a language, and four functions: two write a question with one or two answers, two
    collect the chunks of a question that needs one chunk (`supporting` chunks state the answer) or two. `sources`: the
    data sets of MIRAGE's paper that the domains stand for. If a function raises Stuck, the engine calls it again.
    `varied`: a domain with sentences that seldom recur, for difficult data."""

    domains: tuple[Named, ...]
    sources: Mapping[str, tuple[str, ...]]
    facts: Sequence[Fact]
    one_answer: Callable[[Random, Any, Difficulty], GeneratedItem]
    two_answers: Callable[[Random, Any, Difficulty], GeneratedItem]
    collect_one: Callable[[Random, Any, int, int, Container[str]], Collected]
    collect_two: Callable[[Random, Any, int, Container[str]], Collected]
    varied: Callable[[Any], Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the domains."""
        return tuple(domain.name for domain in self.domains)

    def base(self, rng: Random, difficulty: Difficulty) -> GeneratedItem:
        """A question about an invented event, with one answer."""
        return self._drawn(rng, self.one_answer, difficulty)

    def integration(self, rng: Random, difficulty: Difficulty) -> GeneratedItem:
        """A question with two answers, from different passages."""
        return self._drawn(rng, self.two_answers, difficulty)

    def _drawn(
        self, rng: Random, make: Callable[[Random, Any, Difficulty], GeneratedItem], difficulty: Difficulty
    ) -> GeneratedItem:
        domain: Any = pick(rng, self.domains)
        if difficulty != "easy":
            domain = self.varied(domain)
        while True:  # nearly always the first comes out right
            try:
                return make(rng, domain, difficulty)
            except Stuck:
                continue

    def collect(
        self,
        rng: Random,
        source: str,
        chunks: int,
        supporting: int,
        *,
        multi_hop: bool = False,
        reserved: Container[str] = (),
    ) -> Collected:
        """A question of one of `sources` with `chunks` chunks, of which `supporting` support its answer, or with
        `multi_hop`, one that needs two chunks. Raises Unmet if no sentences are left, DuplicateEvent for an event in
        `reserved`."""
        name = pick(rng, self.sources[source])
        domain = next(domain for domain in self.domains if domain.name == name)
        for _ in range(_ATTEMPTS):
            try:
                if multi_hop:
                    return self.collect_two(rng, domain, chunks, reserved)
                return self.collect_one(rng, domain, chunks, supporting, reserved)
            except Stuck:
                continue
        raise Unmet(f"{name}, {chunks} chunks")
