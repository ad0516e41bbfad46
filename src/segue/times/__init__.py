"""Time: clock, moments, triggers, cron lines, and the reader of human times."""
