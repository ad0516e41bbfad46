"""The agent's tools, one file per kind. `registry` lists and calls them."""
