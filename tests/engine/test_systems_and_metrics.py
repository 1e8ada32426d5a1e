"""A case can be a recipe, whose text is made when it is asked; a run keeps which passages were found, without texts."""

from collections.abc import Mapping
from typing import Any

from ragstone.engine.systems_and_metrics import Expanding
from ragstone.systems.retrieval_only import RetrievalOnly
from ragstone.types import Passage, Query, Response

RECIPE = Query("?", (Passage("recipe", ""),))
FOUND = Passage("chunk-1", "a long text", title="title", relevant=True, score=0.5, meta={"needles": [[0, 0, 4]]})


class Echo:
    id = "echo"
    spec: Mapping[str, Any] = {}

    async def answer(self, query: Query, /) -> Response:
        return Response("; ".join(passage.text for passage in query.passages or ()))


async def whole(query: Query) -> Query:
    return Query(query.question, (Passage("context", "the whole text"),))


async def searched(query: Query) -> Query:
    return Query(query.question, (FOUND,))


async def test_the_system_gets_the_text_and_the_response_has_no_passages_of_a_whole_context() -> None:
    assert await Expanding(Echo(), whole).answer(RECIPE) == Response("the whole text")


async def test_what_was_retrieved_is_kept_without_its_text() -> None:
    response = await Expanding(Echo(), searched).answer(RECIPE)
    assert response.answer == "a long text"
    (kept,) = response.passages
    assert (kept.id, kept.text, kept.title, kept.score, kept.relevant) == ("chunk-1", "", "", 0.5, True)
    assert kept.meta == FOUND.meta


async def test_a_system_that_gives_its_passages_back_bare_has_the_labels_too() -> None:
    (kept,) = (await Expanding(RetrievalOnly(), searched).answer(RECIPE)).passages
    assert kept.meta == FOUND.meta
