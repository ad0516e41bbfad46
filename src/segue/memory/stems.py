"""Stems: guesses the language of a text by its function words, and reduces words by Snowball's rules.

A text is indexed by the stems of its own language. A question is often too short to tell its language, so its
words are looked up by the stems of each language that it may be in.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

DEFAULT = "english"
"""The language of texts without a function word."""
_CACHED = 50_000

_FUNCTION_WORDS = {
    "english": """
        a about again an and any are as at be been but by can could did do does for from had has have he her
        him his how i if in into is it its just me my no not of on or our please remember she should
        so tell than that the their them then there they this to us was we were what when where which who
        whose why will with would you your
    """,
    "german": """
        aber alle als am an auch auf aus bei bin bis das dass dem den der des die dir doch du durch ein eine
        einem einen einer eines er es euch für gegen habe haben hat hatte hatten ich ihm ihn ihr im in ist
        ja jetzt kann man mein meine meinem meinen meiner mich mir mit muss nach nicht noch nur oder ob ohne
        sein seine sich sie sind so soll über um und uns unser unsere unserem unseren unserer von vor war
        waren was weil welche welchem welchen welcher welches wem wen wer wie wir wird wo wofür woher wohin
        womit worüber wurde wurden zu zum zur
    """,
    "french": """
        à ai as au aux avec avons c ce ces cette comment d dans de des du elle en est et été eu il ils j je
        l la le les leur lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par pas pour pourquoi
        qu quand que quel quelle quelles quels qui quoi s sa se ses son sont sur ta te tes toi ton tu un une
        vos votre vous y était
    """,
    "spanish": """
        a al como con cómo cuál cuáles cuándo cuánto de del donde dónde e el él ella en era es esa ese esta
        este está fue ha han hay he la las le les lo los me mi mis muy más nada no nos nuestra nuestro o
        para pero por que quien quién qué se ser si sin sobre son su sus sí te tengo tiene tu tus un una uno
        y ya yo
    """,
    "italian": """
        a ad al alla anche che chi ci come con cosa da dal dalla degli dei del della delle di dove e ed era
        è gli ha hai hanno ho i il in io l la le lo loro ma mi mia mio nel nella non o per perché più quale
        quali quando quanto questa questo se si sono sta su sua suo sul ti tu un una uno
    """,
    "portuguese": """
        a ao aos as com como da das de do dos e ela ele em era essa esse esta este eu foi há isso já lhe
        mais mas me meu minha na nas no nos nós não o onde os ou para pela pelo por porque qual quando
        quanto que quem se sem ser seu sua são também tem tenho um uma você é
    """,
    "dutch": """
        aan al als bij dan dat de deze die dit door een en er had heb hebben heeft het hij hoe hun ik in is
        je kan maar me met mij mijn naar niet nog nu of om onder ons onze ook op over te tot u uit van voor
        waar waarom wanneer waren was wat we welke werd wie wij worden ze zich zij zijn zo zou
    """,
    "russian": """
        а без бы был была были было в вам вас во вот все всё вы где для до его ее её если есть еще ещё же за
        и из или им их к как какая какие какой какую ко когда кого который кто куда ли мне мной мой моя мою
        моего моей мы на нам нас наш наша не него нет ни но о об он она они от по под при с со так там то
        тоже только ты у уже чего чем что чтобы эта это этот я
    """,
}


@cache
def _function_words() -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}


def languages_of(words: Iterable[str]) -> list[str]:
    """The languages that have most of their function words among these words; none if no word is one."""
    given = list(words)
    counts = {language: sum(word in known for word in given) for language, known in _function_words().items()}
    most = max(counts.values())
    return [language for language, count in counts.items() if count == most] if most else []


def all_languages() -> list[str]:
    return list(_FUNCTION_WORDS)


def is_function_word(word: str, language: str) -> bool:
    return word in _function_words()[language]


@lru_cache(_CACHED)
def stem(word: str, language: str) -> str:
    """The word's stem. A stemmer has state, and searches and writes run in several threads."""
    stemmer, lock = _stemmer(language)
    with lock:
        found: str = stemmer.stemWord(word)
    return found


@cache
def _stemmer(language: str) -> tuple[Any, Lock]:
    # Not the package's `stemmer()`, which prefers another implementation where one is installed.
    module = import_module(f"snowballstemmer.{language}_stemmer")
    return getattr(module, f"{language.title()}Stemmer")(), Lock()
