"""Replies: what a user's answer to a job's message orders, decided without a model."""
