"""`--shard 2/4`: the cases of one machine of several, without a cluster; `ragstone merge` joins their run files."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Self

from ragstone.errors import UsageError
from ragstone.types import Case

_MOST = 10_000


@dataclass(frozen=True)
class Shard:
    """The `number`th (from 1) of `parts` shards of all cases. To which one a case belongs depends on its id and on
    nothing else: more cases, other systems and other metrics move none."""

    number: int
    parts: int

    @classmethod
    def read(cls, text: str) -> Self | None:
        """From "2/4"; None from "". Raises UsageError."""
        if not text:
            return None
        match = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
        number, parts = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= parts <= _MOST:
            raise UsageError(f"--shard {text[:40]}: expected NUMBER/PARTS, such as 1/4, 2/4, 3/4 and 4/4.")
        return cls(number, parts)

    def of(self, cases: Callable[[], Iterable[Case]]) -> Callable[[], Iterator[Case]]:
        """These cases without those of the other shards."""
        return lambda: (case for case in cases() if self.has(case.id))

    def has(self, name: str) -> bool:
        """Whether what has this id is of this shard."""
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.parts == self.number - 1

    def path(self, default: Path) -> Path:
        """The default run file of this shard."""
        return default.with_name(f"{default.stem}-{self.number}-of-{self.parts}{default.suffix}")
