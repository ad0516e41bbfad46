"""Makes `LeaseTerms`, for tests that lease lanes without a runner."""

from segue.kernel.transactions.lease import LeaseTerms


def terms_of(holder: str, *, lease_ms: int, lease_now: int | None) -> LeaseTerms:
    return LeaseTerms(holder=holder, lease_ms=lease_ms, lease_now=lease_now, reports_tools=True)
