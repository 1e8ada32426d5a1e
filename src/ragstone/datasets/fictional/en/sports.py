"""Sport: the final of a cup between two clubs."""

from random import Random

from ragstone.datasets.fictional.en.domain import Domain, Series
from ragstone.datasets.fictional.en.names import number, ordinal, person, place, random_date
from ragstone.datasets.fictional.en.setting import Values, setting
from ragstone.datasets.fictional.parts import between, pick

__all__ = ["FINAL"]

CLUBS = (
    "Rovers", "United", "Athletic", "Dynamo", "Wanderers", "Falcons", "Lions", "Mariners", "Rangers", "Albion",
    "Comets", "Harriers", "Olympic", "Swifts", "Foxes", "Thistle", "Sparta", "Corinthians", "Blues", "Ramblers",
)  # fmt: skip
CUPS = ("Cup", "Shield", "Trophy", "Challenge Cup", "Bowl", "Championship", "Plate", "Grand Cup")
CATEGORIES = ("Women's", "Youth", "Veterans'", "Winter", "Amateur", "University")
GROUNDS = ("Park", "Stadium", "Arena", "Ground", "Field", "Road", "Lane", "Meadow")
# Sports played outdoors between two goals, with what the scores look like.
SPORTS = (("football", 1, 4), ("field hockey", 1, 5), ("lacrosse", 7, 15), ("field handball", 9, 19))
POSITIONS = ("captain", "winger", "defender", "forward", "midfielder")


def _club(rng: Random) -> str:
    return f"{place(rng)} {pick(rng, CLUBS)}"


def _ground(rng: Random) -> str:
    return f"{place(rng)} {pick(rng, GROUNDS)}"


def _score(rng: Random, low: int, high: int) -> str:
    win = between(rng, low + 1, high)
    return f"{win}-{between(rng, max(0, win - 5, low - 1), win - 1)}"


def _final_series(rng: Random) -> Series:
    sport, low, high = pick(rng, SPORTS)
    home = place(rng)
    cup = pick(rng, CUPS)
    return Series(
        {
            "sport": sport,
            "sport_cap": sport.capitalize(),
            "event": f"{home} {cup}",
            "body": f"{home} {sport.title()} Association",
            "body_head": person(rng),
            "body_city": place(rng),
            "founded": str(between(rng, 1889, 1961)),
        },
        {"scores": (low, high), "name": (home, cup)},
    )


def _final_sibling(rng: Random, series: Series) -> Series:
    home, cup = series.once("name", lambda: ("", ""))
    values = {
        **series.values,
        "event": f"{home} {pick(rng, CATEGORIES)} {cup}",
        "founded": str(between(rng, 1962, 1980)),
    }
    return Series(values, {"scores": series.memory["scores"]})


def _final(rng: Random, series: Series, year: int) -> Values:
    low, high = series.once("scores", lambda: (1, 4))
    winner = series.once(f"winner {year}", lambda: _club(rng))
    holder = series.once(f"winner {year - 1}", lambda: _club(rng))
    loser = _club(rng)
    mvp = person(rng)
    scorer = pick(rng, POSITIONS)
    crowd = between(rng, 18000, 91000)
    return {
        **setting(rng, random_date(rng, year)),
        **series.values,
        "winner": winner,
        "winner_guess": loser,
        "holder": holder,
        "last_year": str(year - 1),
        "loser": loser,
        "score": _score(rng, low, high),
        "semi": _club(rng),
        "semi_score": _score(rng, low, high),
        "semi_round": pick(rng, ("semi-final", "quarter-final")),
        "venue": _ground(rng),
        "venue_guess": _ground(rng),
        "mvp": mvp,
        "mvp_guess": person(rng),
        "mvp_pos": scorer if scorer != "captain" else "midfielder",
        "mvp_part": pick(rng, (
            "who covered more ground than anyone else", f"who was playing with {mvp.his} arm in a bandage",
            f"a substitute until {mvp.his} third match of the season", "who had a hand in everything that mattered",
            "who had come back from a year out with an injured knee", f"whom {loser} never managed to contain",
        )),
        "coach": person(rng),
        "coach_guess": person(rng),
        "coach_years": pick(rng, ("two", "three", "four", "six", "seven", "nine")),
        "nth_coach": pick(rng, ("second", "third", "fourth", "fifth")),
        "nth": ordinal(between(rng, 2, 9)),
        "captain": person(rng),
        "loser_coach": person(rng),
        "referee": person(rng),
        "hurt": person(rng),
        "absent": person(rng),
        "keeper": person(rng),
        "singer": person(rng, "m"),
        "crowd": number(crowd),
        "far_crowd": number(crowd // between(rng, 3, 6) // 100 * 100),
        "entries": str(pick(rng, (32, 48, 64, 96, 128, 212))),
        "span": str(between(rng, 4, 23)),
        "cards": pick(rng, ("two", "three", "four", "five", "six")),
        "changes": pick(rng, ("three", "four", "five")),
        "arrests": str(between(rng, 3, 41)),
        "ticket": str(between(rng, 9, 48) * 10),
        "prize": str(between(rng, 12, 95) * 10),
        "tv": str(between(rng, 14, 68)),
        "odds": str(between(rng, 54, 83)),
    }  # fmt: skip


FINAL = Domain(
    "final",
    {"winner": "name", "venue": "name", "mvp": "person", "coach": "person"},
    (("winner", "venue"), ("winner", "mvp"), ("coach", "venue")),
    ("winner", "mvp"),
    _final_series,
    _final,
    _final_sibling,
)
