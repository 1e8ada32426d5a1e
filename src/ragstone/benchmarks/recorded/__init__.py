"""The user's own data as a benchmark: each row is a case, with a recorded answer (`eval`) or a question for a system
(`run`)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ragstone.benchmarks.plugin import Plugin
from ragstone.benchmarks.recorded.ragchecker_plugin import RagCheckerPlugin

if TYPE_CHECKING:
    from ragstone.benchmarks.recorded.benchmark import RecordedAnswers

__all__ = ["PLUGINS", "OwnQuestionsPlugin", "RecordedAnswersPlugin"]


class RecordedAnswersPlugin(Plugin):
    """Scores of recorded answers."""

    name: ClassVar[str] = "eval"
    summary: ClassVar[str] = "Scores of recorded answers."
    condition_types: ClassVar[Mapping[str, Any]] = {"judge_repeat": int, "repeat": int}
    note_types: ClassVar[Mapping[str, Any]] = {"columns": dict[str, str | int | float | bool]}

    def from_meta(self, meta: Mapping[str, Any], /) -> "RecordedAnswers":
        from ragstone.benchmarks.recorded.benchmark import RecordedAnswers  # noqa: PLC0415

        return RecordedAnswers.from_meta(meta)


class OwnQuestionsPlugin(RecordedAnswersPlugin):
    """A system's answers to the user's questions."""

    name: ClassVar[str] = "run"
    summary: ClassVar[str] = "A system's answers to the user's own questions."

    def from_meta(self, meta: Mapping[str, Any], /) -> "RecordedAnswers":
        from ragstone.benchmarks.recorded.benchmark import OwnQuestions  # noqa: PLC0415

        return OwnQuestions.from_meta(meta)


PLUGINS = {"eval": RecordedAnswersPlugin(), "ragchecker": RagCheckerPlugin(), "run": OwnQuestionsPlugin()}
