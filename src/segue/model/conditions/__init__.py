"""Conditions: what must hold in the conversation for a slot of a job to run."""
