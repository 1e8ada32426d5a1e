"""The form of what each step of the judge is shown and replies, as JSON schemas; and whether a value has a form.

Only what every endpoint's structured output knows is used: `type`, `properties`, `required`, `additionalProperties`,
`items` and `enum`. `INPUTS` describe what goes between the delimiters, `OUTPUTS` the reply (`Request.schema`). What a
schema cannot say (each id exactly once, an id that exists) is checked by the step that reads the reply.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ragstone.metrics.judge.contradictions import affirms, contradiction, denied, plain
from ragstone.metrics.judge.problems import problem
from ragstone.metrics.judge.quoted import taken_back

Schema = dict[str, Any]
_NUMBERED_ITEM = re.compile(
    r"(?:(?:answer|reference|ref)?[ _]?claim|passage|sentence|(?:答案|参考|参考答案)?(?:论断|主张)|段落|句子|第)"
    r"\s*#?\s*(\d{1,6})\s*(?:条|段|个)?"
)  # "claim 1", "段落 2"
_TRUTHS = {"true": True, "false": False, "yes": True, "no": False, "是": True, "否": False}
_NOTHING = frozenset({"", "null", "none", "无", "没有"})
_SURE = re.compile(r"confiden|置信度|信心")  # in keys: of what may be a number
_DIGITS = re.compile(r"\s*\d{1,6}\s*")

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
# The words of keys that nobody asked for and that say nothing else than the object: a remark, alone or on what was
# asked for (`verdict_reason`), and a part of what was judged (`sentence`).
_REMARKS = frozenset({
    "analysis", "comment", "comments", "confidence", "details", "evidence", "explanation", "explanations",
    "justification", "note", "notes", "rationale", "reason", "reasoning", "reasons", "remark", "remarks", "summary",
    "thinking", "thought", "thoughts", "why",
})  # fmt: skip
_ECHOES = frozenset({"answer", "claim", "passage", "question", "reference", "sentence", "statement", "text"})
_WHOLE = frozenset({"final", "overall", "total"})
_SHORT = 24  # characters of a remark that may be a verdict: a part of what was judged is longer
_REMARK_ZH = re.compile(
    "(?:总体|整体|评判|判断|判定|评估|评分|结论)?的?"
    "(?:解释|理由|说明|备注|原因|分析|依据|证据|思考|推理|推理过程|注释|注|总结|小结|置信度|信心|论断|句子|段落|语言)"
)

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_YES_NO: Schema = {"type": "boolean"}
_NUMBERED: Schema = {"type": "object", "additionalProperties": _TEXT}  # {"1": "…", "2": "…"}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(*values: object) -> Schema:
    return {"type": "string" if isinstance(values[0], str) else "integer", "enum": list(values)}


_CLAIMS = {"answer_claims": _NUMBERED, "reference_claims": _NUMBERED}
_SIDES = {"question": _TEXT, "reference": _or_null(_TEXT), **_CLAIMS}
# The quote comes first: a model that has to quote a passage looks there before it decides.
_SUPPORT = {
    "quote": _TEXT,
    "supported_by": _list(_NUMBER),
    "together": _or_null(_YES_NO),
    "contradicted_by": _list(_NUMBER),
}
_VERDICT = _object(id=_NUMBER, quote=_TEXT, verdict=_one_of("supported", "contradicted", "neither"))
_ELEMENT = _object(id=_NUMBER, status=_one_of("present", "missing", "unknown"), quote=_TEXT)
_CLASSIFIED = {"id": _NUMBER, "reason": _TEXT}

INPUTS: Mapping[str, Schema] = {
    "decompose": _object(question=_TEXT, answer=_NUMBERED, reference=_or_null(_TEXT)),
    "verify": _object(**_SIDES, passages=_NUMBERED),
    "verify_passage": _object(**_SIDES, passage=_TEXT),
    "verify_reference": _object(**_SIDES),
    "rubric": _object(
        question=_TEXT, answer=_TEXT, passages=_NUMBERED, reference=_or_null(_TEXT), criterion=_TEXT,
        scale=_or_null(_NUMBERED),
        elements={"type": "object", "additionalProperties": _object(text=_TEXT, if_known=_YES_NO)},
    ),
    "ragas_statements": _object(question=_TEXT, text=_TEXT),
    "ragas_faithfulness": _object(context=_TEXT, statements=_NUMBERED),
    "ragas_question": _object(answer=_TEXT),
    "ragas_context_precision": _object(question=_TEXT, context=_TEXT, answer=_TEXT),
    "ragas_context_recall": _object(question=_TEXT, context=_TEXT, answer=_TEXT),
    "ragas_correctness": _object(question=_TEXT, answer=_NUMBERED, ground_truth=_NUMBERED),
    "needle": _object(question=_TEXT, reference=_TEXT, answer=_TEXT),
    "nuggets_create": _object(question=_TEXT, texts=_NUMBERED, nuggets=_list(_TEXT)),
    "nuggets_assign": _object(question=_TEXT, answer=_TEXT, nuggets=_NUMBERED),
    "umbrela": _object(question=_TEXT, passage=_TEXT),
    "match": _object(question=_TEXT, reference=_TEXT, answer=_TEXT),
}  # fmt: skip

OUTPUTS: Mapping[str, Schema] = {
    "decompose": _object(
        answer_claims=_list(_object(sentence=_or_null(_NUMBER), text=_TEXT, relevant=_YES_NO)),
        reference_claims=_list(_object(text=_TEXT)),
        questions=_list(_TEXT),
        noncommittal=_YES_NO,
    ),
    "verify": _object(
        answer_claims=_list(_object(id=_NUMBER, **_SUPPORT, in_reference=_or_null(_YES_NO))),
        reference_claims=_list(_object(id=_NUMBER, **_SUPPORT, in_answer=_or_null(_YES_NO))),
        passages=_list(_object(id=_NUMBER, relevant=_YES_NO, useful=_or_null(_YES_NO))),
    ),
    "verify_passage": _object(
        answer_claims=_list(_VERDICT), reference_claims=_list(_VERDICT), relevant=_YES_NO, useful=_or_null(_YES_NO)
    ),
    "verify_reference": _object(
        answer_claims=_list(_object(id=_NUMBER, in_reference=_YES_NO)),
        reference_claims=_list(_object(id=_NUMBER, in_answer=_YES_NO)),
    ),
    "rubric": _object(elements=_list(_ELEMENT), reason=_TEXT, score=_or_null(_NUMBER)),
    "ragas_statements": _object(statements=_list(_TEXT)),
    "ragas_faithfulness": _object(verdicts=_list(_object(**_CLASSIFIED, verdict=_one_of(0, 1)))),
    "ragas_question": _object(question=_TEXT, noncommittal=_one_of(0, 1)),
    "ragas_context_precision": _object(reason=_TEXT, verdict=_one_of(0, 1)),
    "ragas_context_recall": _object(
        classification=_list(_object(statement=_TEXT, reason=_TEXT, attributed=_one_of(0, 1)))
    ),
    "ragas_correctness": _object(
        answer=_list(_object(**_CLASSIFIED, verdict=_one_of("TP", "FP"))),
        ground_truth=_list(_object(**_CLASSIFIED, verdict=_one_of("FN", "found"))),
    ),
    "needle": _object(reason=_TEXT, score=_one_of(*range(1, 11))),
    "nuggets_create": _object(nuggets=_list(_object(text=_TEXT, importance=_one_of("vital", "okay")))),
    "nuggets_assign": _object(
        nuggets=_list(_object(id=_NUMBER, assignment=_one_of("support", "partial_support", "not_support")))
    ),
    "umbrela": _object(match=_one_of(*range(4)), trust=_one_of(*range(4)), grade=_one_of(*range(4))),
    "match": _object(reason=_TEXT, verdict=_one_of("stated", "not_stated")),
}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "boolean": (bool,), "object": (dict,), "array": (list,), "null": (type(None),)
}  # fmt: skip


def with_reasons(schema: Schema) -> Schema:
    """The form of a reply to `verify` or `verify_passage` with a reason for each verdict on a claim."""
    properties = dict(schema["properties"])
    for side in ("answer_claims", "reference_claims"):
        properties[side] = _list(_object(**properties[side]["items"]["properties"], reason=_TEXT))
    return _object(**properties)


def conformed(value: Any, schema: Schema, coerced: list[str] | None = None) -> Any:
    """A reply as it is meant; what is changed is added to `coerced`, and everything else is left as it stands.

    "2" and "passage 2" are 2 where a whole number is expected, "true" and "yes" are true, "null" is null where it may
    be, "Not stated" is "not_stated" where that is one of the values, `answerClaims` is `answer_claims`. A number by
    itself is a list of one where numbers are expected. What may be null may be left out, and a key that nobody asked
    for is dropped where it can say nothing about those that are asked for."""
    changes = [] if coerced is None else coerced
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "items" in schema and not isinstance(value, list):
        value = _listed(value, schema["items"]["type"], changes)
    if isinstance(value, str):
        return _conformed_text(value, schema, kinds, changes)
    if isinstance(value, list) and "items" in schema:
        return [conformed(item, schema["items"], changes) for item in value]
    if isinstance(value, dict) and (properties := schema.get("properties")):
        return _conformed_object(value, properties, changes)
    return value


def _listed(value: Any, of: object, changes: list[str]) -> Any:
    """A number or an object by itself as a list of one, and nothing as no number, where a list of those is expected."""
    if of == "integer" and (value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING)):
        changes.append("null_text")
        return []
    is_number = isinstance(value, int | str) and not isinstance(value, bool)
    if (of == "integer" and is_number) or (of == "object" and isinstance(value, dict) and value):
        changes.append("list_of_one")
        return [value]
    return value


def _conformed_text(value: str, schema: Schema, kinds: list[str], changes: list[str]) -> Any:
    if "string" not in kinds:
        word = value.strip().casefold()
        if "integer" in kinds and _DIGITS.fullmatch(value):
            changes.append("number_text")
            return int(value)
        if "integer" in kinds and (numbered := _NUMBERED_ITEM.fullmatch(word)):
            changes.append("number_text")
            return int(numbered[1])
        if "boolean" in kinds and word in _TRUTHS:
            changes.append("boolean_text")
            return _TRUTHS[word]
        if "null" in kinds and word in ("null", "none"):
            changes.append("null_text")
            return None
    elif value not in (choices := schema.get("enum", (value,))):
        meant = [choice for choice in choices if _folded(choice) == _folded(value)]
        if len(meant) == 1:
            changes.append("spelling")
            return meant[0]
    return value


def _conformed_object(value: dict[str, Any], properties: Mapping[str, Schema], changes: list[str]) -> dict[str, Any]:
    names = {_folded(key): key for key in properties}
    spelled: dict[str, Any] = {}
    for written, item in value.items():
        key = names.get(_folded(written), written)
        if key != written:
            key = written if key in value or key in spelled else key
            changes += ["spelling"] * (key != written)
        spelled[key] = conformed(item, properties[key], changes) if key in properties else item
    for key in [key for key in spelled if key not in properties]:
        if _says_nothing(key, spelled[key], spelled, properties):
            changes.append(f"extra_keys: {one_line(key[:40])}")
            del spelled[key]
    optional = {key: None for key, inner in properties.items() if isinstance(inner["type"], list)}
    if optional.keys() - spelled.keys():
        changes.append("left_out")
    return optional | spelled


def is_remark(key: str, names: Iterable[str] = ()) -> bool:
    """Whether a key that nobody asked for is one of those that say nothing else than the object. `names`: the keys that
    were asked for, about which there may be a remark."""
    words, asked = words_of(key), set().union(*map(words_of, names)) - _REMARKS
    known = _REMARKS if words & asked else _REMARKS | _ECHOES
    return bool(_REMARK_ZH.fullmatch(key) or (words & known and words - asked <= known | {"overall"}))


def _says_nothing(key: str, item: Any, value: Mapping[str, Any], properties: Mapping[str, Schema]) -> bool:
    """Whether a key that nobody asked for is a remark without a contradiction, or repeats one that was asked for."""
    for name in properties:  # `claim_id` beside `id`
        more = words_of(key) - words_of(name)
        if words_of(name) < words_of(key) and more <= _ECHOES | _WHOLE and name in value and _same(item, value[name]):
            return True
    if not is_remark(key, properties):
        return False
    texts = remark_texts(key, item)
    return texts is not None and not any(_speaks(key, text, value, properties) for text in texts)


def remark_texts(key: str, item: Any) -> list[str] | None:
    """What a remark says; None where it is no text: a number (but for a confidence), a truth, an object."""
    if item is None or (isinstance(item, int | float) and not isinstance(item, bool) and _SURE.search(key.casefold())):
        return []
    texts = item if isinstance(item, list) else [item]
    return texts if all(isinstance(text, str) for text in texts) else None


def _speaks(key: str, text: str, value: Mapping[str, Any], properties: Mapping[str, Schema]) -> bool:
    """Whether the text of a remark says a verdict: another one, or by itself what could be one of a key."""
    said, words = plain(text).strip(), words_of(key)
    if said in _NOTHING and not words & set().union(*map(words_of, properties)):
        return False
    if said in _TRUTHS or said in _NOTHING - {""} or taken_back(said):
        return True
    schema, echoed = {"type": "object", "properties": properties}, bool(words & _ECHOES) and len(said) >= _SHORT
    if contradiction(f"{key}: {text}", value, schema, denials=not echoed):
        return True
    return not echoed and affirms(value, schema) and bool(denied(said))


def _same(item: Any, other: Any) -> bool:
    return item == other and type(item) is type(other)


def keys_within(value: Any) -> set[str]:
    """Every key of every object within a value, itself too."""
    if isinstance(value, dict):
        return {*value}.union(*map(keys_within, value.values()))
    return set().union(*map(keys_within, value)) if isinstance(value, list) else set()


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def words_of(key: str) -> set[str]:
    """The words of a key: claim and id of `claim_id` and of `claimId`."""
    return {word.casefold() for word in _WORD.findall(key)}


def problem_with(value: object, schema: Schema, *, at: str = "") -> str:
    """What is first wrong with `value` by `schema`, in one line that names the place; "" where nothing is.

    true is no whole number and 1.0 is none either: what a judge writes is taken as it stands.
    """
    place: Any = at or ["reply"]
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is_a(value, name) for name in names):
        return problem("type", at=place, types=list(names))
    if "enum" in schema and value is not None and value not in schema["enum"]:
        return problem("value", at=place, value=f"{value!r:.60}", choices=[str(choice) for choice in schema["enum"]])
    if isinstance(value, dict):
        return _problem_inside(value, schema, at)
    if isinstance(value, list):
        for number, item in enumerate(value, start=1):
            if found := problem_with(item, schema["items"], at=f"{at}[{number}]"):
                return found
    return ""


def _is_a(value: object, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and not (name == "integer" and isinstance(value, bool))


def _problem_inside(value: dict[str, object], schema: Schema, at: str) -> str:
    properties, others = schema.get("properties", {}), schema["additionalProperties"]
    prefix = f"{at}." if at else ""
    for key in properties:
        if key not in value:
            return problem("missing", at=f"{prefix}{key}")
    for key, item in value.items():
        inner = properties.get(key, others)
        if inner is False:
            return problem("extra", at=one_line(f"{prefix}{key:.60}"))
        if found := problem_with(item, inner, at=one_line(f"{prefix}{key:.60}")):
            return found
    return ""


def one_line(text: str) -> str:
    """The text without anything that a reader would not see on one line: keys that a judge made up may hold it."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
