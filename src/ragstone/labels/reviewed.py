"""Joint judgements of experts on the questions of a test set."""

from typing import Literal, TypeAlias

from ragstone.labels.consensus import consensus
from ragstone.labels.store import LabelStore

Verdict: TypeAlias = Literal["accepted", "edited", "unedited", "rejected", "undecided"]
"""`edited` has an edit, `unedited` should have one. `undecided`: the experts cannot tell, or nobody settled what they
differ on."""

TASK = "question"
"""The task that asks whether a question is a good one."""


def reviews(store: LabelStore) -> dict[str, Verdict]:
    """Id of each reviewed question → what its experts say. One that was edited before it was accepted is edited."""
    questions = {item.id: item.sample_id for item in store.items(TASK)}
    touched = {edit.sample_id for edit in store.edits()}
    edits = {name for name in touched if store.sample(name) != store.sample(name, original=True)}
    values = consensus(store, TASK)
    found: dict[str, Verdict] = {}
    for item in dict.fromkeys(label.item for label in store.labels(TASK)):
        sample, value = questions[item], values.get(item)
        if value == "rejected":
            found[sample] = "rejected"
        elif value is None:
            found[sample] = "undecided"
        elif sample in edits:
            found[sample] = "edited"
        else:
            found[sample] = "accepted" if value == "accepted" else "unedited"
    return found
