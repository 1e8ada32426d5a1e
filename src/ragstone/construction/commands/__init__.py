"""`ragstone build`."""
