"""Test questions from documents: facts first, then questions about them, then gates that each question has to pass."""
