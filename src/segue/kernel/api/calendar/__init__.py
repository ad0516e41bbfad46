"""Calendar of a session: its coming events as an `.ics` file, and events of such a file as jobs."""
