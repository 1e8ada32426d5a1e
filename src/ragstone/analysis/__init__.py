"""Analysis of finished runs: gates on metrics, comparison of runs, agreement of verdicts."""
