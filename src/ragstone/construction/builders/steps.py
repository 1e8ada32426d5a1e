"""What a model is asked in a pass: the step, its prompt, the shape of the reply, and one request of it.

The prompts are `prompts/{en,zh}/STEP.toml`, in the format of `retrieval.llm_ranking`."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from ragstone.retrieval.llm_ranking import Prompt, read_prompt
from ragstone.structs import from_json, schema_of, to_json
from ragstone.types import Case, Query, Response, Sample

Role: TypeAlias = Literal["writer", "checker", "searcher"]
"""The writer makes facts and questions, the checker reads and judges them; they may be different models. The searcher
is a search engine of the web."""

UNUSABLE = "unusable"
"""The `finish_reason` of a response whose reply has not the shape of its step, even after it was asked again."""


def _fine(shown: Mapping[str, Any], reply: Any) -> str:
    return ""


@dataclass(frozen=True)
class Step:
    """`kind`: the struct of the reply. `check` returns a further problem of a reply to what was shown, "" for none."""

    name: str
    kind: type[msgspec.Struct]
    check: Callable[[Mapping[str, Any], Any], str] = field(default=_fine, compare=False)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply, with every field required and no others, as providers want it."""
        return schema_of(self.kind)


@dataclass(frozen=True)
class Task:
    """One request. `key` is unique in its pass and does not depend on other items. `repeat` numbers independent replies
    to the same request. The id of its case has the hash of what is shown: of a changed document it is another case."""

    key: str
    shown: Mapping[str, Any]
    language: str
    repeat: int = 0

    def case(self, name: str, step: str) -> Case:
        """The case of the run file; `name` is the pass."""
        recipe = to_json({"step": step, "shown": dict(self.shown)})
        query = Query(recipe, (), language=self.language, repeat=self.repeat)
        case_id = f"{name}/{self.key}/{content_id(recipe)[:8]}/{self.repeat}"
        return Case(case_id, Sample(self.key, ""), {"pass": name}, query)


@dataclass(frozen=True)
class Reply:
    """A parsed reply; `value` None: there is none, because of `problem`."""

    value: Any
    problem: str = ""


def task_of(query: Query) -> tuple[str, Mapping[str, Any]]:
    """The step of a query, and what is shown to the model."""
    recipe = from_json(query.question, dict[str, Any])
    return recipe["step"], recipe["shown"]


def reply_of(response: Response, kind: type[msgspec.Struct]) -> Reply:
    """The parsed reply of a response."""
    if response.finish_reason == UNUSABLE:
        return Reply(None, response.answer)
    return Reply(from_json(response.answer, kind))


def prompt_of(step: str, language: str) -> Prompt:
    """The prompt of a step; English where the language has none."""
    return read_prompt(step, language if language in ("en", "zh") else "en", package="ragstone.construction.builders")


def content_id(*parts: str) -> str:
    """A short id of these texts: an item that does not change keeps its id."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:16]
