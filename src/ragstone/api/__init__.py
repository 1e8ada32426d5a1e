"""What a user calls from Python, and what the command line calls too.

Each function is written once, as `NAME_async`; `NAME` is its blocking form. A function is loaded when it is first used,
so that a command or a page waits only for what it needs.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragstone.cluster.merge import MergedRun, merge
    from ragstone.comparison.compare import Comparison, compare
    from ragstone.comparison.trend import TrendResult, trend
    from ragstone.construction.build_mirage import BuiltMirage, build_mirage, build_mirage_async
    from ragstone.construction.build_questions import BuiltQuestions, build_questions, build_questions_async
    from ragstone.construction.build_rgb import BuiltRGB, build_rgb, build_rgb_async
    from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose, diagnose_async
    from ragstone.engine.gates import Gate, GateResult, check_gates
    from ragstone.engine.open_run import OpenRun, read_run
    from ragstone.engine.slices import Slice, Slices, slices
    from ragstone.evaluation.bench import BenchResult, bench, bench_async
    from ragstone.evaluation.evaluate import EvalResult, evaluate, evaluate_async
    from ragstone.evaluation.questions import run, run_async
    from ragstone.experts.experts import ExpertAgreement, agreement_of_experts

__all__ = [
    "BenchResult", "BuiltMirage", "BuiltQuestions", "BuiltRGB", "Comparison", "DiagnosisResult", "EvalResult",
    "ExpertAgreement", "Gate", "GateResult", "MergedRun", "OpenRun", "Slice", "Slices", "TrendResult",
    "agreement_of_experts", "bench", "bench_async", "build_mirage", "build_mirage_async", "build_questions",
    "build_questions_async", "build_rgb", "build_rgb_async", "check_gates", "compare", "diagnose", "diagnose_async",
    "evaluate", "evaluate_async", "merge", "read_run", "run", "run_async", "slices", "trend",
]  # fmt: skip

MODULES = {
    "ragstone.evaluation.bench": ("BenchResult", "bench", "bench_async"),
    "ragstone.construction.build_mirage": ("BuiltMirage", "build_mirage", "build_mirage_async"),
    "ragstone.construction.build_questions": ("BuiltQuestions", "build_questions", "build_questions_async"),
    "ragstone.construction.build_rgb": ("BuiltRGB", "build_rgb", "build_rgb_async"),
    "ragstone.comparison.compare": ("Comparison", "compare"),
    "ragstone.diagnosis.diagnose": ("DiagnosisResult", "diagnose", "diagnose_async"),
    "ragstone.evaluation.evaluate": ("EvalResult", "evaluate", "evaluate_async"),
    "ragstone.experts.experts": ("ExpertAgreement", "agreement_of_experts"),
    "ragstone.engine.gates": ("Gate", "GateResult", "check_gates"),
    "ragstone.cluster.merge": ("MergedRun", "merge"),
    "ragstone.engine.open_run": ("OpenRun", "read_run"),
    "ragstone.evaluation.questions": ("run", "run_async"),
    "ragstone.engine.slices": ("Slice", "Slices", "slices"),
    "ragstone.comparison.trend": ("TrendResult", "trend"),
}
_PLACES = {name: module for module, names in MODULES.items() for name in names}


class _Api(ModuleType):
    """A module whose functions may have the names of the modules that they are in: the function is what the name means,
    even where the module was imported before."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_PLACES[name]), name)
    return value


sys.modules[__name__].__class__ = _Api
