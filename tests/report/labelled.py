"""Items to label: a few plain ones, and some of a run whose every hidden field holds a secret."""

from collections.abc import Iterator, Sequence

from tests.report.hostile import PAYLOADS

from ragstone.labels import LabelItem, Task, items_of, task_named
from ragstone.labels.items import candidates
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score, Turn, Usage

ANSWER = "Twenty-five days. \u202eTwo\r\n😀 days\x00 more,\ud800 it says."
SECRET = "Zyx0Secret"  # nothing that an expert may know

Work = list[tuple[LabelItem, Task]]


def work(language: str = "en") -> Work:
    """One item of each kind and task, with characters that cannot be shown in its answer."""
    passages = (
        Passage("1", "Everybody has 25 days.\nMore after ten years.", "Leave"),
        Passage("2", "Lunch is at noon."),
    )
    references = (("25 days", "twenty-five"), ("after ten years",))
    leave = LabelItem(
        "i-1", "answer", "q1", "How many days of leave?", (ANSWER,), passages, references, language=language
    )
    answers = ("At noon.", "年假有 25 天。")
    lunch = LabelItem(
        "i-2", "pair", "q2", "When is lunch?", answers, passages, references, (Turn("user", "Hello"),), language
    )
    passage = LabelItem("i-3", "passage", "q3", "Is there a lunch?", (), passages[1:], references)
    asked = ((leave, "correct"), (leave, "faithful"), (lunch, "better"), (passage, "relevant"))
    return [(item, task_named(task)) for item, task in asked]


def secret_records(payloads: Sequence[str] = PAYLOADS) -> Iterator[Record]:
    """Answers of two systems, with a secret in everything that tells who answered, how it was scored, or what a passage
    is labelled; payloads are beside it, and in all that experts do see."""
    for number, evil in enumerate(payloads):
        kind = {f"{SECRET} kind": f"{SECRET} {evil}"}
        passages = tuple(
            Passage(f"{SECRET}:{place} {evil}", f"text {place} {evil}", f"title {evil}", place == 0, 0.5, dict(kind))
            for place in range(2)
        )
        sample = Sample(f"q{number}", f"question {evil}", ((f"alias {evil}",),), passages, "en", dict(kind))
        case = Case(f"{SECRET} case {number}", sample, {f"{SECRET} condition": evil}, Query(sample.question, passages))
        for system in (f"{SECRET} one {evil}", f"{SECRET} two {evil}"):
            response = Response(
                f"answer {evil}", passages, usage=Usage(31337, 1), seconds=31337.0, model=SECRET, reasoning=SECRET,
                finish_reason=SECRET,
            )  # fmt: skip
            scores = {f"{SECRET} metric": Score.of(0.31337, reason=f"{SECRET} {evil}", evidence={"judge": SECRET})}
            yield Record(system, case, response, scores=scores)


def secret_work(payloads: Sequence[str] = PAYLOADS) -> Work:
    """What experts are asked about those records."""
    records = list(secret_records(payloads))
    found = {candidate.key: candidate for candidate in candidates(records, ("answer", "pair", "passage"))}
    tasks = {task.kind: task for task in map(task_named, ("faithful", "better", "relevant"))}
    return [(item, tasks[item.kind]) for item, _, _ in items_of(records, found, source=SECRET, by=SECRET)]
