"""How fast and in how much memory a large needle grid is made into texts.

    python bench/niah_scale.py [--lengths 1k:200k:35] [--depths 0:100:35] [--data-language en]

Plans the grid, then makes the whole prompt of every cell, one at a time, as a run does. Goals: at least 50 MB of text a
second after planning, and memory of about one context: at most 8 times the longest text beyond what the plan takes.
"""

import argparse
import asyncio
import json
import resource
import time

from ragstone.benchmarks.niah.benchmark import NIAH, expand_query
from ragstone.evaluation.bench import plan_bench

GOAL_SPEED = 50.0
GOAL_TIMES = 8.0


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lengths", default="1k:200k:35")
    parser.add_argument("--depths", default="0:100:35")
    parser.add_argument("--data-language", default="en")
    parser.add_argument("--tokenizer", default="ragstone/estimate")
    arguments = parser.parse_args()
    start = time.perf_counter()
    options = {
        "lengths": arguments.lengths, "depths": arguments.depths, "data_languages": arguments.data_language,
        "tokenizer": arguments.tokenizer,
    }  # fmt: skip
    made = asyncio.run(plan_bench("niah", options, models=["local/extractive"])).benchmark
    assert isinstance(made, NIAH)
    planned, before = time.perf_counter() - start, peak()
    start = time.perf_counter()
    characters = longest = size = 0
    for case in made.cases():
        turns = made.template.messages(expand_query(case.query, made.haystacks or {}))
        text = turns[0].content
        characters += len(text)
        longest = max(longest, len(text))
        size += len(text) if text.isascii() else len(text.encode())
    seconds = time.perf_counter() - start
    speed = size / 1e6 / seconds
    more = (peak() - before) / max(1, longest)
    reached = speed >= GOAL_SPEED and more <= GOAL_TIMES
    print(json.dumps({
        "cells": made.size, "seconds_to_plan": round(planned, 2), "megabytes": round(size / 1e6, 1),
        "seconds": round(seconds, 2), "megabytes_a_second": round(speed, 1), "longest_characters": longest,
        "memory_beyond_the_plan_in_longest_texts": round(more, 2), "reached": reached,
    }))  # fmt: skip
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main())
