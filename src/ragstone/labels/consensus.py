"""Joint judgements of experts: items on which they differ, the label that settles each, and judged passages."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.labels.records import CANNOT_TELL, Label
from ragstone.labels.store import LabelStore
from ragstone.types import Passage


@dataclass(frozen=True)
class Dispute:
    """An item and task on which experts differ. `labels`: theirs; `ruling`: the label that settles it, or None."""

    item: str
    task: str
    labels: tuple[Label, ...]
    ruling: Label | None = None


def disputes(store: LabelStore, tasks: Iterable[str] = ()) -> Iterator[Dispute]:
    """The items and tasks on which the labels of experts differ, in the order of the round. "Cannot tell" differs from
    any other label."""
    wanted = {*tasks}
    groups: dict[tuple[str, str], list[Label]] = {}
    for label in store.labels():
        if not wanted or label.task in wanted:
            groups.setdefault((label.item, label.task), []).append(label)
    order = {item.id: place for place, item in enumerate(store.items())}
    for item, task in sorted(groups, key=lambda key: (order.get(key[0], 0), key)):
        labels = groups[item, task]
        theirs = tuple(label for label in labels if not label.adjudicated)
        rulings = [label for label in labels if label.adjudicated]
        if len({label.value for label in theirs}) > 1:
            yield Dispute(item, task, theirs, max(rulings, key=lambda label: label.version, default=None))


def consensus(store: LabelStore, task: str) -> dict[str, str]:
    """Item id → the value that counts: the adjudicator's, else the one that most experts chose. Items without one (a
    draw, or only "cannot tell") are left out."""
    groups: dict[str, list[Label]] = {}
    for label in store.labels(task):
        groups.setdefault(label.item, []).append(label)
    found: dict[str, str] = {}
    for item, labels in groups.items():
        rulings = [label for label in labels if label.adjudicated]
        if rulings:
            value = max(rulings, key=lambda label: label.version).value
            if value != CANNOT_TELL:
                found[item] = value
            continue
        counts = Counter(label.value for label in labels if label.value != CANNOT_TELL).most_common(2)
        if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]):
            found[item] = counts[0][0]
    return found


def relevant_passages(store: LabelStore) -> dict[str, dict[str, tuple[Passage, bool]]]:
    """Question id → passage id → the passage and whether the experts judged it relevant."""
    if not any(task.name == "relevant" for task in store.tasks()):
        return {}
    values, origins = consensus(store, "relevant"), store.origins()
    found: dict[str, dict[str, tuple[Passage, bool]]] = {}
    for item in store.items("relevant"):
        if item.id in values and item.passages:
            passage = replace(item.passages[0], id=origins[item.id].passage)
            found.setdefault(item.sample_id, {})[passage.id] = (passage, values[item.id] == "yes")
    return found
