"""Stages of several retrievers, tokens of nested calls, sessions, and times."""

from typing import Any

from ragstone.datasets.tabular import Item, read_eval_data
from ragstone.responses.stages import passages_at
from ragstone.types import Step, Turn, Usage

ROOT: dict[str, Any] = {"trace_id": "t", "span_id": "root", "start_time": "2026-01-02T10:00:00Z",
                        "end_time": "2026-01-02T10:00:10Z"}  # fmt: skip


def span(name: str, parent: str, kind: str, start: float, end: float, **attributes: Any) -> dict[str, Any]:
    """A span from second `start` to `end`; underlines in names of attributes stand for dots."""
    base = 1767348000
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    return {"trace_id": "t", "span_id": name, "parent_id": parent, "name": name, "start_time": (base + start) * 10**9,
            "end_time": (base + end) * 10**9, "attributes": {"openinference.span.kind": kind, **dotted}}  # fmt: skip


def documents(*texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"document": {"content": text, **more}} for text in texts]


def retriever(name: str, parent: str, start: float, end: float, *texts: str, **more: Any) -> dict[str, Any]:
    return span(
        name, parent, "RETRIEVER", start, end, input__value="Q?", retrieval__documents=documents(*texts, **more)
    )


def item_of(*spans: dict[str, Any]) -> Item:
    root = {**ROOT, "attributes": {"input.value": "Q?", "output.value": "A."}}
    return read_eval_data([root, *spans]).items[0]


def texts_at(item: Item, stage: str) -> list[str]:
    assert item.response is not None
    return [passage.text for passage in passages_at(item.response, stage) or ()]


def step(item: Item, name: str) -> Step:
    assert item.response is not None
    return next(step for step in item.response.steps if step.name == name)


def test_retrievers_are_pooled_in_order_of_time_and_overlapping_seconds_count_once() -> None:
    item = item_of(retriever("late", "root", 2, 5, "c", "a"), retriever("early", "root", 1, 3, "a", "b"))
    assert texts_at(item, "fetch") == ["a", "b", "c"]
    assert step(item, "fetch").seconds == 4.0


def test_a_retriever_that_repeats_another_is_counted_once_and_one_that_chooses_is_a_reranker() -> None:
    twice = item_of(retriever("outer", "root", 1, 4, "a", "b"), retriever("inner", "outer", 2, 3, "a", "b"))
    assert (texts_at(twice, "fetch"), texts_at(twice, "rerank")) == (["a", "b"], [])
    assert step(twice, "fetch").seconds == 1.0
    chosen = item_of(retriever("outer", "root", 1, 4, "b"), retriever("inner", "outer", 2, 3, "a", "b"))
    assert (texts_at(chosen, "fetch"), texts_at(chosen, "rerank")) == (["a", "b"], ["b"])
    assert step(chosen, "rerank").seconds == 3.0


def test_a_lost_id_is_recovered_by_the_text() -> None:
    item = item_of(
        retriever("r", "root", 1, 2, "a", "b"),
        span("rank", "root", "RERANKER", 2, 3, reranker__output_documents=documents("b", id="doc-b")),
    )
    assert item.response is not None
    assert [passage.id for passage in item.response.passages] == ["doc-b"]
    assert [passage.id for passage in passages_at(item.response, "fetch") or ()][1] == "doc-b"


def test_tokens_of_a_model_call_inside_another_are_counted_once() -> None:
    counts = {"llm__token_count__prompt": 7, "llm__token_count__completion": 2}
    item = item_of(
        span("predict", "root", "LLM", 1, 4, **counts), span("complete", "predict", "LLM", 2, 3, **counts),
        span("again", "root", "LLM", 5, 6, **counts, llm__model_name="m"),
    )  # fmt: skip
    assert item.response is not None
    assert item.response.usage == Usage(prompt_tokens=14, completion_tokens=4, requests=2)
    assert (item.response.model, item.response.seconds) == ("m", 10.0)
    assert step(item, "generate").seconds == 4.0


def test_time_to_the_first_token_counts_from_the_question() -> None:
    model = span("llm", "root", "LLM", 3, 6, output__value="A.")
    model["events"] = [{"name": "First Token Stream Event", "timestamp": "2026-01-02T10:00:04.500000Z"}]
    assert step(item_of(model), "first token").seconds == 4.5


def test_what_reached_the_prompt_is_found_by_its_text_inside_json() -> None:
    prompt = '{"messages": [{"role": "user", "content": "Use:\\nsecond\\nline\\nQ?"}]}'
    item = item_of(
        retriever("r", "root", 1, 2, "first", "second\nline"), span("llm", "root", "LLM", 3, 4, input__value=prompt)
    )
    assert texts_at(item, "prompt") == ["second\nline"]


def test_a_retriever_that_found_nothing_is_an_empty_retrieval() -> None:
    item = item_of(span("r", "root", "RETRIEVER", 1, 2, output__value='{"documents": []}'))
    assert item.response is not None
    assert (item.response.passages, item.response.empty_retrieval) == ((), True)
    unknown = item_of(span("r", "root", "RETRIEVER", 1, 2, output__value="[<secret>]"))
    assert unknown.response is not None
    assert unknown.response.empty_retrieval is False


def test_parts_whose_root_is_missing_are_one_answer() -> None:
    data = read_eval_data(
        [
            retriever("r", "gone", 1, 2, "a"),
            span("llm", "gone", "LLM", 2, 3, llm__input_messages=[{"message": {"role": "user", "content": "a\nQ?"}}],
                 llm__output_messages=[{"message": {"role": "assistant", "content": "A."}}]),
        ]
    )  # fmt: skip
    (item,) = data.items
    assert item.response is not None
    assert (item.sample.question, item.response.answer, texts_at(item, "prompt")) == ("Q?", "A.", ["a"])
    assert data.warnings == ("1 of 1 traces lack their root span; what is there of each is taken as one answer.",)


def test_a_span_that_was_exported_twice_is_one() -> None:
    root = {**ROOT, "attributes": {"input.value": "Q?", "output.value": "A."}}
    assert len(read_eval_data([root, root]).items) == 1


def turn(number: int, question: str, answer: str, session: str = "s") -> dict[str, Any]:
    return {"trace_id": f"t{number}", "span_id": "1", "start_time": f"2026-01-02T10:00:{number:02}Z",
            "attributes": {"input.value": question, "output.value": answer, "session.id": session}}  # fmt: skip


def test_earlier_turns_of_a_session_are_history() -> None:
    spans = [turn(3, "And you?", "Fine."), turn(1, "你好？", "你好。"), turn(2, "Else?", "No.", "other")]
    found = {item.sample.question: item.history for item in read_eval_data(spans).items}
    assert found == {"And you?": (Turn("user", "你好？"), Turn("assistant", "你好。")), "你好？": (), "Else?": ()}


def test_of_a_session_without_end_the_last_turns_are_history() -> None:
    items = read_eval_data([turn(number, f"Q{number}?", f"A{number}.") for number in range(30)]).items
    assert len(items[29].history) == 20
    assert items[29].history[-1] == Turn("assistant", "A28.")
    assert items[29].history[0] == Turn("user", "Q19?")


def test_a_conversation_that_a_span_logs_whole_is_not_repeated_by_its_session() -> None:
    whole = '{"messages": [["user", "One?"], ["assistant", "1."], ["user", "Two?"]]}'
    items = read_eval_data([turn(1, "One?", "1."), turn(2, whole, "2.")]).items
    assert items[1].history == (Turn("user", "One?"), Turn("assistant", "1."))


def test_an_error_inside_an_answered_trace_is_no_error_of_the_sample() -> None:
    failed = span("tool", "root", "TOOL", 1, 2)
    failed["status"] = {"code": 2, "message": "timeout"}
    assert item_of(failed).error == ""
    unanswered = {**ROOT, "attributes": {"input.value": "Q?"}}
    (item,) = read_eval_data([unanswered, failed]).items
    assert (item.response, item.error) == (None, "timeout")


def test_an_answer_of_megabytes_is_an_error_and_a_long_attribute_is_no_column() -> None:
    spans = [
        {"trace_id": "t", "span_id": "1", "attributes": {"input.value": "Q?", "output.value": "A" * 1_000_001}},
        {"trace_id": "u", "span_id": "2",
         "attributes": {"input.value": "Q?", "output.value": "A.", "blob": "x" * 10_000_000, "tag": "v"}},
    ]  # fmt: skip
    first, second = read_eval_data(spans).items
    assert first.error == "The answer has 1,000,001 characters; the limit is 1,000,000."
    assert second.extra["tag"] == "v"
    assert "blob" not in second.extra
