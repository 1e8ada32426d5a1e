"""Long fields of CSV, which Python's `csv` limits for the whole process."""

import contextlib
import csv
from collections.abc import Iterator


@contextlib.contextmanager
def fields_up_to(size: int) -> Iterator[None]:
    """Raises the limit of a field from 131,072 characters while one row is read. Not for longer: a generator that
    nobody reads to its end would leave it raised for everyone."""
    before = csv.field_size_limit(size)
    try:
        yield
    finally:
        csv.field_size_limit(before)
