"""Files of labels for the tests of the pages where experts work."""

from collections.abc import Sequence
from pathlib import Path

from tests.report.labelled import Work, work

from ragstone.datasets.tabular.items import Item
from ragstone.labels import LabelStore, Origin
from ragstone.types import Passage, Sample

__all__ = ["LABELLING", "OURS", "SAMPLES", "labels_file", "standing"]

OURS = {"sec-fetch-site": "same-origin"}
"""What a browser sends with a form of our own page."""

LABELLING = (
    "/annotate", "/annotate?expert=Ida&done=1", "/annotate/item?expert=Ida&task=correct&item=i-1",
    "/annotate/item?expert=Ida&task=better&item=i-2", "/annotate/item?expert=Cy&task=correct&item=i-1&settles=1",
    "/disputes?expert=Cy", "/gold", "/gold/question?id=q1",
)  # fmt: skip
"""The pages of labelling, of a `labels_file`."""

SAMPLES = (
    Sample(
        "q1", "How many days of leave?", (("25 days", "twenty-five"), ("after ten years",)),
        (Passage("p1", "Everybody has 25 days.", "Leave", True), Passage("p2", "Lunch is at noon.", "", False)), "en",
    ),
    Sample("q2", "When is lunch?", (("noon",),), language="en"),
)  # fmt: skip


def labels_file(path: Path, items: Work | None = None, *, experts: Sequence[str] = (), per_item: int = 2) -> Path:
    """A file with these items and their tasks; with experts, all items are assigned to each of them."""
    items = work() if items is None else items
    with LabelStore.open(path) as store:
        store.add_tasks(task for _, task in items)
        store.add_items((item, Origin("run", item.sample_id), f"{place:05}") for place, (item, _) in enumerate(items))
        store.add_samples(Item(sample, row=row) for row, sample in enumerate(SAMPLES, 1))
        store.set("per_item", per_item)
        if experts:
            store.add_experts(experts)
            store.assign((task.name, item.id, expert) for item, task in items for expert in experts)
    return path


def standing(path: Path) -> dict[tuple[str, str, str], str]:
    """(expert, task, item) → the value of the label that stands."""
    with LabelStore.open(path, write=False) as store:
        return {(label.expert, label.task, label.item): label.value for label in store.labels()}
