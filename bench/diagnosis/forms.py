"""Values in another unit, scale or number format, as a reader gives them that converts what it reads."""

import re

__all__ = ["first_half", "other_form"]

_UNITS = (
    (r"hours?|h\b", 60, "minutes"), (r"days?", 24, "hours"), (r"metres?", 3.28084, "feet"),
    (r"grams?", 0.035274, "ounces"), (r"per cent|%", 0.01, ""), (r"个?小时", 60, "分钟"), (r"天", 24, "小时"),
    (r"米", 3.28084, "英尺"), (r"克", 0.035274, "盎司"),
)  # fmt: skip


def other_form(value: str) -> str | None:
    """The value in another unit; a number without a unit that can be converted a tenth as large. None if it
    is no number of two digits or more, or several."""
    numbers = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", value)
    if len(numbers) != 1 or re.search("月|年|March|July|第", value):
        return None
    number = float(numbers[0].replace(",", ""))
    for unit, factor, name in _UNITS:
        if re.search(rf"\d\s?(?:{unit})", value):
            return f"{number * factor:.4g} {name}".strip()
    return value.replace(numbers[0], f"{number / 10:.12g}") if len(numbers[0].strip("0.,")) > 1 else None


def first_half(value: str) -> str:
    """The first half of a value, by words where it has several."""
    begin, blank, _ = value.partition(" ")
    return begin if blank else value[: (len(value) + 1) // 2]
