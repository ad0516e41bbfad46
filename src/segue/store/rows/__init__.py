"""Conversion between database rows and records."""
