"""Reads, checks and fetches data in the formats that people have, and generates the fictional one."""

__all__: list[str] = []
