"""Settings of the database drivers: time limits, pauses, and how many connections are opened.

The defaults are what production uses; tests shorten them.
"""

from segue.record import record


@record
class ScanSettings:
    """How scans of the work queues avoid obsolete index entries (see `queue_start`)."""

    long_seconds: float = 0.005
    """A full scan that takes longer counts as slow."""
    one_in: float = 20
    """Full scans may take one part in this many of the time."""
    longest_seconds: float = 60.0
    """The longest pause between two full scans."""
    stale_seconds: float = 1.0
    """While scans are slow: how often the scan start is moved forward."""
    fresh_seconds: float = 10.0
    """While scans are fast: how often it is checked that they still are."""
    behind_ms: int = 10_000
    """The scan start stays this far in the past: a new row's moment was set earlier, maybe by another
    clock."""


@record
class StoreSettings:
    poll_seconds: float = 1.0
    """How long a write of another process may go unnoticed. On PostgreSQL: if its notification is lost."""

    # SQLite
    busy_seconds: float = 2.0
    """How long a caller waits for another process."""

    # PostgreSQL
    connections: int = 10
    """The most that are open at once. If the server allows fewer, they are shared."""
    open_seconds: float = 5.0
    """How long opening waits for a server that does not answer."""
    command_seconds: float = 7.0
    """After so long without an answer the server counts as lost. Longer than its statement_timeout, which
    fires first if the server can be reached."""
    patience_seconds: float = 10.0
    """Total time that a caller waits. Once COMMIT was sent, it waits as long again, because a reported
    failure must be final."""
    check_seconds: float = 0.25
    """How often that limit is checked."""
    lock_seconds: float = 1.5
    """A caller that has waited this long fails when it meets a lock. By then the server has cut off a paused
    client of Segue."""
    notify_seconds: float = 0.1
    """The pause between two notifications of this process."""
    ring_seconds: float = 0.05
    """Many processes may notify at once; one ring answers all notifications within this time."""
    scans: ScanSettings = ScanSettings()


DEFAULTS = StoreSettings()
