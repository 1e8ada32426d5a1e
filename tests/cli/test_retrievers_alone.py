"""`ragstone bench mirage` without a model."""

from collections.abc import Callable

import pytest
from tests.cli.tools import Told


@pytest.mark.parametrize(
    ("language", "verdict", "table"), [("en", "bm25 found", "Retrievers at k"), ("zh", "bm25 的前 5", "各检索器")]
)
def test_the_first_screen_says_what_was_found_and_what_to_do(
    ragstone: Callable[..., Told], language: str, verdict: str, table: str
) -> None:
    made = ("build", "fictional", "--format", "mirage", "-o", "pool", "--size", 6, "--data-language", language)
    assert ragstone(*made).code == 0
    command = ("bench", "mirage", "--data", "pool", "--retriever", "bm25", "--run", "a.run", "--quiet")
    told = ragstone(*command, "--language", language)
    assert told.code == 0, told.err
    assert told.out.startswith(verdict)
    assert "\n1. " in told.out.partition(table)[0]
