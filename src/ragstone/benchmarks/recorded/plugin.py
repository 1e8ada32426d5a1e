"""The plugin of `ragstone eval`: its runs are made by that command, and read by name like those of any benchmark."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ragstone.benchmarks.plugin import Plugin

if TYPE_CHECKING:
    from ragstone.benchmarks.recorded.benchmark import RecordedAnswers

__all__ = ["RecordedAnswersPlugin"]


class RecordedAnswersPlugin(Plugin):
    """Scores of recorded answers."""

    name: ClassVar[str] = "eval"
    summary: ClassVar[str] = "Scores of recorded answers."

    def from_meta(self, meta: Mapping[str, Any], /) -> "RecordedAnswers":
        from ragstone.benchmarks.recorded.benchmark import RecordedAnswers  # noqa: PLC0415

        return RecordedAnswers.from_meta(meta)
