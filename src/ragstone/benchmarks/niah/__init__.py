"""Needle in a haystack: does a model find a sentence in a long text, at which length and which depth?"""
