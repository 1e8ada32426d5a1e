"""What systems around another system share."""

from collections.abc import Mapping
from typing import Any

from ragstone.types import System


class Wrapper:
    """Has the id and the settings of the system that it wraps: answers through it are that system's."""

    inner: System

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.inner.spec
