"""`--batch` of the commands that ask models: what it opens, and what it says while it waits."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragstone.cli.output import say
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.models.batches import Batch, Batches

__all__ = ["batches_of"]


def batches_of(values: Mapping[str, Any]) -> "Batches | None":
    """The batches of a command with `--batch`, None without it. They say on standard error how they stand."""
    if not values.get("batch"):
        return None
    from ragstone.api.rounds import batch_folder  # noqa: PLC0415
    from ragstone.models.batches import Batches  # noqa: PLC0415

    texts = messages(__name__, values.get("language") or preferred_language())

    def report(batches: "list[Batch]") -> None:
        for batch in batches:
            state = texts.get(f"state.{batch.status or batch.state}", batch.status or batch.state)
            say(texts["line"].format(model=batch.model, id=batch.remote or "–", state=state, done=batch.done,
                                     total=batch.total, failed=batch.failed), err=True)  # fmt: skip

    return Batches(
        batch_folder(), leave=values["batch"] == "leave", report=(lambda _: None) if values["quiet"] else report
    )
