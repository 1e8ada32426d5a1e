"""Errors speak the language of their caller: keywords in Python, flags on the command line."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.tools import Told

from ragstone import bench, compare, evaluate
from ragstone.engine.public_functions import in_keywords
from ragstone.errors import UsageError

ROWS = [{"question": "Who won?", "answer": "Norway won", "reference": "Norway"}]


def test_errors_name_keywords_where_python_calls_and_flags_where_the_command_line_does(
    ragstone: Callable[..., Told],
) -> None:
    unscored = [{"question": "Who won?", "answer": "Norway won"}]
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: evaluate(ROWS, "faithfulness"), 'needs a judge: judge="PROVIDER/MODEL".'),
        (lambda: evaluate(unscored), 'Add judge="PROVIDER/MODEL".'),
        (lambda: evaluate([{"q1": "a", "q2": "b"}]), 'mapping={"question": "COLUMN"}.'),
        (lambda: bench("rgb"), 'Add model="local/extractive", model="openai/gpt-4o-mini"…'),
        (lambda: bench("rgb", model="compat/x"), "needs `base_url of model_options`"),
        (lambda: bench("mirage", model="local/extractive", settings="retrieved"), "needs a `retrievers`"),
        (lambda: bench("rgb", model="local/extractive", data="official"),
         'Run `ragstone data pull rgb`, or name a folder: data="DIR".'),
    ]  # fmt: skip
    for call, words in calls:
        with pytest.raises(UsageError) as caught:
            call()
        assert words in str(caught.value)
        assert " --" not in str(caught.value)
    assert "Add --model local/extractive" in ragstone("bench", "rgb").err
    evaluate(ROWS, "token_f1", run="a.run")
    assert "with --system-a and --system-b" in ragstone("compare", "a.run").err
    with pytest.raises(UsageError, match="with `system_a` and `system_b`"):
        compare("a.run")


def test_flags_of_a_command_that_is_named_stay() -> None:
    keywords = {"--data": "data", "--top-k": "top_k"}
    for message, words in (
        (
            "Run `ragstone data pull x --data DIR`, or --data DIR.",
            'Run `ragstone data pull x --data DIR`, or data="DIR".',
        ),
        (
            "Ask them: ragstone bench rgb --data a.json. Then --data x.",
            "Ask them: ragstone bench rgb --data a.json. Then `data` x.",
        ),
        ("--top-k takes numbers; --other too.", "`top_k` takes numbers; --other too."),
    ):
        assert in_keywords(message, keywords) == words
