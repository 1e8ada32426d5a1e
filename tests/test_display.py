"""Short labels of systems, models and runs."""

import pytest

from ragstone.display import short_names, shown_id, shown_passage, signed
from ragstone.messages import messages


@pytest.mark.parametrize(("ids", "labels"), [
    (["examples/http_app/app.py:answer", "recorded:/data/answers.jsonl"], ["app:answer", "answers"]),
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


@pytest.mark.parametrize(("case", "sample", "shown"), [
    ("000007", "hr-7", "hr-7"), ("000007/r1", "hr-7", "hr-7/r1"), ("a1000007/as_is", "hr-7", "hr-7/as_is"),
    ("en:3/noise=0.2", "en:3", "en:3/noise=0.2"), ("noise/en/0.2/0003", "en:3", "en:3/noise/en/0.2"),
    ("hr-7", "hr-7", "hr-7"), ("000007", "000007", "000007"),
])  # fmt: skip
def test_a_case_is_shown_by_the_id_of_its_user(case: str, sample: str, shown: str) -> None:
    assert shown_id(case, sample) == shown


@pytest.mark.parametrize(
    ("benchmark", "passage", "english", "chinese"),
    [
        ("rgb", "positive:0", "passage 1 with the answer", "含答案的段落 1"),
        ("rgb", "positive:1:2", "passage 3 with answer 2", "含第 2 个答案的段落 3"),
        ("rgb", "negative:3", "passage 4 without the answer", "不含答案的段落 4"),
        ("rgb", "wrong:2", "passage 3 with a false answer", "含错误答案的段落 3"),
        ("mirage", "q7#3", "passage 4 of question q7", "问题 q7 的段落 4"),
        ("mirage", "q7#oracle", "right passage 1 of question q7", "问题 q7 的正确段落 1"),
        ("niah", "chunk-00012", "chunk 13 of the haystack", "草堆的第 13 段"),
        ("recorded", "c-0123456789", "", ""),
        ("recorded", "text-0123456789ab", "", ""),
        *(("recorded", own, own, own) for own in ("positive:0", "negative:3", "chunk-12", "doc.md#3", "人事/假期", "")),
        *(
            ("rgb", own, own, own)
            for own in ("docs/leave.md", "{n}", "positive:x", "a\nb", f"positive:{'9' * 5_000}", "x" * 400)
        ),
    ],
)
def test_passages_are_named_in_words_where_a_benchmark_made_their_ids(
    benchmark: str, passage: str, english: str, chinese: str
) -> None:
    for language, name in (("en", english), ("zh", chinese)):
        words = messages(f"ragstone.benchmarks.{benchmark}.benchmark", language)
        assert shown_passage(passage, words) == name


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ((-0.3,), "0"), ((-0.5001,), "−1"), ((0.3, 0), "0"), ((-1234.5, 1), "−1,234.5"), ((-0.001, 2), "0.00"),
        ((-0.25, 2), "−0.25"), ((12.0,), "12"),
    ],
)  # fmt: skip
def test_what_rounds_to_zero_is_not_below_it(amount: tuple[float, ...], shown: str) -> None:
    assert signed(amount[0], *map(int, amount[1:])) == shown


def test_a_gain_shows_its_plus_and_a_loss_its_minus() -> None:
    assert [signed(amount, 1, plus=True) for amount in (0.04, 0.5, -0.5)] == ["+0.0", "+0.5", "−0.5"]
