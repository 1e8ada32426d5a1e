"""Runs the user's own code: in this process, or in a process of its own (`isolated`)."""
