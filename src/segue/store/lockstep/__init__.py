"""Lock-step: the transactions of many callers, driven together as one transaction of PostgreSQL.

`caller` is one transaction on its way, `group` drives many of them as one, `batching` runs one query for
all that have come to it, and `writers` takes callers in, groups them and deals with what goes wrong.
"""
