"""The workers of a cluster as the engine knows them: what asks and scores cases elsewhere."""

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol

from ragstone.capabilities import brought
from ragstone.engine.systems_and_metrics import Workload
from ragstone.models.options import Spread
from ragstone.runs import RunFile
from ragstone.runs.shards import Pool


class Workers(Spread, Protocol):
    """The workers of `--cluster`."""

    def staying(self) -> AbstractContextManager[None]:
        """Inside, the workers go from one run of the command to the next."""

    def serving(self, workload: Workload, /) -> AbstractAsyncContextManager[None]:
        """Inside, the models that the cluster serves are up. Raises UsageError for what cannot be sent to workers."""

    def pool(self, workload: Workload, file: RunFile, concurrency: int, /) -> AbstractAsyncContextManager[Pool]:
        """Workers for these systems and metrics, each of which asks `concurrency` cases at once."""


def workers_of(address: str, workers: int | None, gpus: float = 0.0, *, serves: bool = False) -> Workers:
    """The workers of the cluster at an address. UsageError for an address that none can have, MissingExtra without
    Ray."""
    cluster: Any = next(brought("cluster")).Cluster  # loaded when it is asked for
    made: Workers = cluster.checked(address, workers, gpus, serves=serves)
    return made
