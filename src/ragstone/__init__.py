"""ragstone: how well a RAG system answers, why it fails, and what fixing each cause would buy.

`import ragstone` is light: the functions of `ragstone.api` are loaded when they are first used.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ragstone.api import (
        bench,
        bench_async,
        build_mirage,
        build_mirage_async,
        build_questions,
        build_questions_async,
        build_rgb,
        build_rgb_async,
        compare,
        diagnose,
        diagnose_async,
        evaluate,
        evaluate_async,
        merge,
        run,
        run_async,
        slices,
        trend,
    )

__all__ = [
    "__version__", "bench", "bench_async", "build_mirage", "build_mirage_async", "build_questions",
    "build_questions_async", "build_rgb", "build_rgb_async", "compare", "diagnose", "diagnose_async", "evaluate",
    "evaluate_async", "merge", "run", "run_async", "slices", "trend",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        from ragstone import api  # noqa: PLC0415  (the heavy parts wait until somebody needs them)

        return getattr(api, name)
    raise AttributeError(f"module 'ragstone' has no attribute {name!r}")
