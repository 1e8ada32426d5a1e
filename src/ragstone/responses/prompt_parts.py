"""How much of each passage stands in the prompts that a model got: all of it, its beginning, or nothing.

Templates number passages, change their spaces and punctuation, and put words between their lines. So letters and digits
are compared. A passage is there as far as the last piece of it that is there. Where only the beginning is, it may be
that of another passage with the same heading: a place in a prompt belongs to the passage of which most stands there. Or
it may be words of the question, which stands in the prompt, too.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ragstone.types import Passage

LONGEST_PROMPT = 4000
"""Characters that are kept of a prompt in which no passage was found."""

_PIECE = 20  # letters and digits that are looked for together
_SHORTEST = 12  # letters and digits of a beginning that is no accident
_GAPS = 200  # letters that a template may put between the lines of a passage


class _Place(NamedTuple):
    """Where letters of a passage stand: the prompt's number, from and to, and how many of its letters are there."""

    prompt: int
    start: int
    end: int
    length: int


def parts_in(passages: Sequence[Passage], prompts: Sequence[str], asked: str) -> list[tuple[Passage, str]]:
    """The passages of which something stands in the prompts, in the order in which they stand there, each with the part
    of its text that does. `asked`: the question; what stands in it is no beginning of a passage."""
    texts, where = [_letters(passage.text) for passage in passages], [_letters(prompt) for prompt in prompts]
    found: dict[int, _Place] = {}
    for number, text in enumerate(texts):
        if text and (place := next(_places(text, text, where), None)) is not None:
            found[number] = place
    questions = [*_places(_letters(asked), _letters(asked), where)] if _letters(asked) else []
    left = [number for number, text in enumerate(texts) if number not in found and len(text) >= _SHORTEST]
    while left:
        best = [(place, n) for n in left if (place := _beginning(texts[n], where, list(found.values()), questions))]
        if not best:
            break
        place, number = max(best, key=lambda pair: (pair[0].length, -pair[1]))
        found[number] = place
        left.remove(number)
    order = sorted(found, key=lambda number: (found[number].prompt, found[number].start, number))
    return [(passages[n], _up_to(passages[n].text, found[n].length, len(texts[n]))) for n in order]


def shortened(passage: Passage, part: str) -> Passage:
    """The passage as it stands in a prompt."""
    return passage if part == passage.text else replace(passage, text=part)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _places(sought: str, text: str, prompts: Sequence[str]) -> Iterator[_Place]:
    """Where the beginning `sought` of a text stands."""
    for number, prompt in enumerate(prompts):
        at = prompt.find(sought)
        while at >= 0:
            yield _Place(number, at, *_reach(text, prompt, at))
            at = prompt.find(sought, at + 1)


def _reach(text: str, prompt: str, at: int) -> tuple[int, int]:
    """How far a text that begins here stands in a prompt: to where there, and how much of it."""
    length = next((n for n, (one, other) in enumerate(zip(text, prompt[at:], strict=False)) if one != other), None)
    if length is None:
        length = min(len(text), len(prompt) - at)
    until = at + len(text) + _GAPS
    for end in range(len(text), length + _PIECE, -_PIECE):
        place = prompt.find(text[end - _PIECE : end], at + length, until)
        if place >= 0:
            return place + _PIECE, end
    return at + length, length


def _beginning(
    text: str, prompts: Sequence[str], taken: Sequence[_Place], questions: Sequence[_Place]
) -> _Place | None:  # fmt: skip
    """The place with most of a text that begins there, where no other passage stands and more than the question."""
    free = [
        place for place in _places(text[:_SHORTEST], text, prompts)
        if not any(one.prompt == place.prompt and one.start <= place.start < one.end for one in taken)
        and not any(
            one.prompt == place.prompt and one.start <= place.start and place.end < one.end + _SHORTEST
            for one in questions
        )
    ]  # fmt: skip
    return max(free, key=lambda place: place.length, default=None)


def _up_to(text: str, length: int, whole: int) -> str:
    """The beginning of a text with so many letters and digits, of `whole`."""
    if length >= whole:
        return text
    count = 0
    for at, character in enumerate(text):
        count += sum(map(str.isalnum, character.casefold()))
        if count >= length:
            return text[: at + 1]
    return text
