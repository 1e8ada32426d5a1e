"""The published question sets that MIRAGE is made of, in the formats in which they are published.

PopQA (TSV), Natural Questions (JSON lines, full or simplified, and the open form), TriviaQA (JSON with `Data`), IfQA (a
JSON list with passages) and DROP (JSON: passage id → passage and `qa_pairs`)."""

import csv
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ragstone.datasets.jsonlines import kind_of
from ragstone.errors import DataError
from ragstone.storage import FormatError, gunzip, parse_json
from ragstone.structs import Frozen


class SourceQuestion(Frozen, frozen=True):
    """A question of a published set. `title`: the article that the set names, "" if it names none; `passage`: the text
    that it comes with."""

    id: str
    source: str
    question: str
    answers: tuple[str, ...]
    title: str = ""
    passage: str = ""


def read_qa_set(path: Path) -> list[SourceQuestion]:
    """The questions of a file, whose format is told by its content. Raises DataError."""
    if path.suffix == ".tsv":
        return list(_each(path, csv.DictReader(_text(path).splitlines(), delimiter="\t"), _popqa))
    text = _text(path)
    try:
        document = parse_json(text)
    except FormatError:
        return list(_lines(path, text))
    if isinstance(document, Mapping) and isinstance(document.get("Data"), list):
        return list(_each(path, document["Data"], _triviaqa))
    if isinstance(document, Mapping) and document and all(isinstance(entry, Mapping) for entry in document.values()):
        rows = [(key, pair, entry) for key, entry in document.items() for pair in entry.get("qa_pairs", ())]
        return list(_each(path, rows, _drop))
    if isinstance(document, list):
        return list(_each(path, document, _ifqa))
    if isinstance(document, Mapping):
        return list(_each(path, [document], _natural))
    raise DataError(path, f"found {kind_of(document)}; expected a published question set.")


def _text(path: Path) -> str:
    try:
        return (gunzip(path) if path.suffix == ".gz" else path.read_bytes()).decode("utf-8")
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise DataError(path, f"it cannot be read ({error}).") from error


def _each(path: Path, rows: Any, read: Callable[[int, Any], SourceQuestion | None]) -> Iterator[SourceQuestion]:
    for number, row in enumerate(rows, 1):
        try:
            question = read(number, row)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise DataError(path, f"entry {number} is not a question of a known format ({error!r}).") from None
        if question is not None and question.question.strip() and question.answers:
            yield question


def _lines(path: Path, text: str) -> Iterator[SourceQuestion]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(parse_json(line))
            except FormatError as error:
                raise DataError(path, f"{error}.", line=number) from None
    yield from _each(path, rows, _natural)


def _popqa(number: int, row: Mapping[str, str]) -> SourceQuestion:
    answers = tuple(dict.fromkeys(json.loads(row["possible_answers"])))
    return SourceQuestion(f"popqa-{row.get('id') or number}", "PopQA", row["question"], answers, row["s_wiki_title"])


def _triviaqa(number: int, row: Mapping[str, Any]) -> SourceQuestion:
    answer = row["Answer"]
    answers = tuple(dict.fromkeys([answer["Value"], *answer.get("Aliases", ())]))
    pages = row.get("EntityPages") or [{}]
    title = pages[0].get("Title", "")
    return SourceQuestion(f"triviaqa-{row.get('QuestionId', number)}", "TriviaQA", row["Question"], answers, title)


def _drop(number: int, row: tuple[str, Mapping[str, Any], Mapping[str, Any]]) -> SourceQuestion | None:
    _, pair, parent = row
    answer = pair["answer"]
    date = " ".join(part for name in ("day", "month", "year") if (part := (answer.get("date") or {}).get(name, "")))
    values = [answer.get("number", ""), date, *answer.get("spans", ())]
    answers = tuple(str(value) for value in values if str(value).strip())
    if len(answers) > 1 and len(answer.get("spans", ())) > 1:
        return None  # an answer of several parts is no answer span
    return SourceQuestion(
        f"drop-{pair.get('query_id', number)}", "DROP", pair["question"], answers, passage=parent["passage"]
    )


def _open(source: str, number: int, row: Mapping[str, Any], passage: object = "") -> SourceQuestion:
    """A question with a list of answers, or one."""
    answer = row["answer"]
    answers = tuple([answer] if isinstance(answer, str) else answer)
    name = f"{source.lower()}-{row.get('id', number)}"
    return SourceQuestion(name, source, row["question"], answers, row.get("title", ""), str(passage))


def _ifqa(number: int, row: Mapping[str, Any]) -> SourceQuestion:
    return _open("IfQA", number, row, row.get("passage") or row.get("context") or "")


def _natural(number: int, row: Mapping[str, Any]) -> SourceQuestion | None:
    if "question_text" not in row:
        return _open("NQ", number, row)
    words = row["document_text"].split(" ") if "document_text" in row else []
    spans = [span for note in row["annotations"] for span in note.get("short_answers", ())]
    texts = [" ".join(words[span["start_token"] : span["end_token"]]) for span in spans if words]
    title = row.get("document_title", "")
    if not title and (url := row.get("document_url", "")):
        title = url.partition("title=")[2].partition("&")[0].replace("_", " ")
    answers = tuple(dict.fromkeys(text for text in texts if text.strip()))
    return SourceQuestion(f"nq-{row.get('example_id', number)}", "NQ", row["question_text"], answers, title)
