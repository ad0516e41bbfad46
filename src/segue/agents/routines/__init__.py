"""Recurring jobs of the system itself: the heartbeat, and merging memories that say the same."""
