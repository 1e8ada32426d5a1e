"""Builds items from rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ragstone.datasets.tabular import fields
from ragstone.datasets.tabular.cells import plain, scalar, text
from ragstone.datasets.tabular.items import Item
from ragstone.datasets.tabular.paths import head_of
from ragstone.datasets.tabular.problems import CellError, Problems, places, warning
from ragstone.datasets.tabular.rows import DataRow
from ragstone.messages import preferred_language
from ragstone.text import detect
from ragstone.types import NO_ANSWER, Passage, Response, Sample

_OF_CONTEXTS = ("no_contexts", "no_list", "one_text")
_LONGEST_ATTRIBUTE = 1000  # characters of an attribute of a trace that is kept as a column
_DETECTED = 400  # characters of an answer that decide the language if the question has no letters


class Builder:
    """Builds items from rows, one at a time, and collects warnings."""

    def __init__(
        self, mapping: Mapping[str, str], problems: Problems, *, sep: str | None, sparse: bool, whole: bool = False
    ) -> None:
        self._mapping, self._problems, self._sep, self._sparse = mapping, problems, sep, sparse
        self._whole = whole
        mapped_columns = {column for word, column in mapping.items() if word not in ("language", "answerable")}
        self._mapped_columns = frozenset(name for column in mapped_columns for name in (column, head_of(column)))
        self._noted_rows: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._with_contexts = 0

    def item(self, row: DataRow, number: int) -> Item | None:
        """The item of this row, or None for an invalid row, whose problem is added to `problems`."""
        if row.problem:
            self._problems.add(row.where, "", row.problem)
            return None
        values: dict[str, Any] = {}
        right = True
        for word, column in self._mapping.items():
            cell = row.cells.get(column)
            if self._sparse and cell == "":
                cell = None
            try:
                values[word] = self._read(word, cell, row)
            except CellError as error:
                self._problems.add(row.where, column, str(error))
                right = False
        return self._item(row, number, values) if right else None

    def warnings(self) -> list[str]:
        """Warnings about the rows, one line each, without those about their contexts."""
        return self._noted([kind for kind in self._noted_rows if kind not in _OF_CONTEXTS])

    def warnings_of_contexts(self, labels: "GoldMet") -> list[str]:
        """Warnings about the recorded contexts of the rows, one line each."""
        lines = self._noted([kind for kind in ("no_contexts", "no_list") if kind in self._noted_rows])
        if (count := self._counts.get("one_text")) and self._sep is None:
            column = self._mapping.get("contexts", "")
            lines.append(warning("one_text", count=count, total=self._with_contexts, column=column))
        return [*lines, warning("no_gold")] if labels.never_met else lines

    def _noted(self, kinds: Iterable[str]) -> list[str]:
        column, language = self._mapping.get("contexts", ""), preferred_language()
        return [
            warning(kind, where=places(self._noted_rows[kind], self._counts[kind], language), column=column)
            for kind in kinds
        ]

    def note(self, kind: str, where: str) -> None:
        """Records a warning of this kind for a row."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        shown = self._noted_rows.setdefault(kind, [])
        if len(shown) < 5:
            shown.append(where)

    def _item(self, row: DataRow, number: int, values: Mapping[str, Any]) -> Item | None:
        conversation: fields.Conversation = values["question"]
        if conversation.question is None or not conversation.question.strip():
            what = "is empty" if self._mapping["question"] in row.cells else "is missing"
            self._problems.add(row.where, self._mapping["question"], f"{what}; expected the question.")
            return None
        if conversation.tools:
            self.note("tools", row.where)
        answer = values.get("answer")
        if conversation.reply is not None:
            if answer is not None and answer.strip() != conversation.reply.strip():
                problem = "ends with the assistant's words, but the row has another answer too; keep one of them."
                self._problems.add(row.where, self._mapping["question"], problem)
                return None
            answer = conversation.reply
        passages = self._passages(row, values)
        if passages is None:
            return None
        retrieved, gold = passages
        column = self._mapping.get("contexts")
        empty = column is not None and not retrieved and _is_list(row.cells.get(column))
        if empty:
            self.note("no_contexts", row.where)
        sample = Sample(
            id=values.get("id") or "",
            question=conversation.question,
            references=values.get("reference", ()),
            passages=gold,
            language=values.get("language") or _language(conversation.question, answer),
            meta={} if values.get("answerable") is None else {"answerable": values["answerable"]},
        )
        extra = {name: single for name, cell in row.cells.items()
                 if name not in self._mapped_columns and (single := scalar(cell)) is not None
                 and not (self._sparse and single == "")
                 and not (row.recorded is not None and len(str(single)) > _LONGEST_ATTRIBUTE)}  # fmt: skip
        response = None
        if not row.error:
            response = _response(answer, retrieved, empty=empty, answered="answer" in self._mapping)
        if response is not None and (known := row.recorded) is not None:
            response = msgspec.structs.replace(
                response, steps=known.steps, usage=known.usage, seconds=known.seconds, model=known.model
            )
        rest = {name: cell for name, cell in row.cells.items()
                if self._whole and name not in self._mapped_columns and isinstance(cell, list | dict)}  # fmt: skip
        return Item(sample, response, row.where, extra, number, conversation.history, row.error, rest)

    def _passages(
        self, row: DataRow, values: Mapping[str, Any]
    ) -> tuple[tuple[Passage, ...], tuple[Passage, ...]] | None:
        """The retrieved passages and the labelled ones; None if ids and texts do not match. A passage without an id
        gets the id of an equal text in the other list, or one derived from its text."""
        lists: list[list[Passage]] = []
        for texts, id_column in (("contexts", "context_ids"), ("reference_contexts", "reference_context_ids")):
            try:
                lists.append(_joined(values.get(texts, []), values.get(id_column, [])))
            except CellError as error:
                self._problems.add(row.where, self._mapping[id_column], str(error))
                return None
        retrieved, gold = lists
        known: dict[str, str] = {}
        if retrieved and gold:
            for passage in (*retrieved, *gold):
                if passage.id and passage.text:
                    known.setdefault(fields.passage_id(passage.text), passage.id)
        retrieved = [_identified(passage, known) for passage in retrieved]
        labelled: dict[str, Passage] = {}
        for passage in gold:
            identified = _identified(passage, known)
            labelled.setdefault(identified.id, msgspec.structs.replace(identified, relevant=True))
        self._with_contexts += bool(retrieved)
        return tuple(retrieved), tuple(labelled.values())

    def _read(self, word: str, cell: Any, row: DataRow) -> Any:
        """The value of this cell. Raises CellError."""
        match word:
            case "question":
                return fields.conversation(cell)
            case "answer":
                return text(cell, "the answer, a text")
            case "contexts":
                return self._read_passages(cell, row)
            case "reference":
                return fields.references(cell)
            case "id":
                return text(cell, "a text or a number")
            case "reference_contexts":
                return fields.passages(cell, sep=self._sep)[0]
            case "context_ids" | "reference_context_ids":
                return fields.ids(cell, sep=self._sep)
            case "answerable":
                return fields.flag(cell)
            case _:
                return self._read_language(cell, row)

    def _read_passages(self, cell: Any, row: DataRow) -> list[Passage | None]:
        listed, as_text = fields.passages(cell, sep=self._sep)
        if as_text:
            self.note("one_text", row.where)
            first = listed[0].text.strip() if listed and listed[0] else ""
            if first[:1] == "[" and first[-1:] == "]":
                self.note("no_list", row.where)
        return listed

    def _read_language(self, cell: Any, row: DataRow) -> str | None:
        language_name = fields.language(cell)
        if language_name == "":
            self.note("language", row.where)
        return language_name


def retrieval_only(item: Item) -> bool:
    """Whether a row has passages but no answer."""
    response = item.response
    return response is not None and response.finish_reason == NO_ANSWER and bool(response.passages)


def retrieval_only_note(where: Sequence[str]) -> list[str]:
    """The warning about the rows at these places, which have passages but no answer, for those who score recorded
    answers."""
    return [warning("retrieval_only", where=places(where, len(where), preferred_language()))] if where else []


def _is_list(cell: Any) -> bool:
    """Whether a cell of contexts is a list, even an empty one, which shows that retrieval was recorded."""
    value = plain(cell)
    return isinstance(value, list) or (isinstance(value, str) and value.strip()[:1] == "[")


def _joined(texts: list[Passage | None], ids: list[str | None]) -> list[Passage]:
    """Passages with the ids of a separate column, if there is one. Raises CellError."""
    if not ids:
        return [passage for passage in texts if passage is not None]
    if not texts:
        return [Passage(passage_id, "") for passage_id in ids if passage_id is not None]
    if len(ids) != len(texts):
        raise CellError(f"has {len(ids)} ids for {len(texts)} passages; expected one for each, in their order.")
    pairs = zip(texts, ids, strict=True)
    return [
        passage if passage_id is None else msgspec.structs.replace(passage, id=passage_id)
        for passage, passage_id in pairs
        if passage is not None
    ]


class GoldMet:
    """Whether the labelled passages of rows are among those that were retrieved for them."""

    def __init__(self) -> None:
        self._comparable = self._met = False

    def add(self, item: Item) -> None:
        """Looks at a row."""
        if self._met or not item.sample.passages or item.response is None or not item.response.passages:
            return
        gold = {passage.id for passage in item.sample.passages if passage.relevant}
        self._comparable |= bool(gold)
        self._met = any(passage.id in gold for passage in item.response.passages)

    @property
    def never_met(self) -> bool:
        """Whether some rows have labelled and retrieved passages, but in none of them a labelled one was retrieved."""
        return self._comparable and not self._met


def _identified(passage: Passage, known: Mapping[str, str]) -> Passage:
    """The passage with an id."""
    if passage.id:
        return passage
    new_id = fields.passage_id(passage.text)
    return msgspec.structs.replace(passage, id=known.get(new_id, new_id))


def _response(answer: str | None, retrieved: tuple[Passage, ...], *, empty: bool, answered: bool) -> Response | None:
    """The response of a row; None without answer and passages. If the data have no column of answers (`answered` is
    False), an empty list of passages is a response too."""
    if answer is not None:
        return Response(answer, retrieved, empty_retrieval=empty)
    if retrieved or (empty and not answered):
        return Response("", retrieved, finish_reason=NO_ANSWER, empty_retrieval=empty)
    return None


def _language(question: str, answer: str | None) -> str:
    lettered = any(character.isalpha() for character in question)
    return detect(question if lettered or not answer else answer[:_DETECTED])
