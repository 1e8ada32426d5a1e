"""Responses of systems: reading what a user's code returned, and recording the stages of an answer."""
