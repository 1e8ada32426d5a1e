"""What a system may return, read as a response."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from ragstone.error_text import told
from ragstone.errors import SystemFailed
from ragstone.responses.outputs import LONGEST_ANSWER, response_of, state_response
from ragstone.responses.returned_passages import passages_of
from ragstone.responses.stages import passages_at
from ragstone.types import Passage, Response, Usage


class Text(str):
    """A text of a framework (LangChain's `TextAccessor` is one)."""


@dataclass
class Document:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class Node:
    text: str
    node_id: str = ""


@dataclass
class NodeWithScore:
    node: Node
    score: float


class Message:
    content: ClassVar[Any] = [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]
    usage_metadata: ClassVar[Any] = {"input_tokens": 7, "output_tokens": 2}

    def text(self) -> str:
        return "a method, not a text"


@pytest.mark.parametrize(
    ("value", "answer", "passages"),
    [
        ("plain", "plain", []),
        (Text("subclass"), "subclass", []),
        ({"answer": "a", "contexts": ["c", "d"]}, "a", ["c", "d"]),
        ({"output": "a", "documents": [{"content": "c"}]}, "a", ["c"]),
        ({"result": "a", "source_documents": [Document("c")]}, "a", ["c"]),
        ({"response": "a", "source_nodes": [NodeWithScore(Node("c", "n1"), 0.5)]}, "a", ["c"]),
        ({"answer": {"content": "a"}}, "a", []),
        ({"replies": ["a", "b"]}, "a", []),
        ({"context": "one text", "answer": "a"}, "a", ["one text"]),
        ({"llm": {"replies": ["a"]}, "retriever": {"documents": [Document("c")]}}, "a", ["c"]),
        ({"builder": {"answers": [SimpleNamespace(data="a", documents=[Document("c")])]}}, "a", ["c"]),
        (SimpleNamespace(answer="a", passages=["c"]), "a", ["c"]),
        (Message(), "in parts", []),
        ({"answer": ""}, "", []),
        (Response("kept", (Passage("p", "c"),)), "kept", ["c"]),
    ],
)
def test_the_answer_and_the_passages_are_found_by_their_names(value: Any, answer: str, passages: list[str]) -> None:
    response = response_of(value)
    assert response.answer == answer
    assert type(response.answer) is str
    assert [passage.text for passage in response.passages] == passages


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "returned None instead of an answer"),
        (42, "returned int 42"),
        (True, "returned bool True"),
        (b"bytes", "returned bytes"),
        ({}, "without an answer (fields: none)"),
        ({"docs": ["c"]}, "without an answer (fields: docs)"),
        ([], "returned list without an answer"),
        ({"answer": None}, "without an answer (fields: answer)"),
        ({"answer": 3}, "returned `answer` as int 3, which is no text. Return text, or a dict with `answer`"),
        ({"result": {"output": True}}, "without an answer (fields: result)"),
    ],
)
def test_what_is_no_answer_is_named(value: Any, words: str) -> None:
    with pytest.raises(SystemFailed, match="answer") as caught:
        response_of(value)
    assert caught.value.kind == "no_answer"
    assert words in str(caught.value)


def test_an_answer_of_ten_megabytes_is_too_long() -> None:
    assert response_of("x" * LONGEST_ANSWER).answer
    with pytest.raises(SystemFailed, match="10,000,000 characters; the limit is 1,000,000") as caught:
        response_of("x" * 10_000_000)
    assert caught.value.kind == "too_long"


def test_usage_is_read_in_the_words_of_openai_and_anthropic() -> None:
    assert response_of({"answer": "a", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}).usage == Usage(
        3, 4, requests=1
    )
    assert response_of(Message()).usage == Usage(7, 2, requests=1)
    assert response_of({"answer": "a", "usage": SimpleNamespace(input_tokens=5, output_tokens=6)}).usage == Usage(
        5, 6, requests=1
    )
    assert response_of({"answer": "a"}).usage is None


def test_passages_keep_ids_titles_and_scores() -> None:
    passages = passages_of(
        [
            {"id": 7, "text": "seven", "score": 0.5, "title": "T"},
            (Document("pair", {"source": "file.md", "title": "M"}), 0.25),
            NodeWithScore(Node("node", "n1"), 0.75),
            Document("own", {}, "d1"),
            "just text",
        ]
    )
    assert [(passage.id, passage.text, passage.score, passage.title) for passage in passages[:4]] == [
        ("7", "seven", 0.5, "T"),
        ("file.md", "pair", 0.25, "M"),
        ("n1", "node", 0.75, ""),
        ("d1", "own", None, ""),
    ]
    assert passages[4].id.startswith("text-")


def test_a_passage_without_an_id_has_the_same_one_in_every_answer() -> None:
    (first,), (again,) = passages_of(["同一段文字"]), passages_of([{"content": "同一段文字"}])
    assert first.id == again.id
    assert passages_of(["other"])[0].id != first.id


def test_passages_that_are_none_are_left_out_and_doubles_counted_once() -> None:
    assert passages_of(["", "  ", None, {"no": "text"}, 3]) == ()
    assert len(passages_of(["same", "same", {"text": "same"}])) == 1


def test_an_object_whose_properties_raise_is_read_as_far_as_it_goes() -> None:
    class Awkward:
        answer = "fine"

        @property
        def documents(self) -> list[str]:
            raise RuntimeError("not retrieved")

    assert response_of(Awkward()) == Response("fine")


def test_chunks_of_one_file_are_all_kept() -> None:
    chunks = [{"page_content": text, "metadata": {"source": "a.md"}} for text in ("one", "two", "one", "three")]
    assert [(passage.id, passage.text) for passage in passages_of(chunks)] == [
        ("a.md", "one"), ("a.md#2", "two"), ("a.md#3", "three"),
    ]  # fmt: skip


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_left_out(score: float) -> None:
    assert [passage.score for passage in passages_of([{"text": "a", "score": score}, ("b", score)])] == [None, None]


def test_a_dict_that_contains_itself_is_no_answer() -> None:
    value: dict[str, Any] = {}
    value["answer"] = value
    with pytest.raises(SystemFailed, match="contains itself") as caught:
        response_of(value)
    assert caught.value.kind == "no_answer"
    nested: Any = []
    for _ in range(3000):
        nested = [nested]
    with pytest.raises(SystemFailed, match="contains itself or is nested too deeply") as caught:
        response_of({"answer": "x", "contexts": nested})
    assert "嵌套过深" in told(str(caught.value), "zh")


def test_the_answer_of_an_agent_is_its_last_message() -> None:
    assert response_of({"messages": [{"content": "Why?"}, {"content": "Because."}]}).answer == "Because."


def test_token_counts_of_zero_are_no_counts() -> None:
    assert response_of({"answer": "A", "usage": {"prompt_tokens": 0, "completion_tokens": 0}}).usage is None


def texts_at(response: Response, stage: str) -> list[str] | None:
    found = passages_at(response, stage)
    return None if found is None else [passage.text for passage in found]


def test_stages_are_plain_dicts_lists_and_texts() -> None:
    response = response_of({
        "answer": "5 crowns",
        "stages": {
            "query": "price of tea",
            "fetch": ["Tea costs 5 crowns.", {"id": "b.md", "text": "咖啡的价格是7克朗。"}, Document("Milk is white.")],
            "rerank": [{"id": "b.md", "text": "咖啡的价格是7克朗。"}, "Tea costs 5 crowns."],
            "prompt": "Answer from these documents:\nTea costs 5 crowns.\nQuestion: price?",
            "seconds": 0.2,
        },
    })  # fmt: skip
    assert [step.name for step in response.steps] == ["rewrite", "fetch", "rerank", "prompt"]
    assert response.steps[0].output == ["price of tea"]
    assert texts_at(response, "fetch") == ["Tea costs 5 crowns.", "咖啡的价格是7克朗。", "Milk is white."]
    assert texts_at(response, "rerank") == ["咖啡的价格是7克朗。", "Tea costs 5 crowns."]
    assert texts_at(response, "prompt") == ["Tea costs 5 crowns."]  # those of the passages that its text has
    assert [passage.text for passage in response.passages] == ["Tea costs 5 crowns."]
    fetched, prompted = passages_at(response, "fetch") or (), passages_at(response, "prompt") or ()
    assert fetched[0].id == prompted[0].id


def test_contexts_beside_stages_are_the_passages() -> None:
    response = response_of(
        {"answer": "5", "contexts": ["Tea."], "stages": {"retrieved": ["Tea.", "Milk."], "prompt": "Tea."}}
    )
    assert [passage.text for passage in response.passages] == ["Tea."]
    assert texts_at(response, "fetch") == ["Tea.", "Milk."]
    assert texts_at(response, "prompt") == ["Tea."]
    assert response_of({"answer": "5", "stages": "three"}).steps == ()


@pytest.mark.parametrize(
    ("stages", "name", "value"),
    [([1], "stages", "list [1]"), ({"fetch": ["a"], "bogus": ["b"]}, "stages.bogus", "list ['b']")],
)
def test_stages_that_are_none_are_an_error_and_not_left_out(stages: Any, name: str, value: str) -> None:
    with pytest.raises(SystemFailed) as caught:
        response_of({"answer": "5", "stages": stages})
    assert caught.value.kind == "no_passages"
    advice = "Return a dict with rewrite, fetch, rerank or prompt."
    assert str(caught.value) == f"The system returned `{name}` as {value}, which is no stage. {advice}"
    assert told(str(caught.value), "zh") == (
        f"系统返回的 `{name}` 是 {value}，不是阶段。请返回含 rewrite、fetch、rerank 或 prompt 的字典。"
    )


def test_measures_beside_the_stages_are_left_out() -> None:
    response = response_of({"answer": "5", "stages": {"fetch": ["Tea."], "fetch_ms": 12, "note": "warm"}})
    assert texts_at(response, "fetch") == ["Tea."]


@pytest.mark.parametrize(
    ("returned", "words"),
    [({"answer": "", "error": "boom"}, "boom"), ({"answer": " \n", "error": {"code": 7}}, '{"code": 7}'),
     ({"error": "no\nindex"}, "no index")],
)  # fmt: skip
def test_an_error_beside_an_empty_answer_is_a_failure(returned: Any, words: str) -> None:
    with pytest.raises(SystemFailed) as caught:
        response_of(returned)
    assert (caught.value.kind, str(caught.value)) == ("raised", f"The system reported an error: {words}")
    assert told(str(caught.value), "zh") == f"系统报告了错误：{words}"


@pytest.mark.parametrize("returned", [{"answer": "5", "error": "late"}, {"answer": "5", "error": None}])
def test_an_answer_beside_an_error_is_the_answer(returned: Any) -> None:
    assert response_of(returned).answer == "5"
    assert response_of({**returned, "answer": "", "error": None}).answer == ""


_PASSAGES, _TEXT = "no passage. Return a list of texts or documents.", "no text. Return text."


@pytest.mark.parametrize(
    ("stage", "value", "shown", "rest"),
    [
        ("fetch", 3, "int 3", _PASSAGES), ("fetch", "a text", "str", _PASSAGES),
        ("retrieved", {"seconds": 2}, "dict {'seconds': 2}", _PASSAGES), ("rerank", [7], "list [7]", _PASSAGES),
        ("query", 5, "int 5", _TEXT), ("queries", ["tea", 5], "list ['tea', 5]", _TEXT),
        ("rewrite", {"q": "tea"}, "dict {'q': 'tea'}", _TEXT),
        ("prompt", 5, "int 5", _TEXT), ("prompt", {"text": "Tea."}, "dict {'text': 'Tea.'}", _TEXT),
    ],
)  # fmt: skip
def test_a_stage_that_is_none_is_named(stage: str, value: Any, shown: str, rest: str) -> None:
    """It was said of a query that the function raised a TypeError, and of the others that a search returned them."""
    with pytest.raises(SystemFailed) as caught:
        response_of({"answer": "5", "stages": {stage: value}})
    assert caught.value.kind == "no_passages"
    assert str(caught.value) == f"The system returned `stages.{stage}` as {shown}, which is {rest}"
    assert told(str(caught.value), "zh").startswith(f"系统返回的 `stages.{stage}` 是 {shown}，不是")


@pytest.mark.parametrize("name", ["answer", "output", "text"])
def test_several_texts_are_no_answer(name: str) -> None:
    """The first was taken, and scored as if the system had said no more."""
    with pytest.raises(SystemFailed) as caught:
        response_of({name: ["the", "head"]})
    assert caught.value.kind == "no_answer"
    assert f"The system returned `{name}` as list ['the', 'head'], which is no text." in str(caught.value)
    assert response_of({name: ["the head"]}).answer == "the head"
    assert response_of({"replies": ["the head", "the second"]}).answer == "the head"


def test_contexts_that_say_there_are_none_are_believed() -> None:
    empty: dict[str, Any] = {"answer": "x", "contexts": []}
    for value in ({**empty, "documents": ["a"]}, {"data": empty, "documents": ["a"]}):
        response = response_of(value)
        assert (response.passages, response.empty_retrieval) == ((), True)
    assert response_of({"answer": "x", "contexts": None, "documents": ["a"]}).passages[0].text == "a"


def test_several_lists_of_passages_are_named_and_none_is_left_out() -> None:
    with pytest.raises(SystemFailed) as caught:
        response_of({"answer": "x", "contexts": {"documents": ["a"], "chunks": ["b", "c"]}})
    assert caught.value.kind == "no_passages"
    problem = (
        "The system returned `contexts` with several lists of passages (documents, chunks). Return a list of texts or "
        "documents."
    )
    assert str(caught.value) == problem
    assert told(problem, "zh") == (
        "系统返回的 `contexts` 含有多个段落列表（documents, chunks）。请返回文本或文档的列表。"
    )
    others: list[dict[str, Any]] = [{"chunks": ["a"]}, {"sources": ["a.pdf"]}, {"context": "a"}, {"chunks": []}]
    for more in others:
        response = response_of({"answer": "x", "contexts": {"documents": ["a"], **more}})
        assert [passage.text for passage in response.passages] == ["a"]


def test_a_rewritten_query_is_a_text_or_several() -> None:
    for value, queries in (("tea", ["tea"]), (["tea", "price"], ["tea", "price"]), (("tea",), ["tea"]), ([], [])):
        assert response_of({"answer": "5", "stages": {"query": value}}).steps[0].output == queries


@dataclass
class Said:
    content: str
    type: str = "ai"


QUESTION = {"question": "How much is tea?"}


@pytest.mark.parametrize(
    ("written", "answer"),
    [({"answer": "5", "generation": "draft"}, "5"),
     ({"generation": "5", "summary": "tea"}, "5"),
     ({"answer": "", "generation": "5"}, "5"),  # a default that nothing was written to
     ({"response": Said("5")}, "5"),
     ({"reply_text": "5", "documents": ["Tea."]}, "5"),
     ({"messages": [Said("How much?", "human"), Said("5")], "summary": "tea"}, "5"),
     ({"messages": [{"role": "user", "content": "How much?"}], "draft": "5"}, "5")],
)  # fmt: skip
def test_the_answer_of_a_graph_is_read_from_what_it_wrote(written: dict[str, Any], answer: str) -> None:
    assert state_response({**QUESTION, **written}, QUESTION).answer == answer


def test_which_of_several_texts_is_the_answer_is_recorded() -> None:
    response = state_response({**QUESTION, "generation": "5", "answer": "five", "docs": ["Tea."]}, QUESTION)
    assert response.answer == "five"
    assert [(step.name, step.input, step.output) for step in response.steps] == [
        ("state", ["answer", "generation"], "answer")
    ]
    assert [passage.text for passage in response.passages] == ["Tea."]


@pytest.mark.parametrize(
    ("written", "words"),
    [({"summary": "tea", "draft": "5"}, r"several texts that could be the answer \(summary, draft\)"),
     ({"tries": 3}, r"no text that could be the answer \(tries\)"),
     ({}, "no text that could be the answer"),
     ({"messages": [Said("How much?", "human")]}, "no text that could be the answer")],
)  # fmt: skip
def test_a_state_without_one_answer_says_how_to_name_it(written: dict[str, Any], words: str) -> None:
    with pytest.raises(SystemFailed, match=words) as caught:
        state_response({**QUESTION, **written}, QUESTION)
    assert caught.value.kind == "no_answer"
    assert "Name the answer `answer` in the state" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "empty"),
    [
        ({"answer": "x", "contexts": []}, True),
        ({"answer": "x", "documents": [], "question": "q"}, True),
        ({"answer": "x", "stages": {"fetch": []}}, True),
        ({"answer": "x", "contexts": ["a"]}, False),
        ({"answer": "x", "contexts": [], "stages": {"fetch": ["a"]}}, False),
        ({"answer": "x"}, False),
        ("x", False),
    ],
)
def test_an_empty_list_of_passages_is_a_search_that_found_nothing(value: Any, empty: bool) -> None:
    assert response_of(value).empty_retrieval is empty


@pytest.mark.parametrize(
    ("contexts", "words"),
    [
        (5, "`contexts` as int 5"), (True, "`contexts` as bool True"), (b"a", "`contexts` as bytes b'a'"),
        (["a", 7], "`contexts[1]` as int 7"), ([None, "a"], "`contexts[0]` as None"),
        ((0.5,), "`contexts[0]` as float 0.5"), ([["a", "b"], ["c"]], "`contexts[0]` as list ['a', 'b']"),
        ({"a": "b"}, "`contexts` as dict {'a': 'b'}"), (["a", {"foo": 1}], "`contexts[1]` as dict {'foo': 1}"),
        ([{"text": 5, "id": {"x": 1}}], "`contexts[0]` as dict {'text': 5, 'id': {'x': 1}}"),
        ([{"document": {"page_content": "abc"}}], "`contexts[0]` as dict {'document': {'page_content': 'abc'}}"),
        ([("a", "b")], "`contexts[0]` as tuple ('a', 'b')"), ([object()], "`contexts[0]` as object"),
    ],
)  # fmt: skip
def test_contexts_that_are_no_passages_are_an_error_and_not_left_out(contexts: Any, words: str) -> None:
    with pytest.raises(SystemFailed) as caught:
        response_of({"answer": "x", "contexts": contexts})
    assert caught.value.kind == "no_passages"
    problem = f"The system returned {words}, which is no passage. Return a list of texts or documents."
    assert str(caught.value) == problem
    assert "不是段落。请返回文本或文档的列表。" in told(problem, "zh")


@pytest.mark.parametrize("contexts", [[("a", 0.5)], Passage("text-1", "a"), SimpleNamespace(documents=["a"])])
def test_contexts_of_python_objects_are_read(contexts: Any) -> None:
    assert [one.text for one in response_of({"answer": "x", "contexts": contexts}).passages] == ["a"]
