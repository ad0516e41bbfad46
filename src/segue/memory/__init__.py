"""Memory, read side: search, the context that a model is given, and what extractors learn from archives."""
