"""Phrases of the offline agent in six languages: how people ask for something later, and what it answers."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from segue.record import record

SpokenLanguage: TypeAlias = Literal["en", "de", "zh", "fr", "es", "ru"]


@record
class Phrases:
    """The patterns and answers of one language."""

    remind: str
    """The pattern of `remind me`."""
    often: str
    """The pattern of a recurring task, such as `every day …`."""
    tasks: str
    """The pattern of the verbs that begin a task, such as `tell me`."""
    joining: str
    """The pattern of what stands between the time and the topic."""
    polite: str
    """The pattern of what may stand before a request."""
    reminder: str
    """The message of a reminder's job."""
    reminded: str
    repeated: str
    planned: str
    unless: Mapping[str, str]
    """What is said of a condition."""
    past: str
    unread: str
    which_reminder: str
    """The question if the time or the topic of a reminder is missing."""
    reminder_example: str
    which_task: str
    """The question if the rhythm of a recurring task, or what to do, is missing."""
    task_example: str
    which_zone: str
    can: str
    """The pattern of `what can you do?`."""
    help: str
    lists: str
    """The pattern of `what is scheduled?`."""
    listed: str
    nothing: str
    next: str
    paused: str

    @property
    def ask_for_reminder(self) -> str:
        return self.which_reminder.format(example=self.reminder_example)

    @property
    def ask_for_task(self) -> str:
        return self.which_task.format(example=self.task_example)


PHRASES: Mapping[SpokenLanguage, Phrases] = {
    "zh": Phrases(
        remind=r"(?:请)?(?:记得)?(?:提醒|叫)我",
        often=r"每.+",
        tasks=r"(?:告诉我|问我|叫醒我|给我|检查|查看)",
        joining=r"(?:去|要)?",
        polite=r"(?:请)?",
        reminder="提醒：{topic}",
        reminded="好的，{when} 提醒你：{topic}。",
        repeated="好的，{phrase}：{topic}。第一次是{when}。",
        planned="好的，{when}：{topic}。",
        unless={"answered": "如果你先回复，就不再提醒。", "done": "回复“完成”就不再提醒。"},
        past="“{phrase}”已经过去了，什么都没有安排。",
        unread="我没读懂“{unread}”，什么都没有安排。",
        which_reminder="什么时候，提醒什么？比如：“{example}”。",
        reminder_example="10分钟后提醒我喝水",
        which_task="多久一次，做什么？比如：“{example}”。",
        task_example="每个工作日9点告诉我有什么变化",
        which_zone="你在哪个时区？请回答例如“Asia/Shanghai”、“Tokyo”或“UTC+8”。",
        can=r"你能做什么|你会什么|^帮助$",
        help="我是 Segue 的离线模型：只有几条规则，不是语言模型，不需要密钥和网络。比如：",
        lists=r"(?:有|安排了)什么(?:安排|提醒|计划)?[？?]?$|^(?:列出|查看)(?:所有)?(?:安排|提醒|计划)",
        listed="这里安排了：",
        nothing="这里没有安排。",
        next="下次{when}",
        paused="已暂停",
    ),
    "de": Phrases(
        remind=r"\b(?:erinner\w*\s+mich)\b",
        often=r"(?:jede[nrs]?|alle|täglich|wöchentlich|monatlich|werktags)\s.+",
        tasks=r"(?:sag|frag|weck|gib|schick|schreib|zeig)e?\s+(?:mir|mich)\b|(?:prüfe?|schau)\s",
        joining=r"(?:an|ans|daran|dass|zu|nach|über)\b",
        polite=r"(?:bitte\s+|(?:kannst|könntest)\s+du\s+(?:bitte\s+)?)?",
        reminder="Erinnerung: {topic}",
        reminded="Ich erinnere Sie {when}: {topic}.",
        repeated="Gern, {phrase}: {topic}. Das erste Mal {when}.",
        planned="Gern, {when}: {topic}.",
        unless={"answered": "Nicht, wenn Sie vorher antworten.", "done": "Bis Sie „erledigt“ antworten."},
        past="„{phrase}“ ist vorbei, ich habe nichts geplant. ",
        unread="Ich habe nichts geplant: „{unread}“ verstehe ich nicht. ",
        which_reminder="Wann, und woran? Zum Beispiel: „{example}“.",
        reminder_example="erinnere mich in 10 Minuten daran, Wasser zu trinken",
        which_task="Wie oft, und was? Zum Beispiel: „{example}“.",
        task_example="jeden Werktag um 9 sag mir, was neu ist",
        which_zone="In welcher Stadt oder Zeitzone sind Sie? "
        "Zum Beispiel „Berlin“, „Europe/Berlin“ oder „UTC+2“.",
        can=r"\bwas\s+kannst\s+du\b|^hilfe\W*$",
        help="Ich bin das Offline-Modell von Segue: ein paar Regeln, kein Sprachmodell, ohne Schlüssel und "
        "ohne Netz. Zum Beispiel:",
        lists=r"\bwas\s+(?:ist|hast\s+du)\s+geplant\b|\b(?:zeig|liste)\w*\s+.*\b(?:erinnerungen|jobs|termine)\b",
        listed="Das ist hier geplant:",
        nothing="Hier ist nichts geplant.",
        next="das nächste Mal {when}",
        paused="pausiert",
    ),
    "fr": Phrases(
        remind=r"\b(?:rappelle[rz]?[-\s]moi|me\s+rappeler)\b",
        often=r"(?:chaque|tous\s+les|toutes\s+les)\s.+",
        tasks=r"(?:dis|demande|réveille|envoie|donne|montre)[-\s]moi\b|vérifie\s",
        joining=r"(?:d['’]|(?:de|que|qu|à|pour)\b)",
        polite=r"(?:s'il\s+te\s+plaît,?\s+|(?:peux|pourrais)[-\s]tu\s+)?",
        reminder="Rappel : {topic}",
        reminded="Je vous le rappelle {when} : {topic}.",
        repeated="D'accord, {phrase} : {topic}. La première fois {when}.",
        planned="D'accord, {when} : {topic}.",
        unless={
            "answered": "Sauf si vous répondez avant.",
            "done": "Jusqu'à ce que vous répondiez « fait ».",
        },
        past="« {phrase} » est passé, je n'ai rien prévu. ",
        unread="Je n'ai rien prévu : je ne comprends pas « {unread} ». ",
        which_reminder="Quand, et de quoi ? Par exemple : « {example} ».",
        reminder_example="rappelle-moi dans 10 minutes de boire de l'eau",
        which_task="À quel rythme, et quoi ? Par exemple : « {example} ».",
        task_example="chaque jour à 9h dis-moi ce qui est nouveau",
        which_zone="Dans quelle ville ou quel fuseau êtes-vous ? "
        "Par exemple « Paris », « Europe/Paris » ou « UTC+2 ».",
        can=r"\bque\s+(?:peux|sais)[-\s]tu\s+faire\b|^aide\W*$",
        help="Je suis le modèle hors ligne de Segue : quelques règles, pas un modèle de langage, sans clé ni "
        "réseau. Par exemple :",
        lists=r"\bqu['’]est-ce\s+qui\s+est\s+prévu\b|\b(?:liste|montre)\b.*\b(?:rappels|tâches)\b",
        listed="Voici ce qui est prévu ici :",
        nothing="Rien n'est prévu ici.",
        next="la prochaine fois {when}",
        paused="en pause",
    ),
    "es": Phrases(
        remind=r"\b(?:recu[eé]rdame|recordarme)\b",
        often=r"(?:cada|todos\s+los|todas\s+las)\s.+",
        tasks=r"(?:dime|pregúntame|despiértame|envíame|mándame|dame|muéstrame|comprueba|revisa)\b",
        joining=r"(?:que|de|a|sobre|para)\b",
        polite=r"(?:por\s+favor,?\s+|(?:puedes|podrías)\s+)?",
        reminder="Recordatorio: {topic}",
        reminded="Se lo recuerdo {when}: {topic}.",
        repeated="De acuerdo, {phrase}: {topic}. La primera vez {when}.",
        planned="De acuerdo, {when}: {topic}.",
        unless={"answered": "Salvo que responda antes.", "done": "Hasta que responda «hecho»."},
        past="«{phrase}» ya pasó; no he programado nada. ",
        unread="No he programado nada: no entiendo «{unread}». ",
        which_reminder="¿Cuándo, y qué? Por ejemplo: «{example}».",
        reminder_example="recuérdame en 10 minutos beber agua",
        which_task="¿Cada cuánto, y qué? Por ejemplo: «{example}».",
        task_example="cada día a las 9 dime qué hay de nuevo",
        which_zone="¿En qué ciudad o zona horaria está? Por ejemplo «Madrid», «Europe/Madrid» o «UTC+2».",
        can=r"\bqué\s+(?:puedes|sabes)\s+hacer\b|^ayuda\W*$",
        help="Soy el modelo sin conexión de Segue: unas pocas reglas, no un modelo de lenguaje, sin clave y "
        "sin red. Por ejemplo:",
        lists=r"\bqué\s+(?:hay|está)\s+programado\b|\b(?:lista|muestra)\b.*\b(?:recordatorios|tareas)\b",
        listed="Esto está programado aquí:",
        nothing="Aquí no hay nada programado.",
        next="la próxima vez {when}",
        paused="en pausa",
    ),
    "ru": Phrases(
        remind=r"\bнапомина?й?(?:те)?\s+мне\b|\bнапомни(?:те)?\s+мне\b",
        often=r"(?:кажд\w+|по\s+(?:будням|понедельникам|вторникам|средам|четвергам|пятницам|выходным))\s.+",
        tasks=r"(?:скажи|спроси|разбуди|пришли|покажи|проверь)\b",
        joining=r"(?:о|об|обо|про|что|чтобы)\b",
        polite=r"(?:пожалуйста,?\s+|можешь\s+)?",
        reminder="Напоминание: {topic}",
        reminded="Напомню {when}: {topic}.",
        repeated="Хорошо, {phrase}: {topic}. В первый раз {when}.",
        planned="Хорошо, {when}: {topic}.",
        unless={"answered": "Если вы не ответите раньше.", "done": "Пока вы не ответите «готово»."},
        past="«{phrase}» уже прошло, ничего не запланировано. ",
        unread="Ничего не запланировано: я не понимаю «{unread}». ",
        which_reminder="Когда и о чём? Например: «{example}».",
        reminder_example="напомни мне через 10 минут выпить воды",
        which_task="Как часто и что? Например: «{example}».",
        task_example="каждый день в 9 скажи, что нового",
        which_zone="В каком вы городе или часовом поясе? Например «Moscow», «Europe/Moscow» или «UTC+3».",
        can=r"\bчто\s+ты\s+умеешь\b|^помощь\W*$",
        help="Я офлайн-модель Segue: несколько правил, не языковая модель, без ключа и без сети. Например:",
        lists=r"\bчто\s+запланировано\b|\b(?:список|покажи)\b.*\b(?:напоминани|задач)",
        listed="Здесь запланировано:",
        nothing="Здесь ничего не запланировано.",
        next="следующий раз {when}",
        paused="на паузе",
    ),
    "en": Phrases(
        remind=r"\b(?:remind|nag)\s+me\b",
        often=r"(?:(?:every|each)|(?:daily|weekly|monthly)\s+at)\s.+"
        r"|.+\severy\s+(?:\d|other|second|minute|half|hour|day|week|month|year|morning|evening|noon|night"
        r"|mon|tues|wednes|thurs|fri|satur|sun).*",
        tasks=r"(?:tell|ask|wake|send|give|show|ping|nudge|notify|alert)\s+me\b|(?:check|look|report)\b",
        joining=r"(?:to|that|about|of|on|at|with|for|whether|if)\b",
        polite=r"(?:please\s+|(?:can|could|will|would)\s+you\s+(?:please\s+)?)?",
        reminder="Reminder: {topic}",
        reminded="I will remind you {when}: {topic}.",
        repeated="Done, {phrase}: {topic}. The first time is {when}.",
        planned="Done, {when}: {topic}.",
        unless={"answered": "Unless you answer before.", "done": "Until you answer “done”."},
        past='"{phrase}" is past, so I scheduled nothing. ',
        unread="I scheduled nothing: {reason}. ",
        which_reminder="When, and of what? Say it like “{example}”.",
        reminder_example="remind me in 10 minutes to drink water",
        which_task="How often, and what? Say it like “{example}”.",
        task_example="every weekday at 9 tell me what is new",
        which_zone="Which city or time zone are you in? "
        "Answer for example “Berlin”, “Europe/Berlin” or “UTC+2”.",
        can=r"\b(?:what can you do|what do you understand|who are you|what are you)\b|^help\W*$",
        help="I am the offline model of Segue: a few rules, no language model. I need no key and no network, "
        "and what I do is really done. Try:",
        lists=r"\bwhat(?:'s| is| do you have| have you)\s+(?:scheduled|planned|coming up)\b"
        r"|\b(?:list|show)\s+(?:me\s+)?(?:my\s+|the\s+|all\s+)?(?:schedules?|jobs|reminders|automations)\b",
        listed="This is scheduled here:",
        nothing="Nothing is scheduled here.",
        next="next {when}",
        paused="paused",
    ),
}
"""The first whose pattern matches is taken."""

ASKS = rf"^\W*{PHRASES['en'].polite}"
"""How a request in English may begin."""
