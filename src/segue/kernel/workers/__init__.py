"""The background loops of a process. They hand over to each other by rows and bells, never by calls."""
