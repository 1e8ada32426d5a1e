"""A chat model of the user's own: what it raises is told as the user's, with the line of the user's code."""

from pathlib import Path

import pytest

from ragstone.errors import ModelRaised, RateLimited, UsageError
from ragstone.models import open_model
from ragstone.types import Request, Turn

CODE = """\
from ragstone.errors import RateLimited
from ragstone.types import Completion

class Judge:
    id = "mine"
    async def generate(self, request):
        raise KeyError("no such\\nverdict")

class Leaving(Judge):
    async def generate(self, request):
        raise SystemExit(3)

class Limited(Judge):
    async def generate(self, request):
        raise RateLimited("slow down")

class Blocking:
    def generate(self, request):
        return Completion("seven")

class Number:
    async def generate(self, request):
        return 5

class Unmakeable:
    def __init__(self):
        raise OSError("no model file")

judge, number = Judge(), Number()

def make():
    raise RuntimeError("no GPU")

def judging(request):
    return Completion("yes")
"""
ASKED = Request((Turn("user", "?"),))


@pytest.fixture(autouse=True)
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_judge.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("judge", "mine raised KeyError: 'no such\\nverdict' (own_judge.py, line 7, in generate)"),
        ("Judge", "mine raised KeyError: 'no such\\nverdict' (own_judge.py, line 7, in generate)"),
        ("Leaving", "mine raised SystemExit: 3 (own_judge.py, line 11, in generate)"),
        ("number", "own_judge.py:number returned an int; its `generate` should return a ragstone.types.Completion"),
    ],
)
async def test_what_it_raises_or_returns_is_told_with_its_line(name: str, message: str) -> None:
    async with open_model(f"own_judge.py:{name}") as model:
        with pytest.raises(ModelRaised) as caught:
            await model.generate(ASKED)
    assert str(caught.value) == message
    assert caught.value.kind == "raised"


async def test_an_error_of_ours_that_it_raises_is_that_error() -> None:
    async with open_model("own_judge.py:Limited") as model:
        with pytest.raises(RateLimited):
            await model.generate(ASKED)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("make", "cannot be loaded (RuntimeError: no GPU (own_judge.py, line 32, in make))"),
        ("Unmakeable", "cannot be loaded (OSError: no model file (own_judge.py, line 27, in __init__))"),
        ("judging", "is not a model: pass PROVIDER/MODEL or an object with a `generate` method"),
    ],
)
async def test_what_makes_no_model_is_told_before_anything_is_asked(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        async with open_model(f"own_judge.py:{name}"):
            pass
    assert f"'own_judge.py:{name}'" in str(caught.value)
    assert message in str(caught.value)


async def test_one_that_is_no_coroutine_and_one_without_an_id_answer_too() -> None:
    async with open_model("own_judge.py:Blocking") as model:
        assert (await model.generate(ASKED)).text == "seven"
        assert model.id == "own_judge.py:Blocking"
