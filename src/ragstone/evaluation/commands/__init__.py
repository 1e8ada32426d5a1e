"""The commands that run and score: `bench`, `run`, `eval`, `score`, and what prepares them."""
