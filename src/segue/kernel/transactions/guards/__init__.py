"""Guards: what may keep a turn from starting: budgets, conditions, limits, an open question, a newer version."""
