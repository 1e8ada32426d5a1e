"""Detect which of the two languages a text is in."""

import re

from ragstone.text.characters import HAN

__all__ = ["detect"]

_HAN_OR_WORD = re.compile(rf"[{HAN}]|[A-Za-z\u00c0-\u024f]+")
_ENOUGH = 4000


def detect(text: str) -> str:
    """ "zh" if at least half of the units are Han characters, else "en"; a run of Latin letters is one unit.

    Names in Latin letters do not make a Chinese question English, nor a name in Han characters an English one
    Chinese. The first 4,000 characters decide. A text without letters is "en".
    """
    units = _HAN_OR_WORD.findall(text[:_ENOUGH])
    han = sum(1 for unit in units if unit[0] > "\u2fff")
    return "zh" if units and 2 * han >= len(units) else "en"
