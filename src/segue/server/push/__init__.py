"""Web Push: tells the devices of owners that there is news (RFC 8030, 8291 and 8292)."""
