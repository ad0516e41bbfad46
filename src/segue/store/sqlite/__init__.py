"""The SQLite driver: one file, one writer thread, readers beside it."""
