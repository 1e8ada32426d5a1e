"""The phrases of `phrases.txt`, each section compiled when it is first asked for."""

import re
from functools import lru_cache

from ragstone.text.patterns import pattern_lines


@lru_cache(maxsize=64)
def phrases(section: str) -> re.Pattern[str]:
    """The regular expression that any phrase of this section matches, for a folded text. KeyError if there is none."""
    return re.compile("|".join(pattern_lines("ragstone.metrics", "phrases.txt")[section]))
