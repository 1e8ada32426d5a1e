"""Interventions: the user's questions asked again under changed conditions, to find out why answers are wrong."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ragstone.benchmarks.plugin import Plugin

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.benchmark import Interventions

__all__ = ["PLUGINS", "InterventionsPlugin"]


class InterventionsPlugin(Plugin):
    """Why a system's answers are wrong, and what fixing each cause would buy."""

    name: ClassVar[str] = "interventions"
    summary: ClassVar[str] = "Why a system's answers are wrong: its questions under changed conditions."
    condition_types: ClassVar[Mapping[str, Any]] = {"intervention": str}
    note_types: ClassVar[Mapping[str, Any]] = {
        "gold_found": str, "in_index": str, "indexed": list[dict[str, Any]], "stand_in": str,
        "columns": dict[str, str | int | float | bool],
    }  # fmt: skip

    def from_meta(self, meta: Mapping[str, Any], /) -> "Interventions":
        from ragstone.diagnosis.interventions.benchmark import Interventions  # noqa: PLC0415

        return Interventions.from_meta(meta)


PLUGINS = {"interventions": InterventionsPlugin()}
