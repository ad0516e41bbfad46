"""Reply words: the words of each control, a table for each language of the time reader.

`phrases` are whole texts, with alternatives between bars. The templates of `snooze`, `make` and `instead`
have gaps that the time reader reads: `{span}`, `{time}`, and `{at}` for a new time instead of `{old}`. Case
and accents do not matter.
"""

import unicodedata
from collections.abc import Mapping
from enum import StrEnum

from segue.record import record


class Action(StrEnum):
    """What a reply orders."""

    STOP = "stop"
    GO_ON = "go_on"
    SKIP = "skip"
    SNOOZE = "snooze"
    MAKE = "make"
    WHY = "why"
    DONE = "done"
    YES = "yes"
    """To the question whether to raise a budget."""
    UNDO = "undo"
    """Of such a raise."""


@record
class ReplyWords:
    """The table of one language."""

    phrases: Mapping[Action, str]
    snooze: tuple[str, ...]
    make: tuple[str, ...]
    instead: tuple[str, ...]
    polite: tuple[str, ...]


def folded(words: str) -> str:
    """The words in lower case and without accents, letter by letter, so that the length is the same."""
    return "".join(unicodedata.normalize("NFD", letter)[0] for letter in words.lower())


ENGLISH = ReplyWords(
    phrases={
        Action.STOP: (
            "stop|stop it|stop this|stop that|stop this job|pause|pause it|pause this|pause that|"
            "turn it off|turn this off|stop sending this|stop sending these|stop these|"
            "no more of this"
        ),
        Action.GO_ON: (
            "go on|resume|resume it|resume this|continue|carry on|keep going|start again|turn it on|"
            "turn it back on|unpause|start it again"
        ),
        Action.SKIP: (
            "skip|skip it|skip this|skip one|skip once|skip next|skip the next|skip the next one|"
            "skip next time|skip the next time|not next time"
        ),
        Action.SNOOZE: "snooze|snooze it|snooze this|later|not now|remind me later|ask me later",
        Action.WHY: "why|why now|why this|why that|why did this run|why did i get this|why do i get this",
        Action.DONE: (
            "done|it's done|it is done|that's done|all done|i did it|did it|i have done it|"
            "i've done it|finished|completed|is done|already done|done that|done already"
        ),
        Action.YES: "yes|yes do|yeah|yep",
        Action.UNDO: "undo|undo it|undo that|undo this|take it back|take that back",
    },
    snooze=(
        "snooze {span}",
        "snooze for {span}",
        "snooze it for {span}",
        "snooze this for {span}",
        "later {span}",
        "remind me in {span}",
        "remind me again in {span}",
        "ask me in {span}",
        "ask me again in {span}",
        "ask again in {span}",
        "again in {span}",
        "in {span} again",
        "try again in {span}",
    ),
    make=(
        "make it {time}",
        "make this {time}",
        "make that {time}",
        "change it to {time}",
        "change this to {time}",
        "change to {time}",
        "move it to {time}",
        "move this to {time}",
        "move to {time}",
        "set it to {time}",
        "run it {time}",
        "run this {time}",
        "send it {time}",
        "send this {time}",
        "do it {time}",
        "do this {time}",
        "reschedule to {time}",
        "reschedule it to {time}",
    ),
    instead=(
        "make {old} {at}",
        "{at} instead of {old}",
        "make it {at} instead of {old}",
        "change {old} to {at}",
        "move {old} to {at}",
    ),
    polite=("please",),
)

GERMAN = ReplyWords(
    phrases={
        Action.STOP: (
            "stopp|stopp das|stoppen|stoppe das|stopp es|hör auf|hör auf damit|hör damit auf|"
            "aufhören|anhalten|halt|halt an|halte an|pause|pausieren|pausiere|pausiere das|"
            "abschalten|schalt ab|schalt das ab|schluss|schluss damit|nicht mehr schicken"
        ),
        Action.GO_ON: (
            "weiter|mach weiter|weitermachen|fortsetzen|fortfahren|setz fort|setze fort|"
            "nimm wieder auf|wieder aufnehmen|wieder starten|wieder an|wieder einschalten|"
            "geht weiter"
        ),
        Action.SKIP: (
            "überspringen|überspring|überspringe|überspring das|überspring es|überspring das nächste|"
            "überspringe das nächste|überspring das nächste mal|auslassen|lass aus|lass es aus|"
            "lass das nächste aus|nächstes mal nicht|das nächste mal nicht|einmal auslassen|"
            "ueberspringen|ueberspringe"
        ),
        Action.SNOOZE: (
            "später|nicht jetzt|jetzt nicht|später nochmal|später noch mal|später erinnern|"
            "erinnere mich später|erinner mich später|schlummern|spaeter"
        ),
        Action.WHY: (
            "warum|warum jetzt|warum das|wieso|wieso jetzt|wieso das|weshalb|weshalb jetzt|"
            "warum kommt das|wieso kommt das"
        ),
        Action.DONE: (
            "erledigt|fertig|ist erledigt|ist fertig|schon erledigt|habe ich gemacht|hab ich gemacht|"
            "hab ich erledigt|habe ich erledigt|gemacht|schon gemacht|ist gemacht|bin fertig|"
            "ich bin fertig|alles erledigt|das ist erledigt|hab's gemacht|abgehakt"
        ),
        Action.YES: "ja|jawohl|ja gern|ja gerne|jep",
        Action.UNDO: (
            "rückgängig|rückgängig machen|mach es rückgängig|"
            "mach das rückgängig|nimm es zurück|nimm das zurück|zurücknehmen"
        ),
    },
    snooze=(
        "später {span}",
        "schlummern {span}",
        "in {span} nochmal",
        "in {span} noch mal",
        "in {span} wieder",
        "nochmal in {span}",
        "noch mal in {span}",
        "wieder in {span}",
        "erinnere mich in {span}",
        "erinner mich in {span}",
        "erinnere mich in {span} nochmal",
        "erinnere mich nochmal in {span}",
        "frag mich in {span}",
        "frag in {span} nochmal",
    ),
    make=(
        "mach {time}",
        "mach es {time}",
        "mach das {time}",
        "mach {time} daraus",
        "mach es auf {time}",
        "verschieb auf {time}",
        "verschiebe auf {time}",
        "verschieb es auf {time}",
        "verschiebe es auf {time}",
        "verschieb das auf {time}",
        "verleg auf {time}",
        "verlege auf {time}",
        "verleg es auf {time}",
        "verlege es auf {time}",
        "verleg das auf {time}",
        "ändere auf {time}",
        "änder es auf {time}",
        "ändere es auf {time}",
        "stell es auf {time}",
        "stell auf {time}",
        "stelle es auf {time}",
        "schick es {time}",
        "lieber {time} schicken",
    ),
    instead=(
        "statt {old} um {at}",
        "statt {old} {at}",
        "{at} statt {old}",
        "mach {at} statt {old}",
        "mach {at} aus {old}",
        "mach aus {old} {at}",
        "verschieb {old} auf {at}",
        "verleg {old} auf {at}",
    ),
    polite=("bitte",),
)

FRENCH = ReplyWords(
    phrases={
        Action.STOP: (
            "arrête|arrêter|arrête ça|arrête cela|arrêtez|arrête-toi|stoppe|stoppe ça|stopper|pause|"
            "mets en pause|mettre en pause|mets ça en pause|mets-le en pause|en pause|suspends|"
            "suspendre|désactive|désactive-le|plus d'envoi|n'envoie plus ça"
        ),
        Action.GO_ON: (
            "continue l'envoi|continuer|continuez|continue|on continue|reprends|reprendre|reprenez|"
            "vas-y continue|redémarre|relance|réactive|réactive-le|recommence"
        ),
        Action.SKIP: (
            "passe|passe le prochain|passe la prochaine|saute|sauter|saute le prochain|"
            "saute la prochaine|saute-le|saute ça|pas la prochaine fois|ignore le prochain|"
            "passe cette fois|saute une fois"
        ),
        Action.SNOOZE: "plus tard|pas maintenant|rappelle-moi plus tard|redemande plus tard",
        Action.WHY: "pourquoi|pourquoi maintenant|pourquoi ça|pourquoi cela|pourquoi ce message",
        Action.DONE: (
            "fait|c'est fait|c'est bon c'est fait|terminé|c'est terminé|fini|c'est fini|déjà fait|"
            "je l'ai fait|c'est déjà fait|voilà c'est fait|tout est fait"
        ),
        Action.YES: "oui|oui vas-y|ouais",
        Action.UNDO: "annule|annuler|annule ça|annule-le|défais|défais ça|reviens en arrière",
    },
    snooze=(
        "plus tard {span}",
        "rappelle-moi dans {span}",
        "rappelle moi dans {span}",
        "rappelle dans {span}",
        "redemande dans {span}",
        "redemande-moi dans {span}",
        "à nouveau dans {span}",
        "encore dans {span}",
        "dans {span} encore",
        "repousse de {span}",
        "reporte de {span}",
        "pas avant {span}",
    ),
    make=(
        "mets {time}",
        "mets-le {time}",
        "mets le {time}",
        "mets ça {time}",
        "change {time}",
        "change-le {time}",
        "change ça {time}",
        "change pour {time}",
        "déplace {time}",
        "déplace-le {time}",
        "déplace ça {time}",
        "passe-le {time}",
        "fais-le {time}",
        "envoie-le {time}",
        "reporte {time}",
        "reporte-le {time}",
    ),
    instead=(
        "mets {at} au lieu de {old}",
        "{at} au lieu de {old}",
        "{at} plutôt que {old}",
        "change {old} en {at}",
        "remplace {old} par {at}",
    ),
    polite=("s'il te plaît", "s'il te plait", "s'il vous plaît", "s'il vous plait", "stp", "svp"),
)

SPANISH = ReplyWords(
    phrases={
        Action.STOP: (
            "para|para ya|páralo|para esto|parar|detente|detén|detenlo|detén esto|detener|pausa|"
            "pausar|páusalo|ponlo en pausa|en pausa|basta|deja de enviarlo|deja de enviar esto|"
            "no lo envíes más|desactívalo|desactivar|alto"
        ),
        Action.GO_ON: (
            "sigue|seguir|sigue así|continúa|continuar|reanuda|reanudar|reanúdalo|retoma|retómalo|"
            "actívalo|actívalo de nuevo|empieza de nuevo|vuelve a empezar|prosigue"
        ),
        Action.SKIP: (
            "salta|saltar|sáltalo|salta este|salta el próximo|salta la próxima|salta el siguiente|"
            "sáltate el próximo|omite|omitir|omítelo|omite el próximo|omite el siguiente|"
            "la próxima vez no|la próxima no"
        ),
        Action.SNOOZE: (
            "más tarde|luego|ahora no|no ahora|recuérdamelo más tarde|recuérdamelo luego|pospón|"
            "posponer|posponlo"
        ),
        Action.WHY: "por qué|por qué ahora|por qué esto|por qué eso|porqué|y por qué",
        Action.DONE: (
            "hecho|listo|ya está|ya está hecho|está hecho|terminado|ya terminé|ya lo hice|lo hice|"
            "ya hecho|completado|acabado|todo listo|está listo"
        ),
        Action.YES: "sí|sí claro|claro que sí",
        Action.UNDO: "deshacer|deshaz|deshazlo|deshaz eso|anúlalo",
    },
    snooze=(
        "más tarde {span}",
        "pospón {span}",
        "posponlo {span}",
        "posponer {span}",
        "recuérdamelo en {span}",
        "recuérdamelo dentro de {span}",
        "recuérdame en {span}",
        "recuérdame dentro de {span}",
        "otra vez en {span}",
        "otra vez dentro de {span}",
        "de nuevo en {span}",
        "en {span} otra vez",
        "pregúntame en {span}",
    ),
    make=(
        "ponlo {time}",
        "ponla {time}",
        "cámbialo {time}",
        "cámbiala {time}",
        "cambia {time}",
        "pásalo {time}",
        "pásala {time}",
        "muévelo {time}",
        "muévela {time}",
        "mueve {time}",
        "hazlo {time}",
        "envíalo {time}",
        "mándalo {time}",
    ),
    instead=(
        "{at} en vez de {old}",
        "{at} en lugar de {old}",
        "cambia {old} por {at}",
        "cambia {old} a {at}",
    ),
    polite=("por favor",),
)

RUSSIAN = ReplyWords(
    phrases={
        Action.STOP: (
            "стоп|стоп это|хватит|остановись|останови|останови это|остановить|прекрати|прекрати это|"
            "прекратить|перестань|пауза|поставь на паузу|на паузу|приостанови|приостановить|выключи|"
            "отключи|больше не присылай|не присылай больше|достаточно"
        ),
        Action.GO_ON: (
            "продолжай|продолжи|продолжить|возобнови|возобновить|дальше|включи|включи снова|"
            "запусти снова|начни снова|поехали дальше"
        ),
        Action.SKIP: (
            "пропусти|пропустить|пропусти следующий|пропусти следующее|пропусти следующую|"
            "пропусти это|пропусти один|пропусти раз|в следующий раз не надо|"
            "в следующий раз не нужно|следующий пропусти"
        ),
        Action.SNOOZE: "позже|попозже|потом|не сейчас|напомни позже|напомни потом|отложи|отложить",
        Action.WHY: "почему|почему сейчас|почему это|зачем|зачем это|зачем сейчас|с чего вдруг",
        Action.DONE: (
            "готово|сделано|сделал|сделала|уже сделал|уже сделала|уже сделано|выполнено|уже готово|"
            "всё готово|я сделал|я сделала|всё сделано|закончил|закончила|исполнено"
        ),
        Action.YES: "да|да давай|ага",
        Action.UNDO: "отмени это|отменить|отмени|верни|верни назад|верни как было",
    },
    snooze=(
        "позже {span}",
        "отложи на {span}",
        "напомни через {span}",
        "напомни мне через {span}",
        "напомни ещё раз через {span}",
        "спроси через {span}",
        "через {span} снова",
        "через {span} ещё раз",
        "ещё раз через {span}",
        "снова через {span}",
        "повтори через {span}",
    ),
    make=(
        "сделай {time}",
        "сделай это {time}",
        "сделай на {time}",
        "перенеси на {time}",
        "перенеси это на {time}",
        "поменяй на {time}",
        "измени на {time}",
        "измени время на {time}",
        "поставь на {time}",
        "поставь {time}",
        "присылай {time}",
        "передвинь на {time}",
        "давай {time}",
    ),
    instead=(
        "{at} вместо {old}",
        "вместо {old} {at}",
        "сделай {at} вместо {old}",
        "поменяй {old} на {at}",
        "перенеси с {old} на {at}",
    ),
    polite=("пожалуйста",),
)

CHINESE = ReplyWords(
    phrases={
        Action.STOP: (
            "停|停止|停下|停一下|停了吧|停止吧|暂停|暂停一下|先停|停掉|关掉|别发了|别再发了|"
            "不要再发了|不要发了|停止发送"
        ),
        Action.GO_ON: "继续|继续吧|继续发|恢复|恢复吧|重新开始|再开始|接着来|重启|继续发送",
        Action.SKIP: (
            "跳过|跳过吧|跳过下一次|跳过这次|跳过这一次|跳过下次|跳过一次|下次不用|下次不要|"
            "下次不用了|下次跳过|略过"
        ),
        Action.SNOOZE: (
            "稍后|稍后再说|晚点|晚点再说|等一下再说|现在不行|现在不要|以后再说|稍后提醒|稍后提醒我|"
            "推迟|过会儿再说"
        ),
        Action.WHY: "为什么|为什么现在|为什么这个|为什么会这样|为何|为何现在|干嘛",
        Action.DONE: (
            "完成|完成了|已完成|已经完成|已经完成了|做完了|做好了|搞定|搞定了|办好了|办完了|好了做完了|弄好了"
        ),
        Action.YES: "是|是的|好|好的|可以|行",
        Action.UNDO: "撤销|撤回|撤销吧|撤回吧|还原",
    },
    snooze=(
        "推迟{span}",
        "推迟 {span}",
        "稍后{span}",
        "{span}后提醒我",
        "{span}后再提醒我",
        "{span}后再提醒",
        "{span}后提醒",
        "{span}后再说",
        "{span}之后再说",
        "{span}之后提醒我",
        "过{span}再提醒",
        "过{span}再提醒我",
        "过{span}再说",
        "等{span}再说",
    ),
    make=(
        "改到{time}",
        "改成{time}",
        "改为{time}",
        "换到{time}",
        "换成{time}",
        "调到{time}",
        "调成{time}",
        "移到{time}",
        "设为{time}",
        "推到{time}",
    ),
    instead=(
        "把{old}改成{at}",
        "把{old}改到{at}",
        "把{old}改为{at}",
        "{old}改成{at}",
        "{old}改到{at}",
        "{old}改为{at}",
        "把{old}换成{at}",
    ),
    polite=("请", "吧", "谢谢"),
)

LANGUAGES = (ENGLISH, CHINESE, RUSSIAN, GERMAN, SPANISH, FRENCH)
