"""Which column is what."""

import pytest

from ragstone.datasets.tabular.words import plain_name, resolve
from ragstone.errors import DataError, UnknownName, UsageError

LAYOUTS = {
    "ragas": "user_input retrieved_contexts response reference reference_contexts retrieved_context_ids"
    " reference_context_ids",
    "ragas-0.1": "question contexts answer ground_truth",
    "deepeval": "input actual_output expected_output retrieval_context context",
    "ragchecker": "query_id query gt_answer response retrieved_context",
    "ragstone": "question passages answer references",
}
WANTED = {
    "ragas": {
        "question": "user_input", "answer": "response", "contexts": "retrieved_contexts", "reference": "reference",
        "reference_contexts": "reference_contexts", "context_ids": "retrieved_context_ids",
        "reference_context_ids": "reference_context_ids",
    },
    "ragas-0.1": {"question": "question", "answer": "answer", "contexts": "contexts", "reference": "ground_truth"},
    "deepeval": {
        "question": "input", "answer": "actual_output", "contexts": "retrieval_context",
        "reference": "expected_output", "reference_contexts": "context",
    },
    "ragchecker": {
        "question": "query", "answer": "response", "contexts": "retrieved_context", "reference": "gt_answer",
        "id": "query_id",
    },
    "ragstone": {"question": "question", "answer": "answer", "contexts": "passages", "reference": "references"},
}  # fmt: skip


@pytest.mark.parametrize("schema", LAYOUTS)
@pytest.mark.parametrize("backwards", [False, True])
def test_each_layout_is_recognised_in_any_order(schema: str, backwards: bool) -> None:
    columns = LAYOUTS[schema].split()[:: -1 if backwards else 1]
    found = resolve(["extra", *columns, "topic"], {}, source="x")
    assert (found.schema, found.mapping, found.warnings) == (schema, WANTED[schema], ())


@pytest.mark.parametrize(
    ("columns", "mapping"),
    [
        ("问题 答案 参考答案 上下文",
         {"question": "问题", "answer": "答案", "reference": "参考答案", "contexts": "上下文"}),
        ("编号 用户问题 模型回答 标准答案 检索内容 语言",
         {"id": "编号", "question": "用户问题", "answer": "模型回答", "reference": "标准答案", "contexts": "检索内容",
          "language": "语言"}),
        ("Question Answer Context", {"question": "Question", "answer": "Answer", "contexts": "Context"}),
        ("userInput groundTruth modelAnswer", {"question": "userInput", "reference": "groundTruth",
                                               "answer": "modelAnswer"}),
        ("User-Query Retrieved-Docs", {"question": "User-Query", "contexts": "Retrieved-Docs"}),
        ("_id query output", {"id": "_id", "question": "query", "answer": "output"}),
        ("question context answer", {"question": "question", "contexts": "context", "answer": "answer"}),
    ],
)  # fmt: skip
def test_other_names_that_people_give_are_known(columns: str, mapping: dict[str, str]) -> None:
    found = resolve(columns.split(), {}, source="x")
    assert found.mapping == mapping
    assert found.warnings == ()


@pytest.mark.parametrize("other", ["response", "prediction", "model_answer", "actual_output"])
def test_an_answer_beside_a_response_is_the_reference_and_that_is_told(other: str) -> None:
    found = resolve(["question", "answer", other], {}, source="x")
    assert (found.mapping["answer"], found.mapping["reference"]) == (other, "answer")
    assert "'answer' is taken as the reference" in found.warnings[0]
    told = resolve(["question", "answer", other], {"reference": other, "answer": "answer"}, source="x")
    assert (told.mapping["answer"], told.mapping["reference"], told.warnings) == ("answer", other, ())


def test_several_columns_that_could_be_meant_are_told() -> None:
    found = resolve(["question", "answer", "reference", "ground_truth", "gold"], {}, source="x")
    assert found.mapping["reference"] == "reference"
    assert found.warnings == (
        "reference is the column 'reference'; 'ground_truth', 'gold' could be meant too: --map reference=ground_truth.",
    )
    assert resolve(["question", "query"], {"question": "query"}, source="x").mapping["question"] == "query"


def test_a_mapping_is_obeyed_and_may_use_other_tools_words() -> None:
    columns = ["q", "a", "gold_text", "ctx"]
    mapping = {"user_input": "q", "response": "a", "ground_truth": "gold_text", "contexts": "CTX"}
    found = resolve(columns, mapping, source="x")
    assert found.mapping == {"question": "q", "answer": "a", "contexts": "ctx", "reference": "gold_text"}


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ({"refrence": "a"}, "No field named 'refrence'. Did you mean 'reference'?"),
        ({"reference": "anser"}, "No column named 'anser'. Did you mean 'answer'?"),
        ({"reference": "zzz"}, "The columns are: 'question', 'answer'."),
    ],
)
def test_a_mapping_that_cannot_be_offers_the_nearest(mapping: dict[str, str], told: str) -> None:
    with pytest.raises(UnknownName) as caught:
        resolve(["question", "answer"], mapping, source="x")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_word_for_two_columns_is_refused() -> None:
    with pytest.raises(UsageError, match="names 'question' twice: 'a' and 'b'"):
        resolve(["a", "b"], {"question": "a", "query": "b"}, source="x")


def test_columns_without_a_question_are_listed_with_what_to_do() -> None:
    with pytest.raises(DataError, match=r"x: no column is the question; the columns are: 'questoin', 'answer'\. .*"
                                        r"--map question=questoin"):  # fmt: skip
        resolve(["questoin", "answer"], {}, source="x")
    with pytest.raises(DataError, match=r"--map question=COLUMN"):
        resolve(["a", "b"], {}, source="x")


@pytest.mark.parametrize(
    ("column", "plain"),
    [(" User Input ", "user_input"), ("userInput", "user_input"), ("\ufeffquestion", "question"), ("_id", "_id"),
     ("corpus-id", "corpus_id"), ("问题：", "问题"), ("Question*", "question"), ("", "")],
)  # fmt: skip
def test_names_are_compared_without_their_dress(column: str, plain: str) -> None:
    assert plain_name(column) == plain
