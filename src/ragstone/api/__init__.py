"""What a user calls from Python, and what the command line calls too.

Each function is written once, as `NAME_async`; `NAME` is its blocking form.
"""

from ragstone.api.bench import BenchResult, bench, bench_async
from ragstone.api.build_mirage import BuiltMirage, build_mirage, build_mirage_async
from ragstone.api.build_questions import BuiltQuestions, build_questions, build_questions_async
from ragstone.api.build_rgb import BuiltRGB, build_rgb, build_rgb_async
from ragstone.api.compare import Comparison, compare
from ragstone.api.diagnose import DiagnosisResult, diagnose, diagnose_async
from ragstone.api.evaluate import EvalResult, evaluate, evaluate_async
from ragstone.api.experts import ExpertAgreement, agreement_of_experts
from ragstone.api.gates import Gate, GateResult, check_gates
from ragstone.api.open_run import OpenRun, read_run
from ragstone.api.questions import run, run_async
from ragstone.api.slices import Slice, Slices, slices
from ragstone.api.trend import TrendResult, trend

__all__ = [
    "BenchResult",
    "BuiltMirage",
    "BuiltQuestions",
    "BuiltRGB",
    "Comparison",
    "DiagnosisResult",
    "EvalResult",
    "ExpertAgreement",
    "Gate",
    "GateResult",
    "OpenRun",
    "Slice",
    "Slices",
    "TrendResult",
    "agreement_of_experts",
    "bench",
    "bench_async",
    "build_mirage",
    "build_mirage_async",
    "build_questions",
    "build_questions_async",
    "build_rgb",
    "build_rgb_async",
    "check_gates",
    "compare",
    "diagnose",
    "diagnose_async",
    "evaluate",
    "evaluate_async",
    "read_run",
    "run",
    "run_async",
    "slices",
    "trend",
]  # fmt: skip
