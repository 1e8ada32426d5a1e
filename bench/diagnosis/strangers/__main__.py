"""`python -m bench.diagnosis.strangers`, in an environment that has the frameworks, too."""

from __future__ import annotations

import sys

from bench.diagnosis.strangers.planting import table

if __name__ == "__main__":
    table(sys.argv[1:] or ["function", "sqlite", "http_open"])
