"""Quiet hours and digests: collects answers that wait, and sends them as one message."""
