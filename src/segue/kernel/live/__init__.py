"""In-memory state of this process: running turns, listeners, wake-ups. A restart may lose all of it."""
