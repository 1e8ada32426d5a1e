"""Records and rounds of labelling that the tests make."""

from collections.abc import Sequence
from pathlib import Path

from ragstone.labels import Label, LabelStore, items_of, task_named
from ragstone.labels.items import candidates
from ragstone.labels.records import Kind
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score

KINDS: tuple[Kind, ...] = ("answer", "passage", "pair")


def record(n: int, system: str = "secret-model", score: float | None = 0.9) -> Record:
    """Answer n of a system, with two passages."""
    gold = Passage("gold-1", f"Number {n} is {n}.", relevant=True, score=0.97)
    other = Passage("noise-2", f"{n} people came.", "A title", relevant=False, score=0.2)
    sample = Sample(f"q{n}", f"What is number {n}?", ((str(n),),), (gold,), "en")
    case = Case(f"q{n}", sample, {"secret_condition": "noise"}, Query(sample.question))
    scores = {} if score is None else {"judge_metric": Score.of(score)}
    return Record(system, case, Response(f"It is {n}, says {len(system)}.", (gold, other)), None, scores)


def records(count: int, systems: Sequence[str] = ("secret-model",)) -> list[Record]:
    return [record(n, system) for system in systems for n in range(count)]


def a_round(path: Path, count: int = 4, *tasks: str, systems: Sequence[str] = ("secret-model",)) -> LabelStore:
    """A file with the items of `count` answers and these tasks (correct)."""
    store = LabelStore.open(path)
    found = records(count, systems)
    store.add_tasks(task_named(name) for name in tasks or ("correct",))
    kinds = {task.kind for task in store.tasks()}
    chosen = {candidate.key: candidate for candidate in candidates(found, kinds)}
    store.add_items(items_of(found, chosen, source="run-1", seed=1))
    return store


def label(store: LabelStore, expert: str, value: str, task: str = "correct", comment: str = "") -> Label:
    """Labels what comes next for this expert."""
    assigned = store.next_item(expert, task)
    assert assigned is not None
    made = Label(assigned.item.id, assigned.task, expert, value, comment=comment, seconds=1.5)
    store.put(made)
    return made
