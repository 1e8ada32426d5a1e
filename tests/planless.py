"""What runs that are made by hand share: nobody planned them."""

from collections.abc import Iterator, Mapping

from ragstone.plans import Plan

__all__ = ["Planless"]


class Planless:
    """A `types.Run` of which nobody says how many cases there were to be; `planned` may."""

    planned: Mapping[str, Plan] = {}

    def plans(self) -> Mapping[str, Plan]:
        return self.planned

    def unasked(self, system: str, /) -> Iterator[tuple[str, str]]:
        raise AssertionError(f"these records say nothing of what {system} was not asked")
