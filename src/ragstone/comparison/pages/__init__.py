"""The viewer's pages of two runs side by side and of runs over time."""
