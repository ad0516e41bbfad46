"""The engine: its API, its transactions, its workers, and the in-memory state of this process."""
