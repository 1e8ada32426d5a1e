"""Maps columns to fields by recognizing common layouts and column names."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from ragstone.datasets.tabular.problems import warning
from ragstone.errors import DataError, UnknownName, UsageError, check_name
from ragstone.structs import Frozen

WORDS = {
    "question": "what was asked, or a conversation that ends with it",
    "answer": "what the system answered",
    "contexts": "the passages that it retrieved, in order",
    "reference": "the right answer: a text, a list of aliases, or a list of slots",
    "id": "the name of the row",
    "context_ids": "the ids of the retrieved passages",
    "reference_contexts": "the passages that state the answer",
    "reference_context_ids": "the ids of the passages that state the answer",
    "language": "en or zh",
    "answerable": "true or false: whether the question can be answered; where it cannot, a refusal is right",
}
"""The fields of a row and their meanings."""

# Layouts: the column names of each field, and the columns that identify the layout.
_LAYOUTS: dict[str, tuple[dict[str, tuple[str, ...]], tuple[str, ...]]] = {
    "ragas": (
        {
            "question": ("user_input",),
            "answer": ("response",),
            "contexts": ("retrieved_contexts",),
            "reference": ("reference",),
            "context_ids": ("retrieved_context_ids",),
            "reference_contexts": ("reference_contexts",),
            "reference_context_ids": ("reference_context_ids",),
        },
        ("user_input",),
    ),
    "ragstone": (
        {
            "question": ("question",),
            "answer": ("answer",),
            "contexts": ("passages", "contexts"),
            "reference": ("references", "reference"),
        },
        ("passages", "references", "reference"),
    ),
    "ragas-0.1": (
        {
            "question": ("question",),
            "answer": ("answer",),
            "contexts": ("contexts",),
            "reference": ("ground_truth", "ground_truths"),
        },
        ("ground_truth", "ground_truths", "contexts"),
    ),
    "deepeval": (
        {
            "question": ("input",),
            "answer": ("actual_output",),
            "contexts": ("retrieval_context",),
            "reference": ("expected_output",),
            "reference_contexts": ("context",),
        },
        ("actual_output", "expected_output", "retrieval_context"),
    ),
    "ragchecker": (
        {
            "question": ("query",),
            "answer": ("response",),
            "contexts": ("retrieved_context",),
            "reference": ("gt_answer",),
            "id": ("query_id",),
        },
        ("gt_answer", "retrieved_context"),
    ),
}

# Other common column names, likeliest first.
_NAMES: dict[str, tuple[str, ...]] = {
    "question": (
        "question", "user_input", "query", "input", "user_query", "user_question", "question_text", "query_text",
        "prompt", "instruction", "questions",
        "问题", "用户问题", "提问", "用户提问", "查询", "用户输入", "问句", "输入", "问",
    ),
    "answer": (
        "response", "answer", "actual_output", "prediction", "model_answer", "generated_answer", "rag_answer",
        "system_answer", "model_output", "llm_answer", "predicted_answer", "output", "generation", "completion",
        "model_response", "llm_response", "answer_text",
        "回答", "答案", "模型回答", "系统回答", "生成答案", "生成回答", "模型答案", "实际输出", "模型输出",
        "回复", "输出", "答",
    ),
    "contexts": (
        "retrieved_contexts", "contexts", "retrieval_context", "retrieved_context", "passages", "context",
        "retrieved_documents", "retrieved_docs", "retrieved_passages", "retrieved_chunks", "documents", "docs",
        "chunks", "source_documents", "search_results", "retrieval_contexts",
        "上下文", "检索上下文", "检索内容", "检索结果", "召回内容", "召回结果", "召回文档", "检索文档",
        "检索片段", "召回片段",
        "参考资料", "参考文档", "文档", "资料", "片段",
    ),
    "reference": (
        "reference", "references", "ground_truth", "ground_truths", "gt_answer", "expected_output",
        "expected_answer", "gold_answer", "gold_answers", "golden_answer", "golden_answers", "reference_answer",
        "reference_answers", "correct_answer", "correct_answers", "true_answer", "right_answer", "groundtruth",
        "expected", "expected_response", "target", "gold", "gt", "answers",
        "参考答案", "标准答案", "正确答案", "期望答案", "预期答案", "期望输出", "预期输出", "参考回答",
        "标准回答", "真实答案",
    ),
    "id": (
        "id", "sample_id", "question_id", "query_id", "qid", "case_id", "uid", "uuid", "_id", "example_id",
        "编号", "问题编号", "样本编号", "题号",
    ),
    "context_ids": (
        "retrieved_context_ids", "context_ids", "retrieved_ids", "retrieved_doc_ids", "passage_ids", "doc_ids",
        "document_ids", "chunk_ids", "retrieved_document_ids", "上下文编号", "文档编号", "检索文档编号", "召回文档编号",
    ),
    "reference_contexts": (
        "reference_contexts", "reference_context", "gold_contexts", "gold_passages", "gold_documents", "gold_docs",
        "ideal_contexts", "ground_truth_contexts", "ground_truth_context", "expected_contexts", "relevant_passages",
        "参考上下文", "标准上下文", "正确上下文", "相关文档",
    ),
    "reference_context_ids": (
        "reference_context_ids", "gold_context_ids", "gold_passage_ids", "gold_doc_ids", "gold_document_ids",
        "gold_ids", "gold_id", "gold_doc_id", "gold_document_id", "relevant_ids", "relevant_document_ids",
        "relevant_documents", "expected_document_ids", "relevant_doc_ids", "relevant_docs", "expected_context_ids",
        "ground_truth_context_ids",
        "参考上下文编号", "相关文档编号", "标准文档编号",
    ),
    "language": ("language", "lang", "语言", "语种"),
    "answerable": ("answerable", "is_answerable", "是否可回答", "可回答", "能否回答", "是否可答"),
}  # fmt: skip

ID_NAMES = _NAMES["id"]

# Names that can only mean a system's answer; next to one of them, `answer` is the reference.
_SURELY_ANSWER = frozenset(_NAMES["answer"]) - {"answer", "答案", "答", "answer_text", "output", "输出"}
_UNSURE_ANSWER = ("answer", "答案", "answer_text")


_KNOWN = frozenset(name for names in _NAMES.values() for name in names)


class ColumnMapping(Frozen, frozen=True):
    """The detected layout, the mapping from fields to columns, and warnings about it."""

    schema: str
    mapping: dict[str, str]
    warnings: tuple[str, ...] = ()


def plain_name(column: str) -> str:
    """A column's name as it is compared: `User Input`, `userInput` and `user-input` are `user_input`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column.strip("\ufeff*:： \t\r\n"))
    return re.sub(r"[\s\-./]+", "_", parted).lower()


def is_known(column: str) -> bool:
    """Whether a column's name is known in any layout."""
    return plain_name(column) in _KNOWN


def is_question(column: str) -> bool:
    """Whether a column's name means the question."""
    return plain_name(column) in _NAMES["question"]


def resolve(
    columns: Sequence[str], mapping: Mapping[str, str], *, source: str, preset: Mapping[str, str] | None = None
) -> ColumnMapping:
    """Maps fields to columns. `mapping` (field → column) comes first, then `preset`, which the format determines.
    `source` is the name for errors.

    Next, the layout that matches the most columns fills what it can; other well-known names fill the rest. Raises
    UnknownName or UsageError for an invalid mapping, DataError if no column can be the question.
    """
    chosen = _user_mapping(columns, mapping)
    if preset:
        chosen = {**{word: name for word, name in preset.items() if name in columns}, **chosen}
    rest = {plain_name(column): column for column in reversed(columns) if column not in chosen.values()}
    schema = _layout(rest)
    warnings: list[str] = []
    _right_answer(chosen, rest, warnings)
    if schema:
        for word, names in _LAYOUTS[schema][0].items():
            _take(word, names, chosen, rest)
    for word, names in _NAMES.items():
        _take(word, names, chosen, rest)
    _rivals(chosen, rest, warnings)
    if "question" not in chosen:
        raise _no_question(columns, source, chosen)
    ordered = {word: chosen[word] for word in WORDS if word in chosen}
    return ColumnMapping(schema or "columns", ordered, tuple(warnings))


def _user_mapping(columns: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """The user's mapping with normalized names of fields."""
    chosen: dict[str, str] = {}
    for field_name, column in mapping.items():
        word = field_name if field_name in WORDS else _word_of(field_name)
        if word is None:
            raise UnknownName("field", field_name, WORDS, hint=f"--map takes {', '.join(WORDS)}.")
        if column not in columns:
            near = {plain_name(name): name for name in columns}
            column = near.get(plain_name(column), column)  # noqa: PLW2901
        check_name("column", column, columns, hint=f"The columns are: {_listed(columns)}.")
        if word in chosen:
            raise UsageError(f"--map names {word!r} twice: {chosen[word]!r} and {column!r}. Keep one of them.")
        chosen[word] = column
    word_of_column: dict[str, str] = {}
    for word, column in chosen.items():
        if word != "id" and word_of_column.setdefault(column, word) != word:
            raise UsageError(
                f"--map gives the column {column!r} to both {word_of_column[column]} and {word}. Name another."
            )
    return chosen


def _word_of(name: str) -> str | None:
    """The field that another tool's name means, if it is unambiguous."""
    words = [word for word, names in _NAMES.items() if plain_name(name) in names]
    return words[0] if len(words) == 1 else None


def _layout(rest: Mapping[str, str]) -> str:
    """The layout that matches the most of these columns; "" if none is certain."""
    best, most = "", 0
    for name, (words, signs) in _LAYOUTS.items():
        if not any(sign in rest for sign in signs) or not any(column in rest for column in words["question"]):
            continue
        count = sum(any(column in rest for column in columns) for columns in words.values())
        if count > most:
            best, most = name, count
    return best


def _take(word: str, names: Iterable[str], chosen: dict[str, str], rest: dict[str, str]) -> None:
    """Assigns to the field the first of these columns that is present, unless it already has one."""
    if word in chosen:
        return
    for name in names:
        if name in rest:
            chosen[word] = rest.pop(name)
            return


def _right_answer(chosen: dict[str, str], rest: dict[str, str], warnings: list[str]) -> None:
    """Maps `answer` to the reference if there is also `response` or `prediction` and no other reference."""
    if "reference" in chosen or any(name in rest for name in _NAMES["reference"]):
        return
    if not ("answer" in chosen or any(name in rest for name in _SURELY_ANSWER)):
        return
    for name in _UNSURE_ANSWER:
        if name in rest:
            chosen["reference"] = rest.pop(name)
            warnings.append(warning("reference_column", column=chosen["reference"]))
            return


def _rivals(chosen: Mapping[str, str], rest: Mapping[str, str], warnings: list[str]) -> None:
    """Adds a warning for each field with other candidate columns."""
    for word, names in _NAMES.items():
        rivals = [rest[name] for name in names if name in rest]
        if rivals and word in chosen:
            listed = ", ".join(map(repr, rivals))
            warnings.append(warning("other_columns", word=word, column=chosen[word], others=listed, first=rivals[0]))


def _no_question(columns: Sequence[str], source: str, chosen: Mapping[str, str]) -> DataError:
    word_of = {column: word for word, column in chosen.items()}
    near = [
        column
        for column in columns
        if difflib.get_close_matches(plain_name(column), _NAMES["question"], n=1, cutoff=0.75)
    ]
    if near and near[0] in word_of:
        advice = f"--map takes {near[0]!r} for {word_of[near[0]]}; say which is the question: --map question=COLUMN."
        return DataError(source, "no column is left that could be the question.", advice=advice)
    example = near[0] if near else "COLUMN"
    return DataError(
        source,
        f"no column is the question; the columns are: {_listed(columns)}.",
        advice=f"Say which it is: --map question={example}.",
    )


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(map(repr, columns[:20]))
    return (shown + (", …" if len(columns) > 20 else "")) or "none"
