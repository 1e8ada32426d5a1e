"""MIRAGE's data set from published questions and a Wikipedia dump (Park et al. 2025, section 3)."""
