"""Group commit: the transactions of many callers, driven together as one database transaction.

`transaction` is one caller's transaction, `group` drives many of them round by round, and `sets` turns a
query that several callers reached into one statement. The drivers use them in `postgres.writers`,
`postgres.run_group`, `sqlite.threads` and `sqlite.execute`. In these modules a *caller* is the transaction of
one call to `Database.run`.
"""
