"""Logs and traces of a process."""
