"""A user's system asked and scored, answers that exist scored, and benchmarks run."""
