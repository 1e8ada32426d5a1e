"""`ragstone annotate`, `ragstone agreement` and `ragstone prompts`."""
