"""Guards: what may keep a turn from starting: budgets, conditions, limits, a question, a newer version."""
