"""What a judge sees of a sample, and nothing else of it: no labels, no ids, no names of models."""

import hashlib
from dataclasses import dataclass

from ragstone.metrics._passages import retrieved
from ragstone.metrics._references import filled
from ragstone.text import detect
from ragstone.types import Case, Response, to_json

__all__ = ["Texts"]


@dataclass(frozen=True)
class Texts:
    """The texts of a sample. `language` is that of the prompts; `sample` numbers equal requests, for the judge's own
    variance (`judge_repeat` of the case's condition)."""

    question: str
    answer: str
    reference: str
    passages: tuple[str, ...]
    language: str
    sample: int

    @classmethod
    def of(cls, case: Case, response: Response, language: str = "") -> "Texts":
        """A reference of several slots is their first aliases, joined: what a whole answer says. `language` "" follows
        the query or the sample, and where neither says, the question: no answer chooses how it is judged. The answer
        decides only where the question has no letters."""
        question = case.query.question
        spoken = language or case.query.language or case.sample.language
        if not spoken:
            spoken = detect(question if any(map(str.isalpha, question)) else response.answer)
        return cls(
            question=question,
            answer=response.answer,
            reference=" ".join(slot[0].strip() for slot in filled(case.sample)),
            passages=tuple(passage.text for passage in retrieved(case, response)),
            language="zh" if spoken.lower().startswith("zh") else "en",
            sample=int(case.condition.get("judge_repeat", 0)),
        )

    @property
    def key(self) -> bytes:
        """Equal for equal texts."""
        content = [self.question, self.answer, self.reference, self.passages, self.language, self.sample]
        return hashlib.sha256(to_json(content).encode()).digest()
