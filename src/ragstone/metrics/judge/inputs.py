"""What a judge sees of a sample, and nothing else of it: no labels, no ids, no names of models."""

import hashlib
from dataclasses import dataclass

from ragstone.messages import messages
from ragstone.metrics._passages import retrieved
from ragstone.metrics._references import alternatives
from ragstone.structs import to_json
from ragstone.text import detect
from ragstone.types import Case, Response, Turn


@dataclass(frozen=True)
class Texts:
    """The texts of a sample. `language` is that of the prompts; `sample` numbers equal requests, for the judge's own
    variance (`judge_repeat` of the case's condition). `references` are alternatives, of which any will do; `history` is
    what was said before the question."""

    question: str
    answer: str
    references: tuple[str, ...]
    passages: tuple[str, ...]
    language: str
    sample: int
    history: tuple[Turn, ...] = ()

    @classmethod
    def of(cls, case: Case, response: Response, language: str = "") -> "Texts":
        """`language` "" follows the query or the sample, and where neither says, the question: no answer chooses how it
        is judged. The answer decides only where the question has no letters."""
        question = case.query.question
        spoken = language or case.query.language or case.sample.language
        if not spoken:
            spoken = detect(question if any(map(str.isalpha, question)) else response.answer)
        return cls(
            question=question,
            answer=response.answer,
            references=alternatives(case.sample),
            passages=tuple(passage.text for passage in retrieved(case, response)),
            language="zh" if spoken.lower().startswith("zh") else "en",
            sample=int(case.condition.get("judge_repeat", 0)),
            history=case.query.history,
        )

    @property
    def asked(self) -> str:
        """The question, after what was said before it."""
        if not self.history:
            return self.question
        words = messages(__name__, self.language)
        said = "\n".join(f"{words[turn.role]}{turn.content}" for turn in self.history)
        return words["conversation"].format(history=said, question=self.question)

    @property
    def reference(self) -> str:
        """All alternatives as one text; "" where there is none."""
        if len(self.references) < 2:
            return "".join(self.references)
        listed = "\n".join(f"({number}) {text}" for number, text in enumerate(self.references, start=1))
        return messages(__name__, self.language)["alternatives"].format(listed=listed)

    @property
    def key(self) -> bytes:
        """Equal for equal texts."""
        content = [self.question, self.answer, self.references, self.passages, self.language, self.sample]
        content += [self.history] if self.history else []
        return hashlib.sha256(to_json(content).encode()).digest()
