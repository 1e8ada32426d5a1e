"""Applications as strangers would write them, with faults of known stage and cause: does `diagnose` name them?

Written without knowledge of the code of ragstone, from its README, `docs/systems.md`, `docs/retrievers.md` and help.
"""
