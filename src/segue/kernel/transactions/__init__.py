"""Transactions: each function is a generator that reads and writes in one commit."""
