"""Patterns for a date or time in any notation: July 21, 2017; 2017-07-21; 2017年7月21日; 8:30 p.m.; 8时30分."""

import re
from typing import NamedTuple

_MONTH_NAMES = "january february march april may june july august september october november december"
MONTHS = _MONTH_NAMES.split()
_NUMBER = {name[:3]: number for number, name in enumerate(MONTHS, 1)}
_NAME = r"(?P<month>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|" + "|".join(MONTHS) + r")\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_NAME}\s{_DAY}(?:,?\s{_YEAR})?",
        rf"(?:the\s)?{_DAY}(?:\sof)?\s{_NAME}(?:,?\s{_YEAR})?",
        rf"{_NAME},?\s{_YEAR}",
        rf"{_YEAR}-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})",
        rf"(?:{_YEAR}年)?(?P<month>\d{{1,2}})月(?P<day>\d{{1,2}})[日号]",
        rf"{_YEAR}年(?P<month>\d{{1,2}})月",
    )
)


class DatePattern(NamedTuple):
    """`pattern`: a regular expression for every notation of a date. `digits`: strings that all of them contain."""

    pattern: str
    digits: tuple[str, ...]


def date_pattern(folded: str) -> DatePattern | None:
    """A pattern for every notation of the date `folded`, or None if it is not a date.

    Search it only in folded text. A date without a year also matches a full date; one without a day also matches a
    full date in that month.
    """
    for form in _FORMS:
        if match := form.fullmatch(folded.strip(" .,")):
            parts = match.groupdict()
            name = parts["month"]
            month = int(name) if name.isdigit() else _NUMBER[name[:3]]
            if not 1 <= month <= 12:
                return None
            year, day = parts.get("year"), parts.get("day")
            digits = (year or "", str(int(day)) if day else "")
            return DatePattern(_wordings(year, month, day), tuple(filter(None, digits)))
    return None


def _wordings(year: str | None, month: int, day: str | None) -> str:
    full = MONTHS[month - 1]
    short = rf"{full[:3]}t?" if full == "september" else full[:3]
    name = rf"(?:{full}|{short})\.?"
    digit_month = rf"0?{month}"
    any_day = r"\d{1,2}"
    d = rf"0?{int(day)}" if day else any_day
    ordinal = rf"{d}(?:st|nd|rd|th)?"
    y = year or r"\d{4}"
    if year is None:
        forms = [rf"{name}\s?{ordinal}", rf"{ordinal}(?:\s?of)?\s?{name}", rf"{digit_month}\s?月\s?{d}\s?[日号]"]
    else:
        forms = [
            rf"{name}\s?{ordinal},?\s?{y}",
            rf"{ordinal}(?:\s?of)?\s?{name},?\s?{y}",
            rf"{y}\s?年\s?{digit_month}\s?月\s?{d}\s?[日号]",
        ]
    if day is None:
        forms += [rf"{name}(?:\s?of)?,?\s?{y}", rf"{y}\s?年\s?{digit_month}\s?月", rf"{y}[-/]{digit_month}"]
    forms.append(rf"{y}(?P<sign>[-/.]){digit_month}(?P=sign){d}")
    if day and int(day) > 12:
        forms += [rf"{digit_month}/{d}/{y}", rf"{d}/{digit_month}/{y}"]
    return rf"(?<![a-z0-9])(?:{'|'.join(forms)})(?!\d)"


_TIME = re.compile(r"(?P<hour>\d{1,2})(?:[:.时点](?P<minute>\d{2}))?(?P<sign>[时点分])?\s?(?P<half>[ap]\.?m)?")


def time_pattern(folded: str) -> DatePattern | None:
    """A pattern for every notation of the time of day `folded`, or None if it is not a time."""
    match = _TIME.fullmatch(folded.strip(" .,"))
    if match is None or not (match["half"] or match["sign"] or ":" in folded) or int(match["hour"]) > 24:
        return None
    hour, minute = str(int(match["hour"])), match["minute"]
    minutes = rf"(?:[:.]{minute}|[时点]{minute}分?)" if minute else ""
    if minute in {None, "00"}:
        minutes = r"(?:[:.]00|[时点](?:整|00分?)?)?" if match["half"] or minute else r"(?:[:.]00|[时点])"
    half = rf"\s?{match['half'][0]}\.?\s?m(?![a-z])" if match["half"] else ""
    return DatePattern(rf"(?<![\d:.])0?{hour}{minutes}{half}(?![\d:])", (hour,))
