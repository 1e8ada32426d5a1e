"""Messages of the pytest plug-in: the missed thresholds, the evidence of the scores, and the table at the end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragstone.metrics import better
from ragstone.metrics.answerable import UNANSWERABLE, answerable, declined, refusal_expected
from ragstone.metrics.judge.record import AnswerClaim, PassageVerdict, ReferenceClaim, merged, requests_of, steps_of
from ragstone.pytest_plugin.support import Scored
from ragstone.report.sanitize import one_line
from ragstone.types import Passage, Record, Score

_CLAIMS = 5  # that a short line names
_TEXT = 160  # characters of a claim
_LONG = 400  # characters of an answer or a passage
_ABOUT_SUPPORT = ("faithfulness", "groundedness", "hallucination")
_MOST = 20  # claims, statements and passages that are shown of each kind


@dataclass(frozen=True)
class PassRate:
    """How many samples reach every threshold; `failures` has a line for each that does not."""

    passed: int
    total: int
    failures: tuple[str, ...]
    samples: tuple[Scored, ...]

    @property
    def rate(self) -> float:
        return self.passed / self.total

    def means(self) -> dict[str, float]:
        """The mean of each metric over the samples that have a score."""
        means = {}
        for name in self.samples[0].scores:
            values = [value for sample in self.samples if (value := sample.value(name)) is not None]
            if values:
                means[name] = sum(values) / len(values)
        return means


def pass_rate(scored: Sequence[Scored], thresholds: Mapping[str, float]) -> PassRate:
    """The pass rate of at least one sample. A sample without a score does not pass."""
    failing = [(sample, lines) for sample in scored if (lines := misses(sample, thresholds))]
    failures = tuple(f"{title(sample)}: {'; '.join(lines)}" for sample, lines in failing)
    return PassRate(len(scored) - len(failing), len(scored), failures, tuple(scored))


def title(scored: Scored) -> str:
    """The sample in one line."""
    return f"{one_line(scored.id, 80)} ({one_line(scored.question, 80)!r})"


def misses(scored: Scored, thresholds: Mapping[str, float]) -> list[str]:
    """A line for each threshold that a sample misses. For a metric where lower is better the threshold is a maximum.

    A refusal misses nothing where the question cannot be answered, and is a miss where the data say that it can; where
    only a refusal is right, an answer is a miss."""
    possible = answerable(scored.case)
    refused = declined(scored.response, (score for scores in scored.scores.values() for score in scores))
    if possible is False and refused:
        return []
    if possible is False and refusal_expected(scored.case):
        return ["the question cannot be answered, but the answer does not decline"]
    lines = ["the answer declines, although the question can be answered"] if possible and refused else []
    for metric, threshold in thresholds.items():
        scores, value = scored.scores[metric], scored.value(metric)
        maximum = better(metric) == "lower"
        if value is None and possible is False and all(score.reason == UNANSWERABLE for score in scores):
            continue
        if value is None:
            missing = [score for score in scores if score.value is None]
            count = f" in {len(missing)} of {len(scores)} judgements" if len(scores) > 1 else ""
            lines.append(f"{metric}: no score{count} ({missing[0].status}: {one_line(missing[0].reason, _LONG)})")
        elif value > threshold if maximum else value < threshold:
            each = f" ({_values(scores)})" if len(scores) > 1 else ""
            lines.append(
                f"{metric}: {value:.3f} {'>' if maximum else '<'} {threshold:g}{each}{_because(scored, metric)}"
            )
    return lines


def at_length(scored: Scored, thresholds: Mapping[str, float]) -> list[str]:
    """The sample, all scores with their reasons, the answer, its claims and those of the reference with their verdicts,
    and the passages, in lines. Of several judgements, the one in which the missed metrics are worst."""
    number = _worst(scored, thresholds)
    scores = {metric: repeats[number] for metric, repeats in scored.scores.items()}
    lines = [f"sample: {title(scored)}", f"scores{f' of judgement {number + 1}' if _repeats(scored) > 1 else ''}:"]
    lines += [f"  {metric}: {_score_text(score)}" for metric, score in scores.items()]
    lines.append(f"answer: {one_line(scored.response.answer, _LONG) or '(empty)'}")
    lines += [f"reference: {one_line(' / '.join(slot), _LONG)}" for slot in scored.case.sample.references]
    matrix = merged(requests_of(Record("", scored.case, scored.response, None, scores)))
    lines += _listed("claims of the answer", (_claim(claim, "the reference") for claim in matrix.answer_claims))
    lines += _listed("claims of the reference", (_claim(claim, "the answer") for claim in matrix.reference_claims))
    lines += _listed("statements", _statements(scores))
    lines += _listed("passages", _passages(scored.response.passages, matrix.passages))
    return lines


def _repeats(scored: Scored) -> int:
    return max(map(len, scored.scores.values()))


def _worst(scored: Scored, thresholds: Mapping[str, float]) -> int:
    """The judgement furthest from the thresholds; one without a score counts as the furthest."""

    def distance(number: int) -> float:
        total = 0.0
        for metric, threshold in thresholds.items():
            value = scored.scores[metric][number].value
            if value is None:
                return float("inf")
            total += max(0.0, value - threshold if better(metric) == "lower" else threshold - value)
        return total

    return max(range(_repeats(scored)), key=distance)


def _values(scores: Sequence[Score]) -> str:
    return ", ".join("–" if score.value is None else f"{score.value:.2f}" for score in scores)


def _score_text(score: Score) -> str:
    value = score.status if score.value is None else f"{score.value:.3f}"
    return f"{value} ({one_line(score.reason, _LONG)})" if score.reason else value


def _because(scored: Scored, metric: str) -> str:
    """The unsupported claims, for metrics that are about support; otherwise the reason of the score."""
    sign = 1 if better(metric) == "lower" else -1
    worst = max(scored.scores[metric], key=lambda score: sign * (score.value or 0.0))
    if metric.rpartition(".")[2] in _ABOUT_SUPPORT:
        claims = merged(steps_of(worst)).answer_claims
        texts = [repr(one_line(claim.text, _TEXT)) for claim in claims if claim.verified and not claim.supported_by]
        if texts:
            more = f" and {len(texts) - _CLAIMS} more" if len(texts) > _CLAIMS else ""
            return f" (no passage supports {', '.join(texts[:_CLAIMS])}{more})"
    return f" ({one_line(worst.reason, _LONG)})" if worst.reason else ""


def _claim(claim: AnswerClaim | ReferenceClaim, counterpart: str) -> str:
    verdicts = []
    if claim.supported_by:
        verdicts.append(f"supported by {_places(claim.supported_by)}{' together' if claim.together else ''}")
    if claim.contradicted_by:
        verdicts.append(f"contradicted by {_places(claim.contradicted_by)}")
    if claim.verified and not claim.supported_by and not claim.contradicted_by:
        verdicts.append("no passage supports it")
    if claim.shared is not None:
        verdicts.append(f"{'in' if claim.shared else 'not in'} {counterpart}")
    if isinstance(claim, AnswerClaim) and not claim.relevant:
        verdicts.append("does not help to answer")
    return f"{claim.id}. {one_line(claim.text, _TEXT)} – {'; '.join(verdicts) or 'not judged'}"


def _places(places: Sequence[int]) -> str:
    return ", ".join(f"[{place}]" for place in places)


def _statements(scores: Mapping[str, Score]) -> Iterator[str]:
    """The statements that the ragas protocol counts one by one."""
    for metric, score in scores.items():
        evidence: Any = score.evidence if isinstance(score.evidence, Mapping) else {}
        texts, counted = evidence.get("statements"), evidence.get("counted")
        if isinstance(texts, list | tuple) and isinstance(counted, list | tuple):
            for number, text in enumerate(texts, start=1):
                yield f"{metric} {number}. {one_line(str(text), _TEXT)} – {'yes' if number in counted else 'no'}"


def _passages(passages: Sequence[Passage], verdicts: Sequence[PassageVerdict]) -> Iterator[str]:
    by_place = {verdict.id: (verdict.relevant, verdict.useful) for verdict in verdicts}
    for place, passage in enumerate(passages, start=1):
        relevant, useful = by_place.get(place, (None, None))
        labels = ", ".join(
            word if verdict else f"not {word}"
            for word, verdict in (("relevant", relevant), ("useful", useful))
            if verdict is not None
        )
        yield f"[{place}] {one_line(passage.text, _LONG)}" + (f" – {labels}" if labels else "")


def _listed(name: str, lines: Iterable[str]) -> list[str]:
    """The first lines below their heading; nothing if there are none."""
    listed = list(lines)
    more = [f"  … and {len(listed) - _MOST} more"] if len(listed) > _MOST else []
    return [f"{name}:", *(f"  {line}" for line in listed[:_MOST]), *more] if listed else []


def score_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The table of all assertions: a line for each, with its scores, and one for each run file. A record has "test",
    "sample", "values" by metric, "rate" (None: no pass rate), "passed", "run" ("": none) and "undecided",
    lines on gates that too few answers leave open."""
    rows = sorted(records, key=lambda row: str(row["test"]))
    metrics = list(dict.fromkeys(name for row in rows for name in row["values"]))
    widths = [max(len(name), 6) for name in metrics]
    yield "  ".join(name.rjust(width) for name, width in zip(metrics, widths, strict=True)) + "    rate  test (sample)"
    for row in rows:
        values = (f"{row['values'][name]:.3f}" if name in row["values"] else "–" for name in metrics)
        cells = "  ".join(value.rjust(width) for value, width in zip(values, widths, strict=True))
        rate = "" if row["rate"] is None else f"{row['rate']:.0%}"
        mark = "" if row["passed"] else "  FAILED"
        shown = one_line(f"{row['test']} ({row['sample']})")
        yield f"{cells}  {rate:>6}  {shown}{mark}"
        yield from (f"  {one_line(line)}" for line in row.get("undecided", ()))
    for run in sorted({str(row["run"]) for row in rows} - {""}):
        yield one_line(f"run: {run}   (ragstone report RUN -o report.html)")
