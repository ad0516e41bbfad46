"""Transactions: each function is a generator whose reads and writes are one database commit."""
