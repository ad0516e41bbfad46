"""The vocabulary of human times, one table for each language."""
