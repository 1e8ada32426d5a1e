"""An embedder of the user's own: its vectors are checked, brought to unit length, and kept."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragstone.errors import BadReply
from ragstone.models import ModelOptions, open_embedder
from ragstone.retrieval import open_retriever
from ragstone.types import Passage

SOURCE = """
import numpy as np

class Lengths:
    id = "own/lengths"
    texts = []

    async def embed(self, texts, /, *, kind):
        Lengths.texts += texts
        return np.array([[667_312.0 * len(text), 1.0] for text in texts])
"""


class Fixed:
    """Gives this, whatever it is asked."""

    id = "own/fixed"

    def __init__(self, value: Any) -> None:
        self.value = value

    async def embed(self, texts: Sequence[str], /, *, kind: str) -> Any:
        return self.value


async def test_scores_are_cosines_whatever_the_length_of_the_vectors() -> None:
    class Long:
        id = "own/long"

        async def embed(self, texts: Sequence[str], /, *, kind: str) -> Any:
            return np.array([[817.0, 817.0 * ("b" in text)] for text in texts], dtype=np.float32)

    async with open_embedder(Long()) as embedder:
        vectors = await embedder.embed(["a", "b"], kind="query")
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1.0, 1.0])
    assert float(vectors[0] @ vectors[1]) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones((1, 3)), r"should give 2 vectors of finite numbers, and gave shape \(1, 3\)"),
        (np.ones(3), r"gave shape \(3,\)"),
        (np.ones((2, 0)), r"gave shape \(2, 0\)"),
        (np.full((2, 3), np.nan), "finite numbers"),
        ([[1.0, 2.0], [0.0, 0.0]], "a vector of length 0"),
        ([[1.0, 2.0], [1.0]], "not rows of numbers of one length"),
        (None, "not rows of numbers|gave shape"),
    ],
)
async def test_what_is_no_vector_is_told(value: Any, message: str) -> None:
    async with open_embedder(Fixed(value)) as embedder:
        with pytest.raises(BadReply, match=message):
            await embedder.embed(["one", "two"], kind="passage")


async def test_vectors_of_one_s_own_embedder_are_kept_until_its_source_changes(tmp_path: Path) -> None:
    options, pool = ModelOptions(cache=tmp_path / "cache"), [Passage("a", "Aa."), Passage("b", "Bbbb.")]

    async def texts_asked(name: str) -> list[str]:
        async with open_retriever(f"dense({name})", pool, options=options) as retriever:
            ((best,),) = await retriever.retrieve(["Cc."], k=1)
            assert best.score is not None
            assert best.score <= 1.0001
        (module,) = [one for key, one in sys.modules.items() if key.startswith(f"{Path(name).name.partition('.')[0]}_")]
        asked = list(module.Lengths.texts)
        module.Lengths.texts.clear()
        return asked

    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(SOURCE + f"# {name}\n")
    place = f"{tmp_path}/first.py:Lengths"
    assert sorted(await texts_asked(place)) == ["Aa.", "Bbbb.", "Cc."]
    assert await texts_asked(place) == []
    assert len(await texts_asked(f"{tmp_path}/second.py:Lengths")) == 3
