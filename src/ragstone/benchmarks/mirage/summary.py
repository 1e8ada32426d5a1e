"""The verdict of a MIRAGE run: the best pair of a system and a retriever, and the best context of each system."""

from collections.abc import Mapping
from typing import Any

from ragstone.benchmarks.mirage.aggregate import BASE, ORACLE, Condition, MirageTally, tally_records
from ragstone.benchmarks.mirage.extra_tables import is_choice, is_right, priced
from ragstone.benchmarks.mirage.names import Names
from ragstone.benchmarks.mirage.tables import headline_of
from ragstone.benchmarks.verdicts import asked, percent
from ragstone.display import Summary
from ragstone.messages import messages
from ragstone.types import Run

_Pair = tuple[str, Condition]


def summaries(run: Run, *, language: str = "en") -> dict[str, Summary]:
    """Under "" the best pair, if there are several systems; and the verdict of each system."""
    writer = _Verdicts(tally_records(run.records(texts=False), plans=run.plans()), run.meta, language)
    if not writer.right:
        return {}
    by_system = {system: Summary("", writer.of(system)) for system in dict.fromkeys(name for name, _ in writer.right)}
    return {"": Summary("", writer.best_pair()), **by_system} if len(by_system) > 1 else by_system


class _Verdicts:
    def __init__(self, tally: MirageTally, meta: Mapping[str, Any], language: str) -> None:
        self.words, self.language = messages(__name__, language), language
        self.names = Names(tally, self.words)
        rule = headline_of(meta)
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
        first, *others = self._ranked()
        text = self._filled("best_pair", first)
        alone = (first[0], first[1].retriever)
        other = next((pair for pair in others if (pair[0], pair[1].retriever) != alone), None)
        return text if other is None else f"{text}\n{self._filled('next', other)}"

    def of(self, system: str) -> str:
        """The best context of a system, and the figures without passages and with the right ones."""
        text = self._filled("best_of", self._ranked(system)[0])
        for name, at in (("without", BASE), ("with_right", ORACLE)):
            if (system, at) in self.right:
                text += self.words[name].format(figure=percent(self.right[system, at]))
        return text + self.words["stop"]

    def _filled(self, text: str, pair: _Pair) -> str:
        right = self.right[pair]
        tokens = self.tokens.get(pair)
        return self.words[text].format(
            system=pair[0], context=self.names.short(pair[1]), figure=percent(right),
            cost="" if tokens is None else self.words["cost"].format(tokens=f"{tokens:,.0f}"),
            n=asked(right.n, right.total or right.n, self.language),
        )  # fmt: skip
