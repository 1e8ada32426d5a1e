"""Constructs data sets with models, pass by pass: test questions from documents, RGB's and MIRAGE's files.

A construction is a list of passes. A pass asks a model about each item (or computes something itself) and keeps or
rejects the items by the replies. Every request and its reply is a case of the run file, so that a construction resumes
where it stopped, and its replies are cached.
"""
