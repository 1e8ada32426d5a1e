"""A third held-out set for `ragstone diagnose`: other worlds, applications, readers and faults, by another stranger.

Written from the pages for users alone, with the mapping from fault to cause fixed before the first diagnosis.
"""

import bench.diagnosis.heldout  # makes the environment of the frameworks importable

__all__ = ["bench"]
