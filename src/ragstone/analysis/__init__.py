"""What is read from runs: gates on metrics, comparison of runs, agreement of verdicts."""
