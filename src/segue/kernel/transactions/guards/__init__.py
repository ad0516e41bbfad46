"""Guards: what may keep a turn from starting: budgets, conditions, limits, and an open question."""
