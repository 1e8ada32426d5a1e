"""What labels of experts tell, as sentences and as tables."""

from collections.abc import Mapping, Sequence

from ragstone.analysis.calibration import LEAST_LABELS, Calibrated
from ragstone.analysis.expert_agreement import Agreed, ExpertFindings, JudgeAgreement, Refused, Statistic
from ragstone.display import Cell, Row, Table, signed
from ragstone.messages import messages

_STATISTICS = (
    "kappa", "weighted_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval", "pearson", "spearman",
)  # fmt: skip
_SHOWN = 8  # ids that a cell names


def expert_summary(found: ExpertFindings, *, language: str = "en") -> str:
    """The answer, in a line or two for each task: how far the judge agrees with the experts and what its mean is worth,
    or without a run how far the experts agree."""
    lines = []
    for agreement in (judged for judged in found.judged if not judged.part):
        lines.append(judge_line(agreement, language=language))
        if line := calibrated_line(found, agreement, language=language):
            lines.append(line)
    if not lines:
        lines = [_agreed_line(agreed, messages(__name__, language)) for agreed in found.agreed]
    return "\n".join(lines)


def judge_line(agreement: JudgeAgreement, *, language: str = "en") -> str:
    """How far the judge agrees with the experts, and whether it is too kind or too strict."""
    words = messages(__name__, language)
    kappa = words["line_kappa"].format(kappa=_interval(agreement.kappa)) if agreement.kappa is not None else ""
    bias = agreement.bias.known or (agreement.bias.value or 0.0, None, None)
    value, low, high = bias
    kind = "unbiased" if low is None or high is None or low <= 0 <= high else "kind" if value > 0 else "strict"
    sign = -1 if kind == "strict" else 1
    ends = sorted(sign * 100 * end for end in (low, high) if end is not None)
    shown = f" [{signed(ends[0], 1)}, {signed(ends[1], 1)}]" if len(ends) == 2 else ""
    return words["line_judge"].format(
        metric=agreement.metric, share=f"{100 * (agreement.equal.value or 0.0):.0f}%", n=f"{agreement.n:,}",
        kappa=kappa, bias=words[f"bias_{kind}"].format(points=signed(sign * 100 * value, 1), interval=shown),
    )  # fmt: skip


def calibrated_line(found: ExpertFindings, agreement: JudgeAgreement, *, language: str = "en") -> str:
    """The calibrated mean beside the judge's own, or why there is none; "" where nothing is known."""
    words = messages(__name__, language)
    value = found.calibrated.get((agreement.task, agreement.metric))
    if value is None:
        return ""
    if isinstance(value, Refused):
        return words["line_refused"].format(metric=agreement.metric, reason=_reason(value, words))
    return words["line_calibrated"].format(
        metric=agreement.metric, mean=f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]",
        naive=f"{value.naive:.2f}", n=f"{value.n:,}", total=f"{value.judged:,}", saved=_saved(value, words),
    )  # fmt: skip


def _saved(value: Calibrated, words: Mapping[str, str]) -> str:
    return words["line_saved"].format(saved=f"{value.saved:,}") if value.saved else words["line_nothing_saved"]


def _agreed_line(agreed: Agreed, words: Mapping[str, str]) -> str:
    if not agreed.items:
        return words["line_no_pairs"].format(task=words.get(f"task_{agreed.task}", agreed.task))
    statistic = agreed.statistics.get("kappa")
    kappa = "" if statistic is None else words["line_kappa"].format(kappa=_interval(statistic))
    return words["line_agreed"].format(
        task=words.get(f"task_{agreed.task}", agreed.task), experts=len(agreed.experts),
        share=f"{100 * agreed.equal:.0f}%", n=f"{agreed.items:,}", kappa=kappa,
    )  # fmt: skip


def _interval(value: tuple[float, float | None, float | None]) -> str:
    middle, low, high = value
    return f"{middle:.2f}" + ("" if low is None or high is None else f" [{low:.2f}, {high:.2f}]")


def _reason(refused: Refused, words: Mapping[str, str]) -> str:
    return words[f"refused_{refused.kind}"].format(n=refused.n, name=refused.name, least=LEAST_LABELS)


def expert_tables(found: ExpertFindings, *, language: str = "en") -> list[Table]:
    """Agreement between experts, of each with the others, and which labels differ; the judge against them; calibrated
    means."""
    words = messages(__name__, language)
    tables = [
        _agreed(found, words), _by_expert(found, words), *(_confusion(agreed, words) for agreed in found.agreed),
        _judged(found, words), _calibrated(found, words),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def _table(words: Mapping[str, str], name: str, columns: Sequence[str], rows: Sequence[Row], keys: int = 1) -> Table:
    titles = tuple(words[column] for column in columns)
    return Table(
        f"experts-{name.replace('_', '-')}",
        words[f"title_{name}"],
        titles,
        tuple(rows),
        (words[f"note_{name}"],),
        keys=keys,
    )


def _value(value: Statistic) -> Cell:
    return Cell("–") if value is None else Cell("", *value)


def _ids(ids: Sequence[str]) -> Cell:
    return Cell(", ".join(ids[:_SHOWN]) + (f" +{len(ids) - _SHOWN}" if len(ids) > _SHOWN else ""))


def _agreed(found: ExpertFindings, words: Mapping[str, str]) -> Table:
    shown = [name for name in _STATISTICS if any(agreed.statistics[name] for agreed in found.agreed)]
    rows = [
        Row((Cell(agreed.task), Cell(str(agreed.items)), Cell(str(len(agreed.experts))),
             Cell("–") if agreed.items == 0 else Cell("", agreed.equal, unit="%"),
             *(_value(agreed.statistics[name]) for name in shown), _ids(agreed.disputed)))
        for agreed in found.agreed if agreed.items
    ]  # fmt: skip
    return _table(words, "agreed", ("task", "items", "experts", "equal", *shown, "disputed"), rows)


def _by_expert(found: ExpertFindings, words: Mapping[str, str]) -> Table:
    rows = [
        Row((Cell(agreed.task), Cell(expert.expert), Cell(str(expert.items)), Cell("", expert.equal, unit="%"),
             _number(expert.kappa), expert.bias.cell()))
        for agreed in found.agreed for expert in agreed.by_expert
    ]  # fmt: skip
    return _table(words, "by_expert", ("task", "expert", "items", "equal", "kappa", "expert_bias"), rows, keys=2)


def _confusion(agreed: Agreed, words: Mapping[str, str]) -> Table:
    """Of every two experts: a row for each label of the first, a column for each of the second."""
    values = sorted({value for pair in agreed.confusions for *both, _ in pair.counts for value in both})
    counts = {(pair.first, pair.second, a, b): n for pair in agreed.confusions for a, b, n in pair.counts}
    rows = [
        Row((Cell(pair.first), Cell(pair.second), Cell(f"{value:g}"),
             *(Cell(str(counts.get((pair.first, pair.second, value, other), 0))) for other in values)))
        for pair in agreed.confusions[:_SHOWN]
        for value in values
    ]  # fmt: skip
    columns = (words["first"], words["second"], words["label"], *(f"{value:g}" for value in values))
    title = words["title_confusion"].format(task=agreed.task)
    return Table(f"experts-confusion-{agreed.task}", title, columns, tuple(rows), (words["note_confusion"],), keys=3)


def _judged(found: ExpertFindings, words: Mapping[str, str]) -> Table:
    rows = [
        Row((Cell(judged.task), Cell(judged.metric), Cell(_part(judged.part, words)), Cell(str(judged.n)),
             judged.equal.cell("%"), _value(judged.kappa), judged.bias.cell(), judged.precision.cell("%"),
             judged.recall.cell("%"), _number(judged.correlation), _number(judged.rank_correlation),
             Cell(" / ".join(map(str, judged.confusion))), _ids(judged.differ)))
        for judged in found.judged
    ]  # fmt: skip
    columns = (
        "task", "metric", "part", "items", "agree", "kappa", "bias", "precision", "recall", "pearson", "spearman",
        "confusion", "differ",
    )  # fmt: skip
    return _table(words, "judged", columns, rows, keys=3)


def _part(part: str, words: Mapping[str, str]) -> str:
    kind, _, name = part.partition(" ")
    return words["part_expert"].format(name=name) if kind == "expert" else words[f"part_{part or 'all'}"]


def _number(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell("", value)


def _calibrated(found: ExpertFindings, words: Mapping[str, str]) -> Table:
    rows = []
    for (task, metric), mean in found.calibrated.items():
        if not isinstance(mean, Calibrated):
            rows.append(Row((Cell(task), Cell(metric), Cell(words["refused"].format(reason=_reason(mean, words))))))
            continue
        rows.append(
            Row((Cell(task), Cell(metric), Cell("", mean.mean, mean.low, mean.high), Cell("", mean.naive),
                 Cell("", *mean.labels_only), Cell(f"{mean.weight:.2f}"), Cell(str(mean.n)), Cell(str(mean.judged)),
                 Cell(str(mean.saved))))
        )  # fmt: skip
    columns = ("task", "metric", "calibrated", "naive", "labels_only", "weight", "labels", "scores", "saved")
    padded = [Row((*row.cells, *[Cell("")] * (len(columns) - len(row.cells)))) for row in rows]
    return _table(words, "calibrated", columns, padded, keys=2)
