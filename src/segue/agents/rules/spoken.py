"""Moments as a person says them: `at 10:35`, `tomorrow at 09:00`, `on Friday, 20 November at 09:00`."""

from datetime import datetime

from segue.agents.rules.phrases import SpokenLanguage

_TODAY = {
    "en": "at {time}",
    "de": "um {time}",
    "zh": "今天 {time}",
    "fr": "à {time}",
    "es": "a las {time}",
    "ru": "в {time}",
}
_TOMORROW = {
    "en": "tomorrow at {time}",
    "de": "morgen um {time}",
    "zh": "明天 {time}",
    "fr": "demain à {time}",
    "es": "mañana a las {time}",
    "ru": "завтра в {time}",
}
_LATER = {
    "en": "on {weekday}, {day} {month}{year} at {time}",
    "de": "am {weekday}, {day}. {month}{year} um {time}",
    "zh": "{number}月{day}日 {time}",
    "fr": "le {weekday} {day} {month}{year} à {time}",
    "es": "el {weekday} {day} de {month}{year} a las {time}",
    "ru": "{day} {month}{year}, {weekday}, в {time}",
}
_WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "ru": "понедельник вторник среда четверг пятница суббота воскресенье",
}
_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}


def spoken(moment: datetime, now: datetime, language: SpokenLanguage = "en") -> str:
    """Say when that is, in the zone of `now`."""
    here = moment.astimezone(now.tzinfo)
    seconds = ":%S" if here.second and (here - now).total_seconds() < 60 else ""
    time = here.strftime(f"%H:%M{seconds}")
    days = (here.date() - now.date()).days
    if days in (0, 1):
        return (_TOMORROW if days else _TODAY)[language].format(time=time)
    names = "en" if language == "zh" else language
    return _LATER[language].format(
        time=time,
        day=here.day,
        number=here.month,
        weekday=_WEEKDAYS[names].split()[here.weekday()],
        month=_MONTHS[names].split()[here.month - 1],
        year="" if here.year == now.year else f" {here.year}",
    )
