"""`ragstone`, killed by SIGKILL after so many statements of SQL of the merges of a cluster. No test of its own.

python -m tests.engine.dying_command STATEMENTS WORDS…
"""

import sys

from tests.cluster.merge_worker import killed_after

from ragstone.__main__ import main

if __name__ == "__main__":
    killed_after(int(sys.argv.pop(1)), files=False)
    main()
