"""How many examples hypothesis tries, and which case of a loop failed."""

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import settings

__all__ = ["examples", "naming"]


def examples(count: int) -> int:
    """`count`, or a fifth of it where the profile `quick` is loaded, as `make check` does."""
    return max(5, count * settings().max_examples // 100)


@contextmanager
def naming(*case: object) -> Iterator[None]:
    """Says in a failure which case of a loop it was."""
    try:
        yield
    except BaseException as error:
        error.add_note("in the case " + ", ".join(repr(value)[:200] for value in case))
        raise
