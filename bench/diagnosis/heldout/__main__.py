"""Plant each fault, let `ragstone diagnose` explain the failures, and count who was right.

python -m bench.diagnosis.heldout [--only PART] [--quick] [--check] [--json] [--out FOLDER]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from bench.diagnosis.heldout.faults import Case, cases
from bench.diagnosis.heldout.judging import answers, build, planted, run
from bench.diagnosis.heldout.world import right, world


def check(chosen: list[Case]) -> None:
    """Say how right each application is without a fault and how many failures each fault plants; no diagnosis."""
    for case in chosen:
        start = time.monotonic()
        texts = world(case.lang)
        made = [answers(build(case, fault)[1], texts) for fault in (True, False)]
        well = sum(right(q, made[1][q.text]) for q in texts.questions) / len(texts.questions)
        count = len(planted(case, *made))
        mark = "" if well >= 0.75 and count >= 3 else "  <--"
        took = time.monotonic() - start
        print(f"{case.name:22} {case.chunking:9} right {well:.0%}  planted {count}  {took:.1f} s{mark}", flush=True)


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this, such as memory, chain:zh")
    parser.add_argument("--quick", action="store_true", help="each fault once")
    parser.add_argument("--check", action="store_true", help="only whether the faults plant failures")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--out", type=Path, default=Path(tempfile.gettempdir()) / "ragstone-heldout", help="folder of the report"
    )
    args = parser.parse_args()
    chosen = [case for case in cases(args.quick) if args.only in case.name]
    if args.check:
        check(chosen)
        return
    report = run(chosen, args.out)
    print(json.dumps(report.data(), ensure_ascii=False, indent=1) if args.json else report.markdown())


if __name__ == "__main__":
    main()
