"""Session binding: the caller of an MCP request, and the session that its tools act in.

Invariants
  - the caller comes from the API key of the request, or from the flags of `segue mcp`
  - the session comes from a flag, a header or the URL; no argument of a tool can name one
"""

from segue.agents.tools.registry import ToolRefused
from segue.config import Role
from segue.kernel.kernel import Kernel
from segue.model.records import Asker, Operator, Session
from segue.model.text_checks import check_key
from segue.record import record
from segue.server.auth import Caller
from segue.server.request_context import check_may_open

PARAMETER = "session"

_HOW_TO_BIND = (
    "connect with the header `X-Segue-Session: KEY`, with `/mcp?session=KEY`, or with `segue mcp --session "
    "KEY`; KEY is channel:chat_id, such as mcp:work, and a new one makes a new session"
)


@record
class Binding:
    """Who calls, and for which session."""

    caller: Caller
    owner: Asker
    key: str | None
    """The session's key as it was given; None if the connection names no session."""
    zone: str | None = None
    """The time zone of the client's machine, if it is known. A session without a zone gets it."""
    conflict: str | None = None
    """Another key that the same request names."""

    @property
    def session_key(self) -> str:
        """The bound session's key. Raises `ToolRefused` if there is none or two, and `BadKey`."""
        if self.key is None:
            raise ToolRefused(f"no session is bound to this connection; {_HOW_TO_BIND}")
        if self.conflict is not None:
            raise ToolRefused(
                f"the header names the session {self.key} and the URL {self.conflict}; name one of them"
            )
        return check_key(self.key)

    async def find(self, kernel: Kernel) -> Session | None:
        """The bound session, or None if it does not exist or none is bound."""
        if self.key is None or self.conflict is not None:
            return None
        return await kernel.sessions.find(self.key, owner=self.owner)

    async def session(self, kernel: Kernel, *, create: bool) -> Session:
        """The bound session; with `create`, a missing one is made. Raises `ToolRefused`, `NotFound`."""
        key = self.session_key
        session = await kernel.sessions.find(key, owner=self.owner)
        if session is None and not create:
            raise ToolRefused(
                f"the session {key} does not exist yet, so there is nothing in it; the first call that "
                "schedules something, sends a turn or sets the time zone creates it"
            )
        if session is None:
            await check_may_open(kernel, self.caller, self.owner, key)
            session = (await kernel.sessions.open(key, owner=self.owner)).session
        if self.zone is not None and kernel.sessions.zone_in(session) is None:
            session = await kernel.sessions.suggest_zone(key, self.zone, owner=self.owner)
        return session


def local_binding(owner: Asker, key: str | None, zone: str | None) -> Binding:
    """The binding of `segue mcp`: this machine's user has the rights of the command line."""
    role = Role.ADMIN if isinstance(owner, Operator) else Role.USER
    return Binding(caller=Caller(owner.own, role), owner=owner, key=key, zone=zone)
