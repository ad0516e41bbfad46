"""Working days: which days of a calendar count, as data."""
