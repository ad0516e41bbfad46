"""The engine: its API, its transactions, its workers, and what lives only in this process."""
