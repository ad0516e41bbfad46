"""Words of a clause that take its time away, in each language, as patterns without regard to case."""

from collections.abc import Mapping

from segue.record import positional
from segue.times.reader.language import Language
from segue.times.reader.languages.chinese import CHINESE
from segue.times.reader.languages.english import ENGLISH
from segue.times.reader.languages.french import FRENCH
from segue.times.reader.languages.german import GERMAN
from segue.times.reader.languages.russian import RUSSIAN
from segue.times.reader.languages.spanish import SPANISH


@positional
class ClauseWords:
    """The words of one language. `§` stands for the time."""

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
    stated: str
    """What the clock or the calendar shows, or a question for it: `it's §`, `happy §`, `when is §`."""
    counted: str
    """Nouns that a number counts, after an hour that is only a number: `at 4 dollars`."""


CLAUSE_WORDS: Mapping[Language, ClauseWords] = {
    ENGLISH: ClauseWords(
        denied_before=(
            r"\b(?:not(?! to)|never|no|cannot|without|how (?:many|long)|usually|normally|skip|hate"
            r"|(?:any\w*|every\w*|all) but|(?:do|does|did|wo|ca|is|should|would|must)n['’]?t)\b"
        ),
        denied_after=(
            r"\W*(?:i |we |you |please )?(?:never|no|not(?! to\b)|cannot|(?:do|wo|ca)n['’]?t)\b"
            r"|(?: (?:is|was|would be|seems|sounds|feels))?(?: (?:way|far|a bit|a little|just))?"
            r" too (?:early|late|soon|often)\b"
            r"| is (?:rather |quite |pretty )?(?:early|late)\b| (?:does|is|was)n['’]?t\b"
            r"| (?:without|no) (?:an? )?(?:alarm|reminder)"
            r"| is(?: (?:already|more than))? (?:enough|impossible|out of the question|taken|full|off"
            r"|cancel\w+)\b"
        ),
        wanted=r"\bforget|\bmiss\b|\bwhy (?:not|don['’]?t)|\bno (?:matter|problem|worries)|\bnot only",
        removed=(
            r"\bnever ?mind\b"
            r"|\b(?:delete|cancel|remove|drop|clear|disable|dismiss|skip|stop|scrap|kill|ditch|mute"
            r"|silence|undo"
            r"|scratch|get rid of|(?:turn|switch|shut|call|take) (?:off|out)"
            r"|(?<![tr] )forget(?: about)? (?:the|my))\b"
            r".*\b(?:alarm|reminder|timer|alert|notification|wake-?up)"
        ),
        existing=(
            r"\b(?:the|my|that|this|our|your) (?:[\w'’-]+ ){0,2}?(?:alarm|reminder|timer|alert)s? "
            r"(?:(?:for|at|on|of|from) )*§|\b(?:the|my|that|this) § (?:alarm|reminder|timer|alert)"
        ),
        made=(
            r"\b(?:set|add|create|make|put|schedule|change|move|reschedule|push|shift|snooze|start|need"
            r"|want)\b"
        ),
        past=(
            r"\b(?:was|were|wasn['’]?t|weren['’]?t|had|did|didn['’]?t|went|came|met|saw|said|got|began"
            r"|ran|took"
            r"|gave|made|found|bought|ate|drank|slept|woke|wrote|spoke|flew|drove|paid|lost|won|sold"
            r"|sent|kept"
            r"|broke|fell|felt|knew|thought|heard|stood|taught|caught|forgot|died|arrived|happened"
            r"|started|ended|closed|opened|finished|crashed|failed|stopped|landed|rained|snowed|rang"
            r"|sat|left|held|built|spent|dreamt|threw|grew|blew|rose|chose"
            r"|stole|wore|told|swam|hid|led|used to|(?:should|would|could|might|must)(?:n['’]?t| not)? have"
            r"|['’]d have)\b|\b(?!need|feed|heed|speed|exceed|proceed|indeed|hundred)\w{3,}ed\W*§"
            r"|\b(?:the|my|your|his|her|our|their) (?:\w+ )?\w+ (?!need|speed)\w{3,}ed\b"
            r"|\b(?:i|we|he|she|they|it|you|who) (?!need|feed|heed|speed|exceed|proceed)\w{2,}ed\b"
        ),
        asked=(
            r"\b(?:remind|wake|tell|ask|send|notify|please|let me)\b"
            r"|\b(?<!the )(?<!my )(?<!your )(?<!an )(?<!a )(?:ping|nudge|text|alert)\b"
            r"|\b(?:can|could|will) you\b|\bwas (?:wondering|hoping|thinking|going)"
            r"|\b(?:wanted|needed|hoped|(?<!was )(?<!were )supposed|had to)\b"
            r"|\b(?:moved|rescheduled|postponed|shifted|changed|pushed|booked|scheduled|planned|invited)\b"
            r"|\b(?:am|are|is|was|were|been|got) told\b"
        ),
        stated=(
            r"\b(?:it(?:['’]s| is| was|['’]ll be| will be)|that(?:['’]s| is)|when(?:['’]s| is| was))"
            r"(?: (?:already|almost|nearly|only|just|like|about|now|finally|past))* §"
            r"|\b(?:happy|lovely|great|nice|good|blessed|any|some|one)\W+§|\bwhat time\b.*§"
        ),
        counted=(
            r"dollars?|bucks|euros?|pounds?|cents?|pence|per ?cent|degrees?|miles|km|kilo\w*|kg|grams?"
            r"|points?"
            r"|people|persons?|guests|kids|men|women|times|mph|years?|steps|pages|items|seats|votes|[%€$°]"
        ),
    ),
    GERMAN: ClauseWords(
        denied_before=(
            r"\b(?:nicht|kein\w*|nie|niemals|ohne|normalerweise|meistens|wie (?:lange|viele?)|hasse)\b"
        ),
        denied_after=(
            r"[^,]*\bohne (?:wecker|erinnerung)\b|[^,]*\b(?:nicht(?! zu)|kein\w*|nie|niemals|reicht"
            r"|genügt|unmöglich|ausgebucht|belegt)\b"
            r"|[^,]*\bzu (?:früh|spät|oft|knapp)\b"
        ),
        wanted=r"\bverg[ie]ss|\bverpass|\bwarum nicht|\bnicht nur",
        removed=(
            r"\b(?:lösch|loesch|streich|entfern|stornier|cancel|stopp|vergiss(?! nicht)|brich|deaktivier)"
            r"\w*\b.*(?:wecker|erinnerung|alarm|timer|termin)|\b(?:wecker|erinnerung|alarm|timer"
            r"|termin)\w*\b.*"
            r"\b(?:aus|ab|weg|raus|(?:aus|ab)(?:schalten|stellen|machen|sagen)|löschen|streichen|entfernen)\b"
        ),
        existing=(
            r"\b(?:den|die|mein\w*|dies\w*|unser\w*) (?:\w+ )?(?:wecker|erinnerung\w*|alarm|timer) "
            r"(?:(?:für|um|am|von|auf) )*§"
        ),
        made=r"\b(?:stell|setz|leg|erstell|änder|verschieb|brauch|aktivier|mach|richte)\w*",
        past=(
            r"\b(?:war|waren|warst|hatte|hatten|wurde|wurden|ging|gingen|kam|kamen|traf|trafen|gab|sagte|rief"
            r"|fuhr|flog|fand|fing|begann|blieb|nahm|bekam|sah|lief|hielt|ließ|schrieb|sprach|schlief"
            r"|aß|trank"
            r"|stand|lag|saß|schloss|verlor|gewann|starb|brachte|dachte|wusste|rannte|regnete|schneite"
            r"|\w*(?:mach|öffne|ende|lande|starte|klingel|passier|funktionier|kauf|arbeite|warte|spiel"
            r"|rede|hol"
            r"|koch|besuch|dauer|stürz|fehl|stell|leg|hör|lern|zahl|wach)te[nt]?)(?:en)?\b"
            r"|\b(?:ich|er|sie|es|wir|man) (?!möcht|könnt|sollt|wollt|müsst|dürft|hätt)\w{3,}te[n]?\b"
            r"|\bhätte\w*\b.*\b(?:sollen|müssen|können|dürfen|\w*ge\w{2,}(?:t|en))\b"
            r"|\bwäre\w*\b.*\b\w*ge\w{2,}en\b|\bfrüher\b"
            r"|\b(?:habe?|hast|hat|haben|bin|ist|sind)\b.*\b(?!gehen|geben|gestern|gegen)"
            r"(?:\w*ge\w{2,}(?:t|en)|\w{3,}iert)\b"
        ),
        asked=(
            r"\b(?:erinner|weck|sag|frag|schick|schreib|ruf|meld)(?:e|en|st|t)?\b|\bbitte\b"
            r"|\bkannst|\bkönntest"
            r"|(?:verschoben|verlegt|geplant|angesetzt|vereinbart|gebucht|ausgemacht|reserviert|eingeladen)\b"
        ),
        stated=(
            r"\b(?:es|jetzt|heute) (?:ist|war|wird)(?: (?:es|schon|erst|jetzt|gleich|fast|kurz|endlich"
            r"|doch))* §"
            r"|\b(?:ist|wird) es(?: (?:schon|erst|jetzt|gleich|fast|endlich))* §|\bwenn es\b.*§ ist\b"
            r"|\b(?:schöne[nrs]?|endlich|frohe[nrs]?|guten|eines|irgendein\w*) §|\bwie ?(?:viel uhr"
            r"|spät)\b.*§"
        ),
        counted=(
            r"euro|cent|prozent|grad|km|\w*meter|kilo\w*|kg|gramm|punkte?n?|leute\w*|personen|gästen?"
            r"|mal|jahren?"
            r"|plätze|sitze|seiten|stufen|ecken|pfund|franken|[%€$°]"
        ),
    ),
    FRENCH: ClauseWords(
        denied_before=(
            r"\b(?:ne|pas|plus (?:besoin|la peine)|jamais|aucune?|rien|sans|combien|normalement"
            r"|d['’]habitude|déteste)\b|\bn['’]"
        ),
        denied_after=(
            r"\W*(?:je |tu |on |ça )?(?:ne\b|n['’]|pas\b|jamais\b|aucune?\b|rien\b)"
            r"| sans (?:réveil|alarme|rappel)\b|(?: (?:c['’]est|ce serait|est))?(?: (?:un peu|bien"
            r"|beaucoup|ça))*"
            r" (?:trop (?:t[oô]t|tard|souvent)|suffit|impossible|complet)\b"
        ),
        wanted=r"\boubli|\bmanqu|\bpourquoi pas|\bpas (?:de (?:problème|souci)|seulement)",
        removed=(
            r"\b(?:supprim|annul|enl[eè]v|efface|retire|arrête|désactive|(?<!n['’])oublie|coupe|étein"
            r"|stoppe|vire"
            r"|laisse tomber)\w*\b.*\b(?:réveil|rappel|alarme|minuteur|rendez-vous)"
        ),
        existing=(
            r"(?:\b(?:le|la|mon|ma|ce|cette|cet) |\bl['’])(?:\w+ )?"
            r"(?:r[ée]veil|rappel|alarme|minuteur|alerte)s? (?:de |du |d['’]|pour )(?:le )?§"
        ),
        made=(
            r"\b(?:mets|mettez|mettre|règle|programme|crée|ajoute|change|déplace|décale|repousse|active"
            r"|veux)\b"
        ),
        past=(
            r"\b(?:étai\w+|avai\w+|fut|furent|(?:ai|as|a|avons|avez|ont|suis|es|est|sommes|êtes|sont)"
            r" (?:\w+ )?(?:\w{2,}(?:é|ée|és|ées|eint|oint|uit|ert)|vus?|plu|bu|lu|eu|dû|pu|cru|couru"
            r"|connu|reçu|perdue?s?"
            r"|vendue?s?|attendu|entendu|répondu|descendue?s?|venue?s?|\w*pris|dit|fait|écrit|conduit"
            r"|mise?s?|ouvert"
            r"|parti[es]*|sorti[es]*|fini|dormi|réussi|choisi|servi|suivi|morte?s?))\b"
            r"|\b(?:s['’])?(?:a|ont|est|sont)-(?:t-)?(?:ils?|elles?|on) \w{2,}(?:é|ée|és|ées|i|is|u|us|it)\b"
            r"|\b(?:aurai\w*|serai\w*) (?:\w+ )?(?:dû|pu|\w{2,}(?:é|ée|és|ées|i|is|u|us|it))\b"
            r"|\b(?:je|tu|j['’])\W?(?:\w+ )?(?!jamais|mais)\w{3,}(?<!r)ais\b"
            r"|\b(?!fait|lait|parfait|souhait|trait|extrait|portrait|forfait)\w{3,}(?<!r)(?:ait|aient)\b"
        ),
        asked=(
            r"\b(?:rappell\w+|rappele[rz]|réveill(?:e|er|ez|es)|dis|dites|demande[rz]?|envo(?:ie|yer|yez)"
            r"|prévi(?:ens|endras)|prévenez|écri(?:s|re|vez)|peux|pourrais|s['’]il (?:te|vous))\b"
            r"|\b(?:déplacé|décalé|reporté|prévu|fixé|réservé|invité)"
        ),
        stated=(
            r"\b(?:il|c['’])\W?(?:est|était|sera)(?: (?:déjà|presque|à peine|seulement|bientôt|enfin))* §"
            r"|\b(?:bon|enfin|joyeux|un|quelque) §|\bquelle heure\b.*§"
        ),
        counted=(
            r"euros?|centimes?|degrés?|pour ?cent|personnes?|ans|places?|km|kilo\w*|kg|mètres?|points?|fois"
            r"|chambres?|minutes?|jours?|rues?|pour|sur|contre|[%€$°]"
        ),
    ),
    SPANISH: ClauseWords(
        denied_before=(
            r"\b(?:no|nunca|jamás|nada|ning[uú]n\w*|sin|cu[áa]nt[oa]s?|faltan?|normalmente"
            r"|suel[eo]\w*|odio)\b"
        ),
        denied_after=(
            r"\W*(?:no|nunca|jamás|ning[uú]n\w*|imposible|sin (?:alarma|despertador|recordatorio))\b"
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
            r"\b(?:era|eran|iba|iban|fue|fui|fuimos|fueron|estuv\w+|tuv\w+|hub\w+|había\w*|tenía\w*"
            r"|hi[cz]\w{1,6}|dij\w{1,5}"
            r"|vin(?:e|o|iste|imos|ieron)|pus[eo]|pud[eo]|quis[eo]|sup[eo]|traj\w+|dio|dieron|vio|vi"
            r"|vimos|vieron)\b"
            r"|\b\w{2,}(?:aste|iste|aron|ieron)\b|\b(?!aquí|allí|casí)\w{3,}í\b"
            r"|\b\w{3,}(?:aba|aban|ábamos)\b|\b\w{2,}ó\b"
            r"|\b(?:h[ae]|has|hemos|han|haber|habría\w*|hubiera\w*) \w{2,}[aií]do\b|\bantes me\b"
            r"|\b(?!café|jos[eé]|bebé|porqué|comité)\w{3,}(?<!r)é\b"
        ),
        asked=(
            r"\b(?:recu[eé]rd|despi[eé]rt|dime|dile|puedes)\w*|\bll[aá]ma(?:me)?\b"
            r"|\b(?:preg[uú]nt|env[ií]|av[ií]s|escr[ií]b)(?:[ae]|ar|ir|[ae][mln]\w+|ar[mln]\w+)\b"
            r"|\b(?:movido|movió|aplaz|reserv|previst|fijad|programad|invit)"
        ),
        stated=(
            r"\b(?:son|eran|serán|es|era|será)(?: (?:ya|casi|las?|solo|por fin|hoy))* §"
            r"|\b(?:feliz|buen|por fin(?: es)?|algún|un) §|\bqué hora\b.*§"
        ),
        counted=(
            r"euros?|céntimos?|grados?|por ciento|personas?|años?|puntos?|km|kilo\w*|kg|metros?|veces|calles?"
            r"|pesos?|amig[ao]s|\w{3,}as|[%€$°]"
        ),
    ),
    RUSSIAN: ClauseWords(
        denied_before=r"\b(?:не|нет|никак\w+|никогда|нельзя|без|сколько|обычно|ненавижу)\b",
        denied_after=(
            r"\W*(?:\w+(?:ть|ти|чь)(?:ся)? )?(?:меня |мне |я |это |уже |будет |больше |пока "
            r"|для \w+ )*(?:не(?! \w+(?:ть|ти"
            r"|чь)(?:ся)?\b)|нельзя|никак\w+"
            r"|слишком (?:рано|поздно|часто)|достаточно|хват[ия]т|не(?:возможно|удобно|реально)|некогда"
            r"|занято|отмен\w+|без (?:будильник|напоминани)\w+)\b"
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
            r"|модел|недел|начал|числ)(?:был|\w{2,}(?:ал|ил|ел|ял|ул|ыл|ёл|шёл|шел|шл|мог))(?:а|о"
            r"|и)?(?:сь|ся)?\b"
            r"|\b(?:шёл|шел|шла|шло|шли|дал|дала|дали|пил|пили|ел|ела|ели|сел|села|сели|жил|жила|жили"
            r"|лёг|легла"
            r"|вёз|везла|вёл|вели|нёс|несла|умер|умерла|исчез|исчезла)\b"
        ),
        asked=(
            r"\b(?:напомн|разбуд|спрос|пришл)и(?:те|шь|ть)?\b|\bпозвони(?:те)?\b|\bнапомнит\b"
            r"|\b(?:скаж|напиш|пожалуйста|можешь|чтобы|хотел)\w*"
            r"|\b(?:перенес|перенёс|назначен|запланир|заброниров|пригла)"
        ),
        stated=(
            r"\b(?:сейчас|уже|почти|наконец(?:-то)?|хорошей|хорошего|доброй|отличной|как-нибудь"
            r"|как(?:ой|ую)-нибудь|в \w+)(?: (?:только|уже|почти))* §|\b(?:который час|сколько времени)\b.*§"
        ),
        counted=(
            r"(?:рубл|долл|евро|процент|градус|раз|человек|люд|лет|год|км|килом|метр|балл|очк|штук|шаг"
            r"|минут|этаж"
            r"|класс|квартир|комнат|кабинет|дом|сер[ие]|част|парти|вещ)\w*|[%€$°]"
        ),
    ),
    CHINESE: ClauseWords(
        denied_before=r"不要|不用|不必|不想|別|别|勿|甭|通常|一般|平[时時]|讨厌|討厭",
        denied_after=(
            r"\s*(?:[对對][^，,]{1,6})?(?:的?(?:提醒|闹钟|鬧鐘|会|會))?[我你他她它们們请請就都先再的]{0,3}(?:不要|不用|不必|不想|不能|不在|不行"
            r"|不去"
            r"|不需要|不方便|不可以|不可能|不太|不合适|不合適|去不了|来不了|來不了|太[早晚迟遲]|就?[够夠]了?|[还還]有多|別|别|勿|甭|没"
            r"|沒)"
        ),
        wanted=r"忘|错过|錯過|为什么不|為什麼不|要不要|别人|別人",
        removed=(
            r"(?:删|刪|取消|[关關](?:掉|闭|閉|上|了)|去掉|移除|清除|停掉|停用|撤)"
            r".*(?:闹钟|鬧鐘|闹铃|鬧鈴|提醒|计时|計時|会议|會議)"
        ),
        existing=r"§\s*的(?:那[个個])?(?:闹钟|鬧鐘|闹铃|鬧鈴|提醒|计时|計時)",
        made=r"[设設定订訂加建改]|[调調]到|[帮幫]我|[来來要][个個]",
        past=r"本[来來]|早[该該]|[说說]好|以前|曾[经經]|[从從]前|(?<![忘为為除])了(?!解)|当时|當時|那时|那時|[有去来來见見谈談说說打买買看做聊吃][过過]",
        asked=r"提醒|告诉|告訴|叫|通知|问我|問我|请|請|帮|幫|订|訂|改",
        stated=r"(?:[现現]在|已[经經]|[终終][于於]|才|[刚剛])(?:是|都|到)*\s*§|§(?:快[乐樂]|愉快)|几[点點].*§",
        counted=r"(?!)",
    ),
}  # fmt: skip
