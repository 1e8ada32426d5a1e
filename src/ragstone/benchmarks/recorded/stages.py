"""What each stage of a system did, over all answers: passages, recall, seconds, tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median

from ragstone.display import Cell, Row, Table
from ragstone.metrics.rank.measures import Recall
from ragstone.responses.stages import FIRST_TOKEN, STAGE_WORDS, passages_at
from ragstone.stats import Estimate
from ragstone.types import Record, Response, Usage

_STAGES = ("rewrite", *STAGE_WORDS.values(), "answer")
_ROWS = {name: f"stage_{name}" for name in _STAGES} | {FIRST_TOKEN: "stage_first_token"}
_RECALLS = {step: Recall(stage=word) for word, step in STAGE_WORDS.items()}


@dataclass
class StageTally:
    """One stage of one system. `recalls`: of all relevant passages, by sample, where the data label them."""

    answers: int = 0
    passages: list[int] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def add(self, seconds: float | None, usage: Usage | None) -> None:
        self.answers += 1
        if seconds is not None:
            self.seconds.append(seconds)
        if usage is not None:
            self.tokens.append(usage.prompt_tokens + usage.completion_tokens)


def add_stages(stages: dict[str, StageTally], record: Record) -> None:
    """Adds the stages of a record. "answer" is what its response took beyond the others."""
    response = record.response
    if (
        response is None
        or not response.steps
        or not any(step.name in (*_RECALLS, FIRST_TOKEN) for step in response.steps)
    ):
        return
    for name in _ROWS:
        steps = [step for step in response.steps if step.name == name]
        if steps:
            usages = [step.usage for step in steps if step.usage is not None]
            seconds = [step.seconds for step in steps if step.seconds is not None]
            usage = sum(usages, Usage()) if usages else None
            stages.setdefault(name, StageTally()).add(sum(seconds) if seconds else None, usage)
        if steps and name in _RECALLS:
            _add_passages(stages[name], name, record, response)
    if response.answer:
        stages.setdefault("answer", StageTally()).add(_rest(response), response.usage)


def _add_passages(tally: StageTally, name: str, record: Record, response: Response) -> None:
    tally.passages.append(len(passages_at(response, name) or ()))
    recall = _RECALLS[name].score(record.case, response).value
    if recall is not None:
        tally.recalls.append(recall)
        tally.samples.append(record.case.sample.id)


def _rest(response: Response) -> float | None:
    """The seconds of a response that no earlier stage took."""
    if response.seconds is None:
        return None
    return max(0.0, response.seconds - sum(step.seconds or 0.0 for step in response.steps if step.name in _STAGES))


def stages_table(stages: Mapping[str, Mapping[str, StageTally]], words: Mapping[str, str], *, multiple: bool) -> Table:
    """A row per stage of each system (by its id); without rows if no system has more stages than one before the answer
    or streams its answer. Columns of which nothing is known are left out."""
    columns: dict[str, Callable[[StageTally], Cell]] = {
        "stage_answers": lambda tally: Cell(f"{tally.answers:,}"),
        "stage_passages": lambda tally: Cell(f"{fmean(tally.passages):.1f}" if tally.passages else ""),
        "stage_recall": lambda tally: (
            Estimate.of_mean(tally.recalls, groups=tally.samples, total=tally.answers).cell()
            if tally.recalls
            else Cell()
        ),
        "stage_seconds": lambda tally: Cell(f"{median(tally.seconds):.3f}" if tally.seconds else ""),
        "stage_tokens": lambda tally: Cell(f"{fmean(tally.tokens):,.0f}" if tally.tokens else ""),
    }
    rows: list[tuple[list[Cell], list[Cell]]] = []
    for system, by_name in stages.items():
        if len(by_name.keys() - {"answer"}) < 2 and FIRST_TOKEN not in by_name:
            continue
        for name in (name for name in _ROWS if name in by_name):
            key = [*([Cell(system)] if multiple else []), Cell(words[_ROWS[name]])]
            rows.append((key, [make(by_name[name]) for make in columns.values()]))
    known = [place for place in range(len(columns)) if any(cells[place] != Cell() for _, cells in rows)]
    titles = [
        *([words["system"]] if multiple else []),
        words["stage"],
        *(words[list(columns)[place]] for place in known),
    ]
    kept = tuple(Row((*key, *(cells[place] for place in known))) for key, cells in rows)
    return Table("eval-stages", words["stages"], tuple(titles), kept, (words["stages_note"],), keys=1 + multiple)
