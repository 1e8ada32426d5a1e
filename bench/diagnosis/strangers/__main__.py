"""`python -m bench.diagnosis.strangers`: plant all faults, diagnose them, and report.

The frameworks are found in `~/.cache/ragstone/peers/frameworks*` if this environment does not have them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import warnings
from pathlib import Path


def _find_frameworks() -> None:
    """Append the environment of the frameworks behind this one."""
    if importlib.util.find_spec("langchain_community") is None:
        places = Path("~/.cache/ragstone/peers").expanduser().glob("frameworks*/lib/python3.11/site-packages")
        sys.path += [str(place) for place in places if (place / "langchain_community").is_dir()][:1]


def main() -> None:
    """Run the proof."""
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis.strangers")
    parser.add_argument("--only", default="", help="faults or applications, separated by commas")
    parser.add_argument("--quick", action="store_true", help="one application for each fault")
    parser.add_argument("--per-fault", type=int, default=3, help="applications for each fault")
    parser.add_argument("--plants", action="store_true", help="only count what each fault makes fail")
    parser.add_argument("--json", type=Path, help="write all results here, too")
    parser.add_argument("--report", type=Path, help="write the table here, too, after each case")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    _find_frameworks()
    from bench.diagnosis.strangers import harness, planting, reporting  # noqa: PLC0415 - after the frameworks are found

    only = set(filter(None, options.only.split(",")))
    if options.plants:
        planting.table(sorted(only) or ["function", "sqlite", "http_open"])
        return
    found: list[harness.Found] = []
    with tempfile.TemporaryDirectory(prefix="stranger-") as name:
        for case in planting.selection(1 if options.quick else options.per_fault, only):
            found.append(harness.run(case, Path(name)))
            last = found[-1]
            counts = f"{last.cause_right}/{last.planted} {dict(last.named)} {last.seconds:.1f} s {last.error}"
            print(f"{last.fault:22} {last.app:12} {counts}", file=sys.stderr, flush=True)
            if options.report:
                options.report.write_text(reporting.report(found), encoding="utf-8")
            if options.json:
                rows = [harness.as_dict(one) for one in found]
                options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    print(reporting.report(found))


if __name__ == "__main__":
    main()
