"""The plan of one cell of a needle test: everything of its case except the text."""

from typing import Any

from ragstone.benchmarks.niah.aggregate import ANYWHERE
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.retrieved_context import RagSetting
from ragstone.structs import Frozen


class CellPlan(Frozen, frozen=True):
    """The plan of one cell: everything of its case except the text. `depth` is the requested one, in percent."""

    language: str
    kind: str
    template: str
    length: int
    depth: float
    repeat: int
    question: NeedleQuestion
    control: bool
    start: int  # index of the essay that the haystack begins with
    sentences: int
    at: tuple[int, ...]
    needles: tuple[str, ...]
    tokens: int  # of the whole prompt, at most
    reached: float  # percent
    before: int  # tokens before the first needle
    around: int = 0  # tokens of the prompt without its context
    rag: RagSetting | None = None
    variant: str = ""  # the settings of the kind
    suite: str = ""
    stack: str = ""  # the name of its haystack

    @property
    def id(self) -> str:
        ability = "control" if self.control else "needle"
        head = f"rag/{self.rag.id}/" if self.rag else ""
        tail = f"/r{self.repeat}" if self.repeat else ""
        depth = "" if self.depth == ANYWHERE else f"/{self.depth:06.2f}"
        return f"{head}{ability}/{self.language}/{self._kind}/{self.template}/{self.length:07d}{depth}{tail}"

    @property
    def sample_id(self) -> str:
        """The name of its question."""
        depth = "" if self.depth == ANYWHERE else f"/{self.depth:g}"
        return f"{self.language}/{self._kind}/{self.length}{depth}/{self.repeat}"

    @property
    def _kind(self) -> str:
        return f"{self.kind}:{self.variant}" if self.variant else self.kind

    @property
    def notes(self) -> dict[str, Any]:
        """What scoring has to know of the needle."""
        if self.control:
            return {}
        question = self.question
        keyed = {"keys": list(question.keys), "others": [list(pair) for pair in question.others]}
        form = {"form": question.form} if question.form else {}
        return {"needle": question.answer_text, **(keyed if question.keys else {}), **form}
