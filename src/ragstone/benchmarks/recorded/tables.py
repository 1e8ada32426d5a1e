"""The tables of scored answers: means with intervals and coverage, groups, what the judge took, advice."""

import math
from collections.abc import Iterator, Mapping
from statistics import variance
from typing import Any

import msgspec

from ragstone.benchmarks.recorded.advice import BAR, advise
from ragstone.benchmarks.recorded.aggregate import display_order, lower_is_better, tally
from ragstone.messages import messages
from ragstone.types import Cell, Row, Run, Table

__all__ = ["price_of", "tables"]

_MOST_GROUPS = 50  # values of a column that have a row; a column of ids has one a sample
_WORST_SHOWN = 5
# Judges that are too small to judge, by what is measured: SmolLM2-135M answers yes/no entailment at chance.
_TOO_SMALL = ("local/smollm2",)


def tables(run: Run, *, language: str = "en") -> list[Table]:
    """All tables of a run, in the language of the report; only those that have something to say."""
    writer = _Writer(run, language)
    made = [writer.scores(), *writer.groups(), writer.repeats(), writer.advice(), writer.cost()]
    return [table for table in made if table.rows]


class _Writer:
    def __init__(self, run: Run, language: str) -> None:
        self.words = messages(__name__, language)
        self.meta = run.meta
        self.tallies = tally(run)
        self.several = len(self.tallies) > 1

    def _keys(self, system: str, *others: str) -> tuple[Cell, ...]:
        return (*((Cell(system),) if self.several else ()), *map(Cell, others))

    def _columns(self, *others: str) -> tuple[str, ...]:
        return (*((self.words["system"],) if self.several else ()), *others)

    def scores(self) -> Table:
        """One row a metric: mean, interval, scored of total, and where some have no score, the most frequent reason."""
        rows, names = [], ["metric", "mean", "scored", "failed", "not_applicable"]
        some_lack = any(scores.reasons for one in self.tallies.values() for scores in one.metrics.values())
        for system, one in self.tallies.items():
            for name in one.names:
                scores = one.metrics[name]
                counts = (len(scores.values), scores.failed, scores.not_applicable)
                cells = [*self._keys(system, self._label(name)), scores.mean().cell(), *(Cell(str(n)) for n in counts)]
                if some_lack:
                    reason = scores.reasons.most_common(1)
                    cells.append(Cell(f"{reason[0][0]} ({reason[0][1]})" if reason else ""))
                rows.append(Row(tuple(cells)))
        columns = self._columns(*(self.words[name] for name in (*names, *(("reasons",) if some_lack else ()))))
        keys = 1 + self.several
        return Table("eval-scores", self.words["scores"], columns, tuple(rows), tuple(self._notes()), keys=keys)

    def groups(self) -> Iterator[Table]:
        """One table a column: a row a value, a column a metric."""
        for column in self._group_columns():
            names = sorted(
                {name for one in self.tallies.values() for by in one.groups.get(column, {}).values() for name in by},
                key=display_order,
            )
            rows = []
            for system, one in self.tallies.items():
                values = sorted(one.groups.get(column, {}).items())
                for value, metrics in values[:_MOST_GROUPS]:
                    cells = [metrics[name].mean().cell() if name in metrics else Cell() for name in names]
                    rows.append(Row((*self._keys(system, value), *cells)))
            more = max(len(one.groups.get(column, {})) for one in self.tallies.values()) - _MOST_GROUPS
            notes = (self.words["and_more"].format(n=more),) if more > 0 else ()
            columns = self._columns(column, *map(self._label, names))
            title = self.words["groups"].format(column=column)
            name = "eval-groups" if column == self._group_columns()[0] else f"eval-groups-{column}"
            yield Table(name, title, columns, tuple(rows), notes, keys=1 + self.several)

    def _group_columns(self) -> list[str]:
        return sorted({column for one in self.tallies.values() for column in one.groups})

    def repeats(self) -> Table:
        """The judge's own variance, where samples were judged more than once."""
        rows, most = [], 1
        for system, one in self.tallies.items():
            for name in one.names:
                several = [values for values in one.repeats[name].values() if len(values) > 1]
                if not several:
                    continue
                most = max(most, *map(len, several))
                freedom = sum(len(values) - 1 for values in several)
                spread = math.sqrt(sum(variance(values) * (len(values) - 1) for values in several) / freedom)
                rows.append(Row((*self._keys(system, self._label(name)), Cell(value=spread), Cell(str(len(several))))))
        columns = self._columns(self.words["metric"], self.words["sd"], self.words["repeated"])
        notes = (self.words["repeat_note"].format(repeat=most),)
        if not self._judged() or int(self.meta.get("options", {}).get("repeat", 1)) < 2:
            rows = []
        return Table("eval-repeat", self.words["repeat"], columns, tuple(rows), notes, keys=1 + self.several)

    def advice(self) -> Table:
        """The rules of thumb that apply, with the samples behind each."""
        rows = []
        for system, one in self.tallies.items():
            for each in advise(one.metrics):
                worst = ", ".join(f"{case} ({value:.2f})" for case, value in each.worst[:_WORST_SHOWN])
                if (rest := len(each.worst) - _WORST_SHOWN) > 0:
                    worst += ", " + ", ".join(case for case, _ in each.worst[_WORST_SHOWN:][:rest])
                rows.append(
                    Row((
                        *self._keys(system, self.words[f"low_{each.rule}"]),
                        msgspec.structs.replace(each.mean.cell(), note=self.words["low" if each.low else "suspicious"]),
                        Cell(self.words[f"try_{each.rule}"]), Cell(worst),
                    ))
                )  # fmt: skip
        columns = self._columns(*(self.words[name] for name in ("finding", "figure", "try", "worst")))
        notes = (self.words["advice_note"], self.words["bar_note"].format(bar=BAR))
        return Table("eval-advice", self.words["advice"], columns, tuple(rows), notes, keys=1 + self.several)

    def cost(self) -> Table:
        """Requests and tokens of the judge, a row a metric and one for all; money where the price is known."""
        rows = []
        price = price_of(self.meta.get("price"))
        for system, one in self.tallies.items():
            named = [
                name for name in one.names if name in one.costs and one.costs[name].alone[0] + one.costs[name].cached
            ]
            total = [0.0, 0.0, 0.0]
            for name in named:
                cost = one.costs[name]
                total = [a + b for a, b in zip(total, cost.share, strict=True)]
                rows.append(Row((*self._keys(system, self._label(name)), *_spent(cost.share, price),
                                 Cell(f"{cost.alone[1]:,.0f}"))))  # fmt: skip
            if named:
                rows.append(Row((*self._keys(system, self.words["sum"]), *_spent(total, price), Cell())))
        costs = [cost for one in self.tallies.values() for cost in one.costs.values()]
        cached, sent = round(sum(cost.cached for cost in costs)), round(sum(cost.share[0] for cost in costs))
        notes = [self.words["cost_note"].format(cached=f"{cached:,}", sent=f"{sent:,}", needed=f"{cached + sent:,}")]
        if price:
            notes.append(self.words["money_note"].format(price=self.meta["price"]))
        spent = ("requests", "prompt_tokens", "completion_tokens", *(("money",) if price else ()))
        columns = self._columns(*(self.words[name] for name in ("metric", *spent, "alone")))
        return Table("eval-cost", self.words["cost"], columns, tuple(rows), tuple(notes), keys=1 + self.several)

    def _label(self, name: str) -> str:
        told = [name]
        if name.startswith("ragas."):
            told.append(f"({self.words['ragas_style']})")
        if lower_is_better(name, self.meta):
            told.append(f"({self.words['lower']})")
        return " ".join(told)

    def _judged(self) -> bool:
        return any(one.replies for one in self.tallies.values())

    def _notes(self) -> Iterator[str]:
        yield self.words["interval"]
        if not self._judged():
            return
        judge = self._judge_name()
        named = sorted({model for one in self.tallies.values() for model in one.judges})
        if judge in _TOO_SMALL:
            yield self.words["judge_small"].format(model=judge)
        elif judge or named:
            yield self.words["judge_unmeasured"].format(models=judge or ", ".join(named))
        if len(named) > 1:
            yield self.words["judge_several"].format(models=", ".join(named))
        elif judge and named and not judge.endswith(named[0]):
            yield self.words["judge_named"].format(model=judge, named=named[0])
        replies, problems = (
            sum(getattr(one, what) for one in self.tallies.values()) for what in ("replies", "problems")
        )
        if problems:
            yield self.words["problems"].format(problems=problems, replies=replies)

    def _judge_name(self) -> str:
        question = self.meta.get("question", {})
        judge = question.get("judge") if isinstance(question, Mapping) else None
        return str(judge.get("model", "")) if isinstance(judge, Mapping) else ""


def price_of(text: Any) -> tuple[float, float] | None:
    """The price of a million tokens of prompts and of answers, from "0.15/0.60"; None where it is no such text."""
    try:
        asked, answered = map(float, text.split("/"))
    except (AttributeError, ValueError):
        return None
    return (asked, answered) if 0 <= asked < math.inf and 0 <= answered < math.inf else None


def _spent(amounts: list[float], price: tuple[float, float] | None) -> list[Cell]:
    cells = [Cell(f"{amounts[0]:,.1f}".removesuffix(".0")), *(Cell(f"{amount:,.0f}") for amount in amounts[1:])]
    if price:
        cells.append(Cell(f"{(amounts[1] * price[0] + amounts[2] * price[1]) / 1e6:.4f}"))
    return cells
