"""Schemas of the HTTP API: request bodies, responses and live events, and conversions from records."""
