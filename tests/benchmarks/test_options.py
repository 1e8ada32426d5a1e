"""Options from Python: whatever stands in a keyword, it is a value or one line that names the keyword."""

from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone.errors import UsageError

GRID = {"lengths": 600, "depths": 50, "control": "none"}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("niah", {"lengths": [500, "x"]}, "lengths: 'x' is not a number"),
        ("niah", {"lengths": [500, None]}, "lengths: None is not a number"),
        ("niah", {"depths": [True]}, "depths: True is not a number"),
        ("niah", {"ks": [1.5], "retrievers": "bm25"}, "ks: 1.5 is not a valid integer"),
        ("niah", {"chunks": ["many"], "retrievers": "bm25"}, "'many' is not a size"),
        ("niah", {"needle_file": 5}, "needle_file: 5 is not a string"),
        ("niah", {"whole": "no"}, "whole: 'no' is neither True nor False"),
        ("niah", {"whole": "false"}, "whole: 'false' is neither True nor False"),
        ("mirage", {"ks": 2.5}, "ks: 2.5 is not a valid integer"),
        ("mirage", {"ks": "1_0"}, "ks: '1_0' is not a valid integer"),
        ("mirage", {"chunks": 5.5}, "'5.5' is not a size"),
        ("mirage", {"fictional_size": 10**7}, "10000000 is not in the range 1<=x<=1,000,000"),
        ("rgb", {"abilities": 5}, "abilities: 5 is not a string"),
        ("rgb", {"limit": "9" * 5000}, "limit: '9999"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_one_short_line_that_names_the_keyword(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")) as raised:
        make(name, **options)
    assert len(str(raised.value)) < 200


def test_one_number_is_as_good_as_a_list_of_one() -> None:
    alone = make("niah", **GRID, retrievers="bm25", chunks=60, ks=2)
    listed = make("niah", lengths=[600], depths=[50], control="none", retrievers=["bm25"], chunks=["60"], ks=["2"])
    assert [case.id for case in alone.cases()] == [case.id for case in listed.cases()]
    assert len([*alone.cases()]) == 1
    assert make("mirage", fictional_size=4, chunks=60, ks=2, retrievers="bm25").ks == (2,)
