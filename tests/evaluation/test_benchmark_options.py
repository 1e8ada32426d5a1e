"""One field is a flag, a keyword and a line of help, with one check and one error."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests.cli.tools import Told

from ragstone import bench
from ragstone.benchmarks.options import Option, fields_of, options_from
from ragstone.errors import UnknownName, UsageError


def halved(value: Any) -> tuple[float, ...]:
    return tuple(float(part) / 2 for part in (value.split("+") if isinstance(value, str) else value))


@dataclass(frozen=True, kw_only=True)
class Some:
    limit: Annotated[int | None, Option("How many.", low=1)] = None
    share: Annotated[float, Option("Of all.", low=0, high=1)] = 0.5
    names: Annotated[tuple[str, ...], Option("Which.", flag="--name")] = ("a", "b")
    ratios: Annotated[tuple[float, ...] | None, Option("Where.", low=0, high=1)] = None
    files: Annotated[tuple[Path, ...], Option("From.", repeatable=True)] = ()
    method: Annotated[str, Option("How.", choices=("sentence", "token"))] = "sentence"
    halves: Annotated[tuple[float, ...], Option("Halved.", parse=halved)] = ()
    control: Annotated[bool, Option("Without it.")] = True


def made(**keywords: Any) -> Some:
    found = options_from(Some, keywords, of="some")
    assert isinstance(found, Some)
    return found


def test_what_a_user_writes_becomes_what_the_field_says() -> None:
    assert made(
        limit="3", share=1, names="x，y, x", ratios=[0, 0.4], method="token", halves="1+3", control=False
    ) == Some(limit=3, share=1.0, names=("x", "y"), ratios=(0.0, 0.4), method="token", halves=(0.5, 1.5), control=False)
    assert made(files=["a,b.json", Path("c")]).files == (Path("a,b.json"), Path("c"))
    assert made(names="one").names == ("one",)
    assert made(limit=None, share=None) == Some()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"limit": 0}, "limit: 0 is not in the range x>=1."),
        ({"limit": 1.5}, "limit: 1.5 is not a valid integer."),
        ({"limit": True}, "limit: True is not a valid integer."),
        ({"limit": "many"}, "limit: 'many' is not a valid integer."),
        ({"share": 2}, "share: 2.0 is not in the range 0<=x<=1."),
        ({"share": float("nan")}, "share: nan is not a finite number."),
        ({"ratios": [0, 3]}, "ratios: 3.0 is not in the range 0<=x<=1. Write numbers from 0 to 1."),
        ({"names": " , "}, "names: expected one name or more, separated by commas."),
        ({"names": [1]}, "names: 1 is not a string."),
        ({"method": "tokens"}, "method: 'tokens' is not one of 'sentence', 'token'. Did you mean 'token'?"),
        ({"limits": 1}, "No option of some named 'limits'. Did you mean 'limit'?"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_keyword(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        made(**keywords)
    assert str(caught.value) == message


def test_a_flag_follows_from_the_field_unless_it_has_another() -> None:
    flags = {name: field.flag for name, field in fields_of(Some).items()}
    assert (flags["limit"], flags["names"], flags["control"]) == ("--limit", "--name", "--no-control")


def test_the_command_line_and_python_say_the_same_of_a_wrong_value(ragstone: Callable[..., Told]) -> None:
    told = ragstone("bench", "rgb", "--model", "local/extractive", "--passages", "-1")
    assert (told.code, "Invalid value for '--passages': -1 is not in the range 0<=x<=10,000." in told.err) == (2, True)
    with pytest.raises(UsageError, match=r"^passages: -1 is not in the range 0<=x<=10,000\.$"):
        bench("rgb", model="local/extractive", passages=-1)


def test_an_option_that_there_is_not_is_refused_with_the_nearest_of_all() -> None:
    for keyword, nearest in (("data_languag", "data_languages"), ("metric", "metrics"), ("modle", "model")):
        wrong: dict[str, Any] = {keyword: "x"}
        with pytest.raises(UnknownName) as caught:
            bench("rgb", **wrong)
        assert caught.value.suggestion == nearest
