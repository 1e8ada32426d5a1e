"""Fault injection: systems with known faults, and what `ragstone.diagnose` and other tools say about them.

    python -m bench.diagnosis [--questions 40] [--repetitions 100] [--peers] [--langchain] [--json]

A fault can be lifted, so the truth about a question is known: the fault made it fail if the answer is wrong with the
fault and right without it. `worlds` has documents and questions with known values, `paraphrase` words references that
no comparison of words can match, `readers` and `pipeline` are the scripted system, `faults` what can be wrong with it,
`judge` the scripted judge, `trials` asks and diagnoses, `measures` counts, `probe` and `others` are what it is compared
with.
"""
