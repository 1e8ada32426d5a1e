"""What labels of experts tell, as sentences and as tables."""

from collections.abc import Mapping, Sequence

from ragstone.analysis.calibration import LEAST_LABELS, Calibrated
from ragstone.analysis.expert_agreement import Agreed, ExpertFindings, JudgeAgreement, Refused, Statistic
from ragstone.display import Cell, Row, Table
from ragstone.messages import messages

_STATISTICS = (
    "kappa", "weighted_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval", "pearson", "spearman",
)  # fmt: skip
_SHOWN = 8  # ids that a cell names


def expert_summary(found: ExpertFindings, *, language: str = "en") -> str:
    """The answer, in a line or two for each task: how far the judge agrees with the experts and what its mean is worth,
    or without a run how far the experts agree."""
    lines = []
    for one in (each for each in found.judged if not each.part):
        lines.append(judge_line(one, language=language))
        if line := calibrated_line(found, one, language=language):
            lines.append(line)
    if not lines:
        lines = [_agreed_line(one, messages(__name__, language)) for one in found.agreed]
    return "\n".join(lines)


def judge_line(one: JudgeAgreement, *, language: str = "en") -> str:
    """How far the judge agrees with the experts, and whether it is too kind or too strict."""
    words = messages(__name__, language)
    kappa = words["line_kappa"].format(kappa=_interval(one.kappa)) if one.kappa is not None else ""
    bias = one.bias.known or (one.bias.value or 0.0, None, None)
    value, low, high = bias
    kind = "unbiased" if low is None or high is None or low <= 0 <= high else "kind" if value > 0 else "strict"
    sign = -1 if kind == "strict" else 1
    ends = sorted(sign * 100 * end for end in (low, high) if end is not None)
    shown = f" [{_points(ends[0])}, {_points(ends[1])}]" if len(ends) == 2 else ""
    return words["line_judge"].format(
        metric=one.metric, share=f"{100 * (one.equal.value or 0.0):.0f}%", n=f"{one.n:,}", kappa=kappa,
        bias=words[f"bias_{kind}"].format(points=_points(sign * 100 * value), interval=shown),
    )  # fmt: skip


def calibrated_line(found: ExpertFindings, one: JudgeAgreement, *, language: str = "en") -> str:
    """The calibrated mean beside the judge's own, or why there is none; "" where nothing is known."""
    words = messages(__name__, language)
    value = found.calibrated.get((one.task, one.metric))
    if value is None:
        return ""
    if isinstance(value, Refused):
        return words["line_refused"].format(metric=one.metric, reason=_reason(value, words))
    return words["line_calibrated"].format(
        metric=one.metric, mean=f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]", naive=f"{value.naive:.2f}",
        n=f"{value.n:,}", total=f"{value.judged:,}", saved=_saved(value, words),
    )  # fmt: skip


def _saved(value: Calibrated, words: Mapping[str, str]) -> str:
    return words["line_saved"].format(saved=f"{value.saved:,}") if value.saved else words["line_nothing_saved"]


def _agreed_line(one: Agreed, words: Mapping[str, str]) -> str:
    if not one.items:
        return words["line_no_pairs"].format(task=words.get(f"task_{one.task}", one.task))
    kappa = one.statistics.get("kappa")
    return words["line_agreed"].format(
        task=words.get(f"task_{one.task}", one.task), experts=len(one.experts), share=f"{100 * one.equal:.0f}%",
        n=f"{one.items:,}", kappa="" if kappa is None else words["line_kappa"].format(kappa=_interval(kappa)),
    )  # fmt: skip


def _interval(value: tuple[float, float | None, float | None]) -> str:
    middle, low, high = value
    return f"{middle:.2f}" + ("" if low is None or high is None else f" [{low:.2f}, {high:.2f}]")


def _points(value: float) -> str:
    text = f"{value:.1f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _reason(refused: Refused, words: Mapping[str, str]) -> str:
    return words[f"refused_{refused.kind}"].format(n=refused.n, name=refused.name, least=LEAST_LABELS)


def expert_tables(found: ExpertFindings, *, language: str = "en") -> list[Table]:
    """Agreement between experts, of each with the others, and which labels differ; the judge against them; calibrated
    means."""
    words = messages(__name__, language)
    tables = [
        _agreed(found, words), _by_expert(found, words), *(_confusion(one, words) for one in found.agreed),
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
    shown = [name for name in _STATISTICS if any(one.statistics[name] for one in found.agreed)]
    rows = [
        Row((Cell(one.task), Cell(str(one.items)), Cell(str(len(one.experts))),
             Cell("–") if one.items == 0 else Cell("", one.equal, unit="%"),
             *(_value(one.statistics[name]) for name in shown), _ids(one.disputed)))
        for one in found.agreed if one.items
    ]  # fmt: skip
    return _table(words, "agreed", ("task", "items", "experts", "equal", *shown, "disputed"), rows)


def _by_expert(found: ExpertFindings, words: Mapping[str, str]) -> Table:
    rows = [
        Row((Cell(one.task), Cell(each.expert), Cell(str(each.items)), Cell("", each.equal, unit="%"),
             _number(each.kappa), each.bias.cell()))
        for one in found.agreed for each in one.by_expert
    ]  # fmt: skip
    return _table(words, "by_expert", ("task", "expert", "items", "equal", "kappa", "expert_bias"), rows, keys=2)


def _confusion(one: Agreed, words: Mapping[str, str]) -> Table:
    """Of every two experts: a row for each label of the first, a column for each of the second."""
    values = sorted({value for pair in one.confusions for *both, _ in pair.counts for value in both})
    counts = {(pair.first, pair.second, a, b): n for pair in one.confusions for a, b, n in pair.counts}
    rows = [
        Row((Cell(pair.first), Cell(pair.second), Cell(f"{value:g}"),
             *(Cell(str(counts.get((pair.first, pair.second, value, other), 0))) for other in values)))
        for pair in one.confusions[:_SHOWN]
        for value in values
    ]  # fmt: skip
    columns = (words["first"], words["second"], words["label"], *(f"{value:g}" for value in values))
    title = words["title_confusion"].format(task=one.task)
    return Table(f"experts-confusion-{one.task}", title, columns, tuple(rows), (words["note_confusion"],), keys=3)


def _judged(found: ExpertFindings, words: Mapping[str, str]) -> Table:
    rows = [
        Row((Cell(one.task), Cell(one.metric), Cell(_part(one.part, words)), Cell(str(one.n)),
             one.equal.cell("%"), _value(one.kappa), one.bias.cell(), one.precision.cell("%"), one.recall.cell("%"),
             _number(one.correlation), _number(one.rank_correlation),
             Cell(" / ".join(map(str, one.confusion))), _ids(one.differ)))
        for one in found.judged
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
    for (task, metric), one in found.calibrated.items():
        if not isinstance(one, Calibrated):
            rows.append(Row((Cell(task), Cell(metric), Cell(words["refused"].format(reason=_reason(one, words))))))
            continue
        rows.append(
            Row((Cell(task), Cell(metric), Cell("", one.mean, one.low, one.high), Cell("", one.naive),
                 Cell("", *one.labels_only), Cell(f"{one.weight:.2f}"), Cell(str(one.n)), Cell(str(one.judged)),
                 Cell(str(one.saved))))
        )  # fmt: skip
    columns = ("task", "metric", "calibrated", "naive", "labels_only", "weight", "labels", "scores", "saved")
    padded = [Row((*row.cells, *[Cell("")] * (len(columns) - len(row.cells)))) for row in rows]
    return _table(words, "calibrated", columns, padded, keys=2)
