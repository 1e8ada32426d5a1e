"""The tables of scored answers: means with intervals and coverage, groups, judge cost, advice; and their chart."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import variance

from msgspec.structs import replace

from ragstone.benchmarks.recorded.advice import BAR, advise, attempt
from ragstone.benchmarks.recorded.aggregate import ScoreTally, amounts_of, display_order, lower_is_better, tally_scores
from ragstone.benchmarks.recorded.stages import stages_table
from ragstone.display import Cell, Chart, Row, Series, Table
from ragstone.messages import messages
from ragstone.metrics.catalogue import in_language
from ragstone.metrics.judge.reply import COERCIONS
from ragstone.prices import Price, price_of
from ragstone.stats import Estimate, cohen_kappa
from ragstone.types import Run

_MOST_GROUPS = 50  # rows of a group table; a column of ids would have one per sample
_WORST_SHOWN = 5
# Outcomes: the key of the label, whether the question can be answered, whether the answer declines.
_REFUSALS = (("refused_right", False, True), ("false_acceptance", False, False), ("refused_wrong", True, True))
# Judges that are measurably too small: SmolLM2-135M answers yes/no entailment at chance level.
_TOO_SMALL = ("local/smollm2",)
_GOOD = 0.5  # from here on a score counts as good, for kappa
_MOST_SAMPLES = 50  # samples shown


def tables(run: Run, gates: Mapping[str, float], *, language: str = "en") -> list[Table]:
    """All tables of a run that have rows, in the language of the report. `gates` decide what is right."""
    writer = _ScoreTables(run, language, gates)
    candidates = [
        writer.scores(),
        writer.refusals(),
        writer.stages(),
        *writer.groups(),
        writer.repeats(),
        agreement_table(writer.tallies, writer.words, multiple=writer.multiple),
        disagreements(writer.tallies, writer.words, multiple=writer.multiple),
        writer.advice(),
        writer.cost(),
    ]
    return [table for table in candidates if table.rows]


class _ScoreTables:
    def __init__(self, run: Run, language: str, gates: Mapping[str, float] | None = None) -> None:
        self.gates = gates or {}
        self.language, self.words = language, messages(__name__, language)
        self.meta, self.systems = run.meta, run.systems
        self.tallies = tally_scores(run)
        self.multiple = len(self.tallies) > 1

    def _keys(self, system: str, *texts: str) -> tuple[Cell, ...]:
        return (*((Cell(system),) if self.multiple else ()), *map(Cell, texts))

    def _columns(self, *names: str) -> tuple[str, ...]:
        return (*((self.words["system"],) if self.multiple else ()), *names)

    def scores(self) -> Table:
        """One row per metric: mean, interval, coverage, and the most frequent reason for a missing score."""
        every = [scores for tally in self.tallies.values() for scores in tally.metrics.values()]
        some_missing, some_unsure = any(scores.reasons for scores in every), any(scores.unsure for scores in every)
        rows, names = [], ["metric", "mean", "scored", *["unsure"] * some_unsure, "failed", "not_applicable"]
        for system, tally in self.tallies.items():
            for name in tally.names:
                scores = tally.metrics[name]
                unsure = (scores.unsure,) if some_unsure else ()
                counts = (len(scores.values), *unsure, scores.failed, scores.not_applicable)
                mean = scores.mean(gated=name in self.gates)
                cells = [*self._keys(system, self._label(name)), mean.cell(), *(Cell(str(n)) for n in counts)]
                if some_missing:
                    reason = [f"{in_language(text, self.language)} ({n})" for text, n in scores.reasons.most_common(1)]
                    cells.append(Cell("".join(reason)))
                rows.append(Row(tuple(cells)))
        columns = self._columns(*(self.words[name] for name in (*names, *(("reasons",) if some_missing else ()))))
        keys = 1 + self.multiple
        return Table("eval-scores", self.words["scores"], columns, tuple(rows), tuple(self._notes()), keys=keys)

    def refusals(self) -> Table:
        """What became of the questions that cannot be answered, and of those that can, where the data say which."""
        rows = []
        for system, tally in self.tallies.items():
            for name, possible, wanted in _REFUSALS:
                counted = tally.refusals[possible]
                if not counted:
                    continue
                values = [float(refused is wanted) for _, refused in counted]
                share = Estimate.of_mean(values, groups=[sample for sample, _ in counted], total=len(counted))
                total = Cell(f"{round(sum(values))}/{len(values)}")
                rows.append(Row((*self._keys(system, self.words[name]), share.cell(), total)))
        columns = self._columns(*(self.words[name] for name in ("outcome", "share", "count")))
        notes = (self.words["refusals_note"],)
        return Table("eval-refusals", self.words["refusals"], columns, tuple(rows), notes, keys=1 + self.multiple)

    def stages(self) -> Table:
        """What each stage of a system did, where systems tell more than one."""
        stages = {system: tally.stages for system, tally in self.tallies.items()}
        return stages_table(stages, self.words, multiple=self.multiple)

    def groups(self) -> Iterator[Table]:
        """One table per grouping column, with a row per value and a column per metric."""
        for column in self._group_columns():
            names = sorted(
                {
                    name
                    for tally in self.tallies.values()
                    for by_name in tally.groups.get(column, {}).values()
                    for name in by_name
                },
                key=display_order,
            )
            rows = []
            for system, tally in self.tallies.items():
                values = sorted(tally.groups.get(column, {}).items())
                for value, metrics in values[:_MOST_GROUPS]:
                    cells = [metrics[name].mean().cell() if name in metrics else Cell() for name in names]
                    rows.append(Row((*self._keys(system, value), *cells)))
            more = max(len(tally.groups.get(column, {})) for tally in self.tallies.values()) - _MOST_GROUPS
            notes = (self.words["and_more"].format(n=more),) if more > 0 else ()
            columns = self._columns(column, *map(self._label, names))
            title = self.words["groups"].format(column=column)
            name = "eval-groups" if column == self._group_columns()[0] else f"eval-groups-{column}"
            yield Table(name, title, columns, tuple(rows), notes, keys=1 + self.multiple)

    def _group_columns(self) -> list[str]:
        return sorted({column for tally in self.tallies.values() for column in tally.groups})

    def repeats(self) -> Table:
        """The variance of the judge, which was asked again about the same answers, or in a run with a system, of the
        system, which was asked the questions again."""
        rows, most = [], 1
        for system, tally in self.tallies.items():
            for name in tally.names:
                repeated = tally.metrics[name].repeated()
                if not repeated:
                    continue
                most = max(most, *map(len, repeated))
                freedom = sum(len(values) - 1 for values in repeated)
                spread = math.sqrt(sum(variance(values) * (len(values) - 1) for values in repeated) / freedom)
                rows.append(Row((*self._keys(system, self._label(name)), Cell(value=spread), Cell(str(len(repeated))))))
        columns = self._columns(self.words["metric"], self.words["sd"], self.words["repeated"])
        asked = [answers for tally in self.tallies.values() for answers in tally.answers.values() if len(answers) > 1]
        changed = sum(len(set(answers)) > 1 for answers in asked)
        title, note = ("system_repeat", "system_repeat_note") if asked else ("repeat", "repeat_note")
        notes = (self.words[note].format(repeat=most, changed=changed, count=len(asked)),)
        if not (asked or self._judged()) or int(self.meta.get("options", {}).get("repeat", 1)) < 2:
            rows = []
        return Table("eval-repeat", self.words[title], columns, tuple(rows), notes, keys=1 + self.multiple)

    def advice(self) -> Table:
        """The rules of thumb that apply, with the samples behind each."""
        rows = []
        for system, tally in self.tallies.items():
            for advice in advise(tally, self.gates):
                shown = [f"{case} ({value:.2f})" for case, value in advice.worst[:_WORST_SHOWN]]
                worst = ", ".join([*shown, *(case for case, _ in advice.worst[_WORST_SHOWN:])])
                rows.append(
                    Row((
                        *self._keys(system, self.words[f"low_{advice.rule}"]),
                        replace(advice.mean.cell(), note=self.words["low" if advice.low else "suspicious"]),
                        Cell(attempt(advice.rule, self.systems.get(system, {}), self.words)), Cell(worst),
                    ))
                )  # fmt: skip
        columns = self._columns(*(self.words[name] for name in ("finding", "figure", "try", "worst")))
        notes = (self.words["advice_note"], self.words["bar_note"].format(bar=BAR))
        return Table("eval-advice", self.words["advice"], columns, tuple(rows), notes, keys=1 + self.multiple)

    def cost(self) -> Table:
        """The requests and tokens of the system, of the judge per metric and in total, and their prices if known."""
        spent_by: list[tuple[str, str, list[float], Cell]] = []
        price, own_price = price_of(self.meta.get("price")), price_of(self.meta.get("system_price"))
        priced = bool(price or own_price)
        for system, tally in self.tallies.items():
            names = [
                name
                for name in tally.names
                if name in tally.costs and tally.costs[name].alone[0] + tally.costs[name].cached
            ]
            own = list(amounts_of(tally.system))
            spent = [(self.words["system_row"], [*own, _money(own, own_price)], Cell())] if any(own) else []
            for name in names:
                cost = tally.costs[name]
                amounts = [*cost.share, _money(cost.share, price)]
                spent.append((self._label(name), amounts, Cell(f"{cost.alone[1]:,.0f}")))
            if names:
                total = [sum(column) for column in zip(*(amounts for _, amounts, _ in spent), strict=True)]
                spent.append((self.words["sum"], total, Cell()))
            spent_by += [(system, *each) for each in spent]
        cache = [number for number in (3, 4) if any(amounts[number] for _, _, amounts, _ in spent_by)]
        rows = [
            Row((*self._keys(system, label), *_spent(amounts, cache, priced=priced), alone))
            for system, label, amounts, alone in spent_by
        ]
        costs = [cost for tally in self.tallies.values() for cost in tally.costs.values()]
        cached, sent = round(sum(cost.cached for cost in costs)), round(sum(cost.share[0] for cost in costs))
        notes = []
        if costs:
            needed = sum(tally.replies for tally in self.tallies.values())
            note = self.words["cost_note"].format(cached=f"{cached:,}", sent=f"{sent:,}", needed=f"{needed:,}")
            notes.append(note)
        if price and costs:
            notes.append(self.words["money_note"].format(price=self.meta["price"]))
        if own_price and any(tally.system.requests for tally in self.tallies.values()):
            notes.append(self.words["system_money_note"].format(price=self.meta["system_price"]))
        kinds = {3: "cached_tokens", 4: "written_tokens"}
        shown = ["requests", "prompt_tokens", "completion_tokens", *(kinds[number] for number in cache)]
        shown += ["money"] if priced else []
        columns = self._columns(*(self.words[name] for name in ("metric", *shown, "alone")))
        return Table("eval-cost", self.words["cost"], columns, tuple(rows), tuple(notes), keys=1 + self.multiple)

    def _label(self, name: str) -> str:
        parts = [name]
        if name.startswith("ragas."):
            parts.append(f"({self.words['ragas_style']})")
        if lower_is_better(name, self.meta):
            parts.append(f"({self.words['lower']})")
        return " ".join(parts)

    def _judged(self) -> bool:
        return any(tally.replies for tally in self.tallies.values())

    def _unsure_notes(self, tally: ScoreTally) -> Iterator[str]:
        """What a judge read where a rule cannot tell, and where none did, the bounds of the mean."""
        for name in tally.names:
            scores = tally.metrics[name]
            if scores.read:
                yield self.words["read_note"].format(metric=self._label(name), read=scores.read, n=scores.total)
            if scores.unsure and "answer_match.judge" not in tally.metrics:
                least, most = scores.bounds()
                yield self.words["unsure_note"].format(
                    metric=self._label(name), unsure=scores.unsure, n=len(scores.values) + scores.unsure, least=least,
                    most=most,
                )  # fmt: skip

    def _notes(self) -> Iterator[str]:
        yield self.words["interval"]
        if gated := [name for tally in self.tallies.values() for name in tally.names if name in self.gates]:
            yield self.words["gated_interval"].format(metrics=", ".join(dict.fromkeys(gated)))
        for tally in self.tallies.values():
            yield from self._unsure_notes(tally)
        if not self._judged():
            return
        judge = self._judge_name()
        models = sorted({model for tally in self.tallies.values() for model in tally.judges})
        if judge in _TOO_SMALL:
            yield self.words["judge_small"].format(model=judge)
        elif judge or models:
            yield self.words["judge_unmeasured"].format(models=judge or ", ".join(models))
        if len(models) > 1:
            yield self.words["judge_several"].format(models=", ".join(models))
        elif judge and models and not judge.endswith(models[0]):
            yield self.words["judge_named"].format(model=judge, named=models[0])
        replies, problems = (
            sum(getattr(tally, field) for tally in self.tallies.values()) for field in ("replies", "problems")
        )
        quotes, unsupported = (
            sum(getattr(tally, field) for tally in self.tallies.values()) for field in ("quotes", "unsupported_quotes")
        )
        if unsupported:
            yield self.words["unsupported_quotes"].format(unsupported=unsupported, quotes=quotes)
        if doubts := sum(tally.doubts for tally in self.tallies.values()):
            yield self.words["doubts"].format(n=doubts)
        if partial := sum(tally.partial for tally in self.tallies.values()):
            yield self.words["partial"].format(n=partial)
        if read_so := sum(tally.read_so for tally in self.tallies.values()):
            coerced = sum((tally.coerced for tally in self.tallies.values()), Counter())
            counts = (f"{self.words[f'coerced_{name}']} ({coerced[name]:,})" for name in COERCIONS if coerced[name])
            yield self.words["coerced"].format(coerced=read_so, replies=replies, kinds=self.words["comma"].join(counts))
        if problems:
            yield self.words["problems"].format(problems=problems, replies=replies)

    def _judge_name(self) -> str:
        question = self.meta.get("question", {})
        judge = question.get("judge") if isinstance(question, Mapping) else None
        return str(judge.get("model", "")) if isinstance(judge, Mapping) else ""


def _money(amounts: Sequence[float], price: Price | None) -> float:
    """What these requests and tokens (`amounts_of`) cost; 0 without a price."""
    return price.of_tokens(*amounts[1:5]) if price else 0.0


def _spent(amounts: Sequence[float], cache: Sequence[int], *, priced: bool) -> list[Cell]:
    """The cells of requests, tokens and, where there is a price, money. `cache`: the counts of the cache."""
    cells = [Cell(f"{amounts[0]:,.1f}".removesuffix(".0")), *(Cell(f"{amount:,.0f}") for amount in amounts[1:3])]
    cells += [Cell(f"{amounts[number]:,.0f}") for number in cache]
    return [*cells, Cell(f"{amounts[5]:.4f}")] if priced else cells


_MOST = 24  # metrics


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """One bar chart with a category per metric and a series per system. Metrics with values outside [0, 1] appear only
    in the table."""
    texts = messages(__name__, language)
    tallies = tally_scores(run)
    names = sorted(
        {
            name
            for tally in tallies.values()
            for name, scores in tally.metrics.items()
            if scores.values and min(scores.values) >= 0 and max(scores.values) <= 1
        },
        key=display_order,
    )[:_MOST]
    series, alts = [], []
    for system, tally in tallies.items():
        points = []
        for index, name in enumerate(names):
            mean = tally.metrics[name].mean() if name in tally.metrics else None
            if mean is not None and mean.value is not None:
                points += mean.points(index)
                alts.append(f"{system}, {name}: {mean.value:.2f} ({mean.n}/{mean.total})")
        series.append(Series(system, tuple(points)))
    if not names:
        return []
    title = texts["means"]
    return [Chart("eval-means", title, "bars", tuple(series), categories=tuple(names), alt="; ".join(alts))]


def agreement_table(tallies: Mapping[str, ScoreTally], words: Mapping[str, str], *, multiple: bool) -> Table:
    """One row for each metric and pair of judges: their means, and Cohen's kappa of good and bad over the samples that
    both scored."""
    rows = []
    for system, tally in tallies.items():
        for metric in sorted(tally.by_judge, key=display_order):
            scores = [values for _, values in tally.by_judge[metric]]
            judges = list(dict.fromkeys(judge for values in scores for judge in values))
            for first, second in combinations(judges, 2):
                pairs = [(values[first], values[second]) for values in scores if first in values and second in values]
                if pairs:
                    keys = (system, metric) if multiple else (metric,)
                    rows.append(Row((*map(Cell, (*keys, first, second)), *_agreement(pairs))))
    columns = [words[name] for name in ("metric", "judge_a", "judge_b", "mean_a", "mean_b", "same", "kappa", "samples")]
    title, notes = words["judges"], (words["judges_note"].format(good=_GOOD),)
    columns = [words["system"], *columns] if multiple else columns
    return Table("eval-judges", title, tuple(columns), tuple(rows), notes, keys=3 + multiple)


def _agreement(pairs: list[tuple[float, float]]) -> Iterator[Cell]:
    n = len(pairs)
    yield Cell(value=sum(a for a, _ in pairs) / n)
    yield Cell(value=sum(b for _, b in pairs) / n)
    good = [(a >= _GOOD, b >= _GOOD) for a, b in pairs]
    yield Cell(value=sum(a == b for a, b in good) / n)
    kappa = cohen_kappa([a for a, _ in good], [b for _, b in good])
    yield Cell() if kappa is None else Cell(value=kappa)
    yield Cell(str(n))


def disagreements(tallies: Mapping[str, ScoreTally], words: Mapping[str, str], *, multiple: bool) -> Table:
    """The samples that some judge calls good and another bad, those with the widest gap first."""
    found = [
        (max(values.values()) - min(values.values()), system, metric, sample, values)
        for system, tally in tallies.items()
        for metric, scores in tally.by_judge.items()
        for sample, values in scores
        if len({value >= _GOOD for value in values.values()}) > 1
    ]
    found.sort(key=lambda item: (-item[0], *item[1:4]))
    rows = [
        Row((
            *map(Cell, (system, metric, sample) if multiple else (metric, sample)), Cell(value=gap),
            Cell("; ".join(f"{judge}: {value:.2f}" for judge, value in values.items())),
        ))
        for gap, system, metric, sample, values in found[:_MOST_SAMPLES]
    ]  # fmt: skip
    columns = [words[name] for name in ("metric", "sample", "gap", "by_judge")]
    columns = [words["system"], *columns] if multiple else columns
    notes = (words["and_more"].format(n=len(found) - _MOST_SAMPLES),) if len(found) > _MOST_SAMPLES else ()
    return Table("eval-disagreements", words["disagreements"], tuple(columns), tuple(rows), notes, keys=2 + multiple)
