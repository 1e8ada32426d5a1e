"""`--batch` of the commands that ask models: what it opens, and what it says while it waits."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragstone.commands.output import say
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.models.batches import Batch, Batches


def batches_of(values: Mapping[str, Any]) -> "Batches | None":
    """The batches of a command with `--batch`, None without it. They say on standard error how they stand."""
    if not values.get("batch"):
        return None
    from ragstone.engine.batches import batch_folder  # noqa: PLC0415
    from ragstone.models.batches import Batches  # noqa: PLC0415

    texts = messages(__name__, values.get("language") or preferred_language())

    def report(batches: "list[Batch]") -> None:
        for batch in batches:
            if not values["quiet"]:
                say(line_of(batch, texts), err=True)

    return Batches(batch_folder(), leave=values["batch"] == "leave", report=report)


def line_of(batch: "Batch", texts: Mapping[str, str]) -> str:
    """A batch in a line."""
    said = batch.state if batch.state == "failed" or not batch.remote else batch.status
    state = texts.get(f"state.{said}", said)
    return texts["line"].format(
        model=batch.model, id=batch.remote or "–", state=state, done=batch.done, total=batch.total, failed=batch.failed
    )
