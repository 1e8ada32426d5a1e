"""The verdict of a MIRAGE run: the best pair of a system and a retriever, and the best context of each system; without
systems, what each retriever found."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragstone.benchmarks.mirage.aggregate import BASE, ORACLE, Condition, MirageTally, tally_records
from ragstone.benchmarks.mirage.extra_tables import is_choice, is_right, priced
from ragstone.benchmarks.mirage.names import Names
from ragstone.benchmarks.mirage.published import options_of
from ragstone.benchmarks.mirage.retrieved import any_found, shown_ks
from ragstone.benchmarks.mirage.tables import headline_of
from ragstone.benchmarks.verdicts import asked, percent
from ragstone.display import Action, Figure, Summary, signed
from ragstone.messages import messages
from ragstone.stats.decision import LEVEL
from ragstone.types import Run

_GAP = 0.05  # a share of the questions that is worth a change
_Pair = tuple[str, Condition]


def summaries(run: Run, *, language: str = "en") -> dict[str, Summary]:
    """Under "" the best pair, if there are several systems; and the verdict of each system. Of retrievers alone: what
    they found, and what to do."""
    writer = Verdicts(tally_records(run.records(texts=False), plans=run.plans()), run.meta, language)
    if not writer.right:
        return {"": writer.of_retrievers()} if writer.tally.found else {}
    by_system = {
        system: Summary("", writer.of(system), figures=tuple(writer.figures(system)))
        for system in dict.fromkeys(name for name, _ in writer.right)
    }
    return {"": Summary("", writer.best_pair()), **by_system} if len(by_system) > 1 else by_system


class Verdicts:
    """Writes the verdicts of one run in one language."""

    def __init__(self, tally: MirageTally, meta: Mapping[str, Any], language: str) -> None:
        self.words, self.language, self.tally = messages(__name__, language), language, tally
        self.names = Names(tally, self.words)
        self.ks = options_of(meta).get("ks", ())
        self.rule = rule = headline_of(meta)
        self.right = {(system, at): counts.share(is_right) for system, at, counts in tally.scored(rule)}
        preparation = meta.get("preparation")
        self.tokens = {(price.system, price.condition): price.tokens for price in priced(tally, rule, preparation)}

    def _ranked(self, system: str = "") -> list[_Pair]:
        """The pairs that can be had in practice, the best first; of one system, if one is named."""
        pairs = [pair for pair in self.right if pair[0] == (system or pair[0])]
        choices = [pair for pair in pairs if is_choice(pair[1])] or pairs
        return sorted(choices, key=lambda pair: -(self.right[pair].value or 0.0))

    def best_pair(self) -> str:
        """The best pair, and the next one with another system or retriever."""
        ranked = self._ranked()
        return self._filled("best_pair", ranked[0]) + self._next("next", ranked)

    def of(self, system: str) -> str:
        """The best context of a system, the figures without passages and with the right ones, and, where it is the only
        system, the next context."""
        ranked = self._ranked(system)
        best = self.right[ranked[0]]
        if not any(self.right[pair].value for pair in self.right if pair[0] == system):
            n = asked(best.n, best.total or best.n, self.language)
            return self.words["none_right"].format(system=system, n=n) + self.words["stop"]
        text = self._filled("best_of", ranked[0])
        for name, at in (("without", BASE), ("with_right", ORACLE)):
            if (system, at) in self.right:
                text += self.words[name].format(figure=percent(self.right[system, at]))
        alone = len({name for name, _ in self.right}) == 1
        return text + self.words["stop"] + (self._next("next_of", ranked) if alone else "")

    def _next(self, text: str, ranked: Sequence[_Pair]) -> str:
        """A line of the next best pair of another system or retriever, compared with the best one by the questions of
        both. The best is chosen from many, so the interval holds for all comparisons of two, each at its best k."""
        best, *others = ranked
        alone = (best[0], best[1].retriever)
        other = next((pair for pair in others if (pair[0], pair[1].retriever) != alone), None)
        if other is None:
            return ""
        choices = len({(system, at.retriever) for system, at in ranked})
        decision = self.tally.paired(other, best, self.rule)
        level = LEVEL / math.comb(choices, 2)
        if (ends := decision.interval(level)) is None:
            told = ""
        else:
            gap, low, high = (signed(100 * end) for end in (decision.difference, *ends))
            words = self.words["lead" if decision.p < level else "lead_open"]
            told = words.format(gap=gap, low=low, high=high, n=f"{decision.units:,}", m=choices)
        return "\n" + self._filled(text, other) + told + self.words["stop"]

    def figures(self, system: str) -> Iterator[Figure]:
        """Its best context, the next best one, and the right passages: all of the same questions."""
        for pair in (*self._ranked(system)[:2], (system, ORACLE)):
            right = self.right.get(pair)
            if right is not None and right.value is not None:
                yield Figure(self.names.short(pair[1]), percent(right), right.value, right.n, right.total or right.n)

    def of_retrievers(self) -> Summary:
        """What each retriever found among its first k, the best one first, and what to do about what it did not."""
        found = []
        for retriever, chunk in sorted(self.tally.found):
            shares = {
                k: any_found(self.tally, retriever, chunk, k) for k in shown_ks(self.tally, self.ks, retriever, chunk)
            }
            found.append((Condition("retrieved", retriever, max(shares), chunk), shares))
        found.sort(key=lambda one: -(one[1][one[0].k].value or 0.0))
        lines = []
        for at, shares in found:
            first, *others = sorted(shares.items(), reverse=True)
            less = self.words["join"].join(self.words["at"].format(k=k, figure=percent(one)) for k, one in others)
            lines.append(
                self.words["found"].format(context=self.names.without_k(at), k=first[0], figure=percent(first[1]),
                                           n=f"{first[1].n:,}", less=less and self.words["less"].format(less=less))
            )  # fmt: skip
        at, shares = found[0]
        deep, shallow = shares[at.k].value or 0.0, shares[min(shares)].value or 0.0
        advice = "rank" if deep - shallow >= max(_GAP, 1 - deep) else "search" if deep < 1 - _GAP else "answer"
        told = self.words[advice].format(
            lost=f"{100 * (1 - deep):.0f}%", gap=f"{100 * (deep - shallow):.0f}", k=at.k, least=min(shares)
        )
        return Summary("", "\n".join(lines), actions=(Action(told),), notes=(self.words["ceiling"],))

    def _filled(self, text: str, pair: _Pair) -> str:
        right = self.right[pair]
        tokens = self.tokens.get(pair)
        return self.words[text].format(
            system=pair[0], context=self.names.short(pair[1]), figure=percent(right),
            cost="" if tokens is None else self.words["cost"].format(tokens=f"{tokens:,.0f}"),
            n=asked(right.n, right.total or right.n, self.language),
        )  # fmt: skip
