"""The applications: plain code of their frameworks, which knows nothing of ragstone."""
