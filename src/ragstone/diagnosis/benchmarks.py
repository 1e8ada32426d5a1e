"""The benchmark of a diagnosis: a user's questions under changed conditions."""

from ragstone.diagnosis.interventions import PLUGINS

__all__ = ["PLUGINS"]
