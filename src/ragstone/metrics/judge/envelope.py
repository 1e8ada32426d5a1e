"""How judged text travels: as JSON between two lines with a code that the text cannot know.

What is judged is data, whatever it says. The code is a hash over the text itself (and `nonce`), so a text that contains
its own code would be a fixed point of the hash. A code that depends on nothing else keeps a request the same from run
to run, and so the reply cache of use. JSON escapes line ends, so no text can begin a line, and with it end the
envelope. What looks like a delimiter, and characters that no reader sees (zero width, bidirectional controls, tags),
are escaped too: what is hidden from a person is not whispered to the judge, and nothing is lost.
"""

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

# Controls, fillers, zero-width characters, bidirectional controls, separators, variation selectors, tags, surrogates.
_HIDDEN = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"
)
_ESCAPED = re.compile(f"[{_HIDDEN}]|[<＜](?=[\\s/／]*judged)", re.IGNORECASE)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def enclosed(content: Mapping[str, Any], *, nonce: str = "") -> str:
    """The content as one line of JSON between two delimiters. `opened` gives it back, to the character (of
    which JSON writes one beyond the 65,536th as a pair of surrogates, and takes such a pair for it)."""
    line = _ESCAPED.sub(_escape, json.dumps(content, ensure_ascii=False))
    code = blake2b(f"{nonce}\0{line}".encode(), digest_size=8, person=b"ragstone judge").hexdigest()
    return f"<judged {code}>\n{line}\n</judged {code}>"


def opened(text: str) -> dict[str, Any]:
    """What `enclosed` put in. ValueError where the text is no whole envelope."""
    match = re.fullmatch(r"<judged ([0-9a-f]{16})>\n([^\n]*)\n</judged \1>", text)
    if match is None:
        raise ValueError("not an envelope")
    content: dict[str, Any] = json.loads(match[2])
    return content
