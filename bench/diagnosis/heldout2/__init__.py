"""A second held-out set for `ragstone diagnose`: other applications and other forms of faults.

Written from the pages for users alone, with the mapping from fault to cause fixed before the first diagnosis.
"""

import bench.diagnosis.heldout  # makes the environment of LangChain, LangGraph, LlamaIndex and Haystack importable

__all__ = ["bench"]
