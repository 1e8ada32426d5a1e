"""`ragstone compare` and `ragstone trend`."""
