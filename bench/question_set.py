"""Question set of memory search: one user's conversations in two languages, with distractors from templates.

`questions/` is written by hand: most questions use other words than the answer, the others the same. A
third of the conversations is set aside: the ranking is never changed by what its questions find. Each
question names the passage that answers it. The distractors are generated from templates with a fixed seed:
the same subjects with other people, places and numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

FOLDER = Path(__file__).with_name("questions")
LANGUAGES = ("english", "german")
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
"""When the questions are asked."""
DISTRACTORS = 1_000
"""In each language."""


@dataclass(frozen=True, slots=True)
class Exchange:
    id: str
    """The conversation and the number in it: `house.3`."""
    at: datetime
    user: str
    assistant: str

    @property
    def conversation(self) -> str:
        return self.id.rpartition(".")[0]

    @property
    def passage(self) -> str:
        """Its text as it is archived."""
        return f"user: {self.user}\nassistant: {self.assistant}"


@dataclass(frozen=True, slots=True)
class Question:
    language: str
    text: str
    evidence: str
    """The id of the exchange that answers it."""
    set_aside: bool


def read(language: str) -> tuple[list[Exchange], list[Question]]:
    exchanges: list[Exchange] = []
    questions: list[Question] = []
    conversation, said, day, number, started = "", "", NOW, 0, -1
    for line in (FOLDER / f"{language}.txt").read_text("utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        match mark:
            case "=":
                conversation, number, started = rest, 0, started + 1
            case "@":
                day = datetime.fromisoformat(f"{rest}T18:00:00+00:00")
            case "u:":
                said = rest
            case "a:":
                at = day + timedelta(minutes=number)
                exchanges.append(Exchange(f"{conversation}.{number}", at, said, rest))
                number += 1
            case "?":
                questions.append(Question(language, rest, exchanges[-1].id, started % 3 == 2))
    aside = {question.evidence for question in questions if question.set_aside}
    for words, text in _same_words(language):
        (evidence,) = (each.id for each in exchanges if words in each.user)
        questions.append(Question(language, text, evidence, evidence in aside))
    return exchanges, questions


def _same_words(language: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in (FOLDER / "same_words.txt").read_text("utf-8").splitlines():
        words, bar, text = line.partition(" | ")
        if bar and section == language:
            yield words, text
        elif line.startswith("= "):
            section = line[2:]


def distractors(language: str, count: int = DISTRACTORS) -> Iterator[Exchange]:
    """Conversations of ten exchanges about the same subjects, on days of the last three years."""
    templates, fillers = _TEMPLATES[language], _FILLERS[language]
    chance = Random(f"{language} 26")
    day = NOW
    for number in range(count):
        if number % 10 == 0:
            day = NOW - timedelta(days=chance.randint(1, 1_000), minutes=chance.randint(0, 600))
        user, assistant = chance.choice(templates)
        words = {kind: chance.choice(choices.split("|")) for kind, choices in fillers.items()}
        words["number"] = str(chance.randint(2, 990))
        at = day + timedelta(minutes=number % 10)
        name = f"{language}-{number // 10}.{number % 10}"
        yield Exchange(name, at, user.format_map(words), assistant.format_map(words))


def everything(count: int = DISTRACTORS) -> list[Exchange]:
    """All exchanges of both languages and the distractors, in the order of their days."""
    found = [each for language in LANGUAGES for each in read(language)[0]]
    found += [each for language in LANGUAGES for each in distractors(language, count)]
    return sorted(found, key=lambda each: (each.at, each.id))


_TEMPLATES = {
    "english": (
        ("{person} moved to {place} and pays {number} euros rent.", "That is {place} for you."),
        ("The {thing} of {person} broke, the repair cost {number}.", "Annoying for {person}."),
        ("{person}'s dog eats {number} grams of {food} a day.", "A hungry animal."),
        ("We met {person} in {place}, they were on holiday for {number} days.", "A small world."),
        ("{person} works as a {job} in {place} now.", "I hope the new job as a {job} goes well."),
        ("The doctor told {person} to eat less {food}.", "Sound advice."),
        ("{person} is reading a book about {thing}s in {place}.", "That sounds interesting."),
        ("I asked {person} about the insurance, they pay {number} a year.", "You could compare."),
        ("{person} wants to sell the old {thing} for {number}.", "A fair price for a {thing}?"),
        ("For the party {person} brings {food} and a {thing}.", "Everything is set, then."),
        ("{person} planted {food} behind a house in {place}.", "I hope it grows."),
        ("The meeting with {person} about the {thing} is moved by {number} minutes.", "Noted."),
        ("{person} lost the key of the {thing} in {place}.", "Someone may have found it."),
        ("The teacher of {person} charges {number} for a lesson.", "That is a lot."),
        ("Can you recommend a restaurant in {place} that has {food}?", "I would ask {person}."),
        ("What is the weather like in {place}?", "I cannot see that from here."),
    ),
    "german": (
        ("{person} zog nach {place} und zahlt {number} Euro Miete.", "So ist das in {place}."),
        ("{thing} von {person} ging kaputt, die Reparatur kostete {number} Euro.", "Ärgerlich."),
        ("Der Hund von {person} frisst {number} Gramm {food} am Tag.", "Ein hungriges Tier."),
        ("Wir trafen {person} in {place}, sie waren {number} Tage im Urlaub.", "Die Welt ist klein."),
        ("{person} arbeitet jetzt als {job} in {place}.", "Hoffentlich gefällt die neue Arbeit."),
        ("Der Arzt riet {person}, weniger {food} zu essen.", "Ein guter Rat."),
        ("{person} liest ein Buch über {place}.", "Das klingt spannend."),
        ("Ich fragte {person} nach der Versicherung, sie kostet {number} im Jahr.", "Vergleichen lohnt."),
        ("{person} will {thing} für {number} Euro verkaufen.", "Ist das ein fairer Preis?"),
        ("Zum Fest bringt {person} {food} mit.", "Dann ist alles bereit."),
        ("{person} hat {food} hinter dem Haus in {place} gepflanzt.", "Hoffentlich wächst es."),
        ("Die Besprechung mit {person} wird um {number} Minuten verschoben.", "Notiert."),
        ("{person} verlor den Schlüssel in {place}.", "Vielleicht fand ihn jemand."),
        ("Die Lehrerin von {person} nimmt {number} Euro für eine Stunde.", "Das ist viel."),
        ("Kennst du ein Lokal in {place}, in dem es {food} gibt?", "Da würde ich {person} fragen."),
        ("Wie ist das Wetter in {place}?", "Das sehe ich von hier aus nicht."),
    ),
}
_FILLERS = {
    "english": {
        "person": "Alice|Bob|Carol|Dmitri|Elena|Farid|Greta|Hugo|Iris|Jakub|Kim|Leo|Nora|Omar|Petra",
        "place": "Bristol|Cork|Denver|Essen|Florence|Geneva|Hull|Inverness|Krakow|Leeds|Malmo|Nice",
        "thing": "bike|car|laptop|oven|phone|piano|tent|washer|boiler|camera|lamp|printer",
        "food": "rice|soup|cheese|potatoes|apples|fish|bread|beans|cake|tomatoes|salad|eggs",
        "job": "nurse|cook|teacher|plumber|painter|clerk|pilot|baker|lawyer|gardener",
    },
    "german": {
        "person": "Anke|Bruno|Clara|Detlef|Erika|Fabian|Gisela|Holger|Ilse|Jens|Karin|Lukas|Maren",
        "place": "Aachen|Bonn|Celle|Dessau|Erfurt|Fulda|Gera|Hagen|Jena|Kassel|Lübeck|Mainz",
        "thing": "das Fahrrad|das Auto|der Rechner|der Ofen|das Telefon|das Klavier|das Zelt",
        "food": "Reis|Suppe|Käse|Kartoffeln|Äpfel|Fisch|Brot|Bohnen|Kuchen|Tomaten|Salat|Eier",
        "job": "Krankenpfleger|Koch|Lehrer|Klempner|Maler|Pilot|Bäcker|Anwalt|Gärtner",
    },
}
