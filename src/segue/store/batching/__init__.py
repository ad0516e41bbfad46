"""Lock-step: the transactions of many callers, driven together as one transaction of the database.

`caller` is one transaction on its way, `group` takes many of them on, round by round, and `sets` makes one
statement of a query that all of them have come to; that is for both databases. PostgreSQL's own are
`batching`, which runs a group on a connection, `along`, which makes one statement of several queries,
`writers`, which takes callers in, groups them and deals with what goes wrong, and `stamps`, by which it finds
out what was committed. SQLite's are in `store.driving` and `store.sqlite_threads`.
"""
