"""What the user's own data offer: `ragstone eval` makes their runs, and whoever reads a run finds them by name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ragstone.benchmarks.plugin import Plugin

if TYPE_CHECKING:
    from ragstone.benchmarks.recorded.benchmark import OwnData

__all__ = ["OwnDataPlugin"]


class OwnDataPlugin(Plugin):
    """Answers that exist already, scored."""

    name: ClassVar[str] = "eval"
    summary: ClassVar[str] = "Answers that exist already, scored."

    def from_meta(self, meta: Mapping[str, Any], /) -> "OwnData":
        from ragstone.benchmarks.recorded.benchmark import OwnData  # noqa: PLC0415

        return OwnData.from_meta(meta)
