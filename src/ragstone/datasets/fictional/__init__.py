"""Invented news in English and Chinese, made from a seed: events, people, places and works that never existed."""
