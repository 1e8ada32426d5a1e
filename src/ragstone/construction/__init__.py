"""Test sets made from documents and the web, and the data of RGB and MIRAGE."""
