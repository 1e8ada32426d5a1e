"""The metrics that have no table of the paper's: of each retriever's ranking, and those that the user asked for."""

from collections.abc import Iterator

from ragstone.benchmarks.mirage.aggregate import Condition
from ragstone.benchmarks.mirage.names import Names, percent
from ragstone.benchmarks.table_builder import row
from ragstone.display import Cell, Table
from ragstone.metrics.rank import RankMetric
from ragstone.metrics.rank.measures import AveragePrecision, Mrr, Ndcg, Recall
from ragstone.stats import Estimate

RANKING: tuple[RankMetric, ...] = (Mrr(), AveragePrecision(), Ndcg(10), Recall(100))
"""The metrics of every retriever's ranking."""


def metric_tables(names: Names) -> Iterator[Table]:
    """Both tables; some may have no rows."""
    yield _ranking_table(names)
    yield _others_table(names)


def _ranking_table(names: Names) -> Table:
    """A row for each retriever and chunk size: the means over questions of the metrics of its ranking."""
    ranked, words = names.tally.ranked, names.words
    usual = [metric.name for metric in RANKING]
    asked = sorted({name for by_metric in ranked.values() for name in by_metric} - set(usual))
    rows = []
    for retriever, chunk in sorted(ranked):
        by_metric = ranked[retriever, chunk]
        asked_of = len(names.tally.found.get((retriever, chunk), ()))
        means = (
            Estimate.of_mean([value for _, value in by_metric.get(name, {}).values()], total=asked_of)
            for name in (*usual, *asked)
        )
        retriever_cell, _, *chunk_cell = names.cells(Condition("retrieved", retriever, 0, chunk))
        rows.append(row(retriever_cell, *chunk_cell, *map(percent, means)))
    retriever_head, _, *chunk_head = names.columns()
    columns = (retriever_head, *chunk_head, *usual, *asked)
    notes = (words["note_ranking"],)
    return Table("mirage-ranking", words["title_ranking"], columns, tuple(rows), notes, names.width - 1)


def _others_table(names: Names) -> Table:
    """A row for each system and context: the means of the user's metrics, clustered by question."""
    others, words = names.tally.others, names.words
    metrics = sorted({name for by_name in others.values() for name in by_name})
    rows = [
        row(system, *names.cells(condition), *(_mean(others[system, condition].get(name, [])) for name in metrics))
        for system, condition in sorted(others)
    ]
    columns = (words["system"], *names.columns(), *metrics)
    return Table("mirage-metrics", words["title_metrics"], columns, tuple(rows), (), names.width + 1)


def _mean(scores: list[tuple[int, float]]) -> Cell:
    estimate = Estimate.of_mean([value for _, value in scores], groups=[sample for sample, _ in scores])
    return estimate.cell(empty="")
