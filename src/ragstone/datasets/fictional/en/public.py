"""Public life: elections, space missions, earthquakes, bridges, excavations."""

from random import Random

from ragstone.datasets.fictional.en.domain import Domain, Series, apart, other_date, other_money
from ragstone.datasets.fictional.en.names import coined, day, money, person, place, random_date
from ragstone.datasets.fictional.en.setting import REGIONS, Values, count, people, setting, town
from ragstone.datasets.fictional.parts import between, pick, sample

__all__ = ["BRIDGE", "DISASTER", "DISCOVERY", "ELECTION", "MISSION"]

OFFICES = (
    "mayoral election", "gubernatorial election", "presidential election", "election for prefect",
    "leadership election",
)  # fmt: skip
OTHER_VOTES = ("council chair election", "harbour board election", "regional premier election", "sheriff's election")
PARTIES = (
    "Civic Union",
    "Harbour List", "Farmers' League", "Reform Alliance", "People's Platform", "Green Front", "Labour Bloc",
    "Liberty Party", "Citizens' Choice", "Social Compact", "National Forum", "Workers' Voice",
)  # fmt: skip
WINNER_BIOS = (
    "a former tram driver", "a vet who had never held office", "until then the head of a school",
    "a lawyer from the hills", "a trade unionist", "the owner of a small brewery", "a retired handball player",
)  # fmt: skip


def _percent(rng: Random, value: float) -> str:
    return f"{value:.1f}{pick(rng, (' per cent', ' percent', '%'))}"


def _election_series(rng: Random) -> Series:
    home = place(rng)
    return Series({"place": home, "event": f"{home} {pick(rng, OFFICES)}", "reform": str(between(rng, 1919, 1979))})


def _election_sibling(rng: Random, series: Series) -> Series:
    return Series({**series.values, "event": f"{series.values['place']} {pick(rng, OTHER_VOTES)}"})


def _election(rng: Random, series: Series, year: int) -> Values:
    share, turnout = between(rng, 361, 689) / 10, between(rng, 381, 848) / 10
    new, old = sample(rng, PARTIES, 2)
    votes, rule = between(rng, 9000, 480000), between(rng, 7, 29)
    home = series.once("town", lambda: town(rng, str(series.values["place"])))
    values = setting(rng, random_date(rng, year), home)
    return {
        **values,
        **people(rng, "loser", "loser_guess", "third", "chair", "pollster"),
        **series.values,
        "winner": series.once(f"winner {year}", lambda: person(rng)),
        "winner_guess": person(rng),
        "winner_bio": pick(rng, WINNER_BIOS),
        "share": _percent(rng, share),
        "share_guess": _percent(rng, apart(rng, share)),
        "turnout": _percent(rng, turnout),
        "turnout_guess": _percent(rng, min(93.0, apart(rng, turnout))),
        "new_party": new,
        "old_party": old,
        "rule": str(rule),
        "old_year": str(year - rule - between(rng, 3, 30)),
        "hours": pick(rng, ("nine", "eleven", "thirteen", "fifteen")),
        "votes": f"{votes:,}",
        "spoilt": str(between(rng, 12, 990)),
        "stations": str(between(rng, 14, 310)),
        "field": pick(rng, ("six", "seven", "eight", "nine")),
        "weeks": pick(rng, ("six", "seven", "eight", "nine")),
        "counters": str(between(rng, 30, 260)),
        "bridge": f"{values['river']} bridge",
        "closed": pick(rng, ("three", "four", "six")),
    }


ELECTION = Domain(
    "election",
    {"winner": "person", "share": "percent", "turnout": "percent", "loser": "person"},
    (("winner", "turnout"), ("winner", "share"), ("winner", "loser")),
    ("winner", "turnout"),
    _election_series,
    _election,
    _election_sibling,
    steps=(-16, -12, -8, -4, 4, 8, 12),
    years=(1992, 2012),
)

BODIES = ("Mars", "the Moon", "Mercury", "Ceres", "Titan", "Phobos", "Ganymede", "Vesta")
PLAINS = ("Planitia", "Crater", "Vallis", "Ridge", "Basin", "Plateau", "Terra", "Rift")
LEADER_BIOS = (
    "a geologist", "a physicist who came to the field late", "who grew up without a telephone",
    "a former mountain guide", "a chemist", "who had wanted to be a pianist", "a specialist in dust",
)  # fmt: skip


def _mission_series(rng: Random) -> Series:
    agency, program = f"{place(rng)} Space Agency", coined(rng)
    values: Values = {
        "agency_s": f"the {agency}",
        "agency_n": agency,
        "body": pick(rng, BODIES),
        "port": place(rng),
        "founded": str(between(rng, 1958, 1979)),
    }
    return Series(values, {"program": program})


def _mission_sibling(rng: Random, series: Series) -> Series:
    program = f"{series.once('program', str)}-{pick(rng, ('A', 'B', 'S', 'X'))}"
    return Series(series.values, {**series.memory, "program": program})


def _mission(rng: Random, series: Series, year: int) -> Values:
    first = series.once("first", lambda: year - between(rng, 5, 11))
    date, cost = random_date(rng, year), between(rng, 90, 990) if rng.random() < 0.6 else between(rng, 11, 48) * 100
    return {
        **setting(rng, date, series.once("town", lambda: town(rng))),
        **people(rng, "leader", "leader_guess", "engineer", "skeptic"),
        **series.values,
        "program": series.once("program", str),
        "event": f"{series.once('program', str)} {year - first + 1}",
        "launch": day(date),
        "launch_guess": other_date(rng, date),
        "leader_bio": pick(rng, LEADER_BIOS),
        "target": f"{place(rng)} {pick(rng, PLAINS)}",
        "target_guess": f"{place(rng)} {pick(rng, PLAINS)}",
        "cost": money(cost),
        "cost_guess": other_money(rng, cost),
        "clock": f"{between(rng, 1, 11)}.{between(rng, 10, 59)}",
        "team": str(between(rng, 40, 380)),
        "metres": count(rng, 40, 1900, 10),
        "years_work": pick(rng, ("seven", "nine", "eleven", "thirteen")),
        "sites": pick(rng, ("nine", "fourteen", "twenty-two")),
        "mass": count(rng, 290, 2900),
        "instruments": pick(rng, ("five", "six", "seven", "nine")),
        "silent": pick(rng, ("eleven", "nineteen", "thirty")),
        "span": str(between(rng, 5, 22)),
        "minutes": pick(rng, ("six", "nine", "fourteen", "twenty-one")),
        "picture": pick(rng, ("three", "four", "six")),
        "letters": count(rng, 2000, 40000, 100),
        "rocket": pick(rng, ("four", "nine", "eleven", "sixteen")),
        "consoles": str(between(rng, 11, 36)),
    }


MISSION = Domain(
    "mission",
    {"launch": "date", "leader": "person", "target": "name", "cost": "money"},
    (("launch", "leader"), ("leader", "target"), ("target", "cost")),
    ("leader", "target"),
    _mission_series,
    _mission,
    _mission_sibling,
)

RESCUERS = (
    "a fire officer", "a colonel of engineers", "head of the mountain rescue", "a harbour captain", "a surgeon",
    "who had trained for it for twenty years",
)  # fmt: skip


def _disaster_series(rng: Random) -> Series:
    home, kind = place(rng), pick(rng, REGIONS)
    region = f"the {home} {kind}"
    return Series({"event": f"{home} earthquake", "region": region, "region_cap": region[0].upper() + region[1:]})


def _disaster_sibling(rng: Random, series: Series) -> Series:
    home = str(series.values["event"]).removesuffix(" earthquake")
    return Series({**series.values, "event": f"{home} {pick(rng, ('Sea', 'Lake', 'Ridge', 'Strait'))} earthquake"})


def _disaster(rng: Random, series: Series, year: int) -> Values:
    date = random_date(rng, year)
    homeless = between(rng, 1200, 96000)
    return {
        **setting(rng, date, series.once("town", lambda: town(rng))),
        **people(rng, "leader", "leader_guess", "expert", "nurse", "minister"),
        **series.values,
        "date": day(date),
        "date_guess": other_date(rng, date),
        "epicentre": place(rng),
        "epicentre_guess": place(rng),
        "homeless": f"{homeless:,}",
        "homeless_guess": f"{int(apart(rng, homeless)):,}",
        "leader_bio": pick(rng, RESCUERS),
        "clock": f"{between(rng, 1, 6)}.{between(rng, 10, 59)}",
        "seconds": str(between(rng, 13, 58)),
        "roads": pick(rng, ("four", "five", "seven", "nine")),
        "villagers": count(rng, 90, 2400, 10),
        "depth": str(between(rng, 6, 34)),
        "rescuers": count(rng, 300, 4800, 20),
        "aftershocks": str(between(rng, 80, 700)),
        "houses": count(rng, 400, 9000, 10),
        "minutes": str(between(rng, 16, 55)),
        "dog": pick(rng, ("four", "five", "six")),
        "rail": str(between(rng, 9, 60)),
        "weddings": str(between(rng, 7, 60)),
        "donors": str(between(rng, 20, 400)),
        "quiet": str(between(rng, 80, 310)),
        "code": str(year - between(rng, 6, 25)),
    }


DISASTER = Domain(
    "disaster",
    {"date": "date", "epicentre": "name", "homeless": "number", "leader": "person"},
    (("date", "epicentre"), ("epicentre", "leader"), ("homeless", "leader")),
    ("epicentre", "leader"),
    _disaster_series,
    _disaster,
    _disaster_sibling,
    (1991, 2009),
    (-29, -23, -17, -11, -6, 6, 9, 13),
)

ARCHITECT_BIOS = (
    "known until then for bus shelters", "a pupil of a shipbuilder", "who builds little and slowly",
    "an engineer as well", "who won with a model made of matches", "the youngest entrant",
)  # fmt: skip
BUILDER_BIOS = ("a family firm", "a company from the coast", "better known for dams", "a firm with four cranes")


def _bridge_series(rng: Random) -> Series:
    home = place(rng)
    return Series({"event": f"{home} Bridge"}, {"name": home})


def _bridge_sibling(rng: Random, series: Series) -> Series:
    kind = pick(rng, ("Footbridge", "Railway Bridge", "Viaduct", "Swing Bridge", "Harbour Bridge"))
    return Series({"event": f"{series.once('name', str)} {kind}"})


def _bridge(rng: Random, series: Series, year: int) -> Values:
    opened = random_date(rng, year)
    cost = between(rng, 21, 940)
    return {
        **setting(rng, opened, series.once("town", lambda: town(rng))),
        **people(rng, "architect", "architect_guess", "engineer", "musician", "critic"),
        **series.values,
        "ferryman": person(rng, "m"),
        "cost": money(cost),
        "cost_guess": other_money(rng, cost),
        "date_guess": other_date(rng, opened),
        "contractor": f"{coined(rng)} {pick(rng, ('Construction', 'Builders', 'Bridgeworks', 'Engineering'))}",
        "contractor_guess": f"{coined(rng)} {pick(rng, ('Construction', 'Builders', 'Bridgeworks', 'Engineering'))}",
        "architect_bio": pick(rng, ARCHITECT_BIOS),
        "contractor_bio": pick(rng, BUILDER_BIOS),
        "entries": str(between(rng, 23, 190)),
        "guests": count(rng, 2000, 60000, 1000),
        "build": pick(rng, ("four", "five", "six", "seven", "nine")),
        "workers": count(rng, 120, 1400, 10),
        "length": count(rng, 180, 2900),
        "piers": pick(rng, ("four", "five", "seven", "eleven")),
        "ferry": str(between(rng, 14, 41)),
        "bus": pick(rng, ("four", "six", "nine")),
        "wind": pick(rng, ("four", "six", "nine")),
        "crossings": count(rng, 9000, 80000, 100),
        "lorries": str(between(rng, 20, 90)),
        "signatures": count(rng, 3000, 40000, 100),
        "shade": pick(rng, ("heron grey", "oxblood", "bottle green", "storm blue", "rust")),
        "plan_year": str(year - between(rng, 62, 120)),
    }


BRIDGE = Domain(
    "bridge",
    {"architect": "person", "cost": "money", "date": "date", "contractor": "name"},
    (("architect", "cost"), ("architect", "contractor"), ("date", "contractor")),
    ("architect", "cost"),
    _bridge_series,
    _bridge,
    _bridge_sibling,
    (1988, 2004),
    (-58, -47, -39, -31, -26, 14, 17, 20),
)

STUFFS = (
    "bronze", "gold", "silver", "clay", "ivory", "stone", "iron", "amber", "glass", "copper", "wooden", "jade",
    "lead",
)  # fmt: skip
THINGS = (
    "mirror", "tablet", "helmet", "comb", "flute", "bowl", "mask", "seal", "bracelet",
    "statue of a dog", "oil lamp", "sword", "key", "bell", "brooch", "coffer", "chariot wheel", "cup", "necklace",
    "throne", "figurine", "anchor", "drinking horn",
)  # fmt: skip
DIGGER_BIOS = (
    "a specialist in drains", "who came to the field as a student", "a former stonemason", "known for patience",
    "an expert on pollen",
)  # fmt: skip


def _thing(rng: Random) -> str:
    stuff = pick(rng, STUFFS)
    return f"{'an' if stuff[0] in 'aio' else 'a'} {stuff} {pick(rng, THINGS)}"


def _museum(rng: Random) -> str:
    kinds = ("Museum", "Museum of Antiquities", "City Museum", "Collection", "University Museum")
    return f"{place(rng)} {pick(rng, kinds)}"


def _foundation(rng: Random) -> str:
    return f"{person(rng).s} {pick(rng, ('Foundation', 'Trust', 'Fund', 'Bequest'))}"


def _discovery_series(rng: Random) -> Series:
    home = place(rng)
    return Series({"event": f"{home} {pick(rng, ('excavation', 'dig'))}", "first_year": str(between(rng, 1870, 1950))})


def _discovery_sibling(rng: Random, series: Series) -> Series:
    home, kind = str(series.values["event"]).rsplit(" ", 1)
    return Series(
        {**series.values, "event": f"{home} {pick(rng, ('harbour', 'cemetery', 'hill fort', 'cave', 'abbey'))} {kind}"}
    )


def _discovery(rng: Random, series: Series, year: int) -> Values:
    return {
        **setting(rng, random_date(rng, year), series.once("town", lambda: town(rng))),
        **people(rng, "leader", "leader_guess", "farmer", "surveyor", "rival"),
        **series.values,
        "find": _thing(rng),
        "find_guess": _thing(rng),
        "museum": _museum(rng),
        "museum_guess": _museum(rng),
        "sponsor": _foundation(rng),
        "sponsor_guess": _foundation(rng),
        "leader_bio": pick(rng, DIGGER_BIOS),
        "diggers": str(between(rng, 11, 70)),
        "depth": f"{between(rng, 2, 6)}.{between(rng, 1, 9)}",
        "weeks": pick(rng, ("nine", "ten", "eleven", "twelve")),
        "rain": pick(rng, ("three", "four", "five")),
        "lab": pick(rng, ("four", "five", "seven")),
        "volunteers": str(between(rng, 12, 90)),
        "age": count(rng, 1100, 3900, 100),
        "crates": str(between(rng, 22, 190)),
        "law_year": str(between(rng, 1921, 1973)),
    }


DISCOVERY = Domain(
    "discovery",
    {"leader": "person", "find": "thing", "museum": "name", "sponsor": "name"},
    (("leader", "find"), ("find", "museum"), ("leader", "sponsor")),
    ("leader", "find"),
    _discovery_series,
    _discovery,
    _discovery_sibling,
)
