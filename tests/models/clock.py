"""A clock that tests move: nothing here sleeps."""

import asyncio
from dataclasses import dataclass, field

__all__ = ["Clock"]


@dataclass
class Clock:
    """`sleep` passes time at once, and lets others run."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
