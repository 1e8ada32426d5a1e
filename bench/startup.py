"""What ragstone costs before it does anything, as ratios to a Python that does nothing.

    python bench/startup.py [--runs 21] [--json]

`python -c pass`, `python -c "import ragstone"` and `ragstone --help` are started in turn, each `--runs` times, and the
medians of their wall times are compared. In turn, so that whatever else the machine does falls on all three alike.

Goals: `import ragstone` at most 10 times `python -c pass`, `ragstone --help` at most 25 times.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["main"]

BASE = "python -c pass"
# The installed script where there is one beside this Python, as a user calls it.
SCRIPT = Path(sys.executable).with_name("ragstone")
HELP = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "ragstone"]
COMMANDS = {
    BASE: [sys.executable, "-c", "pass"],
    "import ragstone": [sys.executable, "-c", "import ragstone"],
    "ragstone --help": [*HELP, "--help"],
}
GOALS = {"import ragstone": 10.0, "ragstone --help": 25.0}
FEWEST = 15


def seconds(command: list[str]) -> float:
    """Wall time of one start, until the process has ended."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began


def measure(runs: int) -> dict[str, float]:
    """The median seconds of each command. One start of each goes before, so that all files are in memory."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(runs + 1):
        for name, command in COMMANDS.items():
            found = seconds(command)
            if turn:
                taken[name].append(found)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> int:
    """Prints the ratios; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=21, help=f"starts of each command, at least {FEWEST}")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.runs < FEWEST:
        parser.error(f"--runs {args.runs}: a median of fewer than {FEWEST} says little")
    medians = measure(args.runs)
    ratios = {name: medians[name] / medians[BASE] for name in GOALS}
    if args.json:
        print(json.dumps({"ratios": ratios, "seconds": medians, "goals": GOALS, "runs": args.runs}))
    else:
        print(f"{BASE:<16} {1000 * medians[BASE]:6.1f} ms   (medians of {args.runs} starts)")
        for name, goal in GOALS.items():
            print(f"{name:<16} {1000 * medians[name]:6.1f} ms = {ratios[name]:.2f} x   (goal {goal:.0f} x)")
    return int(any(ratios[name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
