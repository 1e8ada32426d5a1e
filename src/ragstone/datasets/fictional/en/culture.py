"""Culture: book prizes, feature films, art sales."""

from random import Random

from ragstone.datasets.fictional.en.domain import Domain, Series, apart
from ragstone.datasets.fictional.en.names import TITLE_NOUNS, coined, country, person, place, random_date, title
from ragstone.datasets.fictional.en.setting import Values, count, people, setting, town
from ragstone.datasets.fictional.parts import between, pick, sample

__all__ = ["AUCTION", "AWARD", "FILM"]

GENRES = ("Fiction", "Poetry", "First Novels", "Translation", "Memoir", "Short Stories", "Travel Writing", "Essays")
PRIZES = ("Prize", "Award", "Medal", "Laurel")
HALLS = ("Hall", "Theatre", "House", "Rooms", "Palace", "Pavilion", "Conservatory", "Playhouse")
PRAISE = (
    "a book one wants to read with the window open", "sentences like good carpentry",
    "a small book with a long shadow", "the funniest sad story in years", "a novel that trusts its readers",
    "exact, tender and without a wasted comma", "a map of a country that is not on any map",
)  # fmt: skip
WRITER_BIOS = (
    "a former lock-keeper", "a schoolteacher who writes before breakfast", "until now known for crime stories",
    "a translator by trade", "who lives on a houseboat", "whose first book sold ninety copies", "a country doctor",
)  # fmt: skip
FILM_KINDS = (
    "drama", "comedy", "thriller", "western", "ghost story", "melodrama", "road movie", "costume drama", "whodunit",
)  # fmt: skip
ROLES = (
    "a retired lighthouse keeper", "a clockmaker", "a ferry pilot", "a widowed schoolteacher",
    "a disgraced judge", "a travelling dentist", "a night porter", "a bankrupt brewer", "a piano tuner",
)  # fmt: skip
ARTIST_BIOS = (
    "a sign painter by training", "who died forgotten", "who painted at night", "a pupil of nobody in particular",
    "who signed very few pictures", "who spent half a life in hospitals", "who gave up painting at thirty",
)  # fmt: skip
BUYER_BIOS = (
    "who made a fortune in zips", "a collector of shipping shares and seascapes", "heir to a biscuit factory",
    "a surgeon with a very large house", "who began by collecting stamps", "owner of a chain of laundries",
)  # fmt: skip


def _award_series(rng: Random) -> Series:
    name = f"{place(rng)} {pick(rng, PRIZES)}"
    first, *others = sample(rng, GENRES, 4)
    values: Values = {"event": f"{name} for {first}", "founded": str(between(rng, 1902, 1968)), "chair": person(rng)}
    return Series(values, {"name": name, "others": others})


def _award_sibling(rng: Random, series: Series) -> Series:
    name, others = series.once("name", str), series.once("others", list[str])
    founded = str(between(rng, 1969, 1984))
    return Series({"event": f"{name} for {pick(rng, others)}", "founded": founded, "chair": person(rng)})


def _award(rng: Random, series: Series, year: int) -> Values:
    return {
        **setting(rng, random_date(rng, year), series.once("town", lambda: town(rng))),
        **people(rng, "winner_guess", "loser", "loser2", "critic", "juror"),
        **series.values,
        "winner": series.once(f"winner {year}", lambda: person(rng)),
        "holder": series.once(f"winner {year - 1}", lambda: person(rng)),
        "last_year": str(year - 1),
        "winner_bio": pick(rng, WRITER_BIOS),
        "home": country(rng)[0],
        "work": title(rng),
        "work_guess": title(rng),
        "venue": f"the {place(rng)} {pick(rng, HALLS)}",
        "venue_guess": f"the {place(rng)} {pick(rng, HALLS)}",
        "publisher": f"{coined(rng)} {pick(rng, ('Books', 'Press', 'Editions', 'Publishing'))}",
        "praise": pick(rng, PRAISE),
        "purse": count(rng, 8000, 90000, 1000),
        "hours": pick(rng, ("three", "four", "five", "six", "seven")),
        "span": str(between(rng, 7, 31)),
        "longlist": pick(rng, ("twelve", "fourteen", "eighteen", "twenty")),
        "entries": count(rng, 140, 620),
        "pages": count(rng, 96, 780),
        "guests": count(rng, 160, 900, 10),
        "votes": pick(rng, ("four to one", "three to two")),
        "langs": pick(rng, ("six", "nine", "eleven", "fourteen")),
        "refusals": pick(rng, ("five", "seven", "eleven", "thirteen")),
        "staff": str(between(rng, 5, 40)),
        "founded_month": pick(rng, ("May", "June", "September", "October")),
    }


AWARD = Domain(
    "award",
    {"winner": "person", "work": "name", "venue": "thing"},
    (("winner", "venue"), ("work", "venue")),
    ("winner", "work"),
    _award_series,
    _award,
    _award_sibling,
)


def _film_series(rng: Random) -> Series:
    genre = pick(rng, FILM_KINDS)
    return Series({"event": title(rng), "genre": genre, "genre_cap": genre.capitalize(), "role": pick(rng, ROLES)})


def _film_sibling(rng: Random, series: Series) -> Series:
    """Another film, whose title shares a word with the first where it can."""
    words = str(series.values["event"]).replace(",", "").split()
    word = next((word for word in words if word in TITLE_NOUNS), "Lantern")
    shapes = (
        f"The Other {word}",
        f"The {word} at Dawn",
        f"{word} and Daughter",
        f"After the {word}",
        f"My {word}, My Town",
    )
    return Series({**_film_series(rng).values, "event": pick(rng, shapes)})


def _film(rng: Random, series: Series, year: int) -> Values:
    budget = between(rng, 2, 34)
    takings = budget * (0.7 + 5 * rng.random()) + rng.random()
    return {
        **setting(rng, random_date(rng, year)),
        **people(rng, "director", "director_guess", "lead", "lead_guess", "composer", "composer_guess"),
        **people(rng, "writer", "extra", "critic", "camera", "producer"),
        **series.values,
        "takings": f"${takings:.1f} million",
        "takings_guess": f"${apart(rng, takings):.1f} million",
        "budget": f"${budget} million",
        "studio": f"{coined(rng)} {pick(rng, ('Pictures', 'Films', 'Studios', 'Film Company'))}",
        "shoot_place": place(rng),
        "minutes": str(between(rng, 82, 171)),
        "weeks": pick(rng, ("nine", "eleven", "fourteen", "seventeen")),
        "screens": count(rng, 40, 900),
        "screens_tv": str(between(rng, 11, 60)),
        "drawer": pick(rng, ("six", "nine", "twelve", "fifteen")),
        "animals": pick(rng, ("forty", "sixty", "ninety")),
        "founded": str(year - between(rng, 9, 60)),
    }


FILM = Domain(
    "film",
    {"director": "person", "lead": "person", "composer": "person", "takings": "money"},
    (("director", "lead"), ("director", "composer"), ("lead", "takings")),
    ("director", "lead"),
    _film_series,
    _film,
    _film_sibling,
    (1988, 2006),
    (-34, -27, -21, -16, -12, 11, 14, 17),
)


def _auction_series(rng: Random) -> Series:
    home, season = place(rng), pick(rng, ("Spring", "Summer", "Autumn", "Winter"))
    kind = pick(rng, ("Sale", "Auction", "Art Sale", "Picture Sale"))
    house = f"{place(rng)} & {pick(rng, ('Sons', 'Daughters', 'Company', 'Nephews'))}"
    values: Values = {"event": f"{home} {season} {kind}", "house": house, "founded": str(between(rng, 1790, 1930))}
    return Series(values, {"home": home, "kind": kind})


def _auction_sibling(rng: Random, series: Series) -> Series:
    home, kind = series.once("home", str), series.once("kind", str)
    event = f"{home} {pick(rng, ('Christmas', 'Charity', 'Midsummer', 'Evening', 'Modern'))} {kind}"
    return Series({**series.values, "event": event})


def _auction(rng: Random, series: Series, year: int) -> Values:
    price = between(rng, 11, 640) / 10 + 0.1
    lots = between(rng, 90, 480)
    return {
        **setting(rng, random_date(rng, year), series.once("town", lambda: town(rng))),
        **people(rng, "buyer", "buyer_guess", "artist", "artist_guess", "auctioneer", "expert", "underbidder"),
        **series.values,
        "price": f"${price:.1f} million",
        "price_guess": f"${apart(rng, price):.1f} million",
        "artist_bio": pick(rng, ARTIST_BIOS),
        "buyer_bio": pick(rng, BUYER_BIOS),
        "work": title(rng),
        "work_guess": title(rng),
        "bid_minutes": pick(rng, ("six", "seven", "nine", "eleven", "fourteen")),
        "lots": str(lots),
        "sold": str(int(lots * (0.55 + 0.4 * rng.random()))),
        "phones": pick(rng, ("seven", "nine", "twelve", "fifteen")),
        "odd_lot": str(between(rng, 12, 89)),
        "hung": str(between(rng, 12, 44)),
        "width": str(between(rng, 41, 190)),
        "height": str(between(rng, 41, 190)),
        "frame": str(between(rng, 4, 60)),
        "quiet": pick(rng, ("three", "four", "six")),
        "seats": count(rng, 90, 380, 10),
    }


AUCTION = Domain(
    "auction",
    {"price": "money", "buyer": "person", "artist": "person", "work": "name"},
    (("price", "buyer"), ("artist", "buyer"), ("work", "price")),
    ("price", "artist"),
    _auction_series,
    _auction,
    _auction_sibling,
)
