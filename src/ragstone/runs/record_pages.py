"""The records of a run file in pages of bounded size: in the order of their keys, in that of their arrival, or some."""

import functools
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ragstone.metrics.judge.record import reunited
from ragstone.runs.schema import LAYOUT, converted, damaged, decode, decode_fast, passages_of, text_of
from ragstone.runs.text_store import TEXT_MARK, fetch, references
from ragstone.storage import storage_errors
from ragstone.types import Case, Record, Response, Score

Key: TypeAlias = tuple[str, str]  # system_id and case_id, as in the tables
Row: TypeAlias = tuple[Any, ...]  # system_id, case_id, case, response, error, position

# A page is read at once: no lock is held while the caller works on its records, so readers never block a writer.
PAGE_RECORDS = 128
PAGE_BYTES = 4 * 2**20

_ROUNDING = 1e-6
_COLUMNS = "r.system_id, r.case_id, c.payload, r.response, r.error, r.rowid"
_WITH_CASE = "LEFT JOIN cases c ON c.case_id = r.case_id"
STAMP = (
    "coalesce(r.error, (SELECT count(*) || '.' || total(s.status = 'failed') FROM scores s"
    " WHERE s.system_id = r.system_id AND s.case_id = r.case_id))"
)
"""Changes when a failure is replaced or a score is added or replaced."""
# The keys of a page, given as JSON, are looked up one after the other in a table whose primary key begins with them.
_OF_KEYS = (
    "FROM json_each(?) k CROSS JOIN {} r"
    " ON r.system_id = json_extract(k.value, '$[0]') AND r.case_id = json_extract(k.value, '$[1]')"
)
_SPAN = "FROM {} r WHERE r.system_id = ? AND r.case_id BETWEEN ? AND ?"


def no_share(metric: str, /) -> bool:
    """Whether a metric is from 0 to 1, where that is not known."""
    return False


def name_of(key: str, path: Path) -> str:
    """The id of a key in the tables. `DataError` if it is not a valid key."""
    try:
        return text_of(key)
    except (ValueError, TypeError) as error:
        raise damaged(path, f"{key!r} is not the key of a name.") from error


def score_of(
    payload: str, case: str, metric: str, status: object, *, path: object = "", is_share: Callable[[str], bool]
) -> Score:
    """A score as its row has it, without its verdicts. `DataError` for one that cannot be."""
    try:
        score = decode_fast(payload, Score, None)
    except (ValueError, RecursionError):
        score = decode(payload, Score, path, f"a score of case {case!r}")
    value = score.value
    if status != score.status:
        problem = f"the score {metric!r} of case {case!r} has the status {status!r}, but is {score.status!r}."
        raise damaged(path, problem)
    if value is None and status == "scored":
        raise damaged(path, f"the score {metric!r} of case {case!r} has no value.")
    if value is not None and not -_ROUNDING <= value <= 1 + _ROUNDING and is_share(text_of(metric)):
        problem = f"the score {metric!r} of case {case!r} is {value:g}, but the metric is from 0 to 1."
        raise damaged(path, problem)
    return score


class RecordPages:
    """Reads and checks the records of an open run file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._texts: dict[str, str] = {}  # of the last page: the next often refers to the same
        self.expect({}, {})

    def expect(
        self, condition: Mapping[str, Any], notes: Mapping[str, Any], is_share: Callable[[str], bool] = no_share
    ) -> None:
        """From now on, check the condition and the notes of each case against these types of their fields, and that
        scores of the metrics that are shares are from 0 to 1."""
        self._is_share = functools.cache(is_share)
        self._condition, self._notes = (
            msgspec.defstruct("Fields", [(name, kind, None) for name, kind in kinds.items()])
            for kinds in (condition, notes)
        )

    def in_order(self, system_key: str | None, *, texts: bool = True) -> Iterator[Record]:
        """Every record, or those of one system, in the order of their keys. `texts` as in `types.Run`. `DataError` at
        the end if some scores belong to no record."""
        of_system, key = (" WHERE system_id = ?", (system_key,)) if system_key is not None else ("", ())
        ((scores,),) = self._all(f"SELECT count(*) FROM scores{of_system}", *key)
        read = list[int]()  # the numbers of scores of each page
        last, first = (system_key or "", ""), True
        while True:
            after = ">=" if first else ">"  # an id may be empty
            # Of one system, the two columns are compared one by one: SQLite would read all its records for each page.
            where = f"(r.system_id, r.case_id) {after} (?, ?)"
            if system_key is not None:
                where = f"r.system_id = ? AND r.case_id {after} ?"
            query = (
                f"SELECT {_COLUMNS} FROM records r {_WITH_CASE} WHERE {where} ORDER BY r.system_id, r.case_id LIMIT ?"
            )
            values = (*last, PAGE_RECORDS)
            page = self._page(query, values, texts=texts)
            if not page:
                if (dangling := scores - sum(read)) > 0:  # other processes only add scores
                    raise damaged(self.path, f"{dangling:,} scores belong to no answer.")
                return
            yield from self._records(page, _SPAN, texts=texts, read=read)
            last, first = (page[-1][0], page[-1][1]), False

    def arrived(self, after: int) -> tuple[int, list[tuple[str, Record]]]:
        """The next page of records after a position with their stamps, in the order of their arrival, and its last
        position."""
        query = f"SELECT {_COLUMNS}, {STAMP} FROM records r {_WITH_CASE} WHERE r.rowid > ? ORDER BY r.rowid LIMIT ?"
        page = self._page(query, (after, PAGE_RECORDS))
        stamps = [str(row[6]) for row in page]  # read before the scores: what changes in between is noticed later
        return (page[-1][5] if page else after), list(zip(stamps, self._records(page, _OF_KEYS), strict=True))

    def find(self, keys: Sequence[Key]) -> list[Record | None]:
        """The records of these keys, in their order; None where there is none."""
        found = dict(self.found(keys))
        return [found.get(key) for key in keys]

    def found(self, keys: Sequence[Key], *, texts: bool = True) -> Iterator[tuple[Key, Record]]:
        """Streams those of these keys that have a record, each once, in their order."""
        wanted, start = list(dict.fromkeys(keys)), 0
        query = f"SELECT {_COLUMNS} {_OF_KEYS.format('records')} {_WITH_CASE}"
        while batch := wanted[start : start + PAGE_RECORDS]:
            page = self._page(query, (json.dumps(batch),), texts=texts)
            yield from zip([(row[0], row[1]) for row in page], self._records(page, _OF_KEYS, texts=texts), strict=True)
            # A page ends early where its records are large; what was not found up to there does not exist.
            start += batch.index((page[-1][0], page[-1][1])) + 1 if page else len(batch)

    def check_condition(self, fields: object, what: str) -> None:
        """`DataError` if these fields of a condition are not of the expected types."""
        self._check(fields, self._condition, "condition", what)

    def _page(self, query: str, values: tuple[Any, ...], *, texts: bool = True) -> list[Row]:
        """The rows of a query, as many as a page may hold; with `texts`, those that they refer to are read, too."""
        rows, size, digests = list[Row](), 0, set[str]()
        with storage_errors(self.path, as_input=True, layout=LAYOUT):
            cursor = self._connection.execute(query, values)
            for row in cursor:
                rows.append(row)
                for text in row[2:5]:
                    if isinstance(text, str):  # other types in a damaged file are reported later
                        lengths = references(text) if texts else {}
                        size += len(text) + sum(length for digest, length in lengths.items() if digest not in digests)
                        digests.update(lengths)
                if size > PAGE_BYTES:
                    break
            cursor.close()
            known = {digest: self._texts[digest] for digest in digests if digest in self._texts}
            if missing := sorted(digests - known.keys()):  # a text never changes
                known |= fetch(self._connection, missing)
        self._texts = known
        return rows

    def _records(
        self, page: list[Row], of_page: str, *, texts: bool = True, read: list[int] | None = None
    ) -> Iterator[Record]:
        known = self._texts if texts else None
        scores, count = self._scores(page, of_page)
        if read is not None:
            read.append(count)
        for system_key, case_key, case, response, error, *_ in page:
            what = f"case {(name := name_of(case_key, self.path))!r}"
            of_response = f"the response to case {name!r}"
            if case is None:
                raise damaged(self.path, f"{what} is missing.")
            asked = self.case(case, what, known)
            answered = None if response is None else decode(response, Response, self.path, of_response, known)
            if not texts and (others := self._other_texts(case, asked)):
                asked = self.case(case, what, others)
            if not texts and response is not None and (others := self._other_texts(response, answered)):
                answered = decode(response, Response, self.path, of_response, others)
            yield Record(
                system_id=name_of(system_key, self.path),
                case=asked,
                response=answered,
                error=None if error is None else decode(error, str, self.path, f"the error of {what}"),
                scores=scores[system_key, case_key],
            )

    def _other_texts(self, payload: str, value: object) -> Mapping[str, str]:
        """The texts of a payload read without them, if others than those of its passages are among them, such as a
        column named "text"; else none."""
        if payload.count(TEXT_MARK) == sum(passage.text.startswith(TEXT_MARK[1:]) for passage in passages_of(value)):
            return {}
        with storage_errors(self.path, as_input=True, layout=LAYOUT):
            return fetch(self._connection, sorted(references(payload)))

    def _unusual_case(self, payload: str, what: str, texts: Mapping[str, str] | None) -> Case:
        """A case that may be damaged: its fields are checked before the whole, so that the error names one of them."""
        fields = decode(payload, dict[str, Any], self.path, what, texts)
        sample = fields.get("sample")
        self.check_condition(fields.get("condition"), what)
        self._check(sample.get("meta", {}) if isinstance(sample, dict) else {}, self._notes, "sample.meta", what)
        return converted(fields, Case, self.path, what)

    def _check(self, fields: object, kind: Any, where: str, what: str) -> None:
        try:
            msgspec.convert(fields, kind)
        except UnicodeEncodeError:  # a text with a lone surrogate, which msgspec cannot look at
            return
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at `$")
            field = where + place.rstrip("`").removesuffix("[...]")
            problem = problem[:1].lower() + problem[1:]
            raise damaged(self.path, f"{what}: {problem}.", field=field) from error

    def _scores(self, page: list[Row], of_page: str) -> tuple[dict[Key, dict[str, Score]], int]:
        """All scores of the records of a page, with their verdicts restored, and their number with all versions."""
        keys = [(row[0], row[1]) for row in page]
        # The keys of a page in their order, of one system, are a range.
        in_range = of_page == _SPAN and bool(keys) and keys[0][0] == keys[-1][0]
        of_page, values = (_SPAN, (*keys[0], keys[-1][1])) if in_range else (_OF_KEYS, (json.dumps(keys),))
        verdicts: dict[Key, dict[str, Any]] = {}
        query = f"SELECT r.system_id, r.case_id, r.digest, r.payload {of_page.format('verdicts')}"
        for system, case, digest, payload in self._all(query, *values):
            verdict = decode(payload, object, self.path, f"a verdict on case {case!r}")
            verdicts.setdefault((system, case), {})[digest] = verdict
        scores: dict[Key, dict[str, Score]] = {key: {} for key in keys}
        names: dict[str, str] = {}
        count = 0
        columns = "r.system_id, r.case_id, r.metric, r.metric_version"
        query = f"SELECT {columns}, r.status, r.payload, r.verdicts {of_page.format('scores')} ORDER BY {columns}"
        for system, case, metric, _, status, payload, digests in self._all(query, *values):
            score = self.score(case, metric, status, payload)
            if digests:
                by_digest = verdicts.get((system, case), {})
                score = reunited(score, [by_digest[digest] for digest in digests.split() if digest in by_digest])
            if metric not in names:
                names[metric] = name_of(metric, self.path)
            if (of_record := scores.get((system, case))) is not None:
                of_record[names[metric]] = score
                count += 1
        return scores, count

    def score(self, case: str, metric: str, status: object, payload: str) -> Score:
        """A score as its row has it, without its verdicts. `DataError` for one that cannot be."""
        return score_of(payload, case, metric, status, path=self.path, is_share=self._is_share)

    def case(self, payload: str, what: str, texts: Mapping[str, str] | None) -> Case:
        """A case of its payload, and of these texts of its passages (None: the references stay). `DataError` if it is
        damaged, or has fields of other types than expected."""
        try:
            case = decode_fast(payload, Case, texts)
        except (ValueError, RecursionError):
            return self._unusual_case(payload, what, texts)
        self.check_condition(case.condition, what)
        self._check(case.sample.meta, self._notes, "sample.meta", what)
        return case

    def _all(self, query: str, *values: str) -> list[Any]:
        with storage_errors(self.path, as_input=True, layout=LAYOUT):
            return self._connection.execute(query, values).fetchall()
