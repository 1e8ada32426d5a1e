"""Business: products, annual results, takeovers."""

from random import Random

from ragstone.datasets.fictional.en.domain import Domain, Series, other_date, other_money
from ragstone.datasets.fictional.en.names import coined, country, day, money, person, place, random_date
from ragstone.datasets.fictional.en.setting import Values, count, people, setting, town
from ragstone.datasets.fictional.parts import between, pick

__all__ = ["DEAL", "LAUNCH", "RESULTS"]

GADGETS = (
    "camera", "music player", "reading tablet", "wristwatch", "hearing aid", "radio", "drone", "keyboard",
    "alarm clock", "mobile phone", "pocket calculator", "voice recorder", "torch", "translation device",
    "game console", "baby monitor", "heart-rate monitor", "electric shaver",
)  # fmt: skip
LINES = (
    "Arc", "Loop", "Delta", "Vista", "Echo", "Pico", "Line", "Nova", "Tempo", "Orbit", "Mono", "Fold", "Ray", "Wave",
)  # fmt: skip
DESIGNER_BIOS = (
    "a trained violin maker", "who used to build stage sets", "formerly of a toy factory",
    "a shipbuilder's child", "who studied under nobody", "known for a chair with three legs", "a former watchmaker",
)  # fmt: skip
INDUSTRIES = (
    ("packaging", "paper boxes"), ("rail technology", "signals and switches"), ("food", "biscuits and jams"),
    ("chemicals", "dyes"), ("textiles", "work clothes"), ("medical technology", "hospital beds"),
    ("toys", "wooden toys"), ("shipping", "container lashings"), ("furniture", "kitchen chairs"),
    ("brewing", "beer and lemonade"), ("optics", "lenses"), ("cosmetics", "soaps"), ("energy", "heat pumps"),
    ("seed", "grass seed"),
)  # fmt: skip
CHIEF_BIOS = (
    "an engineer by training", "who began there as a lathe operator", "formerly a naval officer", "a chemist",
    "who came from a competitor", "the first outsider in the post", "a lawyer with a love of machines",
)  # fmt: skip
FORMS = ("Group", "Works", "Industries", "Holdings", "Brothers", "Corporation", "International", "Manufacturing")
ARMS = ("Logistics", "Services", "Asia", "Finance", "Home", "Components", "Capital", "Systems")


def _launch_series(rng: Random) -> Series:
    company, line = coined(rng), pick(rng, LINES)
    values: Values = {
        "company": company,
        "gadget": pick(rng, GADGETS),
        "rival": coined(rng),
        "founded": str(between(rng, 1921, 1979)),
    }
    return Series(values, {"model": f"{company} {line}", "plain": f"{company} {line}"})


def _launch_sibling(rng: Random, series: Series) -> Series:
    plain, variant = series.once("plain", str), pick(rng, ("Mini", "Pro", "Max", "Lite", "Junior", "Plus"))
    return Series(series.values, {**series.memory, "model": f"{plain} {variant}"})


def _launch(rng: Random, series: Series, year: int) -> Values:
    first = series.once("first", lambda: year - between(rng, 5, 11))
    model, price, date = series.once("model", str), between(rng, 4, 98) * 10 + 9, random_date(rng, year)
    return {
        **setting(rng, date, series.once("town", lambda: town(rng))),
        **people(rng, "designer", "designer_guess", "boss", "analyst", "tester"),
        **series.values,
        "event": f"{model} {year - first + 1}",
        "price": f"${price}",
        "price_guess": f"${price + between(rng, 3, 9) * 10 * (-1 if price > 150 and rng.random() < 0.5 else 1)}",
        "release": day(date),
        "release_guess": other_date(rng, date),
        "designer_bio": pick(rng, DESIGNER_BIOS),
        "plant": place(rng),
        "plant_guess": place(rng),
        "accessory": pick(rng, ("strap", "cable", "case", "lid", "clip", "charger")),
        "drafts": str(between(rng, 31, 240)),
        "workers": count(rng, 300, 9000, 50),
        "grams": str(between(rng, 120, 890)),
        "lighter": str(between(rng, 9, 70)),
        "battery": str(between(rng, 7, 40)),
        "units": count(rng, 40000, 900000, 10000),
        "shops": pick(rng, ("seven", "nine", "twelve", "nineteen")),
        "manual": str(between(rng, 12, 140)),
        "lead_year": str(year - between(rng, 4, 12)),
    }


LAUNCH = Domain(
    "launch",
    {"price": "price", "release": "date", "designer": "person", "plant": "name"},
    (("price", "designer"), ("release", "price"), ("designer", "plant")),
    ("price", "designer"),
    _launch_series,
    _launch,
    _launch_sibling,
)


def _firm(rng: Random) -> Values:
    industry, goods = pick(rng, INDUSTRIES)
    return {"industry": industry, "industry_cap": industry.capitalize(), "industry_goods": goods}


def _results_series(rng: Random) -> Series:
    name = coined(rng)
    event = f"{name} {pick(rng, FORMS)}"
    values: Values = {**_firm(rng), "event": event, "rival": f"{coined(rng)} {pick(rng, FORMS)}"}
    return Series({**values, "founded": str(between(rng, 1868, 1970))}, {"name": name})


def _results_sibling(rng: Random, series: Series) -> Series:
    name = series.once("name", str)
    return Series({**series.values, "event": f"{name} {pick(rng, ARMS)}", "founded": str(between(rng, 1971, 1984))})


def _results(rng: Random, series: Series, year: int) -> Values:
    revenue = between(rng, 120, 990) if rng.random() < 0.4 else between(rng, 11, 480) * 100
    profit = revenue * (0.03 + 0.11 * rng.random())
    staff = between(rng, 900, 48000)
    # The report on a year appears early in the next one.
    return {
        **setting(rng, random_date(rng, year + 1, 35, 110), series.once("town", lambda: town(rng))),
        **people(rng, "chief", "chief_guess", "analyst", "council", "finance"),
        **series.values,
        "year": str(year),
        "revenue": money(revenue),
        "revenue_guess": other_money(rng, revenue),
        "profit": money(profit),
        "profit_guess": other_money(rng, profit),
        "chief_bio": pick(rng, CHIEF_BIOS),
        "staff": f"{staff:,}",
        "more": str(between(rng, 40, 800)),
        "pages": str(between(rng, 88, 310)),
        "months": pick(rng, ("seven", "nine", "eleven", "fourteen")),
        "fire": pick(rng, ("eight", "nine", "twelve")),
        "strike": pick(rng, ("four", "five", "six")),
        "country": country(rng)[0],
        "growth": str(between(rng, 2, 19)),
        "dividend": str(between(rng, 12, 95)),
        "trainees": count(rng, 20, 400, 2),
        "family": str(between(rng, 21, 49)),
    }


RESULTS = Domain(
    "results",
    {"revenue": "money", "profit": "money", "chief": "person"},
    (("revenue", "chief"), ("revenue", "profit"), ("profit", "chief")),
    ("revenue", "profit"),
    _results_series,
    _results,
    _results_sibling,
)

BUYER_BIOS = (
    "a group that few had reckoned with", "a former customer", "which had tried once before",
    "until then a small rival", "an investor with a taste for old names", "a cooperative of farmers",
    "which makes much the same things, but cheaper",
)  # fmt: skip
TALKER_BIOS = (
    "a retired judge", "a lawyer who plays chess by post", "formerly a labour leader", "a tax expert",
    "once a diplomat",
)  # fmt: skip


def _deal_series(rng: Random) -> Series:
    return Series(
        {**_firm(rng), "event": f"{coined(rng)} {pick(rng, FORMS)}", "founded": str(between(rng, 1870, 1955))}
    )


def _deal_sibling(rng: Random, series: Series) -> Series:
    name = str(series.values["event"]).split()[0]
    return Series({**series.values, "event": f"{name} {pick(rng, ARMS)}", "founded": str(between(rng, 1956, 1970))})


def _deal(rng: Random, series: Series, year: int) -> Values:
    price = between(rng, 60, 990) if rng.random() < 0.6 else between(rng, 11, 190) * 100
    return {
        **setting(rng, random_date(rng, year), series.once("town", lambda: town(rng))),
        **people(rng, "negotiator", "negotiator_guess", "heir", "council", "analyst", "notary"),
        **series.values,
        "buyer": f"{coined(rng)} {pick(rng, FORMS)}",
        "buyer_guess": f"{coined(rng)} {pick(rng, FORMS)}",
        "buyer_bio": pick(rng, BUYER_BIOS),
        "price": money(price),
        "price_guess": other_money(rng, price),
        "adviser": f"{person(rng).s} & {pick(rng, ('Partners', 'Cie', 'Associates'))}",
        "adviser_guess": f"{person(rng).s} & {pick(rng, ('Partners', 'Cie', 'Associates'))}",
        "negotiator_bio": pick(rng, TALKER_BIOS),
        "bidders": pick(rng, ("three", "four", "five", "seven")),
        "nights": pick(rng, ("Three", "Four", "Five", "Six")),
        "staff": count(rng, 180, 9000, 10),
        "pizza": str(between(rng, 31, 140)),
        "cartel": pick(rng, ("two", "three", "four")),
        "name_years": pick(rng, ("five", "seven", "ten")),
        "rise": str(between(rng, 2, 9)),
        "pages": count(rng, 240, 1900),
        "research": str(between(rng, 24, 190)),
        "safe_year": str(year + between(rng, 3, 6)),
        "hours": pick(rng, ("five", "seven", "nine", "eleven")),
    }


DEAL = Domain(
    "deal",
    {"buyer": "name", "price": "money", "adviser": "name", "negotiator": "person"},
    (("buyer", "price"), ("buyer", "adviser"), ("price", "negotiator")),
    ("buyer", "price"),
    _deal_series,
    _deal,
    _deal_sibling,
    (1993, 2014),
    (-15, -12, -9, -7, -5, 5, 7, 9),
)
