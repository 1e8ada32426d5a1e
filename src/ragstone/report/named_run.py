"""A run as pages and the terminal show it: its systems under short labels."""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from ragstone.display import short_names
from ragstone.plans import Plan
from ragstone.types import Record, Run


class NamedRun:
    """A run whose systems have short labels instead of ids; everything else is as it was. `ids`: by label,
    `run`: itself."""

    def __init__(self, run: Run, labels: Mapping[str, str]) -> None:
        self.run, self._labels = run, labels
        self.ids = {label: name for name, label in labels.items()}

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.run.meta

    @cached_property
    def systems(self) -> Mapping[str, Mapping[str, Any]]:
        return {self._labels.get(name, name): spec for name, spec in self.run.systems.items()}

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        name = system if system is None else self.ids.get(system, system)
        for record in self.run.records(system=name, cases=cases, texts=texts):
            yield replace(record, system_id=self._labels.get(record.system_id, record.system_id))

    def plans(self) -> Mapping[str, Plan]:
        return {self._labels.get(name, name): plan for name, plan in self.run.plans().items()}

    def unasked(self, system: str, /) -> Iterator[tuple[str, str]]:
        return self.run.unasked(self.ids.get(system, system))


def named_run(run: Run) -> Run:
    """The run with its systems under short labels; itself where these are their ids."""
    labels = short_names(run.systems)
    return run if all(name == label for name, label in labels.items()) else NamedRun(run, labels)


def id_of(run: Run, label: str) -> str:
    """The id of a system by its label."""
    return run.ids.get(label, label) if isinstance(run, NamedRun) else label
