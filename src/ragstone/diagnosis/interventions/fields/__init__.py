"""How the fields of the evidence are read from the answers to one question."""
