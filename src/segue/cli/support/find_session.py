"""Session names on the command line: a key, a title, the beginning of an id, or `last`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from segue.errors import BadKey, NotFound
from segue.model.records import Asker, Session

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel

LAST = "last"
_LOOKED_AT = 500
_SHORTEST_ID = 4
_MOST_NAMED = 5


async def find_key(kernel: "Kernel", given: str, owner: Asker) -> str:
    """Return the key of the session that is meant. A key is returned as it is, also if there is no session.

    Raises `NotFound` if no session has the name, and `BadKey` if several have.
    """
    if ":" in given and not any(letter.isspace() for letter in given):
        return given
    recent = await kernel.sessions.list(owner=owner, limit=_LOOKED_AT)
    found = _matches(recent, given.strip().casefold())
    if len(found) == 1:
        return found[0].key
    if not found:
        raise NotFound(
            f"no session is called {given!r}; write its key (channel:chat_id), its title, the beginning of "
            "its id, or `last`. `segue sessions list` shows them"
        )
    named = ", ".join(each.key for each in found[:_MOST_NAMED])
    raise BadKey(f"{len(found)} sessions are called {given!r}: {named}; write the key of one of them")


def _matches(sessions: Iterable[Session], name: str) -> list[Session]:
    """The sessions of that name, by the most exact way in which any has it. The newest comes first."""
    known = list(sessions)
    if name == LAST:
        return known[:1]
    titles = [(each, (each.title or "").casefold()) for each in known]
    return (
        [each for each, title in titles if title == name]
        or [each for each in known if _has_id(each, name)]
        or [each for each, title in titles if name and title.startswith(name)]
    )


def _has_id(session: Session, name: str) -> bool:
    chat_id = session.key.partition(":")[2].casefold()
    return chat_id == name or (len(name) >= _SHORTEST_ID and chat_id.startswith(name))
