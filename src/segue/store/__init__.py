"""The cellar: everything that knows SQL."""
