"""What a session remembers: how it is put away, what is learned from it, and what a model is given of it."""
