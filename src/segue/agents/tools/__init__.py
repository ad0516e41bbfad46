"""What an agent can do besides talking. One file per kind of tool; `registry` holds them together."""
