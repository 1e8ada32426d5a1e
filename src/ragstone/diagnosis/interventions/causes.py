"""The table of causes: which evidence names which cause of a wrong answer, and what to ask to find out.

The rows are read from the top, and the first that matches names the primary cause. A field that a row does not name may
have any value. Because evidence of a stage stands before evidence of reading, and giving the gold must right the answer
before a stage is blamed, the causes are the steps of the waterfall. `docs/diagnosis.md` has the same table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ragstone.diagnosis.interventions.evidence import FIELDS, Evidence
from ragstone.diagnosis.interventions.observations import MISSING, REPEATED
from ragstone.responses.stages import passages_at

_NOT_WRONG = ("right", MISSING)
_NOT_NO = ("yes", MISSING)
_WRONG = ("wrong", "refused")
_ALONE = ("healthy", "unknown", "error", "metric", "should_have_refused")  # beside these nothing is shown


@dataclass(frozen=True)
class Row:
    """A row of the table: the values that each field may have."""

    cause: str
    fields: Mapping[str, tuple[str, ...]]


def _row(cause: str, **fields: str | tuple[str, ...]) -> Row:
    values = {name: (value,) if isinstance(value, str) else value for name, value in fields.items()}
    for name, allowed in values.items():
        assert set(allowed) <= set(FIELDS[name]), (cause, name, allowed)
    return Row(cause, values)


STAGES: Final = (
    # What lost the gold, whether the answer is right or wrong.
    _row("chunking", prompted="no", split="yes", own=("wrong", MISSING)),
    _row("stale", in_index=("no", MISSING), alone="right", indexed="wrong"),
    _row("contradiction", alone="right", contradicted="yes"),
    _row("stale", in_index="no", dated="yes", indexed=(*_WRONG, MISSING)),
    _row("not_in_index", in_index="no"),
    _row("filtered", fetched="no", asked="yes", narrowed="yes"),
    _row("rewriting", fetched="no", asked="yes", reworked="yes"),
    _row("rewriting", fetched="no", deaf="yes"),
    _row("search_mismatch", fetched="no", asked="yes"),
    _row("duplicates", prompted="no", crowded="yes"),
    _row("filtered", in_index="yes", fetched="no", by_reference="no", excluded="yes"),
    _row("filtered", fetched="no", curtailed="yes"),
    _row("not_retrieved", fetched="no", by_reference="no"),
    _row("language", fetched="no", barrier="yes"),
    _row("rewriting", fetched="yes", prompted="no", lowered="yes"),
    _row("prompt_cut", fetched="yes", prompted="no", clipped="yes"),
    _row("prompt_cut", fetched="yes", prompted="no", alone=_NOT_WRONG, cut="yes"),
    _row("filtered", fetched="yes", prompted="no", left_out="yes", excluded="yes"),
    _row("reranking", fetched="yes", prompted="no", demoted="yes"),
    _row("reranking", fetched="yes", prompted="no", by_reference="no", left_out="yes"),
    _row("ranking", fetched="yes", prompted="no", by_reference="no"),
    _row("k_too_small", prompted="no", reach="yes"),
    _row("reranking", fetched="yes", prompted="no", left_out="yes"),
    _row("not_retrieved", fetched="no"),
    _row("ranking", fetched="yes", prompted="no"),
    _row("prompt_cut", alone="right", prompted="yes", own="wrong", unread_end="yes"),
    _row("prompt_cut", alone=_WRONG, prompted="yes", unread_end="yes"),
    _row("chunking", alone="right", prompted="yes", own="wrong"),
    _row("chunking", alone=_WRONG, prompted="yes", large="yes", own="wrong", sentence="right", rows_mixed="no"),
)
"""The rows that say at which stage the gold was lost; none matches if it was in the prompt, or nobody knows."""

TABLE: Final = (
    _row("healthy", as_is="right"),
    _row("error", as_is="error"),
    _row("cached_answer", as_is="unscored", probed="yes"),
    _row("unknown", as_is="unscored"),
    _row("metric", as_is="wrong", reread="right"),
    _row("reference_in_doubt", as_is="wrong", answerable="yes", in_doubt="yes"),
    _row("history", as_is=_WRONG, carried="yes"),
    _row("unstable", as_is=_WRONG, again="right"),
    _row("history", as_is=_WRONG, unburdened="right"),
    _row("cached_answer", as_is=_WRONG, stuck="yes", reworded=("right", "own")),
    _row("instruction", as_is="wrong", answerable="no", stock="yes"),
    _row("should_have_refused", answerable="no"),
    _row("units", as_is="wrong", reread="unit", alone=(*_WRONG, MISSING)),
    _row("unknown", gold=MISSING),
    *(
        _row(row.cause, **({} if "alone" in row.fields else {"added": _NOT_WRONG}), **dict(row.fields))
        for row in STAGES
    ),
    _row("units", alone="wrong", reread="unit"),
    _row("guard", alone=(*_WRONG, MISSING), guarded="yes"),
    _row("instruction", as_is="wrong", alone=("wrong", MISSING), stock="yes"),
    _row("instruction", alone="wrong", unfinished="value"),
    _row("integration", alone="wrong", unfinished="sentence"),
    _row("prompt_cut", alone=_WRONG, unread_end="yes"),
    _row("prompt_cut", alone="right", moved="right", cut="yes"),
    _row("position", alone="right", prompted=_NOT_NO, moved="right"),
    _row("noise", alone="right", prompted=_NOT_NO, fetched=("yes",)),
    # Nothing beside a passage confuses that is not there: it was lost before, and would be answered wrongly there, too.
    *(
        _row(
            row.cause,
            alone="right",
            added="wrong",
            **({} if "prompted" in row.fields else {"prompted": "no"}),
            **dict(row.fields),
        )
        for row in STAGES
        if "alone" not in row.fields
    ),
    _row("noise", alone="right", added="wrong", prompted=_NOT_NO),
    _row("reading", alone=_WRONG, rows_mixed="yes"),
    _row("noise", alone=_WRONG, prompted="yes", own="right"),
    _row("reading", as_is="wrong", prompted="yes", alone="refused"),
    _row("refused_wrongly", alone="refused"),
    _row("units", alone="wrong", explicit="form"),
    _row("language", alone="wrong", explicit="language"),
    _row("instruction", alone="wrong", explicit="detail"),
    _row("memory", alone="wrong", recalled="yes"),
    _row("integration", alone="wrong", partial="yes"),
    _row("reading", alone="wrong"),
    _row("refused_wrongly", as_is="refused", prompted="yes"),
    _row("generation", prompted="yes"),
    _row("unknown"),
)
"""Every combination of values matches a row; the first one counts."""

CAUSES: Final = tuple(dict.fromkeys(row.cause for row in TABLE))
LOST: Final = tuple(dict.fromkeys(row.cause for row in STAGES))


@dataclass(frozen=True)
class Cause:
    """The primary cause of a question. `lost`: the stage that lost the gold, which may be another ("" if none is known
    to). `missing`: the field without which the cause is not known. `also`: other causes of the same wrong answer, each
    shown by an observation of its own; with the primary cause lifted, the answer would be wrong because of them."""

    name: str
    lost: str = ""
    missing: str = ""
    also: tuple[str, ...] = ()


def _match(rows: tuple[Row, ...], evidence: Evidence) -> tuple[Row | None, str]:
    """The first row that matches, and the field that has to be told before it is known whether it does."""
    for row in rows:
        for name, allowed in row.fields.items():
            value = evidence.value(name)
            if value is None:
                return row, name
            if value not in allowed:
                break
        else:
            return row, ""
    return None, ""


def lost_stage(evidence: Evidence) -> str:
    """The stage that lost the gold passages of an answerable question; "" if none did, or nobody knows: an answer
    that was kept may come with the passages that were kept with it."""
    if evidence.value("answerable") == "no" or evidence.value("gold") == MISSING:
        return ""
    if evidence.value("stuck") == "yes" and evidence.value("reworded") in ("right", "own"):
        return ""
    row, waiting = _match(STAGES, evidence)
    return "" if row is None or waiting else row.cause


def cause_of(evidence: Evidence) -> Cause:
    """The primary cause. While a condition that decides it is still to be asked, the cause is "unknown", and `missing`
    names the field that it would tell."""
    row, waiting = _match(TABLE, evidence)
    assert row is not None, "the last row matches everything"
    if waiting:
        return Cause("unknown", missing=waiting)
    lost = lost_stage(evidence)
    missing = _missing(evidence) if row.cause == "unknown" else ""
    return Cause(row.cause, lost, missing, tuple(_also(row.cause, lost, evidence)))


def _also(cause: str, lost: str, evidence: Evidence) -> Iterator[str]:
    """The stage that lost the gold where giving it does not right the answer; what spoils the answer
    where the lost gold is given beside other passages, unless what the search itself finds rights it; and where the
    question as asked finds what the rewritten one does not, but below the cut, its rank."""
    if cause in _ALONE:
        return
    if lost and lost != cause:
        yield lost
    confused = evidence.value("alone") == "right" and evidence.value("added") == "wrong"
    if lost == cause and confused and not any(evidence.told(name) == "right" for name in ("unrewritten", "unranked")):
        yield "position" if evidence.value("moved") == "right" else "noise"
    first, asked = evidence.first, evidence.response("search_asked") if cause == "rewriting" else None
    if asked is None or first is None or not first.passages or passages_at(first, "rerank") is not None:
        return
    if evidence.has_gold(asked.passages[: len(first.passages)]) == "no":
        yield "ranking"


def _missing(evidence: Evidence) -> str:
    """The first field, in the order in which they are needed, that nobody knows."""
    if evidence.value("as_is") == "unscored":
        return "as_is"
    order = ("gold", "fetched", "in_index", "alone")
    return next((name for name in order if evidence.value(name) == MISSING), "alone")


def next_conditions(evidence: Evidence) -> Iterator[str]:
    """What to ask next about a question; nothing if its verdict and its part of the waterfall are known.

    The gold alone is asked of every question, and the gold added of every question whose prompt lacks it, right or
    wrong: selected by their answers, gains would be too large. They compare first answers; what is asked again decides
    on causes alone."""
    if evidence.first is None or evidence.value("as_is") in ("error", "unscored"):
        return
    _, waiting = _match(TABLE, evidence)
    wanted, compared = ["again", *([waiting] if waiting else [])], list[str]()
    if evidence.value("answerable") == "yes" and evidence.gold:
        compared = ["alone"]
        if evidence.value("prompted") == "no":
            compared, wanted = ["alone", "added"], [*wanted, *_stage_fields(evidence)]
    for name in dict.fromkeys([*compared, *wanted]):
        if evidence.value(name) is None:
            names = evidence.open_conditions(name)
            yield from names if name in wanted else (one for one in names if one not in REPEATED)


def _stage_fields(evidence: Evidence) -> list[str]:
    _, waiting = _match(STAGES, evidence)
    return [waiting] if waiting else []
