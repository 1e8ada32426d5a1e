"""What is wrong with a judge's reply is kept in English and shown in the reader's language."""

import pytest

from ragstone.error_text import failure_in, told
from ragstone.errors import JudgeUnusable
from ragstone.messages import messages
from ragstone.metrics.judge import problems
from ragstone.metrics.judge.problems import problem

_TEXTS = messages(problems.__name__, "en")
_INHERITED = messages("ragstone.metrics.judge", "en")
KEYS = [key for key in _TEXTS if key not in _INHERITED and key != "or" and not key.startswith("kind_")]
VALUES = {
    "at": "answer_claims[2].supported_by", "types": ["object", "null"], "value": "'a. b'", "choices": ["one", "two"],
    "place": 3, "length": 30, "text": "'No. Well: is it missing'", "reason": "Expecting value", "key": "'k'",
    "name": "NaN", "id": 4, "count": 2, "ids": "1, 2", "quote": "'It is 5: so. Yes'", "score": 9, "low": 1, "high": 5,
    "first": 1, "second": 2, "number": "3 days",
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_every_problem_is_told_in_chinese_alone_in_a_failure_and_in_the_error_that_ends_a_run(key: str) -> None:
    found = problem(key, **VALUES)
    chinese = found.to("zh")
    assert chinese != found
    assert failure_in(str(found), "zh") == chinese
    assert failure_in(str(found), "en") == found
    assert failure_in(f"The judge's reply to 'verify' could not be used: {found}", "zh").endswith(f"：{chinese}")
    for keys in ("reason, verdict", ""):
        assert f"一个 JSON 对象（{chinese}）" in told(str(JudgeUnusable("a/m", 20, "'No.'", keys, str(found))), "zh")


def test_the_whole_reply_and_a_key_of_several_words_have_names() -> None:
    assert failure_in(str(problem("type", at=["reply"], types=["object"])), "zh") == "整个回复 不是 JSON 对象"
    assert failure_in(str(problem("extra", at="final verdict")), "zh") == "final verdict 不在要求之列"
