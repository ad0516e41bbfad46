"""Recurring jobs of Segue itself: the heartbeat, and merging duplicate memories."""
