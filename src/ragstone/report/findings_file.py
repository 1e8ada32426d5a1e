"""What experts' labels say of a run, in a file beside it: RUN.experts.json (docs/decisions/0030)."""

import math
from pathlib import Path

import msgspec

from ragstone.analysis.calibration import Calibrated
from ragstone.analysis.expert_agreement import Agreed, ExpertFindings, JudgeAgreement, Refused
from ragstone.errors import DataError
from ragstone.storage import write_file
from ragstone.structs import from_json, to_json

ENDING = ".experts.json"
"""What the name of the file has after that of the run."""

_LARGEST = 4 << 20  # bytes that are read


class _FindingsFile(msgspec.Struct, forbid_unknown_fields=True):
    """The file: of which run (its file id) and system, from which labels, and what they say."""

    run: str
    system: str
    labels: str
    sha256: str
    agreed: tuple[Agreed, ...]
    judged: tuple[JudgeAgreement, ...]
    calibrated: tuple[tuple[str, str, Calibrated], ...] = ()
    refused: tuple[tuple[str, str, Refused], ...] = ()


def findings_path(run: Path) -> Path:
    """Where the findings on a run are kept."""
    return run.with_name(f"{run.name}{ENDING}")


def write_findings(found: ExpertFindings, run: Path, file_id: str, *, labels: str, sha256: str) -> Path:
    """Writes the findings beside the run with this id; returns the path. `labels`, `sha256`: of the file they are
    from."""
    items = found.calibrated.items()
    content = _FindingsFile(
        file_id, found.system, Path(labels).name, sha256,
        tuple(agreed for agreed in found.agreed if not math.isnan(agreed.equal)), found.judged,
        tuple((*key, value) for key, value in items if isinstance(value, Calibrated)),
        tuple((*key, value) for key, value in items if isinstance(value, Refused)),
    )  # fmt: skip
    return write_file(findings_path(run), to_json(content))


def read_findings(run: Path, file_id: str) -> ExpertFindings | None:
    """What is kept beside a run; None if there is nothing, or if it is of a run with another id. Raises DataError for a
    file that `write_findings` did not write."""
    path = findings_path(run)
    if not path.is_file():
        return None
    advice = "Delete it, or write it again: ragstone agreement experts LABELS --run RUN --keep."
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(path, f"is larger than {_LARGEST >> 20} MiB.", advice=advice)
        content = from_json(path.read_bytes(), _FindingsFile)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(path, f"is not what --keep writes ({type(error).__name__}).", advice=advice) from None
    if content.run != file_id:
        return None
    calibrated: dict[tuple[str, str], Calibrated | Refused] = {
        (task, metric): value for task, metric, value in content.calibrated
    }
    calibrated |= {(task, metric): refused for task, metric, refused in content.refused}
    return ExpertFindings(content.agreed, content.judged, calibrated, content.system)
