"""Short labels of systems, models and runs."""

import pytest

from ragstone.display import short_names


@pytest.mark.parametrize(("ids", "labels"), [
    (["examples/http_app/app.py:answer", "recorded:/tmp/x/answers.jsonl"], ["app:answer", "answers"]),
    (["local/extractive", "openai/gpt-4.1"], ["extractive", "gpt-4.1"]),
    (["azure/gpt-4o", "openai/gpt-4o", "local/smollm2"], ["azure/gpt-4o", "openai/gpt-4o", "smollm2"]),
    (["app", "x/app"], ["app", "x/app"]),
    (["/a/b/answers.jsonl", "/a/c/answers.jsonl"], ["b/answers", "c/answers"]),
    (["b/answers", "/a/b/answers.jsonl", "/a/c/answers.jsonl"], ["b/answers", "a/b/answers", "c/answers"]),
    (["a.json", "a.csv"], ["a.json", "a.csv"]),
    (["http://127.0.0.1:80/ask", "rag(retriever=bm25, model=local/extractive)"],
     ["127.0.0.1:80/ask", "rag(retriever=bm25, model=extractive)"]),
    (["baseline w/o rerank", "baseline w/ rerank"], ["baseline w/o rerank", "baseline w/ rerank"]),
    (["50/50 mix", "TCP/IP", "系统/一", ".py", "x/y.csv"], ["50/50 mix", "TCP/IP", "系统/一", ".py", "y"]),
    (["<b title='a/b.py'>1</b>", "models/one"], ["<b title='a/b.py'>1</b>", "one"]),
    (["C:\\x\\app.py:ask", "a/", "", " / "], ["app:ask", "a/", "", " / "]),
])  # fmt: skip
def test_a_label_is_the_end_of_the_id_and_as_much_more_as_tells_it_from_others(
    ids: list[str], labels: list[str]
) -> None:
    assert list(short_names(ids).values()) == labels


def test_many_ids_that_differ_only_far_from_their_end_keep_them_whole() -> None:
    ids = [f"{n}/a/b/c/d/e/x.py" for n in range(2_000)]
    assert list(short_names(ids).values()) == ids
