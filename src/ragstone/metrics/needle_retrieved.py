"""Whether a retriever that stands before the model brought the needle."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class NeedleRetrieved:
    """`needle.retrieved`: the share of the needles that are in the chunks which the model was given.

    Formula: needles that are whole in the chunks found / needles that an answer needs. One that was cut in two is there
    where both parts are; blanks do not count.
    Range: 0 to 1, higher is better.
    Needs: a retriever before the model (`ragstone bench niah --retriever`).
    Evidence: {"needles": for each of them, whether it was found}.
    Source: ragstone.

    | case | result |
    |---|---|
    | the answer declines, or is empty | as if it did not |
    | no passages | not applicable without a retriever; 0 where one found nothing |
    | no reference | not applicable: a control has no needle |
    """

    name: ClassVar[str] = "needle.retrieved"
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset()

    def score(self, case: Case, response: Response, /) -> Score:
        recipe = _recipe(case)
        if "wanted" not in recipe:
            return Score.not_applicable("no retriever stood before the model")
        if not recipe["wanted"]:
            return Score.not_applicable("a control has no needle")
        parts: dict[int, list[tuple[int, int]]] = {}
        for passage in response.passages:
            for number, start, end in passage.meta.get("needles", ()):
                parts.setdefault(number, []).append((start, end))
        whole = [_covered(recipe["needles"][number], parts.get(number, [])) for number in recipe["wanted"]]
        return Score.of(sum(whole) / len(whole), evidence={"needles": whole})


def _recipe(case: Case) -> dict[str, Any]:
    """The recipe of the case's context."""
    passages = case.query.passages or ()
    recipe = passages[0].meta.get("recipe") if passages else None
    return recipe if isinstance(recipe, dict) else {}


def _covered(needle: str, parts: list[tuple[int, int]]) -> bool:
    """Whether these parts cover the whole needle, ignoring whitespace."""
    return all(char.isspace() or any(start <= at < end for start, end in parts) for at, char in enumerate(needle))


PLUGINS = {"needle.retrieved": NeedleRetrieved()}
