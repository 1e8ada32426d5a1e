"""`local/retrieval`: what was retrieved, and no answer that could be scored."""

from ragstone.models import ModelOptions
from ragstone.systems import open_system
from ragstone.systems.template import prompt_template
from ragstone.types import NO_ANSWER, Passage, Query


async def test_it_gives_back_what_it_got_without_the_texts() -> None:
    given = (Passage("a", "A long text.", "T", True, 0.5, {"start": 1}), Passage("b", "Another.", relevant=False))
    async with open_system("local/retrieval", template=prompt_template("paper"), options=ModelOptions()) as system:
        response = await system.answer(Query("Who?", given))
        nothing = await system.answer(Query("Who?"))
    assert response.passages == (Passage("a", "", relevant=True, score=0.5), Passage("b", "", relevant=False))
    assert (response.answer, response.finish_reason) == ("", NO_ANSWER)
    assert nothing.passages == ()
