"""Finds the words of a clause that take its time away: negation, removal of a reminder, past tense, quotes.

`don't wake me tomorrow at 7`, `friday at 6 is too early`, `delete the alarm for tomorrow at 6`, `on monday at
9 I was there` and `he wrote "see you tomorrow at 9"` name a time without a request for it. A clause ends at a
comma, so that `if I don't answer, ask me in 2 hours` has its time. In a request the past tense belongs to its
subject: `remind me at 3pm what he said`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from segue.record import positional
from segue.times.reader.adjacent_words import TimeWord
from segue.times.reader.language import Language
from segue.times.reader.languages.chinese import CHINESE
from segue.times.reader.languages.english import ENGLISH
from segue.times.reader.languages.french import FRENCH
from segue.times.reader.languages.german import GERMAN
from segue.times.reader.languages.russian import RUSSIAN
from segue.times.reader.languages.spanish import SPANISH

_QUOTED = re.compile(
    r"\"[^\"]+\"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|»[^«]+«|‹[^›]+›|「[^」]+」|『[^』]+』|《[^》]+》"
)
_BREAK = re.compile(r"[,;:.!?…\n—，、。；：！？]")
_GREETING = re.compile(
    r"\b(?:good (?:morning|afternoon|evening|night)|guten (?:morgen|abend|tag)|gute nacht|buenos días"
    r"|buenas (?:tardes|noches)|доброе утро|добрый (?:день|вечер))\b|(?:早上|上午|中午|下午|晚上)好",
    re.IGNORECASE,
)
_MEANING = re.compile(
    r"\bmeans?\b|\bbedeutet\b|\bheißt\b|\bsignifi|\bveut dire|\b(?:о|)значит|означает|意思", re.IGNORECASE
)


@positional
class _Clauses:
    """The words of one language, as patterns without regard to case."""

    denied_before: str
    """Negation anywhere before the time."""
    denied_after: str
    """Negation, or a judgement such as `is too early`, after the time: from its end on."""
    wanted: str
    """Words with which a negation is none: `don't forget`."""
    removed: str
    """The name of a reminder that is to go, from the verb on."""
    existing: str
    """The name of a reminder that there is already, with `§` for the time: `my alarm for §`."""
    made: str
    """Words with which it is made or moved: `set the alarm for 7`."""
    past: str
    asked: str
    """Words with which a past tense does not concern the time: a request, a plan."""


_TABLE: Mapping[Language, _Clauses] = {
    ENGLISH: _Clauses(
        denied_before=(
            r"\b(?:not(?! to)|never|no|cannot|without|how (?:many|long)|usually|normally|skip"
            r"|(?:any\w*|every\w*|all) but|(?:do|does|did|wo|ca|is|should|would|must)n['’]?t)\b"
        ),
        denied_after=(
            r"\W*(?:i |we |you |please )?(?:never|no|not(?! to\b)|cannot|(?:do|wo|ca)n['’]?t)\b"
            r"|(?: (?:is|was|would be|seems|sounds|feels))?(?: (?:way|far|a bit|a little|just))?"
            r" too (?:early|late|soon|often)\b| (?:does|is|was)n['’]?t\b"
            r"| is(?: (?:already|more than))? (?:enough|impossible|out of the question|taken|full|off"
            r"|cancel\w+)\b"
        ),
        wanted=r"\bforget|\bmiss\b|\bwhy (?:not|don['’]?t)|\bno (?:matter|problem|worries)|\bnot only",
        removed=(
            r"\bnever ?mind\b"
            r"|\b(?:delete|cancel|remove|drop|clear|disable|dismiss|skip|stop|scrap|kill|ditch|mute|silence|undo"
            r"|scratch|get rid of|(?:turn|switch|shut|call|take) (?:off|out)"
            r"|(?<![tr] )forget(?: about)? (?:the|my))\b"
            r".*\b(?:alarm|reminder|timer|alert|notification|wake-?up)"
        ),
        existing=(
            r"\b(?:the|my|that|this|our|your) (?:[\w'’-]+ ){0,2}?(?:alarm|reminder|timer|alert)s? "
            r"(?:(?:for|at|on|of|from) )*§|\b(?:the|my|that|this) § (?:alarm|reminder|timer|alert)"
        ),
        made=(
            r"\b(?:set|add|create|make|put|schedule|change|move|reschedule|push|shift|snooze|start|need|want)\b"
        ),
        past=(
            r"\b(?:was|were|wasn['’]?t|weren['’]?t|had|did|didn['’]?t|went|came|met|saw|said|got|began|ran|took"
            r"|gave|made|found|bought|ate|drank|slept|woke|wrote|spoke|flew|drove|paid|lost|won|sold|sent|kept"
            r"|broke|fell|felt|knew|thought|heard|stood|taught|caught|forgot|died|arrived|happened"
            r"|started|ended|closed|opened|finished|crashed|failed|stopped|landed|rained|snowed)\b"
            r"|\b(?:i|we|he|she|they|it|you|who) (?!need|feed|heed|speed|exceed|proceed)\w{2,}ed\b"
        ),
        asked=(
            r"\b(?:remind|wake|tell|ask|ping|nudge|text|send|alert|notify|please|let me)\b"
            r"|\b(?:can|could|will) you\b|\bwas (?:wondering|hoping|thinking|going)"
            r"|\b(?:wanted|needed|hoped|supposed|had to)\b"
            r"|\b(?:moved|rescheduled|postponed|shifted|changed|pushed|booked|scheduled|planned|invited|told)\b"
        ),
    ),
    GERMAN: _Clauses(
        denied_before=r"\b(?:nicht|kein\w*|nie|niemals|ohne|normalerweise|meistens|wie (?:lange|viele?))\b",
        denied_after=(
            r"[^,]*\b(?:nicht(?! zu)|kein\w*|nie|niemals|reicht|genügt|unmöglich|ausgebucht|belegt)\b"
            r"|[^,]*\bzu (?:früh|spät|oft|knapp)\b"
        ),
        wanted=r"\bverg[ie]ss|\bverpass|\bwarum nicht|\bnicht nur",
        removed=(
            r"\b(?:lösch|loesch|streich|entfern|stornier|cancel|stopp|vergiss(?! nicht)|brich|deaktivier)"
            r"\w*\b.*(?:wecker|erinnerung|alarm|timer|termin)|\b(?:wecker|erinnerung|alarm|timer|termin)\w*\b.*"
            r"\b(?:aus|ab|weg|raus|(?:aus|ab)(?:schalten|stellen|machen|sagen)|löschen|streichen|entfernen)\b"
        ),
        existing=(
            r"\b(?:den|die|mein\w*|dies\w*|unser\w*) (?:\w+ )?(?:wecker|erinnerung\w*|alarm|timer) "
            r"(?:(?:für|um|am|von|auf) )*§"
        ),
        made=r"\b(?:stell|setz|leg|erstell|änder|verschieb|brauch|aktivier|mach|richte)\w*",
        past=(
            r"\b(?:war|waren|warst|hatte|hatten|wurde|wurden|ging|gingen|kam|kamen|traf|trafen|gab|sagte|rief"
            r"|fuhr|flog|fand|fing|begann|blieb|nahm|bekam|sah|lief|hielt|ließ|schrieb|sprach|schlief|aß|trank"
            r"|stand|lag|saß|schloss|verlor|gewann|starb|brachte|dachte|wusste|rannte|regnete|schneite"
            r"|\w*(?:mach|öffne|ende|lande|starte|klingel|passier|funktionier|kauf|arbeite|warte|spiel|rede|hol"
            r"|koch|besuch|dauer|stürz|fehl|stell|leg|hör|lern|zahl|wach)te[nt]?)(?:en)?\b"
            r"|\b(?:habe?|hast|hat|haben|bin|ist|sind)\b.*\b(?!gehen|geben|gestern|gegen)"
            r"(?:\w*ge\w{2,}(?:t|en)|\w{3,}iert)\b"
        ),
        asked=(
            r"\b(?:erinner|weck|sag|frag|schick|schreib|ruf|meld|bitte|kannst|könntest)\w*"
            r"|(?:verschoben|verlegt|geplant|angesetzt|vereinbart|gebucht|ausgemacht|reserviert|eingeladen)\b"
        ),
    ),
    FRENCH: _Clauses(
        denied_before=r"\b(?:ne|pas|jamais|aucune?|rien|sans|combien|normalement|d['’]habitude)\b|\bn['’]",
        denied_after=(
            r"\W*(?:je |tu |on |ça )?(?:ne\b|n['’]|pas\b|jamais\b|aucune?\b|rien\b)"
            r"|(?: (?:c['’]est|ce serait|est))?(?: (?:un peu|bien|beaucoup|ça))*"
            r" (?:trop (?:t[oô]t|tard|souvent)|suffit|impossible|complet)\b"
        ),
        wanted=r"\boubli|\bmanqu|\bpourquoi pas|\bpas (?:de (?:problème|souci)|seulement)",
        removed=(
            r"\b(?:supprim|annul|enl[eè]v|efface|retire|arrête|désactive|(?<!n['’])oublie|coupe|étein|stoppe|vire"
            r"|laisse tomber)\w*\b.*\b(?:réveil|rappel|alarme|minuteur|rendez-vous)"
        ),
        existing=(
            r"(?:\b(?:le|la|mon|ma|ce|cette|cet) |\bl['’])(?:\w+ )?"
            r"(?:r[ée]veil|rappel|alarme|minuteur|alerte)s? (?:de |du |d['’]|pour )(?:le )?§"
        ),
        made=(
            r"\b(?:mets|mettez|mettre|règle|programme|crée|ajoute|change|déplace|décale|repousse|active|veux)\b"
        ),
        past=(
            r"\b(?:étai\w+|avai\w+|fut|furent|(?:ai|as|a|avons|avez|ont|suis|es|est|sommes|êtes|sont)"
            r" (?:\w+ )?(?:\w{2,}(?:é|ée|és|ées)|vus?|plu|bu|lu|eu|dû|pu|cru|couru|connu|reçu|perdue?s?"
            r"|vendue?s?|attendu|entendu|répondu|descendue?s?|venue?s?|\w*pris|dit|fait|écrit|conduit|mise?s?|ouvert"
            r"|parti[es]*|sorti[es]*|fini|dormi|réussi|choisi|servi|suivi|morte?s?))\b"
            r"|\b(?!fait|lait|parfait|souhait|trait|extrait|portrait|forfait)\w{3,}(?<!r)(?:ait|aient)\b"
        ),
        asked=(
            r"\b(?:rappel|réveil|dis|demand|envo|prévi|écri|peux|pourrais|s['’]il)\w*"
            r"|\b(?:déplacé|décalé|reporté|prévu|fixé|réservé|invité)"
        ),
    ),
    SPANISH: _Clauses(
        denied_before=r"\b(?:no|nunca|jamás|nada|ning[uú]n\w*|sin|cu[áa]nt[oa]s?|faltan?|normalmente|suel[eo]\w*)\b",
        denied_after=(
            r"\W*(?:no|nunca|jamás|ning[uú]n\w*|imposible)\b"
            r"|(?: (?:es|sería|me parece))?(?: (?:ya|un poco))?"
            r" (?:(?:demasiado|muy) (?:pronto|tarde|temprano)|basta|(?:es )?suficiente|imposible|completo)\b"
        ),
        wanted=r"\bolvid|\bpor ?qué no|\bno (?:solo|sólo|pasa nada)|\bpierd",
        removed=(
            r"\b(?:(?:borra|elimin|cancel|quit|anul|desactiv|apag|silenci|det[eé]n"
            r"|(?<!no )(?<!te )olvid[ae])\w*\b.*|para (?:la|el|mi|es[ae]|este) )"
            r"\b(?:alarma|recordatorio|aviso|temporizador|cita|despertador)"
        ),
        existing=(
            r"\b(?:el|la|mi|es[ae]|est[ae]) (?:\w+ )?(?:alarma|recordatorio|aviso|temporizador|despertador) "
            r"(?:del?|para) (?:el |la |las )?§"
        ),
        made=r"\b(?:pon|ponme|poner|program|crea|añad|cambi|muev|mover|activ|ajust|necesito)\w*",
        past=(
            r"\b(?:era|eran|fue|fui|fuimos|fueron|estuv\w+|tuv\w+|hub\w+|había\w*|tenía\w*|hi[cz]\w{1,6}|dij\w{1,5}"
            r"|vin(?:e|o|iste|imos|ieron)|pus[eo]|pud[eo]|quis[eo]|sup[eo]|traj\w+|dio|dieron|vio|vi|vimos|vieron)\b"
            r"|\b\w{2,}(?:aste|iste|aron|ieron)\b|\b(?!aquí|allí|casí)\w{3,}í\b"
            r"|\b\w{3,}(?:aba|aban|ábamos)\b|\b\w{2,}ó\b"
            r"|\b(?:h[ae]|has|hemos|han) \w{2,}[aií]do\b"
            r"|\b(?!café|jos[eé]|bebé|porqué|comité)\w{3,}(?<!r)é\b"
        ),
        asked=(
            r"\b(?:recu[eé]rd|despi[eé]rt|dime|dile|preg[uú]nt|env[ií]|av[ií]s|escr[ií]b|ll[aá]ma(?:me)?\b|puedes)\w*"
            r"|\b(?:movido|movió|aplaz|reserv|previst|fijad|programad|invit)"
        ),
    ),
    RUSSIAN: _Clauses(
        denied_before=r"\b(?:не|нет|никак\w+|никогда|нельзя|без|сколько|обычно)\b",
        denied_after=(
            r"\W*(?:меня |мне |я |это |уже |будет )*(?:не(?! \w+(?:ть|ти|чь)(?:ся)?\b)|нельзя|никак\w+"
            r"|слишком (?:рано|поздно|часто)|достаточно|хват[ия]т|не(?:возможно|удобно|реально)|некогда"
            r"|занято|отмен\w+)\b"
        ),
        wanted=r"\bза(?:бу|бы)|\bпропус|\bпочему (?:бы )?не\b|\bне только",
        removed=(
            r"\b(?:удал|отмен|убер|сотр|выключ|отключ|сними|останов|выруби|заглуши|(?<!не )забудь)\w*\b"
            r".*\b(?:будильник|напоминани|таймер|встреч)"
            r"|\b(?:будильник|напоминани|таймер)\w*\b.*\b(?:удали|отмени|убери|сотри|выключи|отключи|сними)"
        ),
        existing=(
            r"\b(?:мо[йеё]|мою|этот|это|тот|завтрашн\w+|сегодняшн\w+) (?:будильник|напоминание|таймер) "
            r"(?:на |в )?§"
        ),
        made=r"\b(?:поставь|установи|создай|добавь|измени|перенеси|переставь|включи|сдвинь)\b",
        past=(
            r"\b(?!канал|вокзал|журнал|сигнал|финал|материал|персонал|квартал|капитал|отдел|предел|раздел"
            r"|модел|недел|начал|числ)(?:был|\w{2,}(?:ал|ил|ел|ял|ул|ыл|ёл|шёл|шел|шл|мог))(?:а|о|и)?(?:сь|ся)?\b"
            r"|\b(?:шёл|шел|шла|шло|шли|дал|дала|дали|пил|пили|ел|ела|ели|сел|села|сели|жил|жила|жили|лёг|легла"
            r"|вёз|везла|вёл|вели|нёс|несла|умер|умерла|исчез|исчезла)\b"
        ),
        asked=(
            r"\b(?:напомн|разбуд|скаж|спрос|пришл|напиш|позвони\b|пожалуйста|можешь|чтобы|хотел)\w*"
            r"|\b(?:перенес|перенёс|назначен|запланир|заброниров|пригла)"
        ),
    ),
    CHINESE: _Clauses(
        denied_before=r"不要|不用|不必|不想|別|别|勿|甭|通常|一般|平[时時]",
        denied_after=(
            r"\s*[我你他她它们們请請就都先再的]{0,3}(?:不要|不用|不必|不想|不能|不在|不行|不去"
            r"|不需要|不方便|不可以|不可能|不太|不合适|不合適|去不了|来不了|來不了|太[早晚迟遲]|就?[够夠]了?|[还還]有多|別|别|勿|甭|没|沒)"
        ),
        wanted=r"忘|错过|錯過|为什么不|為什麼不|要不要|别人|別人",
        removed=(
            r"(?:删|刪|取消|[关關](?:掉|闭|閉|上|了)|去掉|移除|清除|停掉|停用|撤)"
            r".*(?:闹钟|鬧鐘|闹铃|鬧鈴|提醒|计时|計時|会议|會議)"
        ),
        existing=r"§\s*的(?:那[个個])?(?:闹钟|鬧鐘|闹铃|鬧鈴|提醒|计时|計時)",
        made=r"[设設定订訂加建改]|[调調]到|[帮幫]我|[来來要][个個]",
        past=r"(?<![忘为為除])了(?!解)|当时|當時|那时|那時|[有去来來见見谈談说說打买買看做聊吃][过過]",
        asked=r"提醒|告诉|告訴|叫|通知|问我|問我|请|請|帮|幫|订|訂|改",
    ),
}  # fmt: skip


def without_greeting(sentence: str) -> str:
    """The sentence with spaces for `good morning`, which names no time."""
    return _GREETING.sub(lambda found: " " * len(found[0]), sentence)


def asks_for_meaning(sentence: str) -> bool:
    """`what does "every day at 9" mean?`"""
    return _MEANING.search(sentence) is not None


def quoted_ranges(sentence: str) -> list[range]:
    """The parts of the sentence in quotation marks; none if they are all of it."""
    found = [range(match.start(), match.end()) for match in _QUOTED.finditer(sentence)]
    outside = "".join(_without(sentence, found))
    return found if any(letter.isalnum() for letter in outside) else []


def _without(sentence: str, parts: Sequence[range]) -> Iterator[str]:
    start = 0
    for part in parts:
        yield sentence[start : part.start]
        start = part.stop
    yield sentence[start:]


def taken_away(
    sentence: str, words: Sequence[TimeWord], language: Language, phrase: range, *, may_be_past: bool
) -> str:
    """The part of the clause around the phrase that says that the time is not wanted; empty if none does.

    `may_be_past`: whether the phrase, such as `monday at 9`, can also mean a time that has passed."""
    clauses = _TABLE[language]
    extent = _clause(words, phrase)
    before, after = sentence[extent.start : phrase.start], sentence[phrase.stop : extent.stop]
    if (found := _search(clauses.removed, sentence[extent.start : extent.stop])) and (
        extent.start + found.start() < phrase.start
    ):
        return _part(sentence, extent.start + found.start(), phrase.stop)
    if (found := _search(clauses.existing, f"{before}§{after}")) and not _search(
        clauses.made, before + " " + after
    ):
        return _part(sentence, extent.start + min(found.start(), len(before)), phrase.stop)
    if not _search(clauses.wanted, before + " " + after):
        if found := _search(clauses.denied_before, before):
            return _part(sentence, extent.start + found.start(), phrase.stop)
        if found := re.match(clauses.denied_after, after, re.IGNORECASE):
            return _part(sentence, phrase.start, phrase.stop + found.end())
    if may_be_past and not _search(clauses.asked, before + " " + after):
        if found := _search(clauses.past, before):
            return _part(sentence, extent.start + found.start(), phrase.stop)
        if found := _search(clauses.past, after):
            return _part(sentence, phrase.start, phrase.stop + found.end())
        if found := _search(clauses.past, f"{before} {after}"):  # `ist am Freitag gekommen`
            return _part(sentence, extent.start + found.start(), extent.stop)
    return ""


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE)


def _part(sentence: str, start: int, end: int) -> str:
    return sentence[start:end].strip(" ,，")


def _clause(words: Sequence[TimeWord], phrase: range) -> range:
    """The words around the phrase without punctuation between them."""
    before = [word for word in words if word.start < phrase.start]
    after = [word for word in words if word.start >= phrase.stop]
    start, end = phrase.start, phrase.stop
    for word in reversed(before):
        if _BREAK.search(word.after):
            break
        start = word.start
    inside = [word for word in words if word.start in phrase]
    for last, word in zip([*inside[-1:], *after], after, strict=False):
        if _BREAK.search(last.after):
            break
        end = word.end
    return range(start, end)
