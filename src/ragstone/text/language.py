"""Detects whether a text is English or Chinese."""

import re

from ragstone.text.characters import HAN

_HAN_OR_WORD = re.compile(rf"[{HAN}]|[A-Za-z\u00c0-\u024f]+")
_DECISIVE = 4000


def detect(text: str) -> str:
    """ "zh" if at least half of the units are Han characters, else "en"; a run of Latin letters is one unit.

    A Chinese question with Latin names thus stays Chinese, and an English one with a Chinese name English. Only the
    first 4,000 characters count. A text without letters is "en".
    """
    if text.isascii():
        return "en"
    units = _HAN_OR_WORD.findall(text[:_DECISIVE])
    han = sum(1 for unit in units if unit[0] > "\u2fff")
    return "zh" if units and 2 * han >= len(units) else "en"
