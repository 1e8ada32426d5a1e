"""An embedder of the user's own: its vectors are checked, brought to unit length, and kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from tests.systems.test_http import serving

from ragstone import evaluate
from ragstone.errors import BadReply, UsageError
from ragstone.models import ModelOptions, check_model, open_embedder
from ragstone.retrieval import open_retriever
from ragstone.types import Passage

SOURCE = """
import numpy as np

class Lengths:
    id = "own/lengths"

    async def embed(self, texts, /, *, kind):
        with open(__file__ + ".asked", "a") as file:
            file.writelines(text + "\\n" for text in texts)
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


def asked_in(file: Path) -> list[str]:
    """The texts that an embedder has noted, which are forgotten."""
    asked = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return asked


async def test_vectors_of_one_s_own_embedder_are_kept_until_its_source_changes(tmp_path: Path) -> None:
    options, pool = ModelOptions(cache=tmp_path / "cache"), [Passage("a", "Aa."), Passage("b", "Bbbb.")]

    async def texts_asked(name: str) -> list[str]:
        async with open_retriever(f"dense({name})", pool, options=options) as retriever:
            ((best,),) = await retriever.retrieve(["Cc."], k=1)
            assert best.score is not None
            assert best.score <= 1.0001
        return asked_in(Path(name.rpartition(":")[0] + ".asked"))

    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(SOURCE + f"# {name}\n")
    place = f"{tmp_path}/first.py:Lengths"
    assert sorted(await texts_asked(place)) == ["Aa.", "Bbbb.", "Cc."]
    assert await texts_asked(place) == []
    assert len(await texts_asked(f"{tmp_path}/second.py:Lengths")) == 3


FORMS = """
print("noise")
import asyncio
def embed(texts):
    print("asked")
    return [[len(text), 1.0] for text in texts]
def by_kind(texts, kind):
    return [[1.0, 0.0] if kind == "query" else [0.0, 1.0] for _ in texts]
async def wait(texts):
    await asyncio.sleep(0)
    return ([3.0, 4.0] for _ in texts)
class LangChain:
    def embed_documents(self, texts): return [[0.0, 1.0] for _ in texts]
    def embed_query(self, text): return [1.0, 0.0]
class LlamaIndex:
    def get_text_embedding_batch(self, texts): return [[0.0, 1.0] for _ in texts]
    def get_query_embedding(self, text): return [1.0, 0.0]
class SentenceTransformer:
    def encode(self, texts): raise AssertionError("it has one for each kind")
    def encode_query(self, texts): return [[1.0, 0.0] for _ in texts]
    def encode_document(self, texts): return [[0.0, 1.0] for _ in texts]
def broken(texts):
    return 1 / 0
def nothing(texts): return None
def short(texts): return [[1.0, 2.0]]
def nan(texts): return [[float("nan"), 1.0] for _ in texts]
def grows(texts): return [[1.0] * (2 + len(texts[0])) for _ in texts]
def needs(texts, model): ...
def dies(texts):
    import os; os._exit(5)
seven = 7
"""


@pytest.fixture
def code(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(FORMS)
    return str(tmp_path / "mine.py")


@pytest.mark.parametrize("name", ["by_kind", "LangChain", "LlamaIndex", "SentenceTransformer"])
async def test_every_form_of_code_embeds_questions_and_passages(code: str, name: str) -> None:
    async with open_embedder(f"{code}:{name}") as embedder:
        query, passage = [await embedder.embed(["a", "b"], kind=kind) for kind in ("query", "passage")]
    assert (query.tolist(), passage.tolist()) == ([[1.0, 0.0]] * 2, [[0.0, 1.0]] * 2)


async def test_what_it_prints_goes_elsewhere(code: str, capfd: pytest.CaptureFixture[str]) -> None:
    async with open_embedder(f"{code}:embed") as embedder:
        assert (await embedder.embed(["abcd"], kind="query")).tolist() == [pytest.approx([4 / 17**0.5, 1 / 17**0.5])]
    async with open_embedder(f"{code}:wait") as embedder:
        assert (await embedder.embed(["abcd"], kind="query")).tolist() == [pytest.approx([0.6, 0.8])]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("broken", r"mine\.py:broken: ZeroDivisionError: .* \(mine\.py, line 23, in broken\)"),
        ("nothing", r"mine\.py:nothing: .*(not rows of numbers|gave shape)"),
        ("short", r"should give 2 vectors of finite numbers, and gave shape \(1, 2\)"),
        ("nan", "finite numbers"),
        ("dies", r"The embedder's process ended \(exit code 5"),
    ],
)
async def test_what_goes_wrong_is_one_line(code: str, name: str, says: str) -> None:
    async with open_embedder(f"{code}:{name}") as embedder:
        with pytest.raises(BadReply, match=says) as caught:
            await embedder.embed(["one", "two"], kind="query")
    assert "\n" not in str(caught.value)


async def test_another_dimension_is_told(code: str) -> None:
    pool = [Passage(str(number), "x" * (number + 1)) for number in range(70)]
    with pytest.raises(BadReply, match="its vectors have different dimensions"):
        async with open_retriever(f"dense({code}:grows)", pool, options=ModelOptions(cache=None)):
            pass


@pytest.mark.parametrize(
    ("name", "says"), [("needs", "needs the parameter 'model'"), ("seven", "is an int, which is not an embedder")]
)
async def test_what_cannot_embed_is_refused(code: str, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        async with open_embedder(f"{code}:{name}"):
            pass


async def vectors(request: web.Request) -> web.Response:
    body = await request.json()
    rows = [{"index": at, "embedding": [float(len(text)), 0.0]} for at, text in enumerate(body.get("inputs", []))]
    return web.json_response({"out": {"data": rows}, "data": [[0.0, 2.0]] * len(body.get("texts", []))})


async def test_an_address_embeds(tmp_path: Path) -> None:
    options = ModelOptions(cache=tmp_path, attempts=1)
    async with serving(vectors) as url:
        name = f'http({url},body={{"inputs": "{{texts}}", "as": "{{kind}}"}},vectors=out.data[].embedding)'
        check_model(name, "embedder")
        async with open_embedder(name, options) as embedder:
            assert (await embedder.embed(["ab", "c"], kind="query")).tolist() == [[1.0, 0.0]] * 2
        async with open_embedder(url, options) as embedder:
            assert (await embedder.embed(["ab", "c"], kind="query")).tolist() == [[0.0, 1.0]] * 2
        async with open_retriever(f"dense({name})", [Passage("a", "ships")], options=options) as retriever:
            assert [[passage.id for passage in found] for found in await retriever.retrieve(["x"], k=1)] == [["a"]]
            assert retriever.id == f"dense({name})"
        async with open_embedder(f"http({url},vectors=none)", options) as embedder:
            with pytest.raises(BadReply, match="there is no list of vectors at 'none'"):
                await embedder.embed(["a"], kind="query")
    with pytest.raises(UsageError, match="must not contain a password"):
        check_model("http(http://u:hunter2@127.0.0.1:1/e)", "embedder")


def test_a_function_embeds_for_a_metric(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": "a", "reference": "a", "contexts": ["a"]}]
    live: Any = lambda texts: [[1.0, 0.0] for _ in texts]  # noqa: E731
    scored = evaluate(rows, ["semantic_similarity"], embedder=live, run=tmp_path / "b.run")
    assert scored.scores[0]["semantic_similarity"] == pytest.approx(1.0)
