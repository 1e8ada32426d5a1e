"""Recorded answers: each row's own, and never another's."""

import pytest

from ragstone.errors import UsageError
from ragstone.systems.recorded import Recorded
from ragstone.types import Query, Response, System


async def test_a_row_gets_its_own_answer_whatever_its_question() -> None:
    system = Recorded("mine", {1: Response("one"), 3: Response("three")})
    same = "What?"
    assert (await system.answer(Query(same, repeat=1))).answer == "one"
    assert (await system.answer(Query(same, repeat=3))).answer == "three"


async def test_a_row_without_an_answer_is_an_error_that_names_it() -> None:
    with pytest.raises(UsageError, match="Row 2 of mine has no recorded answer"):
        await Recorded("mine", {1: Response("one")}).answer(Query("What?", repeat=2))


def test_other_data_are_another_system() -> None:
    assert isinstance(Recorded("mine", {}), System)
    assert Recorded("mine", {}, "a").spec == Recorded("mine", {1: Response("one")}, "a").spec
    assert Recorded("mine", {}, "a").spec != Recorded("mine", {}, "b").spec


def test_answers_are_not_printed_with_it() -> None:
    assert "secret" not in repr(Recorded("mine", {1: Response("secret")}))
