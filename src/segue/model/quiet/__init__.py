"""Quiet hours and digests: when a job keeps quiet, and how long its answers wait. Pure."""
