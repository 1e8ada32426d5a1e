"""Invented names: people of many cultures, places, countries, newspapers. Surnames and places are put together from
morphemes, so that there are tens of thousands of each and hardly any is a real one."""

import datetime as dt
from random import Random

from ragstone.datasets.fictional.en.grammar import Day, Person
from ragstone.datasets.fictional.parts import add_days, pick

__all__ = [
    "coined", "country", "day", "money", "newspaper", "number", "ordinal", "person", "place", "random_date", "title",
    "words",
]  # fmt: skip


def words(text: str) -> tuple[str, ...]:
    """The text's words."""
    return tuple(text.split())


# A culture is four lines: given names of women, of men, beginnings and endings of surnames.
CULTURES = """
Eleanor Harriet Rosalind Maisie Imogen Beatrix Judith Winifred Cordelia Philippa Tess Marian Constance Verity
Edmund Rupert Alistair Gareth Leonard Desmond Hugh Callum Barnaby Nigel Stanley Clive Duncan Ralph
Thorn Wex Bram Hask Pell Lorn Cald Merri Strand Ockle Fen Garth Wend Tarl Quill Hollow
wick ley worth stead mond well croft bury sley ridge hurst gate

Oksana Ludmila Katarzyna Milena Jadwiga Vesna Zorica Danuta Radka Ivana Halina Svetlana Bojana Tamara
Tomasz Bogdan Miroslav Zoran Pavel Jaromir Dragan Stanimir Kazimir Vuk Leszek Ondrej Ratko Yevhen
Dravo Zeli Korza Vishe Maro Petre Bole Rado Stanko Lubo Gora Hruze Belo Tverdo
vic nsky chenko lek vski nov rek tka vacz shin

Amara Chidinma Abena Folake Zainab Nneka Adaeze Efua Wanjiru Thandiwe Makena Ngozi Sade Ayodele
Kwabena Chukwudi Tendai Babatunde Kofi Sipho Emeka Oluwaseun Jabari Mandla Kamau Ekow Tunde Simba
Oko Mba Ade Chi Nde Oba Kwa Zula Eze Dla Nku Asa Owu Babi
ronke diku lewa mani goro bele shola nene zuru tuwe kande fola

Haruka Michiko Yuna Sakura Aiko Tomoe Reika Natsumi Emi Kaori Shiori Mayumi Hina Noriko
Kenji Takumi Haruto Shinji Daichi Ryota Masaru Noboru Isamu Kazuo Tetsuya Hideo Jiro Yuto
Kuro Mori Hana Taka Ishi Naga Shima Hoso Kita Ara Fuji Oto Kage Mizu
zane taki bori numa guchi zuka hata mune sato beki gami sawa

Priya Ananya Lakshmi Meera Kavita Sunita Radhika Ishani Nandini Farida Shabnam Rukhsana Deepa Leela
Arjun Vikram Rohan Sanjay Devendra Imran Kiran Anand Harish Farhan Naveen Prakash Suresh Tariq
Bhara Chanda Vara Rama Kesha Mandi Subra Talu Jaya Gopa Nara Dhana Sura Pala
ndra wala kar ppan shwar nthan ta wani gekar ria nandar purkar

Lucia Camila Valentina Beatriz Renata Ximena Paloma Inés Graciela Marisol Catarina Elisa Noemi Pilar
Mateo Joaquín Rodrigo Thiago Esteban Álvaro Tomás Raúl Gaspar Leandro Hernán Duarte Ignacio Vicente
Carva Monte Sola Bela Quin Torre Alma Figue Sando Vila Ribe Oliva Casta Mira
lejo rroz vedra nares tinho mora lbán guez ndo drina zuela rales

Ingrid Sigrid Astrid Maren Solveig Kirsten Liv Annika Hedda Ragnhild Freja Tuva Johanne Elin
Lars Henrik Torsten Anders Gunnar Mikkel Sven Halvard Eirik Jesper Olav Rasmus Ketil Viggo
Hal Stor Lind Berg Nor Ekl Ravn Sol Thor Hed Vinter Skog Brand Aak
strup vik gaard holt mark sund bakken lund quist stad moe ersen

Leila Yasmin Samira Nadia Rania Hanan Mariam Dalia Zahra Shirin Layal Soraya Amina Salma
Omar Karim Yusuf Hassan Nabil Rashid Samir Faisal Idris Jamal Bassam Ziad Mehran Anwar
Har Kas Daw Benn Bour Naz Mur Khal Sham Zub Tah Bad Haddar Rah
rami wadi idi oun bazi azzar imi sani oudi atari ashid edi

Mei Xiulan Lihua Yanmei Jia-Yi Hui-Min Seo-Yeon Ji-Woo Thu Linh Huong Siti Dewi Ratna
Jianyu Weimin Zhiqiang Guowei Min-Jun Dong-Hyun Tae-Sung Duc Quang Bambang Wahyu Agus Haoran Yichen
Shao Pang Lua Quan Beng Nguo Soe Ouya Zhe Kua Tran Suwa Wira Hendra
nto dono tama wan lin sak peng jaya hong wei

Chloé Margaux Élodie Giulia Chiara Fiamma Greta Liesl Annelies Mathilde Elke Saskia Rosella Ginevra
Étienne Lucien Bastien Matteo Fabrizio Dieter Lorenz Joost Willem Corrado Gilles Ottavio Klaus Bruno
Mont Fal Brun Tess Gar Oster Van Ross Beau Lamb Cor Riet Fior Del
erini veld aubert schneider ucci hagen merle otti dorff rault elli camp
"""

# Beginnings and endings of place names, by the sound of a region.
PLACES = """
Vel Harr Tash Orm Quen Brack Eld Farn Gils Hesk Ivel Kerr Lorn Mard Nair Ospr Penn Rusk Sarn Tolv Ull Wyth Yarr Cald
mere owby ingdale wick holme stoke minster ford combe haven leigh thwaite moor cliffe water den gate by worth shaw

Cas Vill Mont Sant Alb Ferr Luc Mar Ner Ort Pal Ros Salv Terr Val Ver Zam Bel Cor Dul Esp Flor Gal Iv
tarra enza oriva elmo ontera avela edra ugna ilhas azar imar ondo achi esca oveda ustra anova eira olli anto

Dro Kra Vel Zhor Bel Gra Mos Nov Ost Pol Rad Sto Tver Vor Zel Bry Chel Dub Kol Lub Mir Ruz Slav Yar
vny dovo lesk gorod mysk zhany nitsa pavl rovka shovo tice vetsk brod chev dets grad hova kanov litz mir

Ak Bo Da Ge Ka Lu Ma Na Ou Sa To Wa Ye Zo Ba Di Ko Mo Nya So
ndoba kumba ramba touga mbeya sanga woro dakar lingu ntare pemba goro hutu jira kelo mansa nombe rondo tale vumi

An Chi Da Fu Ho Ji Lan Mi Nan Qu Shi Tai Wu Yan Zhu Ha Ka No Su To
shuan tou yuki goshi linh moto wanju hama kusen longpo muri natsu pingto rakawa sendo tabei wajin yeong zaki bansu
"""

COUNTRY_HEADS = words(
    "Vard Ostr Melk Tarv Cand Brev Lun Sarv Kest Norv Ilm Dask Feld Garm Hest Jor Pald Quor Rhen Thass"
)
COUNTRY_TAILS = (
    ("ovia", "ovian"),
    ("inia", "inian"),
    ("aria", "arian"),
    ("ora", "oran"),
    ("elia", "elian"),
    ("onia", "onian"),
)
PAPERS = words(
    "Courier Gazette Herald Chronicle Dispatch Mercury Observer Post Sentinel Standard Tribune Argus Echo Ledger"
)
COINED_HEADS = words(
    "Ax Bri Cor Dyn Ev Fen Gal Hel In Jun Kel Lum Mer Nex Or Pra Quan Rel Sol Tri Ul Ver Wex Xan Yl Zen Alt Bel Cir Dor"
)
COINED_TAILS = words(
    "ara eon ix ora ium ant eva ido ello anta isto uno ova amo etra ilo ondo usca emia arro entis olde yra aven ique"
)

COINED_MIDDLES = words("ta ri lo ve no di sa mu ke ba mi to ra ne si")
TITLE_ADJECTIVES = words(
    "Salt Silent Crooked Borrowed Paper Winter Blind Hollow Northern Amber Drowned Second Iron Velvet Distant Bitter "
    "Painted Narrow Patient Rusted Early Tin Copper Stubborn Pale Long Quiet Broken Sleeping Green"
)
TITLE_NOUNS = words(
    "Orchard Lantern Clockmaker Heron Letter Bride Tide Ferryman Piano Compass Widow Beekeeper Thaw Candle Wolf Tailor "
    "Cartographer Harvest Sparrow Bell Gardener Suitcase Envoy Comet Sister Lodger Pilot Anchor Witness Fiddler"
)
TITLE_PLACES = words(
    "Harbour Attic Station Valley Lighthouse Cellar Garden Ballroom Quarry Mill Estuary Corridor Lagoon Terrace "
    "Cannery Archive Meadow Sanatorium Viaduct Observatory"
)
TITLE_NUMBERS = words("Three Four Five Six Seven Nine Eleven Twelve Thirteen Forty")


def _blocks(text: str) -> list[list[tuple[str, ...]]]:
    return [[tuple(line.split()) for line in block.split("\n")] for block in text.strip().split("\n\n")]


_CULTURES = _blocks(CULTURES)
_PLACES = _blocks(PLACES)


def person(rng: Random, gender: str = "") -> Person:
    """Someone who does not exist. `gender` is "f" or "m"; either, where it is empty."""
    women, men, heads, tails = pick(rng, _CULTURES)
    woman = gender == "f" or (not gender and rng.random() < 0.5)
    given = pick(rng, women if woman else men)
    surname = pick(rng, heads) + pick(rng, tails)
    if woman:
        return Person(f"{given} {surname}", surname, "she", "her", "her")
    return Person(f"{given} {surname}", surname, "he", "his", "him")


def place(rng: Random) -> str:
    """A town or city; one in six has two words."""
    heads, tails = pick(rng, _PLACES)
    name = pick(rng, heads) + pick(rng, tails)
    turn = rng.random()
    if turn < 0.08:
        return f"{pick(rng, ('Port', 'New', 'Upper', 'Great', 'Fort'))} {name}"
    if turn < 0.16:
        return f"{name} {pick(rng, ('Bay', 'Falls', 'Heights', 'Springs', 'Sands'))}"
    return name


def country(rng: Random) -> tuple[str, str]:
    """A country and its adjective."""
    head, (noun, adjective) = pick(rng, COUNTRY_HEADS), pick(rng, COUNTRY_TAILS)
    return head + noun, head + adjective


def newspaper(rng: Random, town: str) -> str:
    """A paper of this town."""
    return f"{town} {pick(rng, PAPERS)}"


def coined(rng: Random) -> str:
    """A made-up word, as companies and products bear them."""
    middle = pick(rng, COINED_MIDDLES) if rng.random() < 0.6 else ""
    return pick(rng, COINED_HEADS) + middle + pick(rng, COINED_TAILS)


def title(rng: Random) -> str:
    """The title of a book, film or picture."""
    adjective, noun, where = pick(rng, TITLE_ADJECTIVES), pick(rng, TITLE_NOUNS), pick(rng, TITLE_PLACES)
    shapes = (
        f"The {adjective} {noun}",
        f"The {noun} in the {where}",
        f"{adjective} {noun}, {pick(rng, TITLE_ADJECTIVES)} {where}",
        f"A {noun} for {place(rng)}",
        f"The {noun} of {place(rng)}",
        f"The Last {noun} of {place(rng)}",
        f"{pick(rng, TITLE_NUMBERS)} Nights at the {adjective} {where}",
        f"What the {adjective} {noun} Kept",
        f"No {noun} in {place(rng)}",
        f"The {where} at {place(rng)}",
    )
    return pick(rng, shapes)


def day(date: dt.date) -> Day:
    """The date in all its spellings."""
    month, weekday = MONTHS[date.month - 1], WEEKDAYS[date.weekday()]
    dm, md = f"{date.day} {month}", f"{month} {date.day}"
    return Day(
        dm, md, f"{dm} {date.year}", f"{md}, {date.year}", f"{month} {date.year}", month, weekday, str(date.year)
    )


# Not strftime's: those are in the machine's language.
MONTHS = words("January February March April May June July August September October November December")
WEEKDAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")


def random_date(rng: Random, year: int, first: int = 15, last: int = 340) -> dt.date:
    """A day of this year, from its `first` to its `last`."""
    return add_days(dt.date(year, 1, 1), first + int(rng.random() * (last - first)))


def number(value: int) -> str:
    """12,345"""
    return f"{value:,}"


def money(millions: float) -> str:
    """An amount in dollars as a report gives it: `$8.4 million`, `$840 million`, `$18.7 billion`."""
    if millions >= 1000:
        return f"${millions / 1000:.1f} billion"
    return f"${millions:.0f} million" if millions >= 100 else f"${millions:.1f} million"


def ordinal(value: int) -> str:
    """second, third… ninth; 10th and so on."""
    small = words("first second third fourth fifth sixth seventh eighth ninth")
    return small[value - 1] if 1 <= value <= len(small) else f"{value}{_suffix(value)}"


def _suffix(value: int) -> str:
    return "th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
