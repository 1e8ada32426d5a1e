"""Labels of people: what is labelled (`items`), by which question (`tasks`), and one file that keeps it (`store`)."""

from ragstone.labels.items import items_of
from ragstone.labels.records import (
    CANNOT_TELL,
    Assigned,
    Edit,
    Label,
    LabelItem,
    Marked,
    Origin,
    Progress,
)  # fmt: skip
from ragstone.labels.store import LabelStore
from ragstone.labels.tasks import TASKS, Choice, Task, task_named

__all__ = [
    "CANNOT_TELL", "TASKS", "Assigned", "Choice", "Edit", "Label", "LabelItem", "LabelStore", "Marked", "Origin",
    "Progress", "Task", "items_of", "task_named",
]  # fmt: skip
