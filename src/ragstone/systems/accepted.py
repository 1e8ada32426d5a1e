"""What a system takes besides the question, and the refusal of a query that needs more."""

from collections.abc import Mapping

from ragstone.errors import SystemFailed
from ragstone.types import Query, System

ACCEPTED = ("passages", "history", "k", "language", "retrieve")
"""What a system may take: given passages (with none of them it answers closed book); the history of a conversation;
the number of passages to fetch; the question's language; a search without an answer."""

USUAL_K = 5
"""How many passages are asked for where code must be told a number."""

_PROBLEMS = {
    "passages": ("takes_no_passages", "retrieves for itself, but it was asked with given passages"),
    "retrieve": ("retrieves_no_passages", "cannot search without answering"),
    "k": ("takes_no_k", "fetches as many passages as it wants, but it was asked for a number of them"),
}


def accepts_of(system: System) -> frozenset[str]:
    """The part of `ACCEPTED` that a system takes. A system without `accepts` is one that takes passages, history and
    language."""
    return frozenset(getattr(system, "accepts", ("passages", "history", "language")))


def is_repeatable(system: System) -> bool:
    """Whether asking the system again costs nothing and brings the same answer, as it says by its `repeatable`."""
    return getattr(system, "repeatable", False) is True


def printed_by(system: System) -> str:
    """The last line that the system's code printed, by its method `printed`; "" without one."""
    return str(getattr(system, "printed", str)())


def check_accepted(query: Query, accepts: frozenset[str], name: str, advice: Mapping[str, str]) -> None:
    """Raises SystemFailed if the system `name` takes no given passages, no number of passages, or cannot only search,
    and the query needs that. `advice`: how to change it. A search takes any k: it is cut to it."""
    needed = {
        "passages": query.passages is not None,
        "retrieve": query.retrieve_only,
        "k": query.k is not None and not query.retrieve_only,
    }
    for need, (kind, problem) in _PROBLEMS.items():
        if needed[need] and need not in accepts:
            raise SystemFailed(kind, f"{name} {problem}. {advice[need]}")
