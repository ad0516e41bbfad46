"""Memory: archives messages, learns from them, and indexes them for search."""
