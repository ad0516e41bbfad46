"""Conditions in sentences: they are found in six languages, and other words are left alone."""

from segue.model.conditions.spoken_conditions import split_condition

SENTENCES = [
    ("remind me tomorrow at 9 unless I have answered", "remind me tomorrow at 9", "answered"),
    ("remind me tomorrow at 9 unless I've replied by then", "remind me tomorrow at 9", "answered"),
    ("tomorrow at 9, if I haven't answered, ask me again", "tomorrow at 9 ask me again", "answered"),
    ("nag me every day at 9 until done", "nag me every day at 9", "done"),
    ("nag me every day at 9 to file taxes until I say “done”", "nag me every day at 9 to file taxes", "done"),
    ("erinnere mich morgen um 9, falls ich nicht geantwortet habe", "erinnere mich morgen um 9", "answered"),
    ("erinnere mich täglich um 9, bis es erledigt ist", "erinnere mich täglich um 9", "done"),
    ("rappelle-moi demain à 9h sauf si j'ai répondu", "rappelle-moi demain à 9h", "answered"),
    ("rappelle-moi chaque jour jusqu'à ce que ce soit fait", "rappelle-moi chaque jour", "done"),
    ("recuérdame mañana a las 9 si no he respondido", "recuérdame mañana a las 9", "answered"),
    ("recuérdame cada día hasta que esté hecho", "recuérdame cada día", "done"),
    ("напомни мне завтра в 9, если я не отвечу", "напомни мне завтра в 9", "answered"),
    ("напоминай мне каждый день, пока не сделаю", "напоминай мне каждый день", "done"),
    ("明天9点提醒我，除非我已经回复了", "明天9点提醒我", "answered"),
    ("每天9点提醒我，直到完成", "每天9点提醒我", "done"),
    ("remind me to ask whether Ana answered", "remind me to ask whether Ana answered", None),
    ("unless it rains, remind me at 9", "unless it rains, remind me at 9", None),
    ("stay until christmas", "stay until christmas", None),
    ("is the report done?", "is the report done?", None),
]


def test_conditions_are_split_from_their_sentences() -> None:
    found = [(sentence, *split_condition(sentence)) for sentence, _, _ in SENTENCES]
    assert found == SENTENCES
