"""Cost: what scheduled turns use, what they will use, and what they may use."""
