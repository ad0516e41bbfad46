"""iCalendar (RFC 5545): reads and writes the text of `.ics` files."""
