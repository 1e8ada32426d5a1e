"""What a user calls from Python, and what the command line calls too.

Each function is written once, as `NAME_async`; `NAME` is its blocking form.
"""

from ragstone.api.bench import BenchResult, bench, bench_async
from ragstone.api.reading import OpenRun, read_run

__all__ = ["BenchResult", "OpenRun", "bench", "bench_async", "read_run"]
