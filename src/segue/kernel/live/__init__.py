"""State of this process: running turns, listeners, wake-ups. None of it survives a restart, none has to."""
