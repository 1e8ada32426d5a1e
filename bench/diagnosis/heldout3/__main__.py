"""Plant each fault, let `ragstone diagnose` explain the failures, and count who was right.

python -m bench.diagnosis.heldout3 [--only FAULT] [--quick] [--works] [--one] [--json] [--out FOLDER]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from bench.diagnosis.heldout3.faults import FAULTS, Case, cases
from bench.diagnosis.heldout3.judging import asked, expected, run, works
from bench.diagnosis.heldout3.world import world


def check(chosen: list[Case]) -> bool:
    """Say how right each application is without a fault and how many failures a fault plants; no diagnosis."""
    fine = True
    for case in chosen:
        start = time.monotonic()
        healthy = asked(case, ())
        planted = expected(case, healthy)
        answerable = [q.text for q in world(case.lang).questions if q.needed]
        well = sum(healthy[text] for text in answerable) / len(answerable)
        by_part = [sum(FAULTS[part] in names for names in planted.values()) for part in case.parts]
        broken = len(planted) / len(healthy)
        good = well >= 0.9 and min(by_part) >= 4 and (0.08 <= broken <= 0.62 or FAULTS[case.parts[0]].chance)
        fine = fine and good
        made = f"{case.name:28} {case.chunking:8} {case.scheme:8} right {well:.0%}  planted {by_part} {broken:.0%}"
        print(f"{made}  {time.monotonic() - start:.1f} s{'' if good else '  <--'}", flush=True)
    return fine


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this, such as backup, desk:zh")
    parser.add_argument("--quick", action="store_true", help="each fault once")
    parser.add_argument("--works", action="store_true", help="only whether the applications work and the faults harm")
    parser.add_argument("--one", action="store_true", help="only whether diagnoses of one question come to an end")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--out", type=Path, default=Path(tempfile.gettempdir()) / "ragstone-heldout3", help="folder of the report"
    )
    args = parser.parse_args()
    chosen = [case for case in cases(args.quick) if args.only in case.name]
    if args.works:
        raise SystemExit(0 if check(chosen) else 1)
    if args.one:
        for case in chosen:
            print(case.name, works(case), flush=True)
        return
    report = run(chosen, args.out.resolve())
    print(json.dumps(report.data(), ensure_ascii=False, indent=1) if args.json else report.markdown())


if __name__ == "__main__":
    main()
